// Time limits of activities: the activities that a sweep fails, and the messages and stolen leases it leaves.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// Instance "a" with one activity, number 2, of these limits.
void with_limits(Driver& d, ActivityOptions limits) {
  d.running("a");
  d.schedule("a", {limited(limits)});
}

/// The instance received the failure, with the text that all stores use.
void expect_timeout_failure(Driver& d, TimeoutKind which, std::uint32_t attempt, ActivityOptions limits,
                            Check::Where where = Check::Where::current()) {
  const LeasedInstance item = d.fetch_one(where);
  d.check.equal(item.messages.size(), 1u, "messages", where);
  const auto* failed = std::get_if<message::ActivityFailed>(&item.messages.at(0).body);
  if (!failed) d.stop("the failure", where);
  d.check.that(failed->execution == ExecutionId{1} && failed->id == EventId{2} &&
                   failed->details == overdue_failure(limited(limits), which, attempt),
               "the failure", where);
  d.check.equal(failed->ran.attempt, attempt, "the attempt that failed", where);
  d.check.equal(failed->ran.node, attempt == 0 ? NodeId{} : d.node, "the node that ran it", where);
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

void a_sweep_without_overdue_activities_does_nothing(Driver& d) {
  const SweepResult empty = d.sweep();
  d.check.equal(empty.overdue + empty.parked_dropped + empty.sessions_removed, 0u, "things done");
  d.check.that(!empty.more && !empty.next_due, "nothing more");
  with_limits(d, {});
  d.check.equal(d.sweep().overdue, 0u, "an activity without limits");
  (void)d.begin_one_activity();
  d.advance(d.lease - 1ms);
  d.check.that(d.sweep().overdue == 0 && !d.sweep().next_due, "while it runs");
}

void schedule_to_start_fails_an_activity_that_no_worker_fetches(Driver& d) {
  const ActivityOptions limits{.schedule_to_start = 10s};
  with_limits(d, limits);
  d.expect_due(d.sweep().next_due, d.now() + 10s);
  d.advance(9999ms);
  d.check.equal(d.sweep().overdue, 0u, "just before");
  d.advance(1ms);
  d.check.equal(d.sweep().overdue, 1u, "at the limit");
  d.expect_no_activities();
  expect_timeout_failure(d, TimeoutKind::schedule_to_start, 0, limits);
}

void schedule_to_start_ends_with_the_first_attempt(Driver& d) {
  with_limits(d, {.schedule_to_start = 10s});
  const LeasedActivity held = d.begin_one_activity();
  d.advance(20s);
  d.check.equal(d.sweep().overdue, 0u, "while it runs");
  d.release(held);
  d.advance(20s);
  d.check.equal(d.sweep().overdue, 0u, "after a release");
  d.check.equal(d.begin_one_activity().attempt, 2u, "the next attempt");
}

void schedule_to_start_counts_from_the_end_of_a_delay(Driver& d) {
  with_limits(d, {.schedule_to_start = 10s});
  d.advance(5s);
  d.release(d.begin_one_activity(), 20s, false);
  d.advance(29s);
  d.check.equal(d.sweep().overdue, 0u, "before");
  d.advance(1s);
  d.check.equal(d.sweep().overdue, 1u, "ten seconds after the delay");
}

void start_to_close_fails_a_renewed_attempt_that_runs_too_long(Driver& d) {
  const ActivityOptions limits{.start_to_close = 1min};
  with_limits(d, limits);
  d.advance(10min);  // waiting does not count
  const LeasedActivity held = d.begin_one_activity();
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
  d.expect_no_activities();
  expect_timeout_failure(d, TimeoutKind::start_to_close, 1, limits);
}

void start_to_close_counts_from_the_current_attempt(Driver& d) {
  with_limits(d, {.start_to_close = 1min});
  const LeasedActivity first = d.begin_one_activity();
  d.advance(29s);
  d.release(first);
  const LeasedActivity second = d.begin_one_activity();
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

void an_activity_whose_lease_ends_first_gets_another_attempt(Driver& d) {
  with_limits(d, {.start_to_close = 1min, .heartbeat = 40s});
  (void)d.begin_one_activity();
  d.advance(d.lease);
  d.check.equal(d.sweep().overdue, 0u, "when the lease has ended");
  d.advance(1h);
  d.check.equal(d.sweep().overdue, 0u, "much later");
  d.check.equal(d.begin_one_activity().attempt, 2u, "the next attempt");
}

void the_heartbeat_limit_fails_an_attempt_that_is_only_renewed(Driver& d) {
  const ActivityOptions limits{.heartbeat = 10s};
  with_limits(d, limits);
  const LeasedActivity held = d.begin_one_activity();
  d.expect_due(d.sweep().next_due, d.now() + 10s);
  for (int i = 0; i < 5; ++i) {
    d.advance(9999ms);
    d.check.equal(d.sweep().overdue, 0u, "in time");
    d.check.equal(d.beat(held.lease).outcome, RenewOutcome::renewed, "a heartbeat");
  }
  d.advance(9s);
  d.renew(held.lease);
  d.expect_due(d.sweep().next_due, d.now() + 1s);
  d.advance(1s);
  d.check.equal(d.sweep().overdue, 0u, "not renewed since the limit");
  d.renew(held.lease);
  d.check.equal(d.sweep().overdue, 1u, "renewed after the limit");
  expect_timed_out(d, held);
  expect_timeout_failure(d, TimeoutKind::heartbeat, 1, limits);
}

void the_heartbeat_limit_counts_from_the_start_of_each_attempt(Driver& d) {
  with_limits(d, {.heartbeat = 10s});
  const LeasedActivity first = d.begin_one_activity();
  d.advance(9s);
  d.release(first);
  d.advance(1h);
  d.check.equal(d.sweep().overdue, 0u, "while no attempt runs");
  const LeasedActivity second = d.begin_one_activity();
  d.advance(9s);
  d.renew(second.lease);
  d.check.equal(d.sweep().overdue, 0u, "in time");
  d.advance(1s);
  d.renew(second.lease);
  d.check.equal(d.sweep().overdue, 1u, "at the limit");
  expect_timed_out(d, second);
}

void a_silent_attempt_that_is_not_renewed_is_handed_out_again(Driver& d) {
  with_limits(d, {.heartbeat = 10s});
  const LeasedActivity held = d.begin_one_activity();
  d.beat(held.lease, "halfway");
  d.advance(d.lease - 1ms);
  d.check.equal(d.sweep().overdue, 0u, "past the limit, but its holder may be gone");
  d.expect_no_activities();
  d.advance(1ms);
  d.check.equal(d.sweep().overdue, 0u, "at the end of the lease");
  const LeasedActivity next = d.begin_one_activity();
  d.check.equal(next.attempt, 2u, "the next attempt");
  d.check.that(next.heartbeat == Payload::text("halfway"), "with the details");
  d.expect_nothing_to_do();
}

void a_sweep_returns_the_last_details_and_the_attempt(Driver& d) {
  d.running("a");
  ActivityRequest activity = limited({.start_to_close = 20s});
  activity.attempts_before = 3;
  d.schedule("a", {activity});
  d.release(d.begin_one_activity());
  const auto held = d.fetch_activities_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  d.report(held[0].lease, ActivityProgress::begins);
  d.beat(held[0].lease, "halfway");
  d.advance(20s);
  d.check.equal(d.sweep().overdue, 1u, "overdue");
  const LeasedInstance item = d.fetch_one();
  const auto* failed = std::get_if<message::ActivityFailed>(&item.messages.at(0).body);
  if (!failed) d.stop("a failure");
  d.check.that(failed->heartbeat == Payload::text("halfway"), "details");
  d.check.equal(failed->ran.attempt, 5u, "attempt, counted over the retries");
  d.check.equal(failed->ran.node, d.other, "node");
}

void the_limit_that_passed_first_is_reported(Driver& d) {
  const ActivityOptions limits{.start_to_close = 20s, .heartbeat = 10s};
  with_limits(d, limits);
  const LeasedActivity held = d.begin_one_activity();
  d.advance(25s);
  d.renew(held.lease);
  d.check.equal(d.sweep().overdue, 1u, "overdue");
  expect_timeout_failure(d, TimeoutKind::heartbeat, 1, limits);
}

void start_to_close_is_reported_if_it_passed_before_the_heartbeat(Driver& d) {
  const ActivityOptions limits{.start_to_close = 10s, .heartbeat = 20s};
  with_limits(d, limits);
  (void)d.begin_one_activity();
  d.advance(25s);
  d.check.equal(d.sweep().overdue, 1u, "overdue");
  expect_timeout_failure(d, TimeoutKind::start_to_close, 1, limits);
}

void the_limits_of_an_activity_born_leased_count_from_its_begin(Driver& d) {
  d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2)};
  commit.new_activities = {Driver::activity(d.info("a").value(), 2)};
  commit.new_activities[0].request.options = {
      .schedule_to_start = 1s, .start_to_close = 20s, .heartbeat = 10s};
  commit.new_activities[0].born_leased = LeaseToken{4711};
  d.must_commit(commit);
  d.advance(29s);
  d.check.equal(d.sweep().overdue, 0u, "no limit applies before it begins");
  const ActivityLease born{commit.new_activities[0].request.key, LeaseToken{4711}};
  d.report(born, ActivityProgress::begins);
  d.advance(9999ms);
  d.check.equal(d.sweep().overdue, 0u, "just before");
  d.advance(1ms);
  d.renew(born);
  d.check.equal(d.sweep().overdue, 1u, "no heartbeat since it began");
  d.check.equal(d.renew(born).outcome, RenewOutcome::cancelled, "the holder's renewal");
}

