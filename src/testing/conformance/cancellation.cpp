// Cancellation: rows are deleted by the turn that decides it, and their holders can learn why.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// A turn of `node` that cancels these activities.
CommitResult cancel(Driver& d, const InstanceId& id, const std::vector<CancelledActivity>& cancelled) {
  TurnCommit commit = d.turn(d.woken(id));
  commit.cancelled_activities = cancelled;
  return d.must_commit(commit);
}

void test_ack_orchestration_item_deletes_cancelled_activities(Driver& d) {
  d.running("a", 3);
  const CommitResult result =
      cancel(d, "a", {{EventId{2}, CancelReason::select_loser}, {EventId{3}, CancelReason::dropped_future}});
  d.check.that(result.stolen.empty(), "nobody held them: no lease was stolen");
  d.check.equal(d.fetch_one_work().lease.key.activity, EventId{4}, "what is left");
}

void test_cancellation_of_unlocked_activity_removes_from_queue(Driver& d) {
  d.running("a", 1);
  cancel(d, "a", {{EventId{2}, CancelReason::select_loser}});
  d.expect_no_work();
  d.advance(1h);
  d.expect_no_work();
  d.check.that(d.stolen_from(d.node).empty() && d.stolen_from(d.other).empty(), "nobody to tell");
}

void test_cancellation_of_locked_activity_causes_renewal_failure(Driver& d) {
  d.running("a", 1);
  const auto held = d.fetch_work_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  cancel(d, "a", {{EventId{2}, CancelReason::timeout}});
  for (int i = 0; i < 2; ++i) {
    const RenewResult renewed = d.renew(held[0].lease);
    d.check.equal(renewed.outcome, RenewOutcome::cancelled,
                  "renewal, asked " + std::to_string(i + 1) + " times");
    d.check.equal(renewed.reason, CancelReason::timeout, "reason");
  }
  d.advance(d.lease - 1ms);
  d.check.equal(d.renew(held[0].lease).outcome, RenewOutcome::cancelled,
                "as long as the lease would have lasted");
  d.expect_no_work();
}

void test_ack_work_item_fails_on_cancelled_row(Driver& d) {
  d.running("a", 1);
  const auto held = d.fetch_work_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  cancel(d, "a", {{EventId{2}, CancelReason::parent_cancelled}});
  const AckResult acked = d.ack(Driver::completion(held[0]));
  d.check.equal(acked.outcome, AckOutcome::cancelled, "ack with a completion");
  d.check.equal(acked.reason, CancelReason::parent_cancelled, "reason");
  d.check.equal(d.ack({held[0].lease, "a", std::nullopt}).outcome, AckOutcome::cancelled, "ack without one");
  d.expect_nothing_to_do();
}

void a_lease_stolen_from_oneself_is_not_renewed(Driver& d) {
  d.running("a", 1);
  const LeasedActivity held = d.fetch_one_work();
  const CommitResult result = cancel(d, "a", {{EventId{2}, CancelReason::select_loser}});
  d.check.equal(result.stolen.size(), 1u, "the commit reports it");
  d.check.that(d.renew(held.lease).outcome != RenewOutcome::renewed, "renewal");
  d.check.that(d.ack(Driver::completion(held)).outcome != AckOutcome::done, "ack");
  d.check.that(d.stolen_from(d.node).empty(), "who took it knows already");
  d.expect_nothing_to_do();
}

void stolen_leases_are_reported_with_owner_and_reason(Driver& d) {
  d.running("a", 4);
  const auto mine = d.fetch_work_as(d.node, 1);
  const auto theirs = d.fetch_work_as(d.other, 2);
  if (mine.size() != 1 || theirs.size() != 2) d.stop("activities to hold");
  const CommitResult result = cancel(d, "a",
                                     {{EventId{2}, CancelReason::select_loser},
                                      {EventId{3}, CancelReason::dropped_future},
                                      {EventId{4}, CancelReason::timeout},
                                      {EventId{5}, CancelReason::poison}});
  d.check.equal(result.stolen.size(), 3u, "stolen leases: those that were held");
  for (const StolenLease& stolen : result.stolen) {
    const bool is_mine = stolen.lease == mine[0].lease;
    const bool is_first = stolen.lease == theirs[0].lease;
    d.check.that(is_mine || is_first || stolen.lease == theirs[1].lease, "a lease that was held");
    d.check.equal(stolen.owner, is_mine ? d.node : d.other, "owner");
    d.check.equal(stolen.reason,
                  is_mine    ? CancelReason::select_loser
                  : is_first ? CancelReason::dropped_future
                             : CancelReason::timeout,
                  "reason");
  }
  d.expect_no_work();
}

