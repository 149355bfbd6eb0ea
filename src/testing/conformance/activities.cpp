// Activities: fetched, renewed, acknowledged.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void activities_are_fetched_in_the_order_they_were_scheduled(Driver& d) {
  d.running("a", 5);
  std::string order;
  for (int i = 0; i < 5; ++i) {
    for (const auto& item : d.fetch_activities(1)) order += std::to_string(item.lease.key.activity.value);
  }
  d.check.equal(order, "23456", "order");
  d.expect_no_activities();
}

void an_activity_keeps_everything_it_was_scheduled_with(Driver& d) {
  const InstanceInfo info = d.running("a");
  NewActivity item = Driver::activity(info, 2);
  item.request.name = "Charge";
  item.request.input = Payload::json(R"({"cents":4200})");
  item.request.session_id = "session 1";
  item.request.tag = "gpu";
  item.request.options = {1s, 2s, 3s};
  item.request.orchestration_name = "checkout";
  item.request.orchestration_version = "1.2.3";
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2), scheduled(3)};
  commit.new_activities = {item, Driver::activity(info, 3)};
  d.must_commit(commit);
  const auto activities =
      d.fetch_activity_batch({.tags = TagFilter::any(), .sessions = SessionClaim{"worker", 30s, {}, 1}})
          .items;
  if (activities.size() != 2) d.stop("two activities to run");
  d.check.that(activities[0].request == item.request, "everything that was given");
  d.check.that(activities[1].request == commit.new_activities[1].request, "everything that was left out");
  d.check.that(activities[0].lease.key == item.request.key, "the lease names the row");
  d.check.that(activities[0].lease_until == d.store.clock().lease_now() + d.lease,
               "lease_until is now plus the lease");
}

void an_activity_is_held_while_it_runs_and_gone_after_its_ack(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  d.expect_no_activities();
  d.check.equal(d.ack(Driver::completion(activity)).outcome, AckOutcome::done, "ack");
  d.expect_no_activities();
  d.advance(d.lease);
  d.expect_no_activities();
}

void ack_work_item_some_deletes_and_enqueues(Driver& d) {
  d.running("a", 2);
  const auto activities = d.fetch_activities();
  if (activities.size() != 2) d.stop("two activities to run");
  d.check.equal(d.ack(Driver::completion(activities[0], "result")).outcome, AckOutcome::done, "a result");
  const Failure failure{
      .kind = FailureKind::application, .type = "Declined", .message = "no", .retryable = true};
  d.check.equal(d.ack({activities[1].lease, "a", failure}).outcome, AckOutcome::done, "a failure");
  d.expect_no_activities();
  const LeasedInstance item = d.fetch_one();
  d.check.equal(item.messages.size(), 2u, "messages");
  d.check.that(item.messages.at(0).body == MessageBody{message::ActivityCompleted{ExecutionId{1}, EventId{2},
                                                                                  Payload::text("result")}},
               "the result");
  d.check.that(
      item.messages.at(1).body == MessageBody{message::ActivityFailed{ExecutionId{1}, EventId{3}, failure}},
      "the failure");
}

void ack_work_item_none_deletes_without_enqueue(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  d.check.equal(d.ack({activity.lease, "a", std::nullopt}).outcome, AckOutcome::done, "ack");
  d.expect_no_activities();
  d.expect_nothing_to_do();
  d.advance(d.lease);
  d.expect_no_activities();
}

void test_ack_work_item_succeeds_if_row_exists(Driver& d) {
  d.running("a", 2);
  const auto activities = d.fetch_activities();
  if (activities.size() != 2) d.stop("two activities to run");
  TurnCommit cancel = d.turn(d.woken("a"));
  cancel.cancelled_activities = {{EventId{3}, CancelReason::dropped_future}};
  d.must_commit(cancel);
  d.check.equal(d.ack(Driver::completion(activities[0])).outcome, AckOutcome::done,
                "the one that was not cancelled");
  d.check.equal(d.fetch_one().messages.size(), 1u, "its completion");
}

void a_second_ack_fails_and_enqueues_nothing(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  d.ack(Driver::completion(activity));
  d.check.equal(d.ack(Driver::completion(activity)).outcome, AckOutcome::lease_lost, "the second ack");
  d.check.equal(d.renew(activity.lease).outcome, RenewOutcome::lease_lost, "a renewal after the ack");
  d.check.equal(d.fetch_one().messages.size(), 1u, "completions");
}

