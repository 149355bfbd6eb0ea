// The worker queue: activities are handed out, kept alive, ended.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void test_worker_queue_fifo_ordering(Driver& d) {
  d.running("a", 5);
  std::string order;
  for (int i = 0; i < 5; ++i) {
    for (const auto& item : d.fetch_work(1)) order += std::to_string(item.lease.key.activity.value);
  }
  d.check.equal(order, "23456", "order");
  d.expect_no_work();
}

void an_activity_carries_all_it_was_scheduled_with(Driver& d) {
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
  const auto work =
      d.fetch_work_batch({.tags = TagFilter::any(), .sessions = SessionClaim{"worker", 30s, {}, 1}}).items;
  if (work.size() != 2) d.stop("two activities to run");
  d.check.that(work[0].request == item.request, "everything that was given");
  d.check.that(work[1].request == commit.new_activities[1].request, "everything that was left out");
  d.check.that(work[0].lease.key == item.request.key, "the lease names the row");
  d.check.that(work[0].lease_until == d.store.clock().lease_now() + d.lease,
               "lease_until is now plus the lease");
}

void test_worker_peek_lock_semantics(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  d.expect_no_work();
  d.check.equal(d.ack(Driver::completion(work)).outcome, AckOutcome::done, "ack");
  d.expect_no_work();
  d.advance(d.lease);
  d.expect_no_work();
}

void ack_work_item_some_deletes_and_enqueues(Driver& d) {
  d.running("a", 2);
  const auto work = d.fetch_work();
  if (work.size() != 2) d.stop("two activities to run");
  d.check.equal(d.ack(Driver::completion(work[0], "result")).outcome, AckOutcome::done, "a result");
  const Failure failure{
      .kind = FailureKind::application, .type = "Declined", .message = "no", .retryable = true};
  d.check.equal(d.ack({work[1].lease, "a", failure}).outcome, AckOutcome::done, "a failure");
  d.expect_no_work();
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
  const LeasedActivity work = d.fetch_one_work();
  d.check.equal(d.ack({work.lease, "a", std::nullopt}).outcome, AckOutcome::done, "ack");
  d.expect_no_work();
  d.expect_nothing_to_do();
  d.advance(d.lease);
  d.expect_no_work();
}

void test_ack_work_item_succeeds_if_row_exists(Driver& d) {
  d.running("a", 2);
  const auto work = d.fetch_work();
  if (work.size() != 2) d.stop("two activities to run");
  TurnCommit cancel = d.turn(d.woken("a"));
  cancel.cancelled_activities = {{EventId{3}, CancelReason::dropped_future}};
  d.must_commit(cancel);
  d.check.equal(d.ack(Driver::completion(work[0])).outcome, AckOutcome::done,
                "the one that was not cancelled");
  d.check.equal(d.fetch_one().messages.size(), 1u, "its completion");
}

void a_second_ack_is_refused(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  d.ack(Driver::completion(work));
  d.check.equal(d.ack(Driver::completion(work)).outcome, AckOutcome::lease_lost, "the second ack");
  d.check.equal(d.renew(work.lease).outcome, RenewOutcome::lease_lost, "a renewal after the ack");
  d.check.equal(d.fetch_one().messages.size(), 1u, "completions");
}

void acks_in_one_batch_are_independent(Driver& d) {
  d.running("a", 3);
  auto work = d.fetch_work();
  if (work.size() != 3) d.stop("three activities to run");
  work[1].lease.token = LeaseToken{work[1].lease.token.value ^ 1};
  const std::vector<ActivityAck> acks{Driver::completion(work[0]), Driver::completion(work[1]),
                                      Driver::completion(work[2]), Driver::completion(work[0])};
  const auto results = d.get(d.store.ack_activities(acks));
  if (results.size() != 4) d.stop("one answer per ack");
  d.check.equal(results[0].outcome, AckOutcome::done, "a good one");
  d.check.equal(results[1].outcome, AckOutcome::lease_lost, "one under another token");
  d.check.equal(results[2].outcome, AckOutcome::done, "a good one after it");
  d.check.equal(results[3].outcome, AckOutcome::lease_lost, "a repeated one");
  d.check.equal(d.fetch_one().messages.size(), 2u, "completions");
}

