// Time limits of activities: what a sweep fails, what it leaves, and who is told.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// Instance "a" with one activity, number 2, of these limits.
void with_work(Driver& d, ActivityOptions limits) {
  d.running("a");
  d.schedule("a", {limited(limits)});
}

/// The instance was told, in the words all stores use.
void expect_failure(Driver& d, TimeoutKind which, std::uint32_t attempt, ActivityOptions limits,
                    Check::Where where = Check::Where::current()) {
  const LeasedInstance item = d.fetch_one(where);
  d.check.equal(item.messages.size(), 1u, "messages", where);
  const Failure failure = overdue_failure(limited(limits), which, attempt);
  d.check.that(
      item.messages.at(0).body == MessageBody{message::ActivityFailed{ExecutionId{1}, EventId{2}, failure}},
      "the failure", where);
  d.must_commit(d.turn(item), where);
}

void expect_timed_out(Driver& d, const LeasedActivity& held, Check::Where where = Check::Where::current()) {
  const RenewResult renewed = d.renew(held.lease);
  d.check.equal(renewed.outcome, RenewOutcome::cancelled, "the holder's renewal", where);
  d.check.equal(renewed.reason, CancelReason::timeout, "its reason", where);
  const AckResult acked = d.ack(Driver::completion(held));
  d.check.equal(acked.outcome, AckOutcome::cancelled, "the holder's ack", where);
  d.check.equal(acked.reason, CancelReason::timeout, "its reason", where);
}

void a_sweep_of_nothing_does_nothing(Driver& d) {
  const SweepResult empty = d.sweep();
  d.check.equal(empty.overdue + empty.parked_dropped + empty.sessions_removed, 0u, "things done");
  d.check.that(!empty.more && !empty.next_due, "nothing more");
  with_work(d, {});
  d.check.equal(d.sweep().overdue, 0u, "an activity without limits");
  (void)d.fetch_one_work();
  d.advance(d.lease - 1ms);
  d.check.that(d.sweep().overdue == 0 && !d.sweep().next_due, "while it runs");
}

void schedule_to_start_fails_what_nobody_takes(Driver& d) {
  const ActivityOptions limits{.schedule_to_start = 10s};
  with_work(d, limits);
  d.expect_due(d.sweep().next_due, d.now() + 10s);
  d.advance(9999ms);
  d.check.equal(d.sweep().overdue, 0u, "just before");
  d.advance(1ms);
  d.check.equal(d.sweep().overdue, 1u, "at the limit");
  d.expect_no_work();
  expect_failure(d, TimeoutKind::schedule_to_start, 0, limits);
}

void schedule_to_start_ends_with_the_first_attempt(Driver& d) {
  with_work(d, {.schedule_to_start = 10s});
  const LeasedActivity held = d.fetch_one_work();
  d.advance(20s);
  d.check.equal(d.sweep().overdue, 0u, "while it runs");
  d.abandon(held);
  d.advance(20s);
  d.check.equal(d.sweep().overdue, 0u, "after it was given back");
  d.check.equal(d.fetch_one_work().attempt, 2u, "the next attempt");
}

void schedule_to_start_counts_from_when_it_could_be_taken(Driver& d) {
  with_work(d, {.schedule_to_start = 10s});
  d.advance(5s);
  d.abandon(d.fetch_one_work(), 20s, false);
  d.advance(29s);
  d.check.equal(d.sweep().overdue, 0u, "before");
  d.advance(1s);
  d.check.equal(d.sweep().overdue, 1u, "ten seconds after the delay");
}

void start_to_close_fails_what_runs_too_long(Driver& d) {
  const ActivityOptions limits{.start_to_close = 1min};
  with_work(d, limits);
  d.advance(10min);  // waiting does not count
  const LeasedActivity held = d.fetch_one_work();
  d.expect_due(d.sweep().next_due, d.now() + 1min);
  for (int i = 0; i < 2; ++i) {
    d.advance(29s);
    d.renew(held.lease);
    d.beat(held.lease);
  }
  d.advance(1999ms);
  d.check.equal(d.sweep().overdue, 0u, "just before");
  d.advance(1ms);
  d.check.equal(d.sweep().overdue, 1u, "at the limit");
  expect_timed_out(d, held);
  d.expect_no_work();
  expect_failure(d, TimeoutKind::start_to_close, 1, limits);
}