void the_limits_of_an_activity_that_waits_do_not_pass(Driver& d) {
  with_limits(d, {.start_to_close = 10s, .heartbeat = 5s});
  const LeasedActivity held = d.fetch_one_activity();
  for (int i = 0; i < 5; ++i) {
    d.advance(20s);
    d.report(held.lease, ActivityProgress::waits);
    d.check.equal(d.sweep().overdue, 0u, "while it waits");
  }
  d.report(held.lease, ActivityProgress::begins);
  d.advance(4s);
  d.beat(held.lease);
  d.advance(4s);
  d.beat(held.lease);
  d.advance(1999ms);
  d.check.equal(d.sweep().overdue, 0u, "just before");
  d.advance(1ms);
  d.check.equal(d.sweep().overdue, 1u, "ten seconds after it began");
}

void the_limits_of_an_activity_that_reports_nothing_count_from_the_end_of_its_lease(Driver& d) {
  with_limits(d, {.start_to_close = 10s});
  const LeasedActivity held = d.fetch_one_activity();
  d.advance(20s);
  d.renew(held.lease);
  d.advance(d.lease - 10s - 1ms);
  d.check.equal(d.sweep().overdue, 0u, "just before");
  d.advance(1ms);
  d.check.equal(d.sweep().overdue, 1u, "ten seconds after the end of the first lease");
}

