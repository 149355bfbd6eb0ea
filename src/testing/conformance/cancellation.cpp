// Cancellation: the turn that cancels an activity deletes its row, and the holder can learn why.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// A turn of `node` that cancels these activities.
CommitResult cancel_activities(Driver& d, const InstanceId& id,
                               const std::vector<CancelledActivity>& cancelled) {
  TurnCommit commit = d.turn(d.woken(id));
  commit.cancelled_activities = cancelled;
  return d.must_commit(commit);
}

void test_ack_orchestration_item_deletes_cancelled_activities(Driver& d) {
  d.running("a", 3);
  const CommitResult result = cancel_activities(
      d, "a", {{EventId{2}, CancelReason::select_loser}, {EventId{3}, CancelReason::dropped_future}});
  d.check.that(result.stolen.empty(), "no lease was held, so none was stolen");
  d.check.equal(d.fetch_one_activity().lease.key.activity, EventId{4}, "activities left");
}

void test_cancellation_of_unlocked_activity_removes_from_queue(Driver& d) {
  d.running("a", 1);
  cancel_activities(d, "a", {{EventId{2}, CancelReason::select_loser}});
  d.expect_no_activities();
  d.advance(1h);
  d.expect_no_activities();
  d.check.that(d.stolen_from(d.node).empty() && d.stolen_from(d.other).empty(), "no stolen lease to report");
}

void test_cancellation_of_locked_activity_causes_renewal_failure(Driver& d) {
  d.running("a", 1);
  const auto held = d.fetch_activities_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  cancel_activities(d, "a", {{EventId{2}, CancelReason::timeout}});
  for (int i = 0; i < 2; ++i) {
    const RenewResult renewed = d.renew(held[0].lease);
    d.check.equal(renewed.outcome, RenewOutcome::cancelled,
                  "renewal, asked " + std::to_string(i + 1) + " times");
    d.check.equal(renewed.reason, CancelReason::timeout, "reason");
  }
  d.advance(d.lease - 1ms);
  d.check.equal(d.renew(held[0].lease).outcome, RenewOutcome::cancelled,
                "as long as the lease would have lasted");
  d.expect_no_activities();
}

void test_ack_work_item_fails_on_cancelled_row(Driver& d) {
  d.running("a", 1);
  const auto held = d.fetch_activities_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  cancel_activities(d, "a", {{EventId{2}, CancelReason::parent_cancelled}});
  const AckResult acked = d.ack(Driver::completion(held[0]));
  d.check.equal(acked.outcome, AckOutcome::cancelled, "ack with a completion");
  d.check.equal(acked.reason, CancelReason::parent_cancelled, "reason");
  d.check.equal(d.ack({held[0].lease, "a", std::nullopt}).outcome, AckOutcome::cancelled, "ack without one");
  d.expect_nothing_to_do();
}

void a_node_cannot_renew_a_lease_that_it_stole_from_itself(Driver& d) {
  d.running("a", 1);
  const LeasedActivity held = d.fetch_one_activity();
  const CommitResult result = cancel_activities(d, "a", {{EventId{2}, CancelReason::select_loser}});
  d.check.equal(result.stolen.size(), 1u, "the commit reports it");
  d.check.that(d.renew(held.lease).outcome != RenewOutcome::renewed, "renewal");
  d.check.that(d.ack(Driver::completion(held)).outcome != AckOutcome::done, "ack");
  d.check.that(d.stolen_from(d.node).empty(), "the node that stole it needs no report");
  d.expect_nothing_to_do();
}

void a_commit_reports_stolen_leases_with_owner_and_reason(Driver& d) {
  d.running("a", 4);
  const auto mine = d.fetch_activities_as(d.node, 1);
  const auto theirs = d.fetch_activities_as(d.other, 2);
  if (mine.size() != 1 || theirs.size() != 2) d.stop("activities to hold");
  const CommitResult result = cancel_activities(d, "a",
                                                {{EventId{2}, CancelReason::select_loser},
                                                 {EventId{3}, CancelReason::dropped_future},
                                                 {EventId{4}, CancelReason::timeout},
                                                 {EventId{5}, CancelReason::poison}});
  d.check.equal(result.stolen.size(), 3u, "stolen leases: the held ones");
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
  d.expect_no_activities();
}

void read_stolen_leases_returns_only_those_of_the_owner(Driver& d) {
  d.running("a", 3);
  const auto held = d.fetch_activities_as(d.other);
  if (held.size() != 3) d.stop("activities to hold");
  cancel_activities(d, "a", {{EventId{2}, CancelReason::select_loser}, {EventId{3}, CancelReason::timeout}});
  d.check.that(d.stolen_from(d.node).empty(), "leases of another node are not returned");
  const auto stolen = d.stolen_from(d.other);
  d.check.equal(stolen.size(), 2u, "stolen leases");
  for (const StolenLease& entry : stolen) {
    const bool first = entry.lease == held[0].lease;
    d.check.that(first || entry.lease == held[1].lease, "which lease");
    d.check.equal(entry.owner, d.other, "owner");
    d.check.equal(entry.reason, first ? CancelReason::select_loser : CancelReason::timeout, "reason");
  }
  // Reading may return the same leases again and changes nothing.
  d.stolen_from(d.other);
  d.check.equal(d.renew(held[0].lease).outcome, RenewOutcome::cancelled, "a renewal still finds it");
  cancel_activities(d, "a", {{EventId{4}, CancelReason::poison}});
  bool third_is_listed = false;
  for (const StolenLease& entry : d.stolen_from(d.other)) third_is_listed |= entry.lease == held[2].lease;
  d.check.that(third_is_listed, "a lease that is stolen later is returned");
}

