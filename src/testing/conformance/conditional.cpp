// Conditional commits: an activity's completion and the turn it causes in one step, or the completion alone.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// An instance with one activity that `node` has finished, and the turn it made of that.
struct Setup {
  InstanceInfo info;
  LeasedActivity work;
  TurnCommit commit;
};

Setup finished_activity(Driver& d) {
  Setup s;
  s.info = d.running("a", 1);
  s.work = d.fetch_one_work();
  s.commit = d.conditional(s.info, s.info.last_event_id);
  s.commit.activity_acks = {Driver::completion(s.work, "result")};
  s.commit.events = {make_event(3, event::ActivityCompleted{Payload::text("result")}, 2)};
  return s;
}

void expect_refused(Driver& d, const Setup& s, AckOutcome expected_ack,
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

void conditional_commit_stores_completion_and_turn(Driver& d) {
  const Setup s = finished_activity(d);
  const CommitResult result = d.must_commit(s.commit);
  d.check.equal(result.incarnation, s.info.incarnation, "incarnation in the answer");
  d.check.that(d.history("a", 1, 2) == s.commit.events, "the turn is stored");
  d.expect_no_work();
  d.expect_nothing_to_do();
  d.check.equal(d.ack(s.commit.activity_acks[0]).outcome, AckOutcome::lease_lost, "the row is gone");
  d.check.equal(d.woken("a").last_event_id, EventId{3}, "the instance goes on from there");
}

void conditional_commit_needs_no_work(Driver& d) {
  const InstanceInfo info = d.running("a");
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.events = {raised(2, "x")};
  d.must_commit(commit);
  d.check.equal(d.history("a").size(), 2u, "events");
}

void conditional_commit_fails_when_leased(Driver& d) {
  const Setup s = finished_activity(d);
  const LeasedInstance item = d.woken("a");
  expect_refused(d, s, AckOutcome::done);
  d.expect_no_work();
  d.check.that(d.renew(item), "the holder keeps its lease");
  d.must_commit(d.turn(item));
  const LeasedInstance next = d.fetch_one();
  d.check.that(next.messages.size() == 1 && is_result(next.messages[0]),
               "the completion was enqueued normally");
}

void conditional_commit_succeeds_after_a_lease_ended(Driver& d) {
  const InstanceInfo info = d.running("a");
  const LeasedInstance item = d.woken("a");
  d.must_commit(d.turn(item));
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.events = {raised(2, "x")};
  d.must_commit(commit);
}

void conditional_commit_fails_when_history_moved_on(Driver& d) {
  const Setup s = finished_activity(d);
  TurnCommit turn = d.turn(d.woken("a"));
  turn.events = {raised(3, "x")};
  d.must_commit(turn);
  expect_refused(d, s, AckOutcome::done);
  const LeasedInstance next = d.fetch_one();
  d.check.that(next.messages.size() == 1 && is_result(next.messages[0]),
               "the completion was enqueued normally");
}

void conditional_commit_fails_when_a_message_waits(Driver& d) {
  const Setup s = finished_activity(d);
  d.send("a", raise("first"));
  expect_refused(d, s, AckOutcome::done);
  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "first ?", "the completion queues behind the older message");
}

void conditional_commit_ignores_what_is_not_visible(Driver& d) {
  Setup s = finished_activity(d);
  d.send("a", raise("later"), d.now() + 1min);
  d.must_commit(s.commit);
  d.advance(1min);
  d.check.equal(names_of(d.fetch_one().messages), "later", "it comes in its time");
}

void conditional_commit_fails_when_the_work_was_cancelled(Driver& d) {
  const Setup s = finished_activity(d);
  TurnCommit cancel = d.turn(d.woken("a"));
  cancel.node = d.other;
  cancel.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
  d.must_commit(cancel);
  expect_refused(d, s, AckOutcome::cancelled);
  d.expect_nothing_to_do();
}