void an_instance_receives_one_failure_per_timeout(Driver& d) {
  with_limits(d, {.start_to_close = 10s});
  (void)d.begin_one_activity();
  d.advance(10s);
  d.check.equal(d.sweep().overdue, 1u, "the first sweep");
  d.check.equal(d.sweep().overdue, 0u, "the second");
  d.advance(1h);
  d.check.equal(d.sweep().overdue, 0u, "a later one");
  d.check.equal(d.fetch_one().messages.size(), 1u, "failures");
}

void a_sweep_records_the_stolen_lease_for_its_owner(Driver& d) {
  with_limits(d, {.start_to_close = 10s});
  const auto held = d.fetch_activities_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  d.report(held[0].lease, ActivityProgress::begins);
  d.advance(10s);
  d.sweep();
  const auto stolen = d.stolen_from(d.other);
  d.check.that(stolen.size() == 1 && stolen[0].lease == held[0].lease && stolen[0].owner == d.other &&
                   stolen[0].reason == CancelReason::timeout,
               "the stolen lease that its owner can read");
  d.check.that(d.stolen_from(d.node).empty(), "no other lease was stolen");
}

void a_result_before_the_sweep_is_delivered(Driver& d) {
  with_limits(d, {.start_to_close = 10s, .heartbeat = 10s});
  const LeasedActivity held = d.begin_one_activity();
  d.advance(10s);
  d.check.equal(d.ack(Driver::completion(held)).outcome, AckOutcome::done, "late, but before a sweep");
  d.check.equal(d.sweep().overdue, 0u, "overdue");
  d.check.that(std::holds_alternative<message::ActivityCompleted>(d.fetch_one().messages.at(0).body),
               "the result");
}

