// Deleting: whole trees with everything that belongs to them. Late calls recreate nothing.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

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

void instances_in_every_final_status_can_be_deleted(Driver& d) {
  for (const Status end : {Status::completed, Status::failed, Status::cancelled}) {
    const InstanceId id{std::string(to_string(end))};
    d.running(id);
    TurnCommit last = d.final_turn(d.woken(id));
    last.change.status = end;
    d.must_commit(last);
    const DeleteResult expected{.instances = 1, .executions = 1, .events = 2};
    d.check.that(d.remove(id) == expected, "deleted with " + id.value);
    d.check.that(!d.info(id), "it is deleted");
    d.check.that(d.history(id).empty() && d.executions(id).empty(), "and so is its history");
  }
  expect_empty(d);
}

void a_running_instance_is_deleted_only_by_force(Driver& d) {
  d.running("a", 1);
  d.check.equal(d.remove("a").outcome, DeleteOutcome::not_finished, "without force");
  d.check.that(d.info("a") && d.history("a").size() == 2, "it is untouched");
  d.start("b");
  d.check.equal(d.remove("b").outcome, DeleteOutcome::not_finished, "a pending one");
  d.check.equal(d.remove("a", DeleteMode::force).outcome, DeleteOutcome::deleted, "with force");
  d.check.equal(d.remove("b", DeleteMode::force).outcome, DeleteOutcome::deleted, "with force, pending");
  expect_empty(d);
}

void an_instance_between_two_executions_is_not_finished(Driver& d) {
  d.running("a");
  d.must_commit(d.continuing_turn(d.woken("a")));
  d.check.equal(d.remove("a").outcome, DeleteOutcome::not_finished, "without force");
  d.check.equal(d.fetch_one().status, Status::continued_as_new, "it is untouched");
}

void deleting_an_unknown_instance_returns_not_found(Driver& d) {
  d.check.equal(d.remove("unknown").outcome, DeleteOutcome::not_found, "without force");
  d.check.equal(d.remove("unknown", DeleteMode::force).outcome, DeleteOutcome::not_found, "with force");
}

void deleting_removes_queues_leases_and_message_ids(Driver& d) {
  d.running("a", 2);
  const auto held = d.fetch_activities(1);
  (void)d.woken("a");
  d.send("a", raise("x"), {}, "m1");
  d.send(timer("a", 9, d.now() + 1h));
  const DeleteResult expected{.instances = 1, .executions = 1, .events = 3, .messages = 2 + 3};
  d.check.that(d.remove("a", DeleteMode::force) == expected, "the deleted rows");
  expect_empty(d);
  d.check.that(!d.fetch_batch({}).next_due && !d.fetch_activity_batch({}).next_due, "nothing is due");
  d.check.equal(d.start("a", "Reused", "in2"), StartOutcome::created, "the id is free");
  d.check.equal(d.send("a", raise("x"), {}, "m1"), EnqueueOutcome::enqueued, "the message id is new");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(item.name, "Reused", "name of the new one");
  d.check.equal(names_of(item.messages), "? x", "its messages");
  d.must_commit(d.final_turn(item));
}

void a_tree_is_deleted_whole_and_only_from_its_root(Driver& d) {
  d.family();
  finish_family(d);
  for (const char* id : {"left", "leaf"}) {
    d.check.equal(d.remove(id).outcome, DeleteOutcome::has_parent, id);
    d.check.equal(d.remove(id, DeleteMode::force).outcome, DeleteOutcome::has_parent, "by force");
  }
  d.check.equal(d.metrics().total_instances(), 4u, "nothing was deleted");
  const DeleteResult result = d.remove("root");
  d.check.equal(result.outcome, DeleteOutcome::deleted, "outcome");
  d.check.equal(result.instances, 4u, "instances");
  d.check.equal(result.executions, 4u, "executions");
  expect_empty(d);
}

void a_running_descendant_prevents_the_deletion_of_its_root(Driver& d) {
  d.family();
  for (const char* id : {"right", "left", "root"}) d.finish(id);
  d.check.equal(d.remove("root").outcome, DeleteOutcome::not_finished, "while a grandchild runs");
  d.check.equal(d.metrics().total_instances(), 4u, "nothing was deleted");
  d.finish("leaf");
  d.check.equal(d.remove("root").instances, 4u, "after its end");
}