void start_to_close_counts_from_the_current_attempt(Driver& d) {
  with_work(d, {.start_to_close = 1min});
  const LeasedActivity first = d.fetch_one_work();
  d.advance(29s);
  d.abandon(first);
  const LeasedActivity second = d.fetch_one_work();
  for (int i = 0; i < 2; ++i) {
    d.advance(29s);
    d.renew(second.lease);
  }
  d.check.equal(d.sweep().overdue, 0u, "a minute after the first began");
  d.advance(2s);
  d.check.equal(d.sweep().overdue, 1u, "a minute after the second began");
  expect_timed_out(d, second);
  d.check.equal(d.renew(first.lease).outcome, RenewOutcome::lease_lost, "the first holder's renewal");
}

void a_lease_that_ends_first_frees_the_activity(Driver& d) {
  with_work(d, {.start_to_close = 1min, .heartbeat = 40s});
  (void)d.fetch_one_work();
  d.advance(d.lease);
  d.check.equal(d.sweep().overdue, 0u, "when the lease has ended");
  d.advance(1h);
  d.check.equal(d.sweep().overdue, 0u, "much later");
  d.check.equal(d.fetch_one_work().attempt, 2u, "the next attempt");
}

void heartbeat_fails_what_gives_no_sign_of_life(Driver& d) {
  const ActivityOptions limits{.heartbeat = 10s};
  with_work(d, limits);
  const LeasedActivity held = d.fetch_one_work();
  d.expect_due(d.sweep().next_due, d.now() + 10s);
  for (int i = 0; i < 5; ++i) {
    d.advance(9999ms);
    d.check.equal(d.sweep().overdue, 0u, "in time");
    d.check.equal(d.beat(held.lease).outcome, RenewOutcome::renewed, "a heartbeat");
  }
  d.advance(9s);
  d.renew(held.lease);
  d.expect_due(d.sweep().next_due, d.now() + 1s);
  d.advance(999ms);
  d.check.equal(d.sweep().overdue, 0u, "just before");
  d.advance(1ms);
  d.check.equal(d.sweep().overdue, 1u, "at the limit");
  expect_timed_out(d, held);
  expect_failure(d, TimeoutKind::heartbeat, 1, limits);
}

void heartbeats_count_from_the_start_of_each_attempt(Driver& d) {
  with_work(d, {.heartbeat = 10s});
  const LeasedActivity first = d.fetch_one_work();
  d.advance(9s);
  d.abandon(first);
  d.advance(1h);
  d.check.equal(d.sweep().overdue, 0u, "while nobody runs it");
  const LeasedActivity second = d.fetch_one_work();
  d.advance(9s);
  d.check.equal(d.sweep().overdue, 0u, "in time");
  d.advance(1s);
  d.check.equal(d.sweep().overdue, 1u, "at the limit");
  expect_timed_out(d, second);
}

void the_limit_that_passes_first_is_told(Driver& d) {
  const ActivityOptions limits{.start_to_close = 20s, .heartbeat = 10s};
  with_work(d, limits);
  (void)d.fetch_one_work();
  d.advance(25s);
  d.check.equal(d.sweep().overdue, 1u, "overdue");
  expect_failure(d, TimeoutKind::heartbeat, 1, limits);
}

void start_to_close_may_pass_before_the_heartbeat(Driver& d) {
  const ActivityOptions limits{.start_to_close = 10s, .heartbeat = 20s};
  with_work(d, limits);
  (void)d.fetch_one_work();
  d.advance(25s);
  d.check.equal(d.sweep().overdue, 1u, "overdue");
  expect_failure(d, TimeoutKind::start_to_close, 1, limits);
}

void an_activity_born_leased_has_begun(Driver& d) {
  d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2)};
  commit.new_activities = {Driver::activity(d.info("a").value(), 2)};
  commit.new_activities[0].request.options = {
      .schedule_to_start = 1s, .start_to_close = 20s, .heartbeat = 10s};
  commit.new_activities[0].born_leased = LeaseToken{4711};
  d.must_commit(commit);
  d.advance(9999ms);
  d.check.equal(d.sweep().overdue, 0u, "it does not wait for a start");
  d.advance(1ms);
  d.check.equal(d.sweep().overdue, 1u, "no sign of life since the commit");
  const ActivityLease born{commit.new_activities[0].request.key, LeaseToken{4711}};
  d.check.equal(d.renew(born).outcome, RenewOutcome::cancelled, "the holder's renewal");
}

void a_timeout_is_told_once(Driver& d) {
  with_work(d, {.start_to_close = 10s});
  (void)d.fetch_one_work();
  d.advance(10s);
  d.check.equal(d.sweep().overdue, 1u, "the first sweep");
  d.check.equal(d.sweep().overdue, 0u, "the second");
  d.advance(1h);
  d.check.equal(d.sweep().overdue, 0u, "a later one");
  d.check.equal(d.fetch_one().messages.size(), 1u, "failures");
}

