// Conditional commits: an activity's completion and the turn it causes in one step, or the completion alone.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// An instance with one activity that `node` has finished, and the turn that `node` made from its result.
struct FinishedActivity {
  InstanceInfo info;
  LeasedActivity activity;
  TurnCommit commit;
};

FinishedActivity finished_activity(Driver& d) {
  FinishedActivity s;
  s.info = d.running("a", 1);
  s.activity = d.fetch_one_activity();
  s.commit = d.conditional(s.info, s.info.last_event_id);
  s.commit.activity_acks = {Driver::completion(s.activity, "result")};
  s.commit.events = {make_event(3, event::ActivityCompleted{Payload::text("result")}, 2)};
  return s;
}

void expect_refused(Driver& d, const FinishedActivity& s, AckOutcome expected_ack,
                    Check::Where where = Check::Where::current()) {
  const std::size_t events = d.history("a").size();
  const CommitResult result = d.commit(s.commit);
  d.check.equal(result.outcome, CommitOutcome::condition_failed, "outcome", where);
  if (d.check.equal(result.acks.size(), 1u, "one answer per ack", where)) {
    d.check.equal(result.acks[0].outcome, expected_ack, "outcome of the ack", where);
  }
  d.check.equal(d.history("a").size(), events, "events: nothing of the turn was stored", where);
}

bool is_result(const InboxMessage& message) {
  const auto* done = std::get_if<message::ActivityCompleted>(&message.body);
  return done && done->id == EventId{2} && done->result == Payload::text("result");
}

void a_conditional_commit_stores_completion_and_turn_in_one_step(Driver& d) {
  const FinishedActivity s = finished_activity(d);
  const CommitResult result = d.must_commit(s.commit);
  d.check.equal(result.incarnation, s.info.incarnation, "incarnation in the answer");
  d.check.that(d.history("a", 1, 2) == s.commit.events, "the turn is stored");
  d.expect_no_activities();
  d.expect_nothing_to_do();
  d.check.equal(d.ack(s.commit.activity_acks[0]).outcome, AckOutcome::lease_lost, "the row is gone");
  d.check.equal(d.woken("a").last_event_id, EventId{3}, "the instance continues from there");
}

void a_conditional_commit_may_have_no_activity_acks(Driver& d) {
  const InstanceInfo info = d.running("a");
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.events = {raised(2, "x")};
  d.must_commit(commit);
  d.check.equal(d.history("a").size(), 2u, "events");
}

void a_conditional_commit_fails_while_the_instance_is_leased(Driver& d) {
  const FinishedActivity s = finished_activity(d);
  const LeasedInstance item = d.woken("a");
  expect_refused(d, s, AckOutcome::done);
  d.expect_no_activities();
  d.check.that(d.renew(item), "the holder keeps its lease");
  d.must_commit(d.turn(item));
  const LeasedInstance next = d.fetch_one();
  d.check.that(next.messages.size() == 1 && is_result(next.messages[0]),
               "the completion was enqueued normally");
}

void a_conditional_commit_succeeds_after_a_lease_ended(Driver& d) {
  const InstanceInfo info = d.running("a");
  const LeasedInstance item = d.woken("a");
  d.must_commit(d.turn(item));
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.events = {raised(2, "x")};
  d.must_commit(commit);
}

void a_conditional_commit_fails_after_newer_events(Driver& d) {
  const FinishedActivity s = finished_activity(d);
  TurnCommit turn = d.turn(d.woken("a"));
  turn.events = {raised(3, "x")};
  d.must_commit(turn);
  expect_refused(d, s, AckOutcome::done);
  const LeasedInstance next = d.fetch_one();
  d.check.that(next.messages.size() == 1 && is_result(next.messages[0]),
               "the completion was enqueued normally");
}

void a_conditional_commit_fails_when_a_message_is_queued(Driver& d) {
  const FinishedActivity s = finished_activity(d);
  d.send("a", raise("first"));
  expect_refused(d, s, AckOutcome::done);
  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "first ?", "the completion queues behind the older message");
}

void a_conditional_commit_ignores_timers_that_are_not_due(Driver& d) {
  FinishedActivity s = finished_activity(d);
  d.send(timer("a", 9, d.now() + 1min));
  d.must_commit(s.commit);
  d.advance(1min);
  d.check.equal(names_of(d.fetch_one().messages), "t9", "it fires at its time");
}

