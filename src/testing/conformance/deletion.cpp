// Deleting: whole trees, with everything that belongs to them, and nothing comes back.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// Root, two children, one grandchild; all running.
void family(Driver& d) {
  d.running("root");
  d.child("root", "left");
  d.child("root", "right");
  d.child("left", "leaf");
}
void finish_family(Driver& d) {
  for (const char* id : {"leaf", "right", "left", "root"}) d.finish(id);
}

void expect_empty(Driver& d, Check::Where where = Check::Where::current()) {
  const StoreMetrics counted = d.metrics();
  d.check.equal(counted.total_instances() + counted.executions + counted.events, 0u, "rows of instances",
                where);
  const QueueDepths depths = d.depths();
  d.check.equal(depths.orchestrator_due + depths.orchestrator_later + depths.orchestrator_leased, 0u,
                "messages", where);
  d.check.equal(depths.worker_due + depths.worker_later + depths.worker_leased, 0u, "activities", where);
}

std::vector<DeleteResult> remove_all(Driver& d, const std::vector<InstanceId>& ids,
                                     DeleteMode mode = DeleteMode::finished) {
  return d.get(d.store.delete_instances(ids, mode));
}

void test_delete_terminal_instances(Driver& d) {
  for (const Status end : {Status::completed, Status::failed, Status::cancelled}) {
    const InstanceId id{std::string(to_string(end))};
    d.running(id);
    TurnCommit last = d.final_turn(d.woken(id));
    last.change.status = end;
    d.must_commit(last);
    const DeleteResult expected{.instances = 1, .executions = 1, .events = 2};
    d.check.that(d.remove(id) == expected, "what went with " + id.value);
    d.check.that(!d.info(id), "it is gone");
    d.check.that(d.history(id).empty() && d.executions(id).empty(), "and so is its history");
  }
  expect_empty(d);
}

void test_delete_running_rejected_force_succeeds(Driver& d) {
  d.running("a", 1);
  d.check.equal(d.remove("a").outcome, DeleteOutcome::not_finished, "without force");
  d.check.that(d.info("a") && d.history("a").size() == 2, "it is untouched");
  d.start("b");
  d.check.equal(d.remove("b").outcome, DeleteOutcome::not_finished, "a pending one");
  d.check.equal(d.remove("a", DeleteMode::force).outcome, DeleteOutcome::deleted, "with force");
  d.check.equal(d.remove("b", DeleteMode::force).outcome, DeleteOutcome::deleted, "with force, pending");
  expect_empty(d);
}

void an_instance_between_two_executions_has_not_ended(Driver& d) {
  d.running("a");
  d.must_commit(d.continuing_turn(d.woken("a")));
  d.check.equal(d.remove("a").outcome, DeleteOutcome::not_finished, "without force");
  d.check.equal(d.fetch_one().status, Status::continued_as_new, "it is untouched");
}

void test_delete_nonexistent_instance(Driver& d) {
  d.check.equal(d.remove("nobody").outcome, DeleteOutcome::not_found, "without force");
  d.check.equal(d.remove("nobody", DeleteMode::force).outcome, DeleteOutcome::not_found, "with force");
}

void test_delete_cleans_queues_and_locks(Driver& d) {
  d.running("a", 2);
  const auto held = d.fetch_work(1);
  (void)d.woken("a");
  d.send("a", raise("x"), {}, "m1");
  d.send("a", raise("later"), d.now() + 1h);
  const DeleteResult expected{.instances = 1, .executions = 1, .events = 3, .messages = 2 + 3};
  d.check.that(d.remove("a", DeleteMode::force) == expected, "what went");
  expect_empty(d);
  d.check.that(!d.fetch_batch({}).next_due && !d.fetch_work_batch({}).next_due, "nothing is due");
  d.check.equal(d.start("a", "Reused", "in2"), StartOutcome::created, "the id is free");
  d.check.equal(d.send("a", raise("x"), {}, "m1"), EnqueueOutcome::enqueued, "the message id is new");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(item.name, "Reused", "name of the new one");
  d.check.equal(names_of(item.messages), "? x", "its messages");
  d.must_commit(d.final_turn(item));
}

