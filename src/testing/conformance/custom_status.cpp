// The custom status: its text, its version and its lifetime.
#include "testing/conformance/driver.hpp"
#include <duramen/key_values.hpp>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void expect_status(Driver& d, const InstanceId& id, const std::optional<std::string>& status,
                   std::uint64_t version, Check::Where where = Check::Where::current()) {
  const auto info = d.info(id);
  if (!info) d.stop("the instance does not exist", where);
  d.check.that(info->custom_status == status, "custom status", where);
  d.check.equal(info->custom_status_version, version, "its version", where);
}

void commit_status(Driver& d, TurnCommit commit, std::optional<std::string> status,
                   Check::Where where = Check::Where::current()) {
  commit.change.custom_status = CustomStatusChange{std::move(status)};
  d.must_commit(commit, where);
}

void a_custom_status_is_set_replaced_and_cleared(Driver& d) {
  d.running("a");
  d.running("b");
  expect_status(d, "a", std::nullopt, 0);
  commit_status(d, d.turn(d.woken("a")), "halfway");
  expect_status(d, "a", "halfway", 1);
  commit_status(d, d.turn(d.woken("a")), "done");
  expect_status(d, "a", "done", 2);
  commit_status(d, d.turn(d.woken("a")), std::nullopt);
  expect_status(d, "a", std::nullopt, 3);
  commit_status(d, d.turn(d.woken("a")), "");
  expect_status(d, "a", "", 4);
  expect_status(d, "b", std::nullopt, 0);
}

void other_turns_keep_the_custom_status(Driver& d) {
  d.running("a");
  commit_status(d, d.turn(d.woken("a")), "kept");
  for (int i = 0; i < 3; ++i) d.must_commit(d.turn(d.woken("a")));
  d.send("a", raise("x"));
  d.release(d.fetch_one());
  expect_status(d, "a", "kept", 1);
}

void refused_and_repeated_turns_change_no_custom_status(Driver& d) {
  d.running("a");
  TurnCommit good = d.turn(d.woken("a"));
  good.change.custom_status = CustomStatusChange{"good"};
  TurnCommit invalid = good;
  invalid.token = d.new_commit_token();
  invalid.events = {raised(7, "x")};
  invalid.change.custom_status = CustomStatusChange{"invalid"};
  d.check.equal(d.commit(invalid).outcome, CommitOutcome::invalid, "a turn with wrong ids");
  expect_status(d, "a", std::nullopt, 0);
  d.must_commit(good);
  d.check.equal(d.commit(good).outcome, CommitOutcome::already_committed, "the same turn again");
  expect_status(d, "a", "good", 1);

  const LeasedInstance item = d.woken("a");
  d.advance(d.lease + 1ms);
  TurnCommit late = d.turn(item);
  late.change.custom_status = CustomStatusChange{"late"};
  d.check.equal(d.commit(late).outcome, CommitOutcome::lease_lost, "a turn that is late");
  TurnCommit wrong = d.conditional(d.info("a").value(), EventId{9});
  wrong.change.custom_status = CustomStatusChange{"wrong"};
  d.check.equal(d.commit(wrong).outcome, CommitOutcome::condition_failed, "a turn with a wrong condition");
  expect_status(d, "a", "good", 1);
}

void every_kind_of_turn_may_set_a_custom_status(Driver& d) {
  TurnCommit first = d.fused("a");
  first.change.custom_status = CustomStatusChange{"started"};
  d.must_commit(first);
  expect_status(d, "a", "started", 1);
  commit_status(d, d.conditional(d.info("a").value(), EventId{1}), "went on");
  expect_status(d, "a", "went on", 2);
  commit_status(d, d.final_turn(d.woken("a")), "ended");
  expect_status(d, "a", "ended", 3);
}

void a_custom_status_survives_continue_as_new(Driver& d) {
  d.running("a");
  commit_status(d, d.turn(d.woken("a")), "one");
  commit_status(d, d.continuing_turn(d.woken("a")), "two");
  expect_status(d, "a", "two", 2);
  d.must_commit(d.next_execution(d.fetch_one()));
  expect_status(d, "a", "two", 2);
  commit_status(d, d.turn(d.woken("a")), "three");
  expect_status(d, "a", "three", 3);
}

void a_custom_status_survives_the_end_of_its_instance(Driver& d) {
  for (const Status end : {Status::completed, Status::failed, Status::cancelled}) {
    const InstanceId id{std::string(to_string(end))};
    d.running(id);
    commit_status(d, d.turn(d.woken(id)), "kept");
    TurnCommit last = d.final_turn(d.woken(id));
    last.change.status = end;
    d.must_commit(last);
    expect_status(d, id, "kept", 1);
  }
}

