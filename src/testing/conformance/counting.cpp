// Counting: how much a store holds, and how much of it is due, later or leased.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void metrics_count_instances_by_status_executions_and_events(Driver& d) {
  StoreMetrics counted = d.metrics();
  d.check.equal(counted.total_instances() + counted.executions + counted.events, 0u, "an empty store");
  d.running("a", 2);
  d.finished("b");
  d.running("c");
  d.continue_as_new("c");
  d.start("d");
  counted = d.metrics();
  d.check.equal(counted.count(Status::pending), 1u, "pending");
  d.check.equal(counted.count(Status::running), 2u, "running");
  d.check.equal(counted.count(Status::completed), 1u, "completed");
  d.check.equal(counted.count(Status::failed), 0u, "failed");
  d.check.equal(counted.total_instances(), 4u, "instances");
  d.check.equal(counted.executions, 5u, "executions");
  d.check.equal(counted.events, 3u + 2u + 3u, "events");
}

void every_status_is_counted_separately(Driver& d) {
  for (const Status status :
       {Status::cancelling, Status::failed, Status::cancelled, Status::continued_as_new}) {
    const InstanceId id{std::string(to_string(status))};
    d.running(id);
    TurnCommit commit = d.turn(d.woken(id));
    commit.change.status = status;
    d.must_commit(commit);
  }
  const StoreMetrics counted = d.metrics();
  for (const Status status :
       {Status::cancelling, Status::failed, Status::cancelled, Status::continued_as_new}) {
    d.check.equal(counted.count(status), 1u, to_string(status));
  }
  d.check.equal(counted.total_instances(), 4u, "instances");
}

void instances_counted_in_parts_add_up(Driver& d) {
  const InstanceCount nothing = d.count({}, 2);
  d.check.that(nothing.instances == InstanceCount{}.instances && !nothing.next, "an empty store");
  d.running("a");
  d.finished("b");
  d.finished("c");
  d.running("d");
  d.start("e");
  // A deleted instance leaves a gap, which does not end the count.
  d.check.that(d.remove("b").outcome == DeleteOutcome::deleted, "deleted");
  Incarnation after;
  std::vector<std::uint64_t> sizes;
  StoreMetrics all;
  do {
    const InstanceCount part = d.count(after, 2);
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < status_count; ++i) {
      size += part.instances.at(i);
      all.instances.at(i) += part.instances.at(i);
    }
    sizes.push_back(size);
    d.check.that(!part.next || part.next > after, "a part begins after the one before");
    after = part.next;
  } while (after && sizes.size() < 10);
  d.check.that(sizes.size() >= 2 && sizes[0] == 2 && sizes[1] == 2, "as many as requested");
  d.check.that(all.instances == d.metrics().instances, "together they are all");
  d.check.equal(all.count(Status::running), 2u, "running");
  d.check.equal(d.count({}, 4).instances.at(static_cast<std::size_t>(Status::completed)), 1u, "completed");
}

void counts_stay_correct_while_instances_are_added_and_deleted(Driver& d) {
  d.running("a");
  d.running("b");
  d.running("c");
  const InstanceCount first = d.count({}, 2);
  d.check.that(first.next == d.info("b")->incarnation, "it ends with the second");
  d.finish("a");
  d.check.that(d.remove("a").outcome == DeleteOutcome::deleted, "deleted");
  d.start("d");
  const InstanceCount rest = d.count(first.next, 10);
  d.check.equal(rest.instances.at(static_cast<std::size_t>(Status::running)), 1u, "the third");
  d.check.equal(rest.instances.at(static_cast<std::size_t>(Status::pending)), 1u, "the new one");
  d.check.that(!rest.next, "the end");
}