void an_expired_lease_is_not_reported_as_stolen(Driver& d) {
  d.running("a", 1);
  const auto held = d.fetch_activities_as(d.other);
  if (held.size() != 1) d.stop("an activity to hold");
  d.advance(d.lease);
  const CommitResult result = cancel_activities(d, "a", {{EventId{2}, CancelReason::select_loser}});
  d.check.that(result.stolen.empty(), "the lease had expired");
  d.check.that(d.renew(held[0].lease).outcome != RenewOutcome::renewed, "renewal");
  d.check.that(d.ack(Driver::completion(held[0])).outcome != AckOutcome::done, "ack");
  d.expect_no_activities();
}

void only_the_lease_of_the_current_holder_is_stolen(Driver& d) {
  d.running("a", 1);
  const LeasedActivity first = d.fetch_one_activity();
  d.advance(d.lease);
  const auto second = d.fetch_activities_as(d.other);
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

void cancelling_an_activity_that_is_gone_does_nothing(Driver& d) {
  d.running("a", 1);
  cancel_activities(d, "a", {{EventId{2}, CancelReason::select_loser}});
  const CommitResult again = cancel_activities(
      d, "a", {{EventId{2}, CancelReason::select_loser}, {EventId{99}, CancelReason::select_loser}});
  d.check.that(again.stolen.empty(), "nothing left to steal");
}

void an_activity_scheduled_and_cancelled_by_one_turn_never_runs(Driver& d) {
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
  d.check.equal(d.fetch_one_activity().lease.key.activity, EventId{4}, "activities left");
  d.advance(1h);
  d.check.equal(d.fetch_one_activity().lease.key.activity, EventId{4}, "activities left later");
  d.check.that(d.stolen_from(d.node).empty(), "no stolen lease to report");
}

void a_cancellation_affects_only_its_instance_and_execution(Driver& d) {
  d.running("b", 1);
  const InstanceInfo info = d.running("a", 1);
  TurnCommit end = d.turn(d.woken("a"));
  end.events = {make_event(3, event::OrchestrationContinuedAsNew{})};
  end.change.status = Status::continued_as_new;
  end.messages = {{"a", message::ContinueAsNew{.orchestration = "Orch"}}};
  // Without cancel_rest the row of execution 1 stays.
  d.must_commit(end);
  TurnCommit first = d.turn(d.fetch_one());
  first.execution = ExecutionId{2};
  first.events = {started(), scheduled(2)};
  first.new_activities = {Driver::activity(info, 2, 2)};
  d.must_commit(first);
  cancel_activities(d, "a", {{EventId{2}, CancelReason::select_loser}});
  const auto left = d.fetch_activities();
  d.check.equal(left.size(), 2u, "activities left");
  for (const auto& item : left) d.check.equal(item.lease.key.execution, ExecutionId{1}, "execution");
}

void cancel_many(Driver& d, int count) {
  d.running("a", count);
  const auto held = d.fetch_activities_as(d.other, static_cast<std::size_t>(count) / 2);
  d.check.equal(held.size(), static_cast<std::size_t>(count) / 2, "held activities");
  TurnCommit commit = d.turn(d.woken("a"));
  for (int i = 0; i < count; ++i) {
    commit.cancelled_activities.push_back(
        {EventId{static_cast<std::uint64_t>(i) + 2}, CancelReason::orchestration_terminal_cancelled});
  }
  const CommitResult result = d.must_commit(commit);
  d.check.equal(result.stolen.size(), held.size(), "stolen leases");
  d.expect_no_activities();
  std::vector<ActivityRenewal> leases;
  for (const auto& item : held) leases.push_back({item.lease});
  std::size_t cancelled = 0;
  for (const RenewResult& renewed : d.get(d.store.renew_activities(leases, d.lease))) {
    cancelled += renewed.outcome == RenewOutcome::cancelled ? 1 : 0;
  }
  d.check.equal(cancelled, held.size(), "holders that learn the reason");
  d.check.equal(d.stolen_from(d.other).size(), held.size(), "stolen leases to read");
}

void test_mass_cancellation_deletes_all_activities(Driver& d) { cancel_many(d, 50); }

void one_commit_cancels_ten_thousand_activities(Driver& d) { cancel_many(d, 10'000); }

}  // namespace

std::span<const ConformanceCase> cancellation_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(test_ack_orchestration_item_deletes_cancelled_activities),
      DURAMEN_CASE(test_cancellation_of_unlocked_activity_removes_from_queue),
      DURAMEN_CASE(test_cancellation_of_locked_activity_causes_renewal_failure),
      DURAMEN_CASE(test_ack_work_item_fails_on_cancelled_row),
      DURAMEN_CASE(a_node_cannot_renew_a_lease_that_it_stole_from_itself),
      DURAMEN_CASE(a_commit_reports_stolen_leases_with_owner_and_reason),
      DURAMEN_CASE(read_stolen_leases_returns_only_those_of_the_owner),
      DURAMEN_CASE(an_expired_lease_is_not_reported_as_stolen),
      DURAMEN_CASE(only_the_lease_of_the_current_holder_is_stolen),
      DURAMEN_CASE(cancelling_an_activity_that_is_gone_does_nothing,
                   .reference = "test_cancelling_nonexistent_activities_is_idempotent"),
      DURAMEN_CASE(an_activity_scheduled_and_cancelled_by_one_turn_never_runs,
                   .reference = "test_same_activity_in_worker_items_and_cancelled_is_noop",
                   .difference = "also for rows born leased; no stolen lease is reported"),
      DURAMEN_CASE(a_cancellation_affects_only_its_instance_and_execution),
      DURAMEN_CASE(test_mass_cancellation_deletes_all_activities),
      DURAMEN_CASE(one_commit_cancels_ten_thousand_activities),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