void a_sweep_robs_whoever_holds_the_lease(Driver& d) {
  with_work(d, {.start_to_close = 10s});
  const auto held = d.fetch_work_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  d.advance(10s);
  d.sweep();
  const auto stolen = d.stolen_from(d.other);
  d.check.that(stolen.size() == 1 && stolen[0].lease == held[0].lease && stolen[0].owner == d.other &&
                   stolen[0].reason == CancelReason::timeout,
               "what its owner can read");
  d.check.that(d.stolen_from(d.node).empty(), "nobody else was robbed");
}

void a_result_in_time_beats_the_sweep(Driver& d) {
  with_work(d, {.start_to_close = 10s, .heartbeat = 10s});
  const LeasedActivity held = d.fetch_one_work();
  d.advance(10s);
  d.check.equal(d.ack(Driver::completion(held)).outcome, AckOutcome::done, "late, but nobody swept");
  d.check.equal(d.sweep().overdue, 0u, "overdue");
  d.check.that(std::holds_alternative<message::ActivityCompleted>(d.fetch_one().messages.at(0).body),
               "the result");
}

void a_turn_made_from_a_timed_out_result_is_not_stored(Driver& d) {
  with_work(d, {.start_to_close = 10s});
  const LeasedActivity held = d.fetch_one_work();
  d.advance(10s);
  d.sweep();
  const InstanceInfo info = d.info("a").value();
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.activity_acks = {Driver::completion(held)};
  const CommitResult result = d.commit(commit);
  d.check.equal(result.outcome, CommitOutcome::condition_failed, "outcome");
  d.check.that(result.acks.size() == 1 && result.acks[0].outcome == AckOutcome::cancelled &&
                   result.acks[0].reason == CancelReason::timeout,
               "why");
  d.check.equal(d.fetch_one().messages.size(), 1u, "messages: the failure alone");
}

void overdue_work_of_an_ended_instance_just_goes(Driver& d) {
  with_work(d, {.schedule_to_start = 10s});
  TurnCommit last = d.final_turn(d.woken("a"));
  last.cancel_rest.reset();
  d.must_commit(last);
  d.advance(10s);
  d.check.equal(d.sweep().overdue, 1u, "overdue");
  d.expect_nothing_to_do();
  d.expect_no_work();
}

void a_sweep_does_no_more_than_it_was_told(Driver& d) {
  d.running("a");
  d.schedule("a", std::vector<ActivityRequest>(5, limited({.schedule_to_start = 10s})));
  d.advance(10s);
  SweepResult result = d.sweep(2);
  d.check.that(result.overdue == 2 && result.more, "the first sweep");
  result = d.sweep(2);
  d.check.that(result.overdue == 2 && result.more, "the second");
  d.check.equal(d.sweep(2).overdue, 1u, "the third");
  d.check.that(!d.sweep(2).more, "nothing more");
  d.check.equal(d.fetch_one().messages.size(), 5u, "failures");
}

void what_becomes_overdue_is_due_to_workers(Driver& d) {
  with_work(d, {.start_to_close = 20s, .heartbeat = 10s});
  (void)d.fetch_one_work();
  d.expect_due(d.fetch_work_batch({}).next_due, d.now() + 10s);
  d.schedule("a", {limited({.schedule_to_start = 5s})});
  d.expect_due(d.fetch_work_batch({.names = std::vector<std::string>{"Other"}}).next_due, d.now() + 5s);
}

void the_time_an_attempt_takes_is_not_wall_time(Driver& d) {
  with_work(d, {.start_to_close = 20s, .heartbeat = 10s});
  (void)d.fetch_one_work();
  if (!d.jump_wall(24h)) return;
  d.check.equal(d.sweep().overdue, 0u, "after a jump forward");
  d.jump_wall(-48h);
  d.advance(10s);
  d.check.equal(d.sweep().overdue, 1u, "in its own time");
}

void a_sweep_touches_nobody_else(Driver& d) {
  d.running("a");
  d.schedule("a", {limited({.start_to_close = 10s}), plain(), limited({.start_to_close = 20s})});
  const auto held = d.fetch_work();
  if (held.size() != 3) d.stop("three activities");
  d.advance(15s);
  d.check.equal(d.sweep().overdue, 1u, "overdue");
  expect_timed_out(d, held[0]);
  for (const std::size_t i : {1u, 2u}) {
    d.check.equal(d.ack(Driver::completion(held[i])).outcome, AckOutcome::done, "a neighbour's ack");
  }
  d.check.equal(d.fetch_one().messages.size(), 3u, "messages");
}