void test_cascade_delete_hierarchy(Driver& d) {
  family(d);
  finish_family(d);
  for (const char* id : {"left", "leaf"}) {
    d.check.equal(d.remove(id).outcome, DeleteOutcome::has_parent, id);
    d.check.equal(d.remove(id, DeleteMode::force).outcome, DeleteOutcome::has_parent, "by force");
  }
  d.check.equal(d.metrics().total_instances(), 4u, "nothing went");
  const DeleteResult result = d.remove("root");
  d.check.equal(result.outcome, DeleteOutcome::deleted, "outcome");
  d.check.equal(result.instances, 4u, "instances");
  d.check.equal(result.executions, 4u, "executions");
  expect_empty(d);
}

void a_running_child_keeps_its_root(Driver& d) {
  family(d);
  for (const char* id : {"right", "left", "root"}) d.finish(id);
  d.check.equal(d.remove("root").outcome, DeleteOutcome::not_finished, "while a grandchild runs");
  d.check.equal(d.metrics().total_instances(), 4u, "nothing went");
  d.finish("leaf");
  d.check.equal(d.remove("root").instances, 4u, "after its end");
}

void a_child_whose_parent_is_gone_is_a_root(Driver& d) {
  d.running("root");
  d.child("root", "leaf");
  d.finish("leaf");
  d.finish("root");
  d.start("root", "Orch", "in", IdReuse::replace_when_final);
  d.check.equal(d.remove("leaf").outcome, DeleteOutcome::deleted, "the child");
  d.check.that(d.info("root").has_value(), "the new one of the parent's name stays");
}

void test_force_delete_prevents_ack_recreation(Driver& d) {
  const InstanceInfo info = d.running("a");
  const LeasedInstance item = d.woken("a");
  d.check.equal(d.remove("a", DeleteMode::force).outcome, DeleteOutcome::deleted, "deleted");
  d.check.that(!d.renew(item), "a renewal of its lease");
  d.abandon(item);
  TurnCommit late = d.turn(item);
  late.events = {raised(2, "late")};
  late.messages = {{"a", raise("own")}, {"b", message::StartOrchestration{.orchestration = "Orch"}}};
  d.check.equal(d.commit(late).outcome, CommitOutcome::lease_lost, "a turn under its lease");
  TurnCommit conditional = d.conditional(info, info.last_event_id);
  conditional.events = {raised(2, "late")};
  d.check.equal(d.commit(conditional).outcome, CommitOutcome::condition_failed, "a conditional turn");
  d.check.that(!d.info("a") && !d.info("b") && d.history("a").empty(), "nothing came back");
  expect_empty(d);
}

void test_orphan_activity_after_instance_force_deletion(Driver& d) {
  d.running("a", 2);
  const auto held = d.fetch_work_as(d.other, 1);
  if (held.size() != 1) d.stop("an activity to hold");
  d.check.equal(d.remove("a", DeleteMode::force).messages, 2u, "rows of queues");
  d.expect_no_work();
  const RenewResult renewed = d.renew(held[0].lease);
  d.check.equal(renewed.outcome, RenewOutcome::cancelled, "the holder's renewal");
  d.check.equal(renewed.reason, CancelReason::instance_deleted, "its reason");
  const AckResult acked = d.ack(Driver::completion(held[0]));
  d.check.equal(acked.outcome, AckOutcome::cancelled, "the holder's ack");
  d.check.equal(acked.reason, CancelReason::instance_deleted, "its reason");
  const auto stolen = d.stolen_from(d.other);
  d.check.that(stolen.size() == 1 && stolen[0].lease == held[0].lease &&
                   stolen[0].reason == CancelReason::instance_deleted,
               "what the holder can read");
  expect_empty(d);
}