void acks_in_one_batch_are_independent(Driver& d) {
  d.running("a", 3);
  auto activities = d.fetch_activities();
  if (activities.size() != 3) d.stop("three activities to run");
  activities[1].lease.token = LeaseToken{activities[1].lease.token.value ^ 1};
  const std::vector<ActivityAck> acks{Driver::completion(activities[0]), Driver::completion(activities[1]),
                                      Driver::completion(activities[2]), Driver::completion(activities[0])};
  const auto results = d.get(d.store.ack_activities(acks));
  if (results.size() != 4) d.stop("one answer per ack");
  d.check.equal(results[0].outcome, AckOutcome::done, "a good one");
  d.check.equal(results[1].outcome, AckOutcome::lease_lost, "one under another token");
  d.check.equal(results[2].outcome, AckOutcome::done, "a good one after it");
  d.check.equal(results[3].outcome, AckOutcome::lease_lost, "a repeated one");
  d.check.equal(d.fetch_one().messages.size(), 2u, "completions");
}

void a_late_ack_does_not_affect_the_new_holder(Driver& d) {
  d.running("a", 1);
  const LeasedActivity old = d.fetch_one_activity();
  d.advance(d.lease);
  const auto taken = d.fetch_activities_as(d.other);
  if (taken.size() != 1) d.stop("the row is free again");
  const std::vector<ActivityAck> acks{Driver::completion(old, "late"),
                                      Driver::completion(taken[0], "in time"),
                                      Driver::completion(old, "later")};
  const auto results = d.get(d.store.ack_activities(acks));
  if (results.size() != 3) d.stop("one answer per ack");
  d.check.equal(results[0].outcome, AckOutcome::lease_lost, "the old holder's");
  d.check.equal(results[1].outcome, AckOutcome::done, "the new holder's, after it");
  d.check.equal(results[2].outcome, AckOutcome::lease_lost, "the old holder's once more");
  d.expect_no_activities();
  const LeasedInstance item = d.fetch_one();
  if (item.messages.size() != 1) d.stop("one completion");
  d.check.that(item.messages[0].body == MessageBody{message::ActivityCompleted{ExecutionId{1}, EventId{2},
                                                                               Payload::text("in time")}},
               "the completion is the new holder's");
}

void an_ack_under_an_expired_lease_fails(Driver& d) {
  d.running("a", 1);
  const LeasedActivity old = d.fetch_one_activity();
  d.advance(d.lease);
  d.check.equal(d.ack(Driver::completion(old)).outcome, AckOutcome::lease_lost, "late, without a takeover");
  d.expect_nothing_to_do();
  const auto taken = d.fetch_activities_as(d.other);
  if (taken.size() != 1) d.stop("the row is still there");
  d.check.equal(d.ack(Driver::completion(old)).outcome, AckOutcome::lease_lost, "after a takeover");
  d.check.equal(d.renew(old.lease).outcome, RenewOutcome::lease_lost, "the old holder's renewal");
  d.release(old);
  d.expect_no_activities();
  d.check.equal(d.ack(Driver::completion(taken[0])).outcome, AckOutcome::done, "the new holder's ack");
}

void an_activity_lease_lasts_as_long_as_it_is_renewed(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  for (int i = 0; i < 3; ++i) {
    d.advance(d.lease - 1ms);
    d.check.equal(d.renew(activity.lease, d.lease).outcome, RenewOutcome::renewed, "in time");
  }
  d.expect_no_activities();
  d.check.equal(d.ack(Driver::completion(activity)).outcome, AckOutcome::done, "ack");
}

void a_renewal_never_revives_an_activity_lease(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  d.advance(d.lease);
  d.check.equal(d.renew(activity.lease).outcome, RenewOutcome::lease_lost, "a renewal does not revive");
  d.check.equal(d.fetch_one_activity().attempt, 2u, "free again");
}

void each_activity_renewal_of_a_batch_has_its_own_answer(Driver& d) {
  d.running("a", 2);
  const auto activities = d.fetch_activities();
  if (activities.size() != 2) d.stop("two activities to run");
  const ActivityLease unknown{{Incarnation{987654}, ExecutionId{1}, EventId{2}}, LeaseToken{5}};
  const std::vector<ActivityRenewal> leases{
      {unknown}, {activities[0].lease}, {{activities[1].lease.key, activities[0].lease.token}}};
  const auto answers = d.get(d.store.renew_activities(leases, d.lease));
  if (answers.size() != 3) d.stop("one answer per lease");
  d.check.equal(answers[0].outcome, RenewOutcome::lease_lost, "an unknown row");
  d.check.equal(answers[1].outcome, RenewOutcome::renewed, "a good one");
  d.check.equal(answers[2].outcome, RenewOutcome::lease_lost, "another row's token");
}