void queue_depths_separate_due_later_and_leased_messages(Driver& d) {
  d.check.equal(d.depths().orchestrator_due, 0u, "an empty store");
  d.running("a");
  d.running("b");
  d.send("a", raise("1"));
  d.send("a", raise("2"));
  d.send(timer("a", 2, d.now() + 10s));
  d.send(timer("b", 2, d.now() + 20s));
  QueueDepths depths = d.depths();
  d.check.equal(depths.orchestrator_due, 2u, "due");
  d.check.equal(depths.orchestrator_later, 2u, "later");
  d.check.equal(depths.orchestrator_leased, 0u, "leased");
  const LeasedInstance item = d.fetch_one();
  depths = d.depths();
  d.check.equal(depths.orchestrator_due, 0u, "due during a turn");
  d.check.equal(depths.orchestrator_later, 2u, "later during a turn");
  d.check.equal(depths.orchestrator_leased, 2u, "leased during a turn");
  d.must_commit(d.turn(item));
  d.advance(10s);
  depths = d.depths();
  d.check.equal(depths.orchestrator_due, 1u, "due after ten seconds");
  d.check.equal(depths.orchestrator_later, 1u, "later after ten seconds");
}

void messages_are_due_again_after_their_lease_expired(Driver& d) {
  d.running("a");
  (void)d.woken("a");
  d.check.equal(d.depths().orchestrator_leased, 1u, "leased");
  d.advance(d.lease);
  const QueueDepths depths = d.depths();
  d.check.that(depths.orchestrator_due == 1 && depths.orchestrator_leased == 0, "due again");
}

void items_released_with_a_delay_count_as_later(Driver& d) {
  d.running("a", 1);
  d.release(d.woken("a"), 10s);
  d.release(d.fetch_one_activity(), 10s);
  QueueDepths depths = d.depths();
  d.check.that(depths.orchestrator_later == 1 && depths.orchestrator_due == 0, "a turn");
  d.check.that(depths.worker_later == 1 && depths.worker_due == 0, "an activity");
  d.advance(10s);
  depths = d.depths();
  d.check.that(depths.orchestrator_due == 1 && depths.worker_due == 1, "after the delay");
}

void queue_depths_separate_waiting_and_running_activities(Driver& d) {
  d.running("a", 3);
  d.check.equal(d.depths().worker_due, 3u, "waiting");
  const auto held = d.fetch_activities(2);
  QueueDepths depths = d.depths();
  d.check.that(depths.worker_due == 1 && depths.worker_leased == 2 && depths.worker_later == 0, "two run");
  d.ack(Driver::completion(held.at(0)));
  d.advance(d.lease);
  depths = d.depths();
  d.check.that(depths.worker_due == 2 && depths.worker_leased == 0, "one ended, one was lost");
}

void parked_messages_are_counted_separately(Driver& d) {
  d.send("ghost", raise("x"));
  d.send("ghost", raise("y"));
  QueueDepths depths = d.depths();
  d.check.that(depths.parked == 2 && depths.orchestrator_due == 0, "before the instance exists");
  d.start("ghost");
  depths = d.depths();
  d.check.that(depths.parked == 0 && depths.orchestrator_due == 3, "with the start");
}

void only_live_sessions_are_counted(Driver& d) {
  d.running("a");
  d.schedule("a", {in_session("s1"), in_session("s2"), in_session("s3")});
  d.check.equal(d.depths().sessions, 0u, "before the first fetch");
  d.fetch_activity_batch({.limit = 2, .sessions = SessionClaim{"A", 10s}});
  d.check.equal(d.depths().sessions, 2u, "two");
  d.advance(10s);
  d.check.equal(d.depths().sessions, 0u, "after their end");
}

}  // namespace

std::span<const ConformanceCase> counting_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(metrics_count_instances_by_status_executions_and_events,
                   .reference = "test_get_system_metrics", .difference = "exact counts for every status"),
      DURAMEN_CASE(every_status_is_counted_separately),
      DURAMEN_CASE(instances_counted_in_parts_add_up),
      DURAMEN_CASE(counts_stay_correct_while_instances_are_added_and_deleted),
      DURAMEN_CASE(
          queue_depths_separate_due_later_and_leased_messages, .reference = "test_get_queue_depths",
          .difference = "exact counts; due, later and leased are separate, so future timers are not due"),
      DURAMEN_CASE(messages_are_due_again_after_their_lease_expired),
      DURAMEN_CASE(items_released_with_a_delay_count_as_later),
      DURAMEN_CASE(queue_depths_separate_waiting_and_running_activities),
      DURAMEN_CASE(parked_messages_are_counted_separately),
      DURAMEN_CASE(only_live_sessions_are_counted),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