void test_stale_activity_after_delete_recreate(Driver& d) {
  d.running("a", 1);
  const LeasedActivity old = d.fetch_one_work();
  d.remove("a", DeleteMode::force);
  d.running("a", 1);
  d.check.equal(d.ack(Driver::completion(old)).outcome, AckOutcome::cancelled, "the old ack");
  d.check.equal(d.renew(old.lease).outcome, RenewOutcome::cancelled, "the old renewal");
  d.expect_nothing_to_do();
  d.check.equal(d.fetch_one_work().attempt, 1u, "the new activity is untouched");
}

void test_delete_instances_atomic(Driver& d) {
  for (const char* id : {"a", "b", "c"}) d.finished(id);
  const auto results = remove_all(d, {"a", "b", "c"});
  if (results.size() != 3) d.stop("one answer per id");
  for (const auto& result : results)
    d.check.that(result == DeleteResult{.instances = 1, .executions = 1, .events = 2}, "each");
  expect_empty(d);
}

void test_delete_instances_atomic_force(Driver& d) {
  d.finished("done");
  d.running("going");
  auto results = remove_all(d, {"going", "done"});
  d.check.that(
      results.at(0).outcome == DeleteOutcome::not_finished && results.at(1).outcome == DeleteOutcome::deleted,
      "without force: one stays, one goes");
  d.check.that(d.info("going") && !d.info("done"), "as answered");
  d.check.equal(remove_all(d, {"going"}, DeleteMode::force).at(0).outcome, DeleteOutcome::deleted,
                "with force");
  expect_empty(d);
}

void test_delete_instances_atomic_orphan_detection(Driver& d) {
  d.running("root");
  d.child("root", "leaf");
  d.finish("leaf");
  d.finish("root");
  d.check.equal(remove_all(d, {"leaf"}).at(0).outcome, DeleteOutcome::has_parent, "the child alone");
  d.check.equal(remove_all(d, {"root"}).at(0).instances, 2u, "the root takes it along");
  expect_empty(d);
}

void deletions_of_one_call_are_answered_one_by_one(Driver& d) {
  d.finished("a");
  d.running("b");
  d.child("b", "c");
  const auto results = remove_all(d, {"nobody", "a", "b", "c", "a"});
  const std::vector expected{DeleteOutcome::not_found, DeleteOutcome::deleted, DeleteOutcome::not_finished,
                             DeleteOutcome::has_parent, DeleteOutcome::not_found};
  if (results.size() != expected.size()) d.stop("one answer per id");
  for (std::size_t i = 0; i < expected.size(); ++i)
    d.check.equal(results[i].outcome, expected[i], "an answer");
  d.check.that(remove_all(d, {}).empty(), "no ids, no answers");
}

void deleting_touches_no_neighbour(Driver& d) {
  d.running("a", 1);
  d.running("b", 1);
  const auto held = d.fetch_work();
  if (held.size() != 2) d.stop("two activities");
  d.send("b", raise("x"));
  d.remove("a", DeleteMode::force);
  d.check.equal(d.ack(Driver::completion(held[1])).outcome, AckOutcome::done, "the neighbour's work");
  const LeasedInstance item = d.fetch_one();
  d.check.that(item.instance == InstanceId{"b"} && item.messages.size() == 2, "its messages");
  d.check.equal(d.history("b").size(), 2u, "its history");
}

void messages_to_a_deleted_instance_find_nobody(Driver& d) {
  const InstanceInfo old = d.running("a");
  d.remove("a", DeleteMode::force);
  d.check.equal(d.send("a", message::CancelInstance{.reason = "x"}), EnqueueOutcome::not_found, "a cancel");
  const ParentLink link{"a", old.incarnation, ExecutionId{1}, EventId{2}};
  d.check.equal(d.send("a", message::SubOrchestrationCompleted{link, {}}), EnqueueOutcome::not_found,
                "a child's answer");
  d.check.equal(d.send("a", raise("x")), EnqueueOutcome::parked, "an event");
}

void a_deleted_id_gets_a_new_incarnation(Driver& d) {
  const Incarnation old = d.running("a").incarnation;
  d.remove("a", DeleteMode::force);
  d.check.that(d.running("a").incarnation > old, "a higher number");
}