void a_late_ack_takes_nothing_from_the_holder(Driver& d) {
  d.running("a", 1);
  const LeasedActivity old = d.fetch_one_work();
  d.advance(d.lease);
  const auto taken = d.fetch_work_as(d.other);
  if (taken.size() != 1) d.stop("the row is free again");
  const std::vector<ActivityAck> acks{Driver::completion(old, "late"),
                                      Driver::completion(taken[0], "in time"),
                                      Driver::completion(old, "later")};
  const auto results = d.get(d.store.ack_activities(acks));
  if (results.size() != 3) d.stop("one answer per ack");
  d.check.equal(results[0].outcome, AckOutcome::lease_lost, "the old holder's");
  d.check.equal(results[1].outcome, AckOutcome::done, "the new holder's, after it");
  d.check.equal(results[2].outcome, AckOutcome::lease_lost, "the old holder's once more");
  d.expect_no_work();
  const LeasedInstance item = d.fetch_one();
  if (item.messages.size() != 1) d.stop("one completion");
  d.check.that(item.messages[0].body == MessageBody{message::ActivityCompleted{ExecutionId{1}, EventId{2},
                                                                               Payload::text("in time")}},
               "the completion is the new holder's");
}

void test_worker_ack_fails_after_lock_expiry(Driver& d) {
  d.running("a", 1);
  const LeasedActivity old = d.fetch_one_work();
  d.advance(d.lease);
  d.check.equal(d.ack(Driver::completion(old)).outcome, AckOutcome::lease_lost,
                "late, although nobody took over");
  d.expect_nothing_to_do();
  const auto taken = d.fetch_work_as(d.other);
  if (taken.size() != 1) d.stop("the row is still there");
  d.check.equal(d.ack(Driver::completion(old)).outcome, AckOutcome::lease_lost, "after a takeover");
  d.check.equal(d.renew(old.lease).outcome, RenewOutcome::lease_lost, "the old holder's renewal");
  d.abandon(old);
  d.expect_no_work();
  d.check.equal(d.ack(Driver::completion(taken[0])).outcome, AckOutcome::done, "the new holder's ack");
}

void test_worker_lock_renewal_extends_timeout(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  for (int i = 0; i < 3; ++i) {
    d.advance(d.lease - 1ms);
    d.check.equal(d.renew(work.lease, d.lease).outcome, RenewOutcome::renewed, "in time");
  }
  d.expect_no_work();
  d.check.equal(d.ack(Driver::completion(work)).outcome, AckOutcome::done, "ack");
}

void test_worker_lock_renewal_after_expiration(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  d.advance(d.lease);
  d.check.equal(d.renew(work.lease).outcome, RenewOutcome::lease_lost, "a renewal does not revive");
  d.check.equal(d.fetch_one_work().attempt, 2u, "free again");
}

void test_worker_lock_renewal_invalid_token(Driver& d) {
  d.running("a", 2);
  const auto work = d.fetch_work();
  if (work.size() != 2) d.stop("two activities to run");
  const ActivityLease unknown{{Incarnation{987654}, ExecutionId{1}, EventId{2}}, LeaseToken{5}};
  const std::vector<ActivityRenewal> leases{
      {unknown}, {work[0].lease}, {{work[1].lease.key, work[0].lease.token}}};
  const auto answers = d.get(d.store.renew_activities(leases, d.lease));
  if (answers.size() != 3) d.stop("one answer per lease");
  d.check.equal(answers[0].outcome, RenewOutcome::lease_lost, "an unknown row");
  d.check.equal(answers[1].outcome, RenewOutcome::renewed, "a good one");
  d.check.equal(answers[2].outcome, RenewOutcome::lease_lost, "another row's token");
}

void test_abandon_work_item_releases_lock(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  d.abandon(work);
  const LeasedActivity again = d.fetch_one_work();
  d.check.that(again.lease.token != work.lease.token, "a new token");
  d.check.equal(d.ack(Driver::completion(work)).outcome, AckOutcome::lease_lost, "the old token");
}

void test_worker_delayed_visibility_skips_future_items(Driver& d) {
  d.running("a", 2);
  const auto first = d.fetch_work(1);
  if (first.size() != 1) d.stop("an activity to run");
  d.abandon(first[0], 10s);
  d.check.equal(d.fetch_one_work().lease.key.activity, EventId{3}, "the other one comes first");
  const ActivityBatch batch = d.fetch_work_batch({});
  d.check.equal(batch.items.size(), 0u, "activities during the delay");
  d.expect_due(batch.next_due, d.now() + 10s);
  d.advance(10s);
  d.check.equal(d.fetch_one_work().lease.key.activity, EventId{2}, "then the delayed one");
}