void conditional_commit_fails_when_the_work_lease_ended(Driver& d) {
  const Setup s = finished_activity(d);
  d.advance(d.lease + 1ms);
  expect_refused(d, s, AckOutcome::lease_lost);
  d.expect_nothing_to_do();
  d.check.equal(d.fetch_one_work().attempt, 2u, "the row is still there, for its next attempt");
}

void conditional_commit_fails_when_one_of_its_acks_does(Driver& d) {
  const InstanceInfo info = d.running("a", 2);
  const auto work = d.fetch_work();
  if (work.size() != 2) d.stop("two activities to run");
  d.check.equal(d.ack({work[0].lease, "a", std::nullopt}).outcome, AckOutcome::done, "the first row goes");
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.activity_acks = {Driver::completion(work[0]), Driver::completion(work[1])};
  commit.events = {raised(4, "x")};
  const CommitResult result = d.commit(commit);
  d.check.equal(result.outcome, CommitOutcome::condition_failed, "outcome");
  if (result.acks.size() != 2) d.stop("one answer per ack");
  d.check.equal(result.acks[0].outcome, AckOutcome::lease_lost, "the ack whose row is gone");
  d.check.equal(result.acks[1].outcome, AckOutcome::done, "the other ack");
  d.check.equal(d.history("a").size(), 3u, "events: nothing of the turn was stored");
  const LeasedInstance next = d.fetch_one();
  d.check.equal(next.messages.size(), 1u, "messages: the completion of the other");
  d.expect_no_work();
}

void conditional_commit_fails_for_an_unknown_instance(Driver& d) {
  InstanceInfo nobody;
  nobody.instance = "nobody";
  nobody.incarnation = Incarnation{123456};
  nobody.execution = ExecutionId{1};
  TurnCommit commit = d.conditional(nobody, EventId{1});
  commit.events = {raised(2, "x")};
  d.check.equal(d.commit(commit).outcome, CommitOutcome::condition_failed, "outcome");
  d.check.that(!d.info("nobody"), "nothing was created");
}

constexpr ConformanceCase cases[] = {
    {"conditional_commit_stores_completion_and_turn", "Completion and turn are one step, without a message.",
     told<conditional_commit_stores_completion_and_turn>},
    {"conditional_commit_needs_no_work", "A conditional turn may carry no work acks.",
     told<conditional_commit_needs_no_work>},
    {"conditional_commit_fails_when_leased",
     "Somebody holds the instance: the completion goes the normal way.",
     told<conditional_commit_fails_when_leased>},
    {"conditional_commit_succeeds_after_a_lease_ended", "A lease that was given back is no obstacle.",
     told<conditional_commit_succeeds_after_a_lease_ended>},
    {"conditional_commit_fails_when_history_moved_on", "last_event_id must be what the store has.",
     told<conditional_commit_fails_when_history_moved_on>},
    {"conditional_commit_fails_when_a_message_waits", "It overtakes no visible message.",
     told<conditional_commit_fails_when_a_message_waits>},
    {"conditional_commit_ignores_what_is_not_visible", "A timer that is not due is no obstacle.",
     told<conditional_commit_ignores_what_is_not_visible>},
    {"conditional_commit_fails_when_the_work_was_cancelled", "A cancelled activity's result is not observed.",
     told<conditional_commit_fails_when_the_work_was_cancelled>},
    {"conditional_commit_fails_when_the_work_lease_ended", "A result under an ended lease is not observed.",
     told<conditional_commit_fails_when_the_work_lease_ended>},
    {"conditional_commit_fails_when_one_of_its_acks_does", "All acks must hold; the others are performed.",
     told<conditional_commit_fails_when_one_of_its_acks_does>},
    {"conditional_commit_fails_for_an_unknown_instance", "There is nothing to take.",
     told<conditional_commit_fails_for_an_unknown_instance>},
};

}  // namespace

std::span<const ConformanceCase> conditional_cases() { return cases; }

}  // namespace duramen::inline v0::testing