void a_conditional_turn_with_a_timed_out_result_is_refused(Driver& d) {
  with_limits(d, {.start_to_close = 10s});
  const LeasedActivity held = d.begin_one_activity();
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

void overdue_activities_of_an_ended_instance_send_no_message(Driver& d) {
  with_limits(d, {.schedule_to_start = 10s});
  TurnCommit last = d.final_turn(d.woken("a"));
  last.cancel_rest.reset();
  d.must_commit(last);
  d.advance(10s);
  d.check.equal(d.sweep().overdue, 1u, "overdue");
  d.expect_nothing_to_do();
  d.expect_no_activities();
}

void a_sweep_processes_at_most_its_limit(Driver& d) {
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

void next_due_includes_time_limits(Driver& d) {
  with_limits(d, {.start_to_close = 20s, .heartbeat = 10s});
  (void)d.begin_one_activity();
  d.expect_due(d.fetch_activity_batch({}).next_due, d.now() + 10s);
  d.schedule("a", {limited({.schedule_to_start = 5s})});
  d.expect_due(d.fetch_activity_batch({.names = std::vector<std::string>{"Other"}}).next_due, d.now() + 5s);
}

void a_wall_clock_jump_passes_no_time_limit(Driver& d) {
  d.running("a");
  d.schedule("a", {limited({.start_to_close = 20s, .heartbeat = 10s}), limited({.schedule_to_start = 10s})});
  const auto held = d.fetch_activities(1);
  if (held.size() != 1) d.stop("an activity to hold");
  d.report(held[0].lease, ActivityProgress::begins);
  if (!d.jump_wall(24h)) return;
  d.renew(held[0].lease);
  d.check.equal(d.sweep().overdue, 0u, "after a jump forward");
  d.jump_wall(-48h);
  d.advance(10s);
  d.renew(held[0].lease);
  d.check.equal(d.sweep().overdue, 2u, "in lease time");
}

void a_sweep_fails_only_overdue_activities(Driver& d) {
  d.running("a");
  d.schedule("a", {limited({.start_to_close = 10s}), plain(), limited({.start_to_close = 20s})});
  const auto held = d.fetch_activities();
  if (held.size() != 3) d.stop("three activities");
  for (const LeasedActivity& item : held) d.report(item.lease, ActivityProgress::begins);
  d.advance(15s);
  d.check.equal(d.sweep().overdue, 1u, "overdue");
  expect_timed_out(d, held[0]);
  for (const std::size_t i : {1u, 2u}) {
    d.check.equal(d.ack(Driver::completion(held[i])).outcome, AckOutcome::done, "another activity's ack");
  }
  d.check.equal(d.fetch_one().messages.size(), 3u, "messages");
}

void a_sweep_drops_and_counts_expired_parked_messages(Driver& d) {
  d.send("ghost", raise("one"));
  d.send("ghost", message::QueueMessage{"q", Payload::text("two")});
  d.send("other", raise("three"));
  d.check.equal(d.sweep().parked_dropped, 0u, "at once");
  d.check.equal(d.depths().parked, 3u, "parked");
  d.advance(24h * 400);
  const SweepResult first = d.sweep(2);
  d.check.that(first.parked_dropped == 2 && first.more, "no more than its limit");
  d.check.equal(d.sweep().parked_dropped, 1u, "the rest");
  d.check.equal(d.depths().parked, 0u, "parked");
  d.start("ghost");
  d.check.equal(d.fetch_one().messages.size(), 1u, "messages: the start");
}

}  // namespace

std::span<const ConformanceCase> overdue_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_sweep_without_overdue_activities_does_nothing),
      DURAMEN_CASE(schedule_to_start_fails_an_activity_that_no_worker_fetches),
      DURAMEN_CASE(schedule_to_start_ends_with_the_first_attempt),
      DURAMEN_CASE(schedule_to_start_counts_from_the_end_of_a_delay),
      DURAMEN_CASE(start_to_close_fails_a_renewed_attempt_that_runs_too_long),
      DURAMEN_CASE(start_to_close_counts_from_the_current_attempt),
      DURAMEN_CASE(an_activity_whose_lease_ends_first_gets_another_attempt),
      DURAMEN_CASE(the_heartbeat_limit_fails_an_attempt_that_is_only_renewed),
      DURAMEN_CASE(the_heartbeat_limit_counts_from_the_start_of_each_attempt),
      DURAMEN_CASE(a_silent_attempt_that_is_not_renewed_is_handed_out_again),
      DURAMEN_CASE(a_sweep_returns_the_last_details_and_the_attempt),
      DURAMEN_CASE(the_limit_that_passed_first_is_reported),
      DURAMEN_CASE(start_to_close_is_reported_if_it_passed_before_the_heartbeat),
      DURAMEN_CASE(the_limits_of_an_activity_born_leased_count_from_its_begin),
      DURAMEN_CASE(the_limits_of_an_activity_that_waits_do_not_pass),
      DURAMEN_CASE(the_limits_of_an_activity_that_reports_nothing_count_from_the_end_of_its_lease),
      DURAMEN_CASE(an_instance_receives_one_failure_per_timeout),
      DURAMEN_CASE(a_sweep_records_the_stolen_lease_for_its_owner),
      DURAMEN_CASE(a_result_before_the_sweep_is_delivered),
      DURAMEN_CASE(a_conditional_turn_with_a_timed_out_result_is_refused),
      DURAMEN_CASE(overdue_activities_of_an_ended_instance_send_no_message),
      DURAMEN_CASE(a_sweep_processes_at_most_its_limit),
      DURAMEN_CASE(next_due_includes_time_limits),
      DURAMEN_CASE(a_wall_clock_jump_passes_no_time_limit),
      DURAMEN_CASE(a_sweep_fails_only_overdue_activities),
      DURAMEN_CASE(a_sweep_drops_and_counts_expired_parked_messages),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