void a_row_born_leased_belongs_to_the_committing_node(Driver& d) {
  const InstanceInfo info = d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2), scheduled(3)};
  commit.new_activities = {Driver::activity(info, 2), Driver::activity(info, 3)};
  commit.new_activities[0].born_leased = LeaseToken{0xfedc'ba98'7654'3210};
  commit.activity_lease = 20s;
  d.must_commit(commit);
  d.check.equal(d.fetch_one_work().lease.key.activity, EventId{3}, "only the other row is handed out");
  const ActivityLease born{commit.new_activities[0].request.key, LeaseToken{0xfedc'ba98'7654'3210}};
  d.advance(19s);
  d.check.equal(d.renew(born, 20s).outcome, RenewOutcome::renewed, "it can be renewed");
  d.advance(19s);
  d.check.equal(d.ack({born, "a", Payload::text("x")}).outcome, AckOutcome::done, "and ended");
  d.check.equal(d.fetch_one().messages.size(), 1u, "completions");
}

void work_of_an_ended_instance_goes_nowhere(Driver& d) {
  d.running("a", 1);
  const LeasedActivity work = d.fetch_one_work();
  TurnCommit last = d.final_turn(d.woken("a"));
  last.cancel_rest.reset();
  d.must_commit(last);
  d.check.equal(d.ack(Driver::completion(work)).outcome, AckOutcome::done, "its row was there");
  d.expect_nothing_to_do();
}

constexpr ConformanceCase cases[] = {
    {"test_worker_queue_fifo_ordering", "Activities are handed out in the order they were scheduled.",
     told<test_worker_queue_fifo_ordering>},
    {"an_activity_carries_all_it_was_scheduled_with", "Nothing of an activity is lost in the queue.",
     told<an_activity_carries_all_it_was_scheduled_with>},
    {"test_worker_peek_lock_semantics", "A row is held while it is run and gone when it is done.",
     told<test_worker_peek_lock_semantics>},
    {"ack_work_item_some_deletes_and_enqueues", "An ack with a completion deletes the row and enqueues it.",
     told<ack_work_item_some_deletes_and_enqueues>},
    {"ack_work_item_none_deletes_without_enqueue", "An ack without a completion only deletes.",
     told<ack_work_item_none_deletes_without_enqueue>},
    {"test_ack_work_item_succeeds_if_row_exists", "A neighbour's cancellation changes nothing.",
     told<test_ack_work_item_succeeds_if_row_exists>},
    {"test_ack_work_item_fails_when_entry_deleted", "A second ack fails and enqueues nothing.",
     told<a_second_ack_is_refused>},
    {"acks_in_one_batch_are_independent", "Each ack of a batch has its own answer.",
     told<acks_in_one_batch_are_independent>},
    {"a_late_ack_takes_nothing_from_the_holder", "Old and new holder's acks may come in one batch.",
     told<a_late_ack_takes_nothing_from_the_holder>},
    {"test_worker_ack_fails_after_lock_expiry", "An ended lease acks nothing, taken over or not.",
     told<test_worker_ack_fails_after_lock_expiry>},
    {"test_worker_lock_renewal_extends_timeout", "A lease lives as long as it is renewed in time.",
     told<test_worker_lock_renewal_extends_timeout>},
    {"test_worker_lock_renewal_after_expiration", "A renewal never revives.",
     told<test_worker_lock_renewal_after_expiration>},
    {"test_worker_lock_renewal_invalid_token", "Each renewal of a batch has its own answer.",
     told<test_worker_lock_renewal_invalid_token>},
    {"test_abandon_work_item_releases_lock", "What is given back is free at once.",
     told<test_abandon_work_item_releases_lock>},
    {"test_worker_delayed_visibility_skips_future_items", "A delayed row lets the others pass.",
     told<test_worker_delayed_visibility_skips_future_items>},
    {"a_row_born_leased_belongs_to_the_committing_node",
     "A row born leased is never handed out while it lives.",
     told<a_row_born_leased_belongs_to_the_committing_node>},
    {"work_of_an_ended_instance_goes_nowhere", "A completion for an ended instance is dropped.",
     told<work_of_an_ended_instance_goes_nowhere>},
};

}  // namespace

std::span<const ConformanceCase> work_cases() { return cases; }

}  // namespace duramen::inline v0::testing
