// Versions: an instance goes on where its engine and its code are.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// A running instance pinned to this engine version, with a message waiting.
void pinned(Driver& d, const InstanceId& id, std::uint32_t version) {
  d.start(id);
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  first.change.engine_version = version;
  first.messages = {{id, raise("x")}};
  d.must_commit(first);
}

std::vector<LeasedInstance> fetch(Driver& d, std::uint32_t min, std::uint32_t max) {
  return d.fetch_batch({.min_engine_version = min, .max_engine_version = max}).items;
}

/// How many instances a node with this code is given; they are put back.
std::size_t fetched(Driver& d, std::vector<RegisteredOrchestration> code) {
  const auto items = d.fetch_batch({.orchestrations = std::move(code)}).items;
  for (const auto& item : items) d.abandon(item, {}, false);
  return items.size();
}

void test_fetch_with_filter_none_returns_any_item(Driver& d) {
  pinned(d, "a", 1);
  d.check.equal(d.fetch_one().instance, InstanceId{"a"}, "instance");
}

void test_fetch_with_compatible_filter_returns_item(Driver& d) {
  pinned(d, "a", 12);
  d.check.equal(fetch(d, 10, 19).size(), 1u, "instances");
}

void test_fetch_with_incompatible_filter_skips_item(Driver& d) {
  pinned(d, "a", 12);
  d.check.equal(fetch(d, 20, 29).size(), 0u, "instances");
}

void test_fetch_filter_does_not_lock_skipped_instances(Driver& d) {
  pinned(d, "a", 1);
  d.check.equal(fetch(d, 2, 2).size(), 0u, "skipped");
  const auto items = fetch(d, 0, 1);
  d.check.that(items.size() == 1 && items[0].attempt == 1, "then taken, for the first time");
}

void test_pinned_version_stored_via_ack_metadata(Driver& d) {
  pinned(d, "a", 31);
  d.check.equal(fetch(d, 30, 30).size(), 0u, "another");
  d.check.equal(fetch(d, 31, 31).size(), 1u, "that one");
}

void test_pinned_version_immutable_across_ack_cycles(Driver& d) {
  pinned(d, "a", 1);
  for (int i = 0; i < 3; ++i) {
    TurnCommit commit = d.turn(d.fetch_one());
    commit.change.engine_version = 1;
    commit.messages = {{"a", raise("again")}};
    d.must_commit(commit);
  }
  d.check.equal(fetch(d, 2, 9).size(), 0u, "another");
  d.check.equal(fetch(d, 0, 1).size(), 1u, "that one");
}

void test_provider_updates_pinned_version_when_told(Driver& d) {
  pinned(d, "a", 1);
  TurnCommit commit = d.turn(d.fetch_one());
  commit.change.engine_version = 2;
  commit.messages = {{"a", raise("x")}};
  d.must_commit(commit);
  d.check.equal(fetch(d, 1, 1).size(), 0u, "the old one");
  d.check.equal(fetch(d, 2, 2).size(), 1u, "the new one");
}

void test_ack_stores_pinned_version_via_metadata_update(Driver& d) {
  d.start("a");
  const auto pending = fetch(d, 77, 77);
  if (pending.size() != 1) d.stop("what has had no turn fits any engine");
  TurnCommit first = d.turn(pending[0]);
  first.events = {started()};
  first.change.engine_version = 12;
  first.messages = {{"a", raise("x")}};
  d.must_commit(first);
  d.check.equal(fetch(d, 77, 77).size(), 0u, "another");
  d.check.equal(fetch(d, 12, 12).size(), 1u, "that one");
}

void test_filter_with_empty_supported_versions_returns_nothing(Driver& d) {
  pinned(d, "a", 5);
  d.check.equal(fetch(d, 6, 4).size(), 0u, "a range that is none");
  d.check.equal(d.fetch_batch({.orchestrations = std::vector<RegisteredOrchestration>{}}).items.size(), 0u,
                "no code");
  d.check.equal(fetch(d, 5, 5).size(), 1u, "and nothing was leased");
}

void test_concurrent_filtered_fetch_no_double_lock(Driver& d) {
  pinned(d, "a", 1);
  d.check.equal(fetch(d, 1, 1).size(), 1u, "first");
  d.check.equal(fetch(d, 1, 1).size(), 0u, "second");
}