void a_child_of_a_replaced_parent_can_be_deleted_alone(Driver& d) {
  d.running("root");
  d.child("root", "leaf");
  d.finish("leaf");
  d.finish("root");
  d.start("root", "Orch", "in", IdReuse::replace_when_final);
  d.check.equal(d.remove("leaf").outcome, DeleteOutcome::deleted, "the child");
  d.check.that(d.info("root").has_value(), "the new one of the parent's name stays");
}

void a_late_turn_does_not_recreate_a_deleted_instance(Driver& d) {
  const InstanceInfo info = d.running("a");
  const LeasedInstance item = d.woken("a");
  d.check.equal(d.remove("a", DeleteMode::force).outcome, DeleteOutcome::deleted, "deleted");
  d.check.that(!d.renew(item), "a renewal of its lease");
  d.release(item);
  TurnCommit late = d.turn(item);
  late.events = {raised(2, "late")};
  late.messages = {{"a", raise("own")}, {"b", message::StartOrchestration{.orchestration = "Orch"}}};
  d.check.equal(d.commit(late).outcome, CommitOutcome::lease_lost, "a turn under its lease");
  TurnCommit conditional = d.conditional(info, info.last_event_id);
  conditional.events = {raised(2, "late")};
  d.check.equal(d.commit(conditional).outcome, CommitOutcome::condition_failed, "a conditional turn");
  d.check.that(!d.info("a") && !d.info("b") && d.history("a").empty(), "nothing was recreated");
  expect_empty(d);
}

void a_forced_deletion_cancels_held_activities_with_the_reason(Driver& d) {
  d.running("a", 2);
  const auto held = d.fetch_activities_as(d.other, 1);
  if (held.size() != 1) d.stop("an activity to hold");
  d.check.equal(d.remove("a", DeleteMode::force).messages, 2u, "rows of queues");
  d.expect_no_activities();
  const RenewResult renewed = d.renew(held[0].lease);
  d.check.equal(renewed.outcome, RenewOutcome::cancelled, "the holder's renewal");
  d.check.equal(renewed.reason, CancelReason::instance_deleted, "its reason");
  const AckResult acked = d.ack(Driver::completion(held[0]));
  d.check.equal(acked.outcome, AckOutcome::cancelled, "the holder's ack");
  d.check.equal(acked.reason, CancelReason::instance_deleted, "its reason");
  const auto stolen = d.stolen_from(d.other);
  d.check.that(stolen.size() == 1 && stolen[0].lease == held[0].lease &&
                   stolen[0].reason == CancelReason::instance_deleted,
               "the stolen lease that the holder can read");
  expect_empty(d);
}

void a_late_ack_does_not_reach_a_recreated_instance(Driver& d) {
  d.running("a", 1);
  const LeasedActivity old = d.fetch_one_activity();
  d.remove("a", DeleteMode::force);
  d.running("a", 1);
  d.check.equal(d.ack(Driver::completion(old)).outcome, AckOutcome::cancelled, "the old ack");
  d.check.equal(d.renew(old.lease).outcome, RenewOutcome::cancelled, "the old renewal");
  d.expect_nothing_to_do();
  d.check.equal(d.fetch_one_activity().attempt, 1u, "the new activity is untouched");
}

void one_call_deletes_many_trees_with_one_answer_each(Driver& d) {
  for (const char* id : {"a", "b", "c"}) d.finished(id);
  const auto results = remove_all(d, {"a", "b", "c"});
  if (results.size() != 3) d.stop("one answer per id");
  for (const auto& result : results)
    d.check.that(result == DeleteResult{.instances = 1, .executions = 1, .events = 2}, "each");
  expect_empty(d);
}