void a_deleted_instance_is_in_no_list(Driver& d) {
  d.finished("a");
  d.finished("b");
  d.remove("a");
  d.check.equal(d.list({}), "b", "the list");
  d.check.that(d.get(d.store.get_instance_tree("a")).empty(), "its tree");
  d.check.that(d.key_values("a").empty(), "its key-values");
}

void all_executions_go_with_their_instance(Driver& d) {
  d.running("a", 1);
  d.continue_as_new("a");
  d.finish("a");
  const DeleteResult expected{.instances = 1, .executions = 2, .events = 3 + 2};
  d.check.that(d.remove("a") == expected, "what went");
  d.check.that(d.history("a", 1).empty() && d.history("a", 2).empty(), "no history is left");
  expect_empty(d);
}

void test_delete_instance_bulk_filter_combinations(Driver& d) {
  for (const char* id : {"a", "b", "c", "d", "e"}) d.finished(id);
  const auto found = [&](const InstanceFilter& filter) {
    std::vector<InstanceId> ids;
    for (const auto& info : d.get(d.store.list_instances({.filter = filter})).instances)
      ids.push_back(info.instance);
    return ids;
  };
  using Ids = std::vector<InstanceId>;
  d.check.equal(remove_all(d, found({.ids = Ids{"b", "d"}})).size(), 2u, "two of them");
  d.check.equal(d.list({}), "a c e", "the others");
  d.check.equal(remove_all(d, found({.ids = Ids{"x", "y"}})).size(), 0u, "unknown ones");
  d.check.equal(remove_all(d, found({})).size(), 3u, "all that is left");
  expect_empty(d);
}

void test_delete_instance_bulk_safety_and_limits(Driver& d) {
  for (const char* id : {"a", "b", "c", "d"}) d.finished(id);
  d.running("e");
  const InstanceQuery query{.filter = {.statuses = {Status::completed}, .roots_only = true}, .limit = 2};
  std::string sizes;
  for (int i = 0; i < 3; ++i) {
    std::vector<InstanceId> ids;
    for (const auto& info : d.get(d.store.list_instances(query)).instances) ids.push_back(info.instance);
    sizes += std::to_string(remove_all(d, ids).size());
  }
  d.check.equal(sizes, "220", "deleted at a time");
  d.check.equal(d.list({}), "e", "what goes on is left");
}

void test_delete_instance_bulk_completed_before_filter(Driver& d) {
  const TimePoint before = d.now();
  d.advance(10ms);
  d.finished("a");
  d.finished("b");
  d.advance(10ms);
  d.check.equal(d.list({.ended_before = before}), "", "before");
  d.check.equal(d.list({.ended_before = d.now()}), "a b", "after");
  d.check.equal(remove_all(d, {"a", "b"}).size(), 2u, "deleted");
  expect_empty(d);
}

void test_delete_instance_bulk_cascades_to_children(Driver& d) {
  d.running("one");
  d.child("one", "one-a");
  d.running("two");
  for (const char* id : {"two-a", "two-b", "two-c"}) d.child("two", id);
  d.running("alone");
  for (const char* id : {"one-a", "two-a", "two-b", "two-c", "one", "two", "alone"}) d.finish(id);
  std::uint64_t gone = 0;
  for (const auto& result : remove_all(d, {"one", "two", "alone"})) gone += result.instances;
  d.check.equal(gone, 7u, "instances");
  expect_empty(d);
}

void force_takes_a_whole_tree_in_flight(Driver& d) {
  family(d);
  d.schedule("leaf", {plain()});
  d.schedule("right", {plain()});
  const auto held = d.fetch_work_as(d.other);
  if (held.size() != 2) d.stop("two activities");
  d.check.equal(d.remove("root", DeleteMode::force).instances, 4u, "instances");
  for (const auto& item : held) {
    d.check.equal(d.renew(item.lease).reason, CancelReason::instance_deleted, "a holder's reason");
  }
  d.check.equal(d.stolen_from(d.other).size(), 2u, "leases to read about");
  expect_empty(d);
}