void parked_messages_are_dropped_in_the_end(Driver& d) {
  d.send("ghost", raise("one"));
  d.send("ghost", message::QueueMessage{"q", Payload::text("two")});
  d.send("other", raise("three"));
  d.check.equal(d.sweep().parked_dropped, 0u, "at once");
  d.check.equal(d.depths().parked, 3u, "parked");
  d.advance(24h * 400);
  const SweepResult first = d.sweep(2);
  d.check.that(first.parked_dropped == 2 && first.more, "no more than it was told");
  d.check.equal(d.sweep().parked_dropped, 1u, "the rest");
  d.check.equal(d.depths().parked, 0u, "parked");
  d.start("ghost");
  d.check.equal(d.fetch_one().messages.size(), 1u, "messages: the start");
}

constexpr ConformanceCase cases[] = {
    {"a_sweep_of_nothing_does_nothing", "There is nothing to do, and nothing is due.",
     told<a_sweep_of_nothing_does_nothing>},
    {"schedule_to_start_fails_what_nobody_takes", "An activity that no worker takes in time has failed.",
     told<schedule_to_start_fails_what_nobody_takes>},
    {"schedule_to_start_ends_with_the_first_attempt", "What was taken once is no longer waited for.",
     told<schedule_to_start_ends_with_the_first_attempt>},
    {"schedule_to_start_counts_from_when_it_could_be_taken", "A delay is not time spent waiting.",
     told<schedule_to_start_counts_from_when_it_could_be_taken>},
    {"start_to_close_fails_what_runs_too_long", "Renewals do not prolong an attempt.",
     told<start_to_close_fails_what_runs_too_long>},
    {"start_to_close_counts_from_the_current_attempt", "Each attempt has its own time.",
     told<start_to_close_counts_from_the_current_attempt>},
    {"a_lease_that_ends_first_frees_the_activity", "Another attempt is better than a failure.",
     told<a_lease_that_ends_first_frees_the_activity>},
    {"heartbeat_fails_what_gives_no_sign_of_life", "A renewal alone is no sign of life, a heartbeat is.",
     told<heartbeat_fails_what_gives_no_sign_of_life>},
    {"heartbeats_count_from_the_start_of_each_attempt", "A new attempt begins with a sign of life.",
     told<heartbeats_count_from_the_start_of_each_attempt>},
    {"the_limit_that_passes_first_is_told", "Where several have passed, the first one counts.",
     told<the_limit_that_passes_first_is_told>},
    {"start_to_close_may_pass_before_the_heartbeat", "The same the other way round.",
     told<start_to_close_may_pass_before_the_heartbeat>},
    {"an_activity_born_leased_has_begun", "Its first attempt starts with the commit.",
     told<an_activity_born_leased_has_begun>},
    {"a_timeout_is_told_once", "However often one sweeps, an instance gets one failure.",
     told<a_timeout_is_told_once>},
    {"a_sweep_robs_whoever_holds_the_lease", "The tombstone is there to be read, for any owner.",
     told<a_sweep_robs_whoever_holds_the_lease>},
    {"a_result_in_time_beats_the_sweep", "What has ended cannot be overdue.",
     told<a_result_in_time_beats_the_sweep>},
    {"a_turn_made_from_a_timed_out_result_is_not_stored", "The failure was delivered first.",
     told<a_turn_made_from_a_timed_out_result_is_not_stored>},
    {"overdue_work_of_an_ended_instance_just_goes", "There is nobody to tell.",
     told<overdue_work_of_an_ended_instance_just_goes>},
    {"a_sweep_does_no_more_than_it_was_told", "What is left is left for the next one.",
     told<a_sweep_does_no_more_than_it_was_told>},
    {"what_becomes_overdue_is_due_to_workers", "A fetch says when a sweep will have something to do.",
     told<what_becomes_overdue_is_due_to_workers>},
    {"the_time_an_attempt_takes_is_not_wall_time", "A jump of the wall clock fails nothing.",
     told<the_time_an_attempt_takes_is_not_wall_time>},
    {"a_sweep_touches_nobody_else", "Limits of one activity are no limits of its neighbours.",
     told<a_sweep_touches_nobody_else>},
    {"parked_messages_are_dropped_in_the_end",
     "A message whose instance never comes is dropped by a sweep and counted.",
     told<parked_messages_are_dropped_in_the_end>},
};

}  // namespace

std::span<const ConformanceCase> overdue_cases() { return cases; }

}  // namespace duramen::inline v0::testing