void a_running_tree_does_not_prevent_the_deletion_of_another(Driver& d) {
  d.finished("done");
  d.running("going");
  auto results = remove_all(d, {"going", "done"});
  d.check.that(
      results.at(0).outcome == DeleteOutcome::not_finished && results.at(1).outcome == DeleteOutcome::deleted,
      "without force: one stays, one is deleted");
  d.check.that(d.info("going") && !d.info("done"), "as answered");
  d.check.equal(remove_all(d, {"going"}, DeleteMode::force).at(0).outcome, DeleteOutcome::deleted,
                "with force");
  expect_empty(d);
}

void deleting_a_root_deletes_its_unlisted_children(Driver& d) {
  d.running("root");
  d.child("root", "leaf");
  d.finish("leaf");
  d.finish("root");
  d.check.equal(remove_all(d, {"leaf"}).at(0).outcome, DeleteOutcome::has_parent, "the child alone");
  d.check.equal(remove_all(d, {"root"}).at(0).instances, 2u, "deleted with the root");
  expect_empty(d);
}

void each_deletion_of_a_batch_has_its_own_answer(Driver& d) {
  d.finished("a");
  d.running("b");
  d.child("b", "c");
  const auto results = remove_all(d, {"unknown", "a", "b", "c", "a"});
  const std::vector expected{DeleteOutcome::not_found, DeleteOutcome::deleted, DeleteOutcome::not_finished,
                             DeleteOutcome::has_parent, DeleteOutcome::not_found};
  if (results.size() != expected.size()) d.stop("one answer per id");
  for (std::size_t i = 0; i < expected.size(); ++i)
    d.check.equal(results[i].outcome, expected[i], "an answer");
  d.check.that(remove_all(d, {}).empty(), "no ids, no answers");
}

void deleting_an_instance_keeps_the_others_unchanged(Driver& d) {
  d.running("a", 1);
  d.running("b", 1);
  const auto held = d.fetch_activities();
  if (held.size() != 2) d.stop("two activities");
  d.send("b", raise("x"));
  d.remove("a", DeleteMode::force);
  d.check.equal(d.ack(Driver::completion(held[1])).outcome, AckOutcome::done,
                "the other instance's activity");
  const LeasedInstance item = d.fetch_one();
  d.check.that(item.instance == InstanceId{"b"} && item.messages.size() == 2, "its messages");
  d.check.equal(d.history("b").size(), 2u, "its history");
}

