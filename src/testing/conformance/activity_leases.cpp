// Leases of activities, one promise at a time.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void test_worker_lock_renewal_success(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  d.advance(100ms);
  d.check.equal(d.renew(work.lease).outcome, RenewOutcome::renewed, "renewal");
  d.expect_no_work();
}

void test_worker_lock_renewal_after_ack(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  d.ack(Driver::completion(work));
  d.check.equal(d.renew(work.lease).outcome, RenewOutcome::lease_lost, "renewal");
}

void test_abandon_work_item_with_delay(Driver& d) {
  d.running("a", 1);
  d.abandon(d.fetch_one_work(), 500ms);
  d.advance(499ms);
  d.expect_no_work();
  d.advance(1ms);
  d.check.equal(d.fetch_one_work().attempt, 2u, "attempt");
}

void test_worker_ack_atomicity(Driver& d) {
  d.running("a", 1);
  d.ack(Driver::completion(d.fetch_one_work(), "result"));
  d.check.equal(d.depths().worker_due + d.depths().worker_leased, 0u, "rows");
  const LeasedInstance item = d.fetch_one();
  d.check.that(item.messages.size() == 1 &&
                   item.messages[0].body == MessageBody{message::ActivityCompleted{ExecutionId{1}, EventId{2},
                                                                                   Payload::text("result")}},
               "the completion");
}

void test_lost_lock_token_handling(Driver& d) {
  d.running("a", 1);
  (void)d.fetch_one_work();
  d.expect_no_work();
  d.advance(d.lease);
  d.check.equal(d.fetch_work_as(d.other).size(), 1u, "for another worker");
}

void test_worker_item_immediate_visibility(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  d.check.equal(d.ack(Driver::completion(work)).outcome, AckOutcome::done, "ack");
}

void attempt_count_is_per_message(Driver& d) {
  d.running("a", 1);
  d.running("b", 1);
  const auto first = d.fetch_work(1);
  d.check.that(first.size() == 1 && first[0].attempt == 1, "the first");
  d.abandon(first.at(0));
  const auto again = d.fetch_work(1);
  d.check.that(again.size() == 1 && again[0].attempt == 2, "the first again");
  const auto second = d.fetch_work(1);
  d.check.that(second.size() == 1 && second[0].attempt == 1, "the second");
}

void test_ack_work_item_none_deletes_without_enqueue(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  d.check.equal(d.ack({work.lease, "a", std::nullopt}).outcome, AckOutcome::done, "ack");
  d.expect_no_work();
  d.expect_nothing_to_do();
}

void test_renew_fails_when_entry_deleted(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  d.ack({work.lease, "a", std::nullopt});
  d.check.equal(d.renew(work.lease).outcome, RenewOutcome::lease_lost, "renewal");
}

void test_cancelled_activities_deleted_from_worker_queue(Driver& d) {
  d.running("a", 3);
  const auto first = d.fetch_work(1);
  d.abandon(first.at(0));
  TurnCommit commit = d.turn(d.woken("a"));
  commit.cancelled_activities = {{EventId{2}, CancelReason::select_loser},
                                 {EventId{3}, CancelReason::select_loser}};
  d.must_commit(commit);
  d.check.equal(numbers_of(d.fetch_work()), "4", "what is left");
  d.advance(d.lease);
  d.check.equal(numbers_of(d.fetch_work()), "4", "what is left later");
}

void test_batch_cancellation_deletes_multiple_activities(Driver& d) {
  d.running("a", 5);
  TurnCommit commit = d.turn(d.woken("a"));
  for (std::uint64_t id = 2; id <= 6; ++id) {
    commit.cancelled_activities.push_back({EventId{id}, CancelReason::dropped_future});
  }
  d.check.that(d.must_commit(commit).stolen.empty(), "nobody was robbed");
  d.expect_no_work();
}

void the_end_of_a_held_lease_is_due(Driver& d) {
  d.running("a", 1);
  d.send("a", raise("x"));
  (void)d.fetch_one();
  (void)d.fetch_one_work();
  d.expect_due(d.fetch_batch({.node = d.other}).next_due, d.now() + d.lease);
  d.expect_due(d.fetch_work_batch({.node = d.other}).next_due, d.now() + d.lease);
}

constexpr ConformanceCase cases[] = {
    {"test_worker_lock_renewal_success", "A renewed activity stays with its holder.",
     told<test_worker_lock_renewal_success>},
    {"test_worker_lock_renewal_after_ack", "What has ended cannot be renewed.",
     told<test_worker_lock_renewal_after_ack>},
    {"test_abandon_work_item_with_delay", "What is given back with a delay comes again after it.",
     told<test_abandon_work_item_with_delay>},
    {"test_worker_ack_atomicity", "The row goes and the completion comes, together.",
     told<test_worker_ack_atomicity>},
    {"test_lost_lock_token_handling", "A holder that is never heard of again loses its activity.",
     told<test_lost_lock_token_handling>},
    {"test_worker_item_immediate_visibility", "An activity can be taken as soon as it is scheduled.",
     told<test_worker_item_immediate_visibility>},
    {"attempt_count_is_per_message", "Attempts of one activity are not those of another.",
     told<attempt_count_is_per_message>},
    {"test_ack_work_item_none_deletes_without_enqueue", "An end without a completion only deletes.",
     told<test_ack_work_item_none_deletes_without_enqueue>},
    {"test_renew_fails_when_entry_deleted", "A row that is gone cannot be renewed.",
     told<test_renew_fails_when_entry_deleted>},
    {"test_cancelled_activities_deleted_from_worker_queue",
     "What a turn cancels is gone, taken before or not.",
     told<test_cancelled_activities_deleted_from_worker_queue>},
    {"test_batch_cancellation_deletes_multiple_activities", "A turn may cancel everything it has in flight.",
     told<test_batch_cancellation_deletes_multiple_activities>},
    {"the_end_of_a_held_lease_is_due", "A fetch says when what is held may be had.",
     told<the_end_of_a_held_lease_is_due>},
};

}  // namespace

std::span<const ConformanceCase> work_lease_cases() { return cases; }

}  // namespace duramen::inline v0::testing