void a_conditional_commit_fails_when_a_timer_is_due(Driver& d) {
  const FinishedActivity s = finished_activity(d);
  d.send(timer("a", 9, d.now() + 10s));
  d.advance(10s);
  expect_refused(d, s, AckOutcome::done);
  d.check.equal(names_of(d.fetch_one().messages), "t9 ?", "the completion queues behind the timer");
}

void a_conditional_commit_fails_when_a_released_message_waits(Driver& d) {
  const FinishedActivity s = finished_activity(d);
  d.release(d.woken("a"), 20s);
  expect_refused(d, s, AckOutcome::done);
  d.advance(20s);
  d.check.equal(names_of(d.fetch_one().messages), "wake ?", "the completion queues behind the message");
}

void a_conditional_commit_fails_when_its_activity_was_cancelled(Driver& d) {
  const FinishedActivity s = finished_activity(d);
  TurnCommit cancel = d.turn(d.woken("a"));
  cancel.node = d.other;
  cancel.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
  d.must_commit(cancel);
  expect_refused(d, s, AckOutcome::cancelled);
  d.expect_nothing_to_do();
}

void a_conditional_commit_fails_when_its_activity_lease_ended(Driver& d) {
  const FinishedActivity s = finished_activity(d);
  d.advance(d.lease + 1ms);
  expect_refused(d, s, AckOutcome::lease_lost);
  d.expect_nothing_to_do();
  d.check.equal(d.fetch_one_activity().attempt, 2u, "the row is still there, for its next attempt");
}

void a_conditional_commit_with_one_failed_ack_performs_the_others(Driver& d) {
  const InstanceInfo info = d.running("a", 2);
  const auto activities = d.fetch_activities();
  if (activities.size() != 2) d.stop("two activities to run");
  d.check.equal(d.ack({activities[0].lease, "a", std::nullopt}).outcome, AckOutcome::done,
                "the first row goes");
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.activity_acks = {Driver::completion(activities[0]), Driver::completion(activities[1])};
  commit.events = {raised(4, "x")};
  const CommitResult result = d.commit(commit);
  d.check.equal(result.outcome, CommitOutcome::condition_failed, "outcome");
  if (result.acks.size() != 2) d.stop("one answer per ack");
  d.check.equal(result.acks[0].outcome, AckOutcome::lease_lost, "the ack whose row is gone");
  d.check.equal(result.acks[1].outcome, AckOutcome::done, "the other ack");
  d.check.equal(d.history("a").size(), 3u, "events: nothing of the turn was stored");
  const LeasedInstance next = d.fetch_one();
  d.check.equal(next.messages.size(), 1u, "messages: the completion of the other");
  d.expect_no_activities();
}

void a_conditional_commit_of_an_unknown_instance_fails(Driver& d) {
  InstanceInfo unknown;
  unknown.instance = "unknown";
  unknown.incarnation = Incarnation{123456};
  unknown.execution = ExecutionId{1};
  TurnCommit commit = d.conditional(unknown, EventId{1});
  commit.events = {raised(2, "x")};
  d.check.equal(d.commit(commit).outcome, CommitOutcome::condition_failed, "outcome");
  d.check.that(!d.info("unknown"), "nothing was created");
}

}  // namespace

std::span<const ConformanceCase> conditional_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_conditional_commit_stores_completion_and_turn_in_one_step),
      DURAMEN_CASE(a_conditional_commit_may_have_no_activity_acks),
      DURAMEN_CASE(a_conditional_commit_fails_while_the_instance_is_leased),
      DURAMEN_CASE(a_conditional_commit_succeeds_after_a_lease_ended),
      DURAMEN_CASE(a_conditional_commit_fails_after_newer_events),
      DURAMEN_CASE(a_conditional_commit_fails_when_a_message_is_queued),
      DURAMEN_CASE(a_conditional_commit_ignores_timers_that_are_not_due),
      DURAMEN_CASE(a_conditional_commit_fails_when_a_timer_is_due),
      DURAMEN_CASE(a_conditional_commit_fails_when_a_released_message_waits),
      DURAMEN_CASE(a_conditional_commit_fails_when_its_activity_was_cancelled),
      DURAMEN_CASE(a_conditional_commit_fails_when_its_activity_lease_ended),
      DURAMEN_CASE(a_conditional_commit_with_one_failed_ack_performs_the_others),
      DURAMEN_CASE(a_conditional_commit_of_an_unknown_instance_fails),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