void a_resolved_version_must_be_registered(Driver& d) {
  d.running("a");  // version 1.0.0
  d.send("a", raise("x"));
  d.check.equal(fetched(d, {{"Orch", {"2.0.0"}}}), 0u, "another version");
  d.check.equal(fetched(d, {{"Orch", {"1.0.0 ", "1.0"}}}), 0u, "almost that version");
  d.check.equal(fetched(d, {{"Other", {"1.0.0"}}}), 0u, "that version of another");
  d.check.equal(fetched(d, {{"Orch", {"2.0.0", "1.0.0"}}}), 1u, "that version among others");
  d.check.equal(fetched(d, {{"Other", {}}, {"Orch", {"1.0.0"}}}), 1u, "another name as well");
  d.check.equal(fetched(d, {{"Orch", {}}}), 1u, "any version");
}

void a_pending_instance_goes_by_its_name(Driver& d) {
  d.start("a");
  d.check.equal(fetched(d, {{"Other", {"1.0.0"}}}), 0u, "another name");
  d.check.equal(fetched(d, {{"Orch", {"9.9.9"}}}), 1u, "its name");
}

void an_instance_that_continues_goes_by_its_name(Driver& d) {
  d.running("a");
  d.must_commit(d.continuing_turn(d.woken("a")));
  d.check.equal(fetched(d, {{"Orch", {"2.0.0"}}}), 1u, "before its first turn");
  TurnCommit first = d.next_execution(d.fetch_one());
  first.change.version = "2.0.0";
  d.must_commit(first);
  d.send("a", raise("x"));
  d.check.equal(fetched(d, {{"Orch", {"1.0.0"}}}), 0u, "the old version");
  d.check.equal(fetched(d, {{"Orch", {"2.0.0"}}}), 1u, "the new version");
}

void a_version_out_of_reach_blocks_nobody(Driver& d) {
  for (int i = 0; i < 20; ++i) {
    const InstanceId id = "old" + std::to_string(i);
    d.running(id);
    d.send(id, raise("x"));
    (void)d.fetch_one();
  }
  d.advance(d.lease);  // twenty second attempts
  d.start("new", "Orch");
  TurnCommit first = d.turn(d.fetch_batch({.orchestrations = {{{"Orch", {"2"}}}}}).items.at(0));
  first.events = {started()};
  first.change.version = "2";
  first.messages = {{"new", raise("x")}};
  d.must_commit(first);
  const auto items = d.fetch_batch({.limit = 1, .orchestrations = {{{"Orch", {"2"}}}}}).items;
  d.check.that(items.size() == 1 && items[0].instance == InstanceId{"new"}, "the one behind twenty others");
}

constexpr ConformanceCase cases[] = {
    {"test_fetch_with_filter_none_returns_any_item", "Without a filter any instance is handed out.",
     told<test_fetch_with_filter_none_returns_any_item>},
    {"test_fetch_with_compatible_filter_returns_item", "A node is given what its engine can run.",
     told<test_fetch_with_compatible_filter_returns_item>},
    {"test_fetch_with_incompatible_filter_skips_item", "And nothing else.",
     told<test_fetch_with_incompatible_filter_skips_item>},
    {"test_fetch_filter_does_not_lock_skipped_instances", "What is skipped is not leased.",
     told<test_fetch_filter_does_not_lock_skipped_instances>},
    {"test_pinned_version_stored_via_ack_metadata", "The turn's engine version is kept.",
     told<test_pinned_version_stored_via_ack_metadata>},
    {"test_pinned_version_immutable_across_ack_cycles", "Turns of the same engine leave it where it was.",
     told<test_pinned_version_immutable_across_ack_cycles>},
    {"test_provider_updates_pinned_version_when_told", "A turn of a newer engine pins the instance to it.",
     told<test_provider_updates_pinned_version_when_told>},
    {"test_ack_stores_pinned_version_via_metadata_update",
     "An instance is pinned by its first turn, not before.",
     told<test_ack_stores_pinned_version_via_metadata_update>},
    {"test_filter_with_empty_supported_versions_returns_nothing",
     "An empty range holds nothing that has had a turn.",
     told<test_filter_with_empty_supported_versions_returns_nothing>},
    {"test_concurrent_filtered_fetch_no_double_lock", "A filter is no way around a lease.",
     told<test_concurrent_filtered_fetch_no_double_lock>},
    {"a_resolved_version_must_be_registered", "Once a turn has run, the node must have that very version.",
     told<a_resolved_version_must_be_registered>},
    {"a_pending_instance_goes_by_its_name", "Its version is not resolved yet.",
     told<a_pending_instance_goes_by_its_name>},
    {"an_instance_that_continues_goes_by_its_name", "The next execution resolves its version anew.",
     told<an_instance_that_continues_goes_by_its_name>},
    {"a_version_out_of_reach_blocks_nobody", "Instances of other versions do not fill the limit.",
     told<a_version_out_of_reach_blocks_nobody>},
};

}  // namespace

std::span<const ConformanceCase> version_cases() { return cases; }

}  // namespace duramen::inline v0::testing