constexpr ConformanceCase cases[] = {
    {"test_delete_terminal_instances", "What has ended can be deleted, however it ended.",
     told<test_delete_terminal_instances>},
    {"test_delete_running_rejected_force_succeeds", "What goes on is deleted only by force.",
     told<test_delete_running_rejected_force_succeeds>},
    {"an_instance_between_two_executions_has_not_ended", "Continue-as-new is not an end.",
     told<an_instance_between_two_executions_has_not_ended>},
    {"test_delete_nonexistent_instance", "What does not exist is not found.",
     told<test_delete_nonexistent_instance>},
    {"test_delete_cleans_queues_and_locks",
     "Queues, leases and message ids go with the instance, and its id is free.",
     told<test_delete_cleans_queues_and_locks>},
    {"test_cascade_delete_hierarchy", "A tree goes whole, from its root only.",
     told<test_cascade_delete_hierarchy>},
    {"a_running_child_keeps_its_root", "Everything in a tree must have ended.",
     told<a_running_child_keeps_its_root>},
    {"a_child_whose_parent_is_gone_is_a_root", "It can be deleted by itself.",
     told<a_child_whose_parent_is_gone_is_a_root>},
    {"test_force_delete_prevents_ack_recreation", "A late turn brings nothing back.",
     told<test_force_delete_prevents_ack_recreation>},
    {"test_orphan_activity_after_instance_force_deletion",
     "Activities go with their instance, and their holders are told.",
     told<test_orphan_activity_after_instance_force_deletion>},
    {"test_stale_activity_after_delete_recreate",
     "Late work of a deleted instance does not reach its successor.",
     told<test_stale_activity_after_delete_recreate>},
    {"test_delete_instances_atomic", "Many trees go in one call, each answered for itself.",
     told<test_delete_instances_atomic>},
    {"test_delete_instances_atomic_force", "Force decides for each tree, not for the call.",
     told<test_delete_instances_atomic_force>},
    {"test_delete_instances_atomic_orphan_detection", "No child is left behind, listed or not.",
     told<test_delete_instances_atomic_orphan_detection>},
    {"deletions_of_one_call_are_answered_one_by_one", "In order, and a repeated id is gone the second time.",
     told<deletions_of_one_call_are_answered_one_by_one>},
    {"deleting_touches_no_neighbour", "What belongs to others stays.", told<deleting_touches_no_neighbour>},
    {"messages_to_a_deleted_instance_find_nobody", "It is as if it had never been.",
     told<messages_to_a_deleted_instance_find_nobody>},
    {"a_deleted_id_gets_a_new_incarnation", "Incarnations are never used twice, not even the last one.",
     told<a_deleted_id_gets_a_new_incarnation>},
    {"a_deleted_instance_is_in_no_list", "Not even in that of its parent's children.",
     told<a_deleted_instance_is_in_no_list>},
    {"all_executions_go_with_their_instance", "Earlier ones as well.",
     told<all_executions_go_with_their_instance>},
    {"test_delete_instance_bulk_filter_combinations", "What a filter finds can be deleted, and only that.",
     told<test_delete_instance_bulk_filter_combinations>},
    {"test_delete_instance_bulk_safety_and_limits", "A page at a time, and nothing that goes on.",
     told<test_delete_instance_bulk_safety_and_limits>},
    {"test_delete_instance_bulk_completed_before_filter", "What ended before a moment can be deleted.",
     told<test_delete_instance_bulk_completed_before_filter>},
    {"test_delete_instance_bulk_cascades_to_children", "Roots take their children along.",
     told<test_delete_instance_bulk_cascades_to_children>},
    {"force_takes_a_whole_tree_in_flight", "Every holder in the tree is told.",
     told<force_takes_a_whole_tree_in_flight>},
};

}  // namespace

std::span<const ConformanceCase> deletion_cases() { return cases; }

}  // namespace duramen::inline v0::testing
