// The custom status: what it says, how often it changed, how long it lives.
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

void other_turns_leave_the_custom_status_alone(Driver& d) {
  d.running("a");
  commit_status(d, d.turn(d.woken("a")), "kept");
  for (int i = 0; i < 3; ++i) d.must_commit(d.turn(d.woken("a")));
  d.send("a", raise("x"));
  d.abandon(d.fetch_one());
  expect_status(d, "a", "kept", 1);
}

void a_turn_that_is_not_stored_changes_no_custom_status(Driver& d) {
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
  d.check.equal(d.commit(wrong).outcome, CommitOutcome::condition_failed, "a turn that guessed wrong");
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

void a_custom_status_is_kept_over_continue_as_new(Driver& d) {
  d.running("a");
  commit_status(d, d.turn(d.woken("a")), "one");
  commit_status(d, d.continuing_turn(d.woken("a")), "two");
  expect_status(d, "a", "two", 2);
  d.must_commit(d.next_execution(d.fetch_one()));
  expect_status(d, "a", "two", 2);
  commit_status(d, d.turn(d.woken("a")), "three");
  expect_status(d, "a", "three", 3);
}

void a_custom_status_is_kept_after_the_end(Driver& d) {
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

void a_new_instance_has_no_custom_status(Driver& d) {
  d.running("a");
  commit_status(d, d.final_turn(d.woken("a")), "old");
  d.start("a", "Orch", "in", IdReuse::replace_when_final);
  expect_status(d, "a", std::nullopt, 0);
  commit_status(d, d.final_turn(d.fetch_one()), "old, too");
  d.must_commit(d.fused("a", "Orch", "in", IdReuse::replace_when_final));
  expect_status(d, "a", std::nullopt, 0);
}

void a_long_custom_status_survives(Driver& d) {
  std::string status = "'\"\\\n\t\x01 \xF0\x9F\x8C\xB3 ";
  status.resize(max_custom_status_bytes, 'x');
  d.running("a");
  commit_status(d, d.turn(d.woken("a")), status);
  d.must_commit(d.turn(d.woken("a")));
  expect_status(d, "a", status, 1);
}

constexpr ConformanceCase cases[] = {
    {"a_custom_status_is_set_replaced_and_cleared", "Each change is counted; empty is a status.",
     told<a_custom_status_is_set_replaced_and_cleared>},
    {"other_turns_leave_the_custom_status_alone", "Absent means: as it was.",
     told<other_turns_leave_the_custom_status_alone>},
    {"a_turn_that_is_not_stored_changes_no_custom_status", "Refused and repeated turns change nothing.",
     told<a_turn_that_is_not_stored_changes_no_custom_status>},
    {"every_kind_of_turn_may_set_a_custom_status", "Fused, conditional and final turns set it as well.",
     told<every_kind_of_turn_may_set_a_custom_status>},
    {"a_custom_status_is_kept_over_continue_as_new", "It belongs to the instance, not to an execution.",
     told<a_custom_status_is_kept_over_continue_as_new>},
    {"a_custom_status_is_kept_after_the_end", "An ended instance still shows its last word.",
     told<a_custom_status_is_kept_after_the_end>},
    {"a_new_instance_has_no_custom_status", "It goes with the instance.",
     told<a_new_instance_has_no_custom_status>},
    {"a_long_custom_status_survives", "The longest one allowed is stored as it is.",
     told<a_long_custom_status_survives>},
};

}  // namespace

std::span<const ConformanceCase> custom_status_cases() { return cases; }

}  // namespace duramen::inline v0::testing