void read_stolen_leases_tells_the_owner(Driver& d) {
  d.running("a", 3);
  const auto held = d.fetch_work_as(d.other);
  if (held.size() != 3) d.stop("activities to hold");
  cancel(d, "a", {{EventId{2}, CancelReason::select_loser}, {EventId{3}, CancelReason::timeout}});
  d.check.that(d.stolen_from(d.node).empty(), "those of another node are not ours to read");
  const auto stolen = d.stolen_from(d.other);
  d.check.equal(stolen.size(), 2u, "stolen leases");
  for (const StolenLease& entry : stolen) {
    const bool first = entry.lease == held[0].lease;
    d.check.that(first || entry.lease == held[1].lease, "which lease");
    d.check.equal(entry.owner, d.other, "owner");
    d.check.equal(entry.reason, first ? CancelReason::select_loser : CancelReason::timeout, "reason");
  }
  d.stolen_from(d.other);  // reading again may tell again, and changes nothing
  d.check.equal(d.renew(held[0].lease).outcome, RenewOutcome::cancelled, "a renewal still finds it");
  cancel(d, "a", {{EventId{4}, CancelReason::poison}});
  bool told_of_third = false;
  for (const StolenLease& entry : d.stolen_from(d.other)) told_of_third |= entry.lease == held[2].lease;
  d.check.that(told_of_third, "what is stolen later is told too");
}

void an_ended_lease_cannot_be_stolen(Driver& d) {
  d.running("a", 1);
  const auto held = d.fetch_work_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  d.advance(d.lease);
  const CommitResult result = cancel(d, "a", {{EventId{2}, CancelReason::select_loser}});
  d.check.that(result.stolen.empty(), "nobody held it any more");
  d.check.that(d.renew(held[0].lease).outcome != RenewOutcome::renewed, "renewal");
  d.check.that(d.ack(Driver::completion(held[0])).outcome != AckOutcome::done, "ack");
  d.expect_no_work();
}

void only_the_last_holder_is_robbed(Driver& d) {
  d.running("a", 1);
  const LeasedActivity first = d.fetch_one_work();
  d.advance(d.lease);
  const auto second = d.fetch_work_as(d.other);
  if (second.size() != 1) d.stop("the row is free when the lease ends");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.node = "node-c";
  commit.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
  const CommitResult result = d.must_commit(commit);
  d.check.that(result.stolen.size() == 1 && result.stolen[0].lease == second[0].lease,
               "the lease that was live");
  d.check.equal(d.renew(first.lease).outcome, RenewOutcome::lease_lost,
                "the first holder had lost it before");
  d.check.equal(d.renew(second[0].lease).outcome, RenewOutcome::cancelled, "the second holder");
}

void test_cancelling_nonexistent_activities_is_idempotent(Driver& d) {
  d.running("a", 1);
  cancel(d, "a", {{EventId{2}, CancelReason::select_loser}});
  const CommitResult again =
      cancel(d, "a", {{EventId{2}, CancelReason::select_loser}, {EventId{99}, CancelReason::select_loser}});
  d.check.that(again.stolen.empty(), "nothing left to steal");
}

void test_same_activity_in_worker_items_and_cancelled_is_noop(Driver& d) {
  const InstanceInfo info = d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  for (std::uint64_t id : {2, 3, 4}) {
    commit.events.push_back(scheduled(id));
    commit.new_activities.push_back(Driver::activity(info, id));
  }
  commit.new_activities[1].born_leased = LeaseToken{4711};
  commit.cancelled_activities = {{EventId{2}, CancelReason::select_loser},
                                 {EventId{3}, CancelReason::select_loser}};
  d.must_commit(commit);
  d.check.equal(d.fetch_one_work().lease.key.activity, EventId{4}, "what is left");
  d.advance(1h);
  d.check.equal(d.fetch_one_work().lease.key.activity, EventId{4}, "what is left later");
  d.check.that(d.stolen_from(d.node).empty(), "nobody to tell");
}