void messages_to_a_deleted_instance_are_not_found_or_parked(Driver& d) {
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

void a_deleted_instance_is_not_listed(Driver& d) {
  d.finished("a");
  d.finished("b");
  d.remove("a");
  d.check.equal(d.list({}), "b", "the list");
  d.check.that(d.get(d.store.get_instance_tree("a")).empty(), "its tree");
  d.check.that(d.key_values("a").empty(), "its key-values");
}

void deleting_an_instance_deletes_all_its_executions(Driver& d) {
  d.running("a", 1);
  d.continue_as_new("a");
  d.finish("a");
  const DeleteResult expected{.instances = 1, .executions = 2, .events = 3 + 2};
  d.check.that(d.remove("a") == expected, "the deleted rows");
  d.check.that(d.history("a", 1).empty() && d.history("a", 2).empty(), "no history is left");
  expect_empty(d);
}

void instances_found_by_a_filter_can_be_deleted(Driver& d) {
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
  d.check.equal(remove_all(d, found({})).size(), 3u, "the rest");
  expect_empty(d);
}

void finished_instances_can_be_deleted_page_by_page(Driver& d) {
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
  d.check.equal(d.list({}), "e", "the running instance is left");
}

void instances_ended_before_a_time_can_be_deleted(Driver& d) {
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

void deleting_many_roots_deletes_their_children(Driver& d) {
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

void a_forced_deletion_of_a_tree_reports_to_every_holder(Driver& d) {
  d.family();
  d.schedule("leaf", {plain()});
  d.schedule("right", {plain()});
  const auto held = d.fetch_activities_as(d.other);
  if (held.size() != 2) d.stop("two activities");
  d.check.equal(d.remove("root", DeleteMode::force).instances, 4u, "instances");
  for (const auto& item : held) {
    d.check.equal(d.renew(item.lease).reason, CancelReason::instance_deleted, "a holder's reason");
  }
  d.check.equal(d.stolen_from(d.other).size(), 2u, "stolen leases to read");
  expect_empty(d);
}

}  // namespace

std::span<const ConformanceCase> deletion_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(instances_in_every_final_status_can_be_deleted,
                   .reference = "test_delete_terminal_instances",
                   .difference = "exact counts; Cancelled is a status of its own"),
      DURAMEN_CASE(a_running_instance_is_deleted_only_by_force,
                   .reference = "test_delete_running_rejected_force_succeeds",
                   .difference = "the answer is `not_finished`"),
      DURAMEN_CASE(an_instance_between_two_executions_is_not_finished),
      DURAMEN_CASE(deleting_an_unknown_instance_returns_not_found,
                   .reference = "test_delete_nonexistent_instance",
                   .difference = "the answer is `not_found`"),
      DURAMEN_CASE(deleting_removes_queues_leases_and_message_ids,
                   .reference = "test_delete_cleans_queues_and_locks",
                   .difference = "exact counts; message ids are also deleted"),
      DURAMEN_CASE(a_tree_is_deleted_whole_and_only_from_its_root,
                   .reference = "test_cascade_delete_hierarchy", .difference = "the answer is `has_parent`"),
      DURAMEN_CASE(a_running_descendant_prevents_the_deletion_of_its_root),
      DURAMEN_CASE(a_child_of_a_replaced_parent_can_be_deleted_alone),
      DURAMEN_CASE(a_late_turn_does_not_recreate_a_deleted_instance,
                   .reference = "test_force_delete_prevents_ack_recreation",
                   .difference = "also for a conditional turn"),
      DURAMEN_CASE(a_forced_deletion_cancels_held_activities_with_the_reason,
                   .reference = "test_orphan_activity_after_instance_force_deletion",
                   .difference = "strict: the row is gone, its holder receives `instance_deleted`"),
      DURAMEN_CASE(
          a_late_ack_does_not_reach_a_recreated_instance,
          .reference = "test_stale_activity_after_delete_recreate",
          .difference = "the incarnation separates old from new; the old holder receives `instance_deleted`"),
      DURAMEN_CASE(one_call_deletes_many_trees_with_one_answer_each,
                   .reference = "test_delete_instances_atomic",
                   .difference = "each tree has its own answer; the call is still one transaction"),
      DURAMEN_CASE(
          a_running_tree_does_not_prevent_the_deletion_of_another,
          .reference = "test_delete_instances_atomic_force",
          .difference = "a running tree does not keep another one: each tree is deleted whole or not at all"),
      DURAMEN_CASE(deleting_a_root_deletes_its_unlisted_children,
                   .reference = "test_delete_instances_atomic_orphan_detection",
                   .difference = "children need not be listed: they are deleted with their root"),
      DURAMEN_CASE(each_deletion_of_a_batch_has_its_own_answer),
      DURAMEN_CASE(deleting_an_instance_keeps_the_others_unchanged),
      DURAMEN_CASE(messages_to_a_deleted_instance_are_not_found_or_parked),
      DURAMEN_CASE(a_deleted_id_gets_a_new_incarnation),
      DURAMEN_CASE(a_deleted_instance_is_not_listed),
      DURAMEN_CASE(deleting_an_instance_deletes_all_its_executions),
      DURAMEN_CASE(instances_found_by_a_filter_can_be_deleted,
                   .reference = "test_delete_instance_bulk_filter_combinations",
                   .difference = "list by filter, then delete by ids: one way to select for everything"),
      DURAMEN_CASE(finished_instances_can_be_deleted_page_by_page,
                   .reference = "test_delete_instance_bulk_safety_and_limits",
                   .difference = "a page of the list is the limit"),
      DURAMEN_CASE(instances_ended_before_a_time_can_be_deleted,
                   .reference = "test_delete_instance_bulk_completed_before_filter",
                   .difference = "`ended_before` is a part of the filter"),
      DURAMEN_CASE(deleting_many_roots_deletes_their_children,
                   .reference = "test_delete_instance_bulk_cascades_to_children",
                   .difference = "a list of roots in one call"),
      DURAMEN_CASE(a_forced_deletion_of_a_tree_reports_to_every_holder),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