void a_released_activity_is_free_at_once(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  d.release(activity);
  const LeasedActivity again = d.fetch_one_activity();
  d.check.that(again.lease.token != activity.lease.token, "a new token");
  d.check.equal(d.ack(Driver::completion(activity)).outcome, AckOutcome::lease_lost, "the old token");
}

void a_delayed_activity_does_not_block_the_others(Driver& d) {
  d.running("a", 2);
  const auto first = d.fetch_activities(1);
  if (first.size() != 1) d.stop("an activity to run");
  d.release(first[0], 10s);
  d.check.equal(d.fetch_one_activity().lease.key.activity, EventId{3}, "the other one comes first");
  const ActivityBatch batch = d.fetch_activity_batch({});
  d.check.equal(batch.items.size(), 0u, "activities during the delay");
  d.expect_due(batch.next_due, d.now() + 10s);
  d.advance(10s);
  d.check.equal(d.fetch_one_activity().lease.key.activity, EventId{2}, "then the delayed one");
}

void an_activity_born_leased_belongs_to_the_committing_node(Driver& d) {
  const InstanceInfo info = d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2), scheduled(3)};
  commit.new_activities = {Driver::activity(info, 2), Driver::activity(info, 3)};
  commit.new_activities[0].born_leased = LeaseToken{0xfedc'ba98'7654'3210};
  commit.activity_lease = 20s;
  d.must_commit(commit);
  d.check.equal(d.fetch_one_activity().lease.key.activity, EventId{3}, "only the other activity is fetched");
  const ActivityLease born{commit.new_activities[0].request.key, LeaseToken{0xfedc'ba98'7654'3210}};
  d.advance(19s);
  d.check.equal(d.renew(born, 20s).outcome, RenewOutcome::renewed, "it can be renewed");
  d.advance(19s);
  d.check.equal(d.ack({born, "a", Payload::text("x")}).outcome, AckOutcome::done, "and ended");
  d.check.equal(d.fetch_one().messages.size(), 1u, "completions");
}

void a_completion_for_an_ended_instance_is_dropped(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  TurnCommit last = d.final_turn(d.woken("a"));
  last.cancel_rest.reset();
  d.must_commit(last);
  d.check.equal(d.ack(Driver::completion(activity)).outcome, AckOutcome::done, "its row was there");
  d.expect_nothing_to_do();
}

}  // namespace

std::span<const ConformanceCase> activity_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(activities_are_fetched_in_the_order_they_were_scheduled,
                   .reference = "test_worker_queue_fifo_ordering"),
      DURAMEN_CASE(an_activity_keeps_everything_it_was_scheduled_with),
      DURAMEN_CASE(an_activity_is_held_while_it_runs_and_gone_after_its_ack,
                   .reference = "test_worker_peek_lock_semantics"),
      DURAMEN_CASE(ack_work_item_some_deletes_and_enqueues),
      DURAMEN_CASE(ack_work_item_none_deletes_without_enqueue),
      DURAMEN_CASE(test_ack_work_item_succeeds_if_row_exists),
      DURAMEN_CASE(a_second_ack_fails_and_enqueues_nothing,
                   .reference = "test_ack_work_item_fails_when_entry_deleted",
                   .difference = "the answer is always `lease_lost`"),
      DURAMEN_CASE(acks_in_one_batch_are_independent),
      DURAMEN_CASE(a_late_ack_does_not_affect_the_new_holder),
      DURAMEN_CASE(an_ack_under_an_expired_lease_fails,
                   .reference = "test_worker_ack_fails_after_lock_expiry",
                   .difference = "the answer is `lease_lost`, with and without a takeover"),
      DURAMEN_CASE(an_activity_lease_lasts_as_long_as_it_is_renewed,
                   .reference = "test_worker_lock_renewal_extends_timeout"),
      DURAMEN_CASE(a_renewal_never_revives_an_activity_lease,
                   .reference = "test_worker_lock_renewal_after_expiration",
                   .difference = "the answer is `lease_lost`"),
      DURAMEN_CASE(each_activity_renewal_of_a_batch_has_its_own_answer,
                   .reference = "test_worker_lock_renewal_invalid_token",
                   .difference = "the answer is `lease_lost`, for that entry alone"),
      DURAMEN_CASE(a_released_activity_is_free_at_once, .reference = "test_abandon_work_item_releases_lock"),
      DURAMEN_CASE(a_delayed_activity_does_not_block_the_others,
                   .reference = "test_worker_delayed_visibility_skips_future_items"),
      DURAMEN_CASE(an_activity_born_leased_belongs_to_the_committing_node),
      DURAMEN_CASE(a_completion_for_an_ended_instance_is_dropped),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