void a_replacing_instance_has_no_custom_status(Driver& d) {
  d.running("a");
  commit_status(d, d.final_turn(d.woken("a")), "old");
  d.start("a", "Orch", "in", IdReuse::replace_when_final);
  expect_status(d, "a", std::nullopt, 0);
  commit_status(d, d.final_turn(d.fetch_one()), "old again");
  d.must_commit(d.fused("a", "Orch", "in", IdReuse::replace_when_final));
  expect_status(d, "a", std::nullopt, 0);
}

void the_longest_custom_status_is_stored_unchanged(Driver& d) {
  std::string status = "'\"\\\n\t\x01 \xF0\x9F\x8C\xB3 ";
  status.resize(max_custom_status_bytes, 'x');
  d.running("a");
  commit_status(d, d.turn(d.woken("a")), status);
  d.must_commit(d.turn(d.woken("a")));
  expect_status(d, "a", status, 1);
}

void change_status(Driver& d, const InstanceId& id, std::optional<std::string> status) {
  commit_status(d, d.turn(d.woken(id)), std::move(status));
}

void the_first_custom_status_is_version_one(Driver& d) {
  d.running("a");
  change_status(d, "a", "progress");
  expect_status(d, "a", "progress", 1);
}

void clearing_the_custom_status_increments_its_version(Driver& d) {
  d.running("a");
  change_status(d, "a", "temp");
  change_status(d, "a", std::nullopt);
  expect_status(d, "a", std::nullopt, 2);
}

void a_turn_without_a_custom_status_keeps_it(Driver& d) {
  d.running("a");
  change_status(d, "a", "keep-me");
  d.must_commit(d.turn(d.woken("a")));
  expect_status(d, "a", "keep-me", 1);
}

void every_change_increments_the_custom_status_version(Driver& d) {
  d.running("a");
  change_status(d, "a", "a");
  expect_status(d, "a", "a", 1);
  change_status(d, "a", "b");
  expect_status(d, "a", "b", 2);
  change_status(d, "a", std::nullopt);
  expect_status(d, "a", std::nullopt, 3);
}

void reading_a_custom_status_keeps_its_version(Driver& d) {
  d.running("a");
  change_status(d, "a", "same");
  expect_status(d, "a", "same", 1);
  expect_status(d, "a", "same", 1);
  change_status(d, "a", "same");
  expect_status(d, "a", "same", 2);
}

void an_unknown_instance_has_no_custom_status(Driver& d) {
  d.check.that(!d.info("unknown"), "an unknown instance");
}

void a_new_instance_has_custom_status_version_zero(Driver& d) {
  d.running("a");
  expect_status(d, "a", std::nullopt, 0);
}

}  // namespace

std::span<const ConformanceCase> custom_status_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_custom_status_is_set_replaced_and_cleared),
      DURAMEN_CASE(other_turns_keep_the_custom_status),
      DURAMEN_CASE(refused_and_repeated_turns_change_no_custom_status),
      DURAMEN_CASE(every_kind_of_turn_may_set_a_custom_status),
      DURAMEN_CASE(a_custom_status_survives_continue_as_new),
      DURAMEN_CASE(a_custom_status_survives_the_end_of_its_instance),
      DURAMEN_CASE(a_replacing_instance_has_no_custom_status),
      DURAMEN_CASE(the_longest_custom_status_is_stored_unchanged),
      DURAMEN_CASE(the_first_custom_status_is_version_one, .reference = "test_custom_status_set",
                   .difference = "status and version are part of `get_instance`"),
      DURAMEN_CASE(clearing_the_custom_status_increments_its_version,
                   .reference = "test_custom_status_clear"),
      DURAMEN_CASE(a_turn_without_a_custom_status_keeps_it, .reference = "test_custom_status_none_preserves"),
      DURAMEN_CASE(every_change_increments_the_custom_status_version,
                   .reference = "test_custom_status_version_increments"),
      DURAMEN_CASE(reading_a_custom_status_keeps_its_version,
                   .reference = "test_custom_status_polling_no_change",
                   .difference = "the version is part of `get_instance`: the caller compares"),
      DURAMEN_CASE(an_unknown_instance_has_no_custom_status,
                   .reference = "test_custom_status_nonexistent_instance",
                   .difference = "the instance does not exist, so it has no status"),
      DURAMEN_CASE(a_new_instance_has_custom_status_version_zero,
                   .reference = "test_custom_status_default_on_new_instance", .difference = "version 0"),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