void cancellation_is_confined_to_its_instance_and_execution(Driver& d) {
  d.running("b", 1);
  const InstanceInfo info = d.running("a", 1);
  TurnCommit end = d.turn(d.woken("a"));
  end.events = {make_event(3, event::OrchestrationContinuedAsNew{})};
  end.change.status = Status::continued_as_new;
  end.messages = {{"a", message::ContinueAsNew{.orchestration = "Orch"}}};
  d.must_commit(end);  // without cancel_rest: the row of execution 1 stays
  TurnCommit first = d.turn(d.fetch_one());
  first.execution = ExecutionId{2};
  first.events = {started(), scheduled(2)};
  first.new_activities = {Driver::activity(info, 2, 2)};
  d.must_commit(first);
  cancel(d, "a", {{EventId{2}, CancelReason::select_loser}});
  const auto left = d.fetch_work();
  d.check.equal(left.size(), 2u, "activities left");
  for (const auto& item : left) d.check.equal(item.lease.key.execution, ExecutionId{1}, "execution");
}

void mass_cancellation(Driver& d, int count) {
  d.running("a", count);
  const auto held = d.fetch_work_as(d.other, static_cast<std::size_t>(count) / 2);
  d.check.equal(held.size(), static_cast<std::size_t>(count) / 2, "held activities");
  TurnCommit commit = d.turn(d.woken("a"));
  for (int i = 0; i < count; ++i) {
    commit.cancelled_activities.push_back(
        {EventId{static_cast<std::uint64_t>(i) + 2}, CancelReason::orchestration_terminal_cancelled});
  }
  const CommitResult result = d.must_commit(commit);
  d.check.equal(result.stolen.size(), held.size(), "stolen leases");
  d.expect_no_work();
  std::vector<ActivityRenewal> leases;
  for (const auto& item : held) leases.push_back({item.lease});
  std::size_t cancelled = 0;
  for (const RenewResult& renewed : d.get(d.store.renew_activities(leases, d.lease))) {
    cancelled += renewed.outcome == RenewOutcome::cancelled ? 1 : 0;
  }
  d.check.equal(cancelled, held.size(), "holders that learn of it");
  d.check.equal(d.stolen_from(d.other).size(), held.size(), "leases to read about");
}
void mass_cancellation_50(Driver& d) { mass_cancellation(d, 50); }
void mass_cancellation_10000(Driver& d) { mass_cancellation(d, 10'000); }

constexpr ConformanceCase cases[] = {
    {"test_ack_orchestration_item_deletes_cancelled_activities", "The turn's commit deletes what it cancels.",
     told<test_ack_orchestration_item_deletes_cancelled_activities>},
    {"test_cancellation_of_unlocked_activity_removes_from_queue", "A row nobody holds is simply gone.",
     told<test_cancellation_of_unlocked_activity_removes_from_queue>},
    {"test_cancellation_of_locked_activity_causes_renewal_failure", "A renewal tells its holder why.",
     told<test_cancellation_of_locked_activity_causes_renewal_failure>},
    {"test_ack_work_item_fails_on_cancelled_row", "An ack of a cancelled row says why and enqueues nothing.",
     told<test_ack_work_item_fails_on_cancelled_row>},
    {"a_lease_stolen_from_oneself_is_not_renewed", "A node's own commit reports what it took from itself.",
     told<a_lease_stolen_from_oneself_is_not_renewed>},
    {"stolen_leases_are_reported_with_owner_and_reason", "A commit returns every held lease it took.",
     told<stolen_leases_are_reported_with_owner_and_reason>},
    {"read_stolen_leases_tells_the_owner", "A node can read what others took from it.",
     told<read_stolen_leases_tells_the_owner>},
    {"an_ended_lease_cannot_be_stolen", "A lease that had ended is not reported.",
     told<an_ended_lease_cannot_be_stolen>},
    {"only_the_last_holder_is_robbed", "Who lost its lease before is told lease_lost.",
     told<only_the_last_holder_is_robbed>},
    {"test_cancelling_nonexistent_activities_is_idempotent", "What is not there is cancelled already.",
     told<test_cancelling_nonexistent_activities_is_idempotent>},
    {"test_same_activity_in_worker_items_and_cancelled_is_noop", "Scheduled and cancelled at once: nothing.",
     told<test_same_activity_in_worker_items_and_cancelled_is_noop>},
    {"cancellation_is_confined_to_its_instance_and_execution", "Others' rows of the same number stay.",
     told<cancellation_is_confined_to_its_instance_and_execution>},
    {"test_mass_cancellation_deletes_all_activities", "Fifty activities go in one commit.",
     told<mass_cancellation_50>},
    {"test_mass_cancellation_deletes_all_activities_10000", "Ten thousand activities go in one commit.",
     told<mass_cancellation_10000>},
};

}  // namespace

std::span<const ConformanceCase> cancellation_cases() { return cases; }

}  // namespace duramen::inline v0::testing
