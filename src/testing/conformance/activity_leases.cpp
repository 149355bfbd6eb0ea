// Leases of activities, one promise per case.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void a_renewed_activity_stays_with_its_holder(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  d.advance(100ms);
  d.check.equal(d.renew(activity.lease).outcome, RenewOutcome::renewed, "renewal");
  d.expect_no_activities();
}

void an_acked_activity_cannot_be_renewed(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  d.ack(Driver::completion(activity));
  d.check.equal(d.renew(activity.lease).outcome, RenewOutcome::lease_lost, "renewal");
}

void an_activity_released_with_a_delay_is_fetched_after_it(Driver& d) {
  d.running("a", 1);
  d.release(d.fetch_one_activity(), 500ms);
  d.advance(499ms);
  d.expect_no_activities();
  d.advance(1ms);
  d.check.equal(d.fetch_one_activity().attempt, 2u, "attempt");
}

void an_ack_deletes_the_activity_and_enqueues_its_completion_together(Driver& d) {
  d.running("a", 1);
  d.ack(Driver::completion(d.fetch_one_activity(), "result"));
  d.check.equal(d.depths().worker_due + d.depths().worker_leased, 0u, "rows");
  const LeasedInstance item = d.fetch_one();
  d.check.that(item.messages.size() == 1 &&
                   item.messages[0].body == MessageBody{message::ActivityCompleted{ExecutionId{1}, EventId{2},
                                                                                   Payload::text("result")}},
               "the completion");
}

void an_activity_of_a_silent_holder_goes_to_another_worker(Driver& d) {
  d.running("a", 1);
  (void)d.fetch_one_activity();
  d.expect_no_activities();
  d.advance(d.lease);
  d.check.equal(d.fetch_activities_as(d.other).size(), 1u, "for another worker");
}

void an_activity_can_be_fetched_as_soon_as_it_is_scheduled(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  d.check.equal(d.ack(Driver::completion(activity)).outcome, AckOutcome::done, "ack");
}

void each_activity_counts_its_own_attempts(Driver& d) {
  d.running("a", 1);
  d.running("b", 1);
  const auto first = d.fetch_activities(1);
  d.check.that(first.size() == 1 && first[0].attempt == 1, "the first");
  d.release(first.at(0));
  const auto again = d.fetch_activities(1);
  d.check.that(again.size() == 1 && again[0].attempt == 2, "the first again");
  const auto second = d.fetch_activities(1);
  d.check.that(second.size() == 1 && second[0].attempt == 1, "the second");
}

void an_ack_without_a_completion_only_deletes(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  d.check.equal(d.ack({activity.lease, "a", std::nullopt}).outcome, AckOutcome::done, "ack");
  d.expect_no_activities();
  d.expect_nothing_to_do();
}

void a_deleted_activity_cannot_be_renewed(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  d.ack({activity.lease, "a", std::nullopt});
  d.check.equal(d.renew(activity.lease).outcome, RenewOutcome::lease_lost, "renewal");
}

void cancelled_activities_are_deleted_even_after_an_attempt(Driver& d) {
  d.running("a", 3);
  const auto first = d.fetch_activities(1);
  d.release(first.at(0));
  TurnCommit commit = d.turn(d.woken("a"));
  commit.cancelled_activities = {{EventId{2}, CancelReason::select_loser},
                                 {EventId{3}, CancelReason::select_loser}};
  d.must_commit(commit);
  d.check.equal(numbers_of(d.fetch_activities()), "4", "activities left");
  d.advance(d.lease);
  d.check.equal(numbers_of(d.fetch_activities()), "4", "activities left later");
}

void a_turn_may_cancel_all_its_activities(Driver& d) {
  d.running("a", 5);
  TurnCommit commit = d.turn(d.woken("a"));
  for (std::uint64_t id = 2; id <= 6; ++id) {
    commit.cancelled_activities.push_back({EventId{id}, CancelReason::dropped_future});
  }
  d.check.that(d.must_commit(commit).stolen.empty(), "no lease was stolen");
  d.expect_no_activities();
}

void next_due_includes_the_end_of_a_held_lease(Driver& d) {
  d.running("a", 1);
  d.send("a", raise("x"));
  (void)d.fetch_one();
  (void)d.fetch_one_activity();
  d.expect_due(d.fetch_batch({.node = d.other}).next_due, d.now() + d.lease);
  d.expect_due(d.fetch_activity_batch({.node = d.other}).next_due, d.now() + d.lease);
}

}  // namespace

std::span<const ConformanceCase> activity_lease_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_renewed_activity_stays_with_its_holder, .reference = "test_worker_lock_renewal_success"),
      DURAMEN_CASE(an_acked_activity_cannot_be_renewed, .reference = "test_worker_lock_renewal_after_ack",
                   .difference = "the answer is `lease_lost`"),
      DURAMEN_CASE(an_activity_released_with_a_delay_is_fetched_after_it,
                   .reference = "test_abandon_work_item_with_delay"),
      DURAMEN_CASE(an_ack_deletes_the_activity_and_enqueues_its_completion_together,
                   .reference = "test_worker_ack_atomicity",
                   .difference = "instances always exist before their activities"),
      DURAMEN_CASE(an_activity_of_a_silent_holder_goes_to_another_worker,
                   .reference = "test_lost_lock_token_handling"),
      DURAMEN_CASE(an_activity_can_be_fetched_as_soon_as_it_is_scheduled,
                   .reference = "test_worker_item_immediate_visibility"),
      DURAMEN_CASE(each_activity_counts_its_own_attempts, .reference = "attempt_count_is_per_message"),
      DURAMEN_CASE(an_ack_without_a_completion_only_deletes,
                   .reference = "test_ack_work_item_none_deletes_without_enqueue"),
      DURAMEN_CASE(a_deleted_activity_cannot_be_renewed, .reference = "test_renew_fails_when_entry_deleted",
                   .difference = "the answer is `lease_lost`"),
      DURAMEN_CASE(cancelled_activities_are_deleted_even_after_an_attempt,
                   .reference = "test_cancelled_activities_deleted_from_worker_queue"),
      DURAMEN_CASE(a_turn_may_cancel_all_its_activities,
                   .reference = "test_batch_cancellation_deletes_multiple_activities"),
      DURAMEN_CASE(next_due_includes_the_end_of_a_held_lease),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
