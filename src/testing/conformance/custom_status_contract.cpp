// The custom status, one promise at a time.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void change(Driver& d, const InstanceId& id, std::optional<std::string> status) {
  TurnCommit commit = d.turn(d.woken(id));
  commit.change.custom_status = CustomStatusChange{std::move(status)};
  d.must_commit(commit);
}

void expect(Driver& d, const std::optional<std::string>& status, std::uint64_t version,
            Check::Where where = Check::Where::current()) {
  const InstanceInfo info = d.info("a").value();
  d.check.that(info.custom_status == status, "custom status", where);
  d.check.equal(info.custom_status_version, version, "its version", where);
}

void test_custom_status_set(Driver& d) {
  d.running("a");
  change(d, "a", "progress");
  expect(d, "progress", 1);
}

void test_custom_status_clear(Driver& d) {
  d.running("a");
  change(d, "a", "temp");
  change(d, "a", std::nullopt);
  expect(d, std::nullopt, 2);
}

void test_custom_status_none_preserves(Driver& d) {
  d.running("a");
  change(d, "a", "keep-me");
  d.must_commit(d.turn(d.woken("a")));
  expect(d, "keep-me", 1);
}

void test_custom_status_version_increments(Driver& d) {
  d.running("a");
  change(d, "a", "a");
  expect(d, "a", 1);
  change(d, "a", "b");
  expect(d, "b", 2);
  change(d, "a", std::nullopt);
  expect(d, std::nullopt, 3);
}

void test_custom_status_polling_no_change(Driver& d) {
  d.running("a");
  change(d, "a", "same");
  expect(d, "same", 1);
  expect(d, "same", 1);
  change(d, "a", "same");
  expect(d, "same", 2);
}

void test_custom_status_nonexistent_instance(Driver& d) {
  d.check.that(!d.info("nobody"), "an unknown instance");
}

void test_custom_status_default_on_new_instance(Driver& d) {
  d.running("a");
  expect(d, std::nullopt, 0);
}

constexpr ConformanceCase cases[] = {
    {"test_custom_status_set", "The first status is version 1.", told<test_custom_status_set>},
    {"test_custom_status_clear", "Clearing is a change.", told<test_custom_status_clear>},
    {"test_custom_status_none_preserves", "A turn that says nothing changes nothing.",
     told<test_custom_status_none_preserves>},
    {"test_custom_status_version_increments", "Every change is counted.",
     told<test_custom_status_version_increments>},
    {"test_custom_status_polling_no_change", "Reading it changes nothing; setting the same again does.",
     told<test_custom_status_polling_no_change>},
    {"test_custom_status_nonexistent_instance", "An unknown instance has no status.",
     told<test_custom_status_nonexistent_instance>},
    {"test_custom_status_default_on_new_instance", "A new instance has none, and its version is 0.",
     told<test_custom_status_default_on_new_instance>},
};

}  // namespace

std::span<const ConformanceCase> custom_status_contract_cases() { return cases; }

}  // namespace duramen::inline v0::testing
