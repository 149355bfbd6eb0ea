// Finding: lists, pages, trees, executions and pending work.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// A running instance of this orchestration.
void running_as(Driver& d, const InstanceId& id, const std::string& name, const std::string& version) {
  d.start(id, name);
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  first.change.version = version;
  d.must_commit(first);
}

/// Every page of a query, "a b | c d".
std::string pages(Driver& d, InstanceQuery query) {
  std::string all;
  for (int i = 0; i < 50; ++i) {
    const InstancePage page = d.get(d.store.list_instances(query));
    d.check.that(page.instances.size() <= query.limit, "a page is not longer than its limit");
    if (!page.instances.empty()) all += (all.empty() ? "" : " | ") + ids_of(page.instances);
    if (!page.next) return all;
    query.after = page.next;
  }
  d.stop("the pages do not end");
}

void all_instances_are_listed_in_order_of_creation(Driver& d) {
  d.check.equal(d.list({}), "", "an empty store");
  for (const char* id : {"c", "a", "b"}) d.start(id);
  d.check.equal(d.list({}), "c a b", "oldest first");
  d.check.equal(ids_of(d.get(d.store.list_instances({})).instances), "b a c", "newest first by default");
}

void a_status_filter_finds_exactly_its_instances(Driver& d) {
  d.running("running");
  d.finished("completed");
  d.running("failed");
  TurnCommit last = d.final_turn(d.woken("failed"));
  last.change.status = Status::failed;
  d.must_commit(last);
  d.running("continued");
  d.must_commit(d.continuing_turn(d.woken("continued")));
  d.start("pending");
  d.check.equal(d.list({.statuses = {Status::completed}}), "completed", "completed");
  d.check.equal(d.list({.statuses = {Status::failed, Status::running}}), "running failed", "either of two");
  d.check.equal(d.list({.statuses = {Status::continued_as_new}}), "continued", "between two executions");
  d.check.equal(d.list({.statuses = {Status::pending}}), "pending", "pending");
  d.check.equal(d.list({.statuses = {Status::cancelled}}), "", "none");
  d.check.equal(d.list({.statuses = {}}), "running completed failed continued pending", "any");
}

void executions_are_listed_oldest_first(Driver& d) {
  d.check.equal(d.executions("unknown").size(), 0u, "of an unknown instance");
  d.running("a");
  d.check.that(d.executions("a").size() == 1 && d.executions("a")[0].execution == ExecutionId{1},
               "the first");
  d.continue_as_new("a");
  d.continue_as_new("a");
  const auto all = d.executions("a");
  d.check.equal(all.size(), 3u, "executions");
  for (std::size_t i = 0; i < all.size(); ++i) d.check.equal(all[i].execution.value, i + 1, "their order");
}

void get_instance_returns_name_version_execution_and_times(Driver& d) {
  d.check.that(!d.info("unknown"), "an unknown instance");
  running_as(d, "a", "InfoOrch", "2.0.0");
  d.advance(1s);
  d.must_commit(d.turn(d.woken("a")));
  const InstanceInfo info = d.info("a").value();
  d.check.equal(info.instance, InstanceId{"a"}, "id");
  d.check.equal(info.name, "InfoOrch", "name");
  d.check.equal(info.version, "2.0.0", "version");
  d.check.equal(info.execution, ExecutionId{1}, "execution");
  d.check.equal(info.created_at, d.now() - 1s, "created");
  d.check.equal(info.updated_at, d.now(), "its last turn");
}

void list_executions_returns_status_times_and_result(Driver& d) {
  d.running("a", 1);
  const TimePoint first = d.now();
  d.advance(1s);
  d.continue_as_new("a");
  d.advance(1s);
  d.finish("a");
  d.advance(1s);
  const auto all = d.executions("a");
  if (all.size() != 2) d.stop("two executions");
  d.check.equal(all[0].status, Status::continued_as_new, "status of the first");
  d.check.equal(all[0].version, "1.0.0", "version of the first");
  d.check.equal(all[0].last_event_id, EventId{3}, "events of the first");
  d.check.that(all[0].started_at == first && all[0].ended_at == first + 1s, "times of the first");
  d.check.that(!all[0].output && !all[0].failure, "the first has no result");
  d.check.equal(all[1].status, Status::completed, "status of the second");
  d.check.equal(all[1].last_event_id, EventId{2}, "events of the second");
  d.check.that(all[1].started_at == first + 1s && all[1].ended_at == first + 2s, "times of the second");
  d.check.that(all[1].output == Payload::text("out"), "output of the second");
}

void a_running_execution_has_no_end_time(Driver& d) {
  d.start("a");
  auto all = d.executions("a");
  d.check.that(
      all.size() == 1 && all[0].status == Status::pending && !all[0].last_event_id && !all[0].ended_at,
      "pending");
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started(), scheduled(2)};
  first.change.version = "1.0.0";
  d.must_commit(first);
  all = d.executions("a");
  d.check.that(all.size() == 1 && all[0].status == Status::running && all[0].last_event_id == EventId{2} &&
                   all[0].version == "1.0.0" && !all[0].ended_at && !all[0].output,
               "running");
  TurnCommit last = d.final_turn(d.woken("a"));
  last.change.status = Status::failed;
  last.change.output.reset();
  last.change.failure = Failure{.type = "Broken", .message = "no"};
  d.must_commit(last);
  all = d.executions("a");
  d.check.that(all.size() == 1 && all[0].status == Status::failed && all[0].ended_at == d.now() &&
                   all[0].failure == last.change.failure,
               "failed");
}

void a_parent_filter_finds_direct_children(Driver& d) {
  d.family();
  d.check.equal(d.list({.parent = "root"}), "left right", "of the root");
  d.check.equal(d.list({.parent = "left"}), "leaf", "of a child");
  d.check.equal(d.list({.parent = "leaf"}), "", "of a leaf");
  d.check.equal(d.list({.parent = "unknown"}), "", "of an unknown instance");
}

void get_instance_returns_the_parent_of_a_child(Driver& d) {
  d.family();
  d.check.that(!d.info("root").value().parent, "of the root");
  const auto parent = d.info("left").value().parent;
  d.check.that(parent && parent->instance == InstanceId{"root"} &&
                   parent->incarnation == d.info("root").value().incarnation,
               "of a child");
  d.check.that(!d.info("unknown"), "of an unknown instance");
}

void a_tree_contains_the_instance_and_all_descendants(Driver& d) {
  d.family();
  d.running("stranger");
  const auto tree = [&](const InstanceId& id) { return ids_of(d.get(d.store.get_instance_tree(id))); };
  const std::string whole = tree("root");
  d.check.that(
      whole == "root left right leaf" || whole == "root left leaf right" || whole == "root right left leaf",
      "parents before children: " + whole);
  d.check.equal(tree("left"), "left leaf", "from a child");
  d.check.equal(tree("leaf"), "leaf", "of a leaf");
  d.check.equal(tree("unknown"), "", "of an unknown instance");
}

void a_tree_contains_no_results(Driver& d) {
  d.running("root");
  d.child("root", "leaf");
  d.finish("leaf");
  const auto tree = d.get(d.store.get_instance_tree("root"));
  d.check.that(tree.size() == 2 && tree[1].status == Status::completed && !tree[1].output, "the leaf");
}

void children_of_a_replaced_parent_are_roots(Driver& d) {
  d.running("root");
  d.child("root", "leaf");
  d.finish("root");
  d.check.equal(d.start("root", "Orch", "in", IdReuse::replace_when_final), StartOutcome::created,
                "replaced");
  d.check.equal(d.list({.parent = "root"}), "", "children");
  d.check.equal(ids_of(d.get(d.store.get_instance_tree("root"))), "root", "tree");
  d.check.equal(d.list({.roots_only = true}), "leaf root", "a child whose parent is gone is a root");
}

void pages_show_every_instance_exactly_once(Driver& d) {
  std::string expected;
  for (int i = 0; i < 7; ++i) {
    const std::string id(1, static_cast<char>('a' + (i * 3) % 7));
    d.start(id);
    expected += (i ? " " : "") + id;
  }
  for (const std::size_t limit : {1u, 2u, 3u, 6u, 7u, 8u}) {
    std::string all = pages(d, {.order = InstanceOrder::oldest_first, .limit = limit});
    std::string flat;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] == '|')
        ++i;
      else
        flat += all[i];
    }
    d.check.equal(flat, expected, "pages of " + std::to_string(limit));
  }
  d.check.equal(pages(d, {.limit = 3}), "e b f | c g d | a", "newest first");
}

void pages_stay_correct_while_instances_are_added_and_deleted(Driver& d) {
  for (const char* id : {"a", "b", "c", "d", "e"}) d.finished(id);
  InstanceQuery query{.order = InstanceOrder::newest_first, .limit = 2};
  const InstancePage first = d.get(d.store.list_instances(query));
  d.check.equal(ids_of(first.instances), "e d", "the first page");
  d.start("f");
  d.check.equal(d.remove("e").outcome, DeleteOutcome::deleted, "an instance that was seen is deleted");
  d.check.equal(d.remove("d").outcome, DeleteOutcome::deleted, "and the last one of the page");
  query.after = first.next;
  const InstancePage second = d.get(d.store.list_instances(query));
  d.check.equal(ids_of(second.instances), "c b", "the second page");
}

void pages_of_a_filter_show_only_matches(Driver& d) {
  for (int i = 0; i < 6; ++i) d.start((i % 2 ? "odd-" : "even-") + std::to_string(i));
  const InstanceFilter odd{.id_prefix = "odd-"};
  d.check.equal(pages(d, {.filter = odd, .order = InstanceOrder::oldest_first, .limit = 2}),
                "odd-1 odd-3 | odd-5", "oldest first");
  d.check.equal(pages(d, {.filter = odd, .limit = 1}), "odd-5 | odd-3 | odd-1", "newest first");
}

void every_part_of_a_filter_applies(Driver& d) {
  running_as(d, "order-1", "Order", "1");
  d.advance(1s);
  running_as(d, "order-2", "Order", "2");
  d.advance(1s);
  running_as(d, "ship-1", "Ship", "1");
  d.finish("ship-1");
  const TimePoint now = d.now();
  using Ids = std::vector<InstanceId>;
  d.check.equal(d.list({.ids = Ids{"ship-1", "unknown", "order-1"}}), "order-1 ship-1", "ids");
  d.check.equal(d.list({.ids = Ids{}}), "", "no ids");
  d.check.equal(d.list({.id_prefix = "order"}), "order-1 order-2", "prefix");
  d.check.equal(d.list({.id_prefix = ""}), "order-1 order-2 ship-1", "an empty prefix");
  d.check.equal(d.list({.name = "Order"}), "order-1 order-2", "name");
  d.check.equal(d.list({.version = "1"}), "order-1 ship-1", "version");
  d.check.equal(d.list({.created_from = now - 1s}), "order-2 ship-1", "created from, inclusive");
  d.check.equal(d.list({.created_before = now - 1s}), "order-1", "created before, exclusive");
  d.check.equal(d.list({.name = "Order", .version = "1"}), "order-1", "two parts");
  d.check.equal(d.list({.id_prefix = "order", .statuses = {Status::completed}}), "",
                "two parts that exclude each other");
}

void a_prefix_is_not_a_pattern(Driver& d) {
  for (const char* id : {"a%b", "aXb", "a_b", "A%b", "a%", "\xF0\x9F\x8C\xB3-1"}) d.start(id);
  d.check.equal(d.list({.id_prefix = "a%"}), "a%b a%", "percent");
  d.check.equal(d.list({.id_prefix = "a_"}), "a_b", "underscore");
  d.check.equal(d.list({.id_prefix = "A"}), "A%b", "case");
  d.check.equal(d.list({.id_prefix = "\xF0\x9F\x8C\xB3"}), "\xF0\x9F\x8C\xB3-1", "beyond ASCII");
}

void ended_before_finds_only_ended_instances(Driver& d) {
  d.finished("old");
  d.running("going");
  d.advance(10s);
  d.finished("new");
  d.check.equal(d.list({.ended_before = d.now()}), "old", "exclusive");
  d.check.equal(d.list({.ended_before = d.now() + 1ms}), "old new", "after both");
  d.check.equal(d.list({.ended_before = d.now() - 10s}), "", "before both");
}

void the_final_turn_sets_the_end_of_an_instance(Driver& d) {
  d.running("a");
  d.continue_as_new("a");
  d.check.that(!d.info("a")->ended_at, "after continue-as-new");
  d.advance(10s);
  d.finish("a");
  d.check.that(d.info("a")->ended_at == d.now(), "at the final turn");
  d.advance(10s);
  const InstanceQuery query{};
  const auto listed = d.get(d.store.list_instances(query)).instances;
  d.check.that(listed.size() == 1 && listed[0].ended_at == d.now() - 10s, "in a list, later");
  TurnCommit fused = d.fused("b");
  fused.change.status = Status::completed;
  d.must_commit(fused);
  d.check.that(d.info("b")->ended_at == d.now(), "with a fused start");
}

void roots_only_omits_children(Driver& d) {
  d.family();
  d.running("alone");
  d.check.equal(d.list({.roots_only = true}), "root alone", "roots");
}

void results_are_listed_only_on_request(Driver& d) {
  d.finished("a");
  d.running("b");
  TurnCommit last = d.final_turn(d.woken("b"));
  last.change.status = Status::failed;
  last.change.output.reset();
  last.change.failure = Failure{.type = "Broken", .message = "no"};
  d.must_commit(last);
  InstanceQuery query{.order = InstanceOrder::oldest_first};
  auto page = d.get(d.store.list_instances(query)).instances;
  d.check.that(page.size() == 2 && !page[0].output && !page[1].failure, "without");
  query.with_results = true;
  page = d.get(d.store.list_instances(query)).instances;
  d.check.that(
      page.size() == 2 && page[0].output == Payload::text("out") && page[1].failure == last.change.failure,
      "with");
}

void a_listed_instance_equals_get_instance(Driver& d) {
  d.running("root");
  d.child("root", "leaf");
  TurnCommit commit = d.turn(d.woken("leaf"));
  commit.change.custom_status = CustomStatusChange{"halfway"};
  d.must_commit(commit);
  const auto page = d.get(d.store.list_instances({.with_results = true})).instances;
  const InstanceInfo expected = d.info("leaf").value();
  if (page.size() != 2) d.stop("two instances");
  const InstanceInfo& listed = page[0];
  d.check.equal(listed.instance, expected.instance, "id");
  d.check.equal(listed.incarnation, expected.incarnation, "incarnation");
  d.check.that(listed.name == expected.name && listed.version == expected.version, "name and version");
  d.check.that(listed.execution == expected.execution && listed.last_event_id == expected.last_event_id,
               "position");
  d.check.that(listed.status == expected.status && listed.parent == expected.parent, "status and parent");
  d.check.that(listed.created_at == expected.created_at && listed.updated_at == expected.updated_at, "times");
  d.check.that(listed.custom_status == "halfway" && listed.custom_status_version == 1, "custom status");
}

void an_unknown_instance_has_no_pending_work(Driver& d) {
  d.send("unknown", raise("parked"));
  const PendingWork none = d.get(d.store.list_pending_work("unknown"));
  d.check.that(none.activities.empty() && none.messages.empty() && !none.leased && !none.more_messages,
               "nothing");
}

void pending_activities_are_listed(Driver& d) {
  d.running("a");
  d.running("b", 1);
  ActivityRequest special = in_session("s1");
  special.name = "Special";
  special.tag = "gpu";
  d.schedule("a", {plain(), special, plain()});
  const auto held = d.fetch_activity_batch({.node = "worker", .limit = 2}).items;
  d.check.equal(numbers_of(held), "2 2", "held: one of each instance");
  const auto delayed = d.fetch_activities(1);
  if (delayed.size() != 1) d.stop("an activity");
  d.release(delayed[0], 10s);
  const auto pending = d.get(d.store.list_pending_work("a")).activities;
  if (pending.size() != 3) d.stop("three activities");
  d.check.that(pending[0] == PendingActivity{.execution = ExecutionId{1},
                                             .activity = EventId{2},
                                             .name = "Act",
                                             .visible_at = pending[0].visible_at,
                                             .attempt = 1,
                                             .owner = "worker"},
               "one that runs");
  d.check.that(pending[1] == PendingActivity{.execution = ExecutionId{1},
                                             .activity = EventId{3},
                                             .name = "Special",
                                             .tag = "gpu",
                                             .session_id = "s1",
                                             .visible_at = d.now()},
               "one that waits");
  d.check.that(pending[2] == PendingActivity{.execution = ExecutionId{1},
                                             .activity = EventId{4},
                                             .name = "Act",
                                             .visible_at = d.now() + 10s,
                                             .attempt = 1},
               "one that was released with a delay");
  d.advance(d.lease);
  d.check.that(d.get(d.store.list_pending_work("a")).activities.at(0).owner.empty(),
               "an ended lease has no owner");
}

void pending_messages_are_listed_in_queue_order(Driver& d) {
  d.running("a", 1);
  const LeasedActivity activity = d.fetch_one_activity();
  const TimePoint due = d.now() + 1h;
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {make_event(3, event::TimerCreated{due})};
  commit.messages = {{"a", message::TimerFired{ExecutionId{1}, EventId{3}, due}, due}};
  d.must_commit(commit);
  d.send("a", raise("x"));
  d.ack(Driver::completion(activity));
  PendingWork pending = d.get(d.store.list_pending_work("a"));
  if (pending.messages.size() != 3) d.stop("three messages");
  d.check.that(!pending.leased && !pending.more_messages, "no lease, and no further messages");
  d.check.equal(pending.messages[0].type, "ExternalRaised", "the first");
  d.check.that(pending.messages[1] == PendingMessage{.type = "ActivityCompleted",
                                                     .execution = ExecutionId{1},
                                                     .event = EventId{2},
                                                     .visible_at = d.now()},
               "a completion");
  d.check.that(
      pending.messages[2] ==
          PendingMessage{
              .type = "TimerFired", .execution = ExecutionId{1}, .event = EventId{3}, .visible_at = due},
      "a timer");
  const LeasedInstance item = d.fetch_one();
  pending = d.get(d.store.list_pending_work("a"));
  d.check.that(pending.leased && pending.attempt == 1, "while a turn runs");
  d.release(item, 10s);
  pending = d.get(d.store.list_pending_work("a"));
  d.check.that(!pending.leased && pending.not_before == d.now() + 10s, "after a release with a delay");
  d.send("a", message::CancelInstance{"enough", CancelMode::graceful, CancelOrigin::client, {}, "ann"});
  std::size_t cancels = 0;
  for (const PendingMessage& message : d.get(d.store.list_pending_work("a")).messages) {
    if (!message.cancel) continue;
    ++cancels;
    d.check.that(message.cancel == event::OrchestrationCancelRequested{"enough", CancelMode::graceful,
                                                                       CancelOrigin::client, "ann"},
                 "a cancel with its reason and its requester");
  }
  d.check.equal(cancels, 1u, "cancels");
}

void pending_messages_have_the_time_at_which_they_were_sent(Driver& d) {
  d.start("a");
  d.check.that(d.get(d.store.list_pending_work("a")).messages.at(0).visible_at == d.now(), "a start");
  d.must_commit([&] {
    TurnCommit first = d.turn(d.fetch_one());
    first.events = {started()};
    return first;
  }());
  d.advance(10s);
  const LeasedInstance item = d.woken("a");
  d.advance(5s);
  TurnCommit end = d.continuing_turn(item);
  end.put_back = {raise("wake")};
  d.must_commit(end);
  const auto pending = d.get(d.store.list_pending_work("a")).messages;
  if (pending.size() != 2) d.stop("two messages");
  d.check.equal(pending[0].type, "ContinueAsNew", "the first");
  for (const PendingMessage& message : pending) {
    d.check.equal(message.visible_at, d.now(), "sent by the last turn");
  }
}

void a_long_queue_is_listed_up_to_a_limit(Driver& d) {
  d.running("a");
  std::vector<OutboundMessage> many(PendingWork::max_messages, {"a", raise("x")});
  d.get(d.store.enqueue_messages(many));
  PendingWork pending = d.get(d.store.list_pending_work("a"));
  d.check.that(pending.messages.size() == PendingWork::max_messages && !pending.more_messages,
               "as many as the limit");
  d.send("a", raise("one more"));
  pending = d.get(d.store.list_pending_work("a"));
  d.check.that(pending.messages.size() == PendingWork::max_messages && pending.more_messages, "one more");
}

}  // namespace

std::span<const ConformanceCase> finding_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(all_instances_are_listed_in_order_of_creation, .reference = "test_list_instances",
                   .difference = "exact list and order"),
      DURAMEN_CASE(a_status_filter_finds_exactly_its_instances, .reference = "test_list_instances_by_status",
                   .difference = "one call with a filter; exact lists, every status"),
      DURAMEN_CASE(executions_are_listed_oldest_first, .reference = "test_list_executions",
                   .difference = "records, not numbers"),
      DURAMEN_CASE(get_instance_returns_name_version_execution_and_times,
                   .reference = "test_get_instance_info"),
      DURAMEN_CASE(list_executions_returns_status_times_and_result, .reference = "test_get_execution_info",
                   .difference = "part of `list_executions`; times are also checked"),
      DURAMEN_CASE(a_running_execution_has_no_end_time),
      DURAMEN_CASE(a_parent_filter_finds_direct_children, .reference = "test_list_children",
                   .difference = "a filter of `list_instances`"),
      DURAMEN_CASE(get_instance_returns_the_parent_of_a_child, .reference = "test_delete_get_parent_id",
                   .difference = "part of `get_instance`"),
      DURAMEN_CASE(
          a_tree_contains_the_instance_and_all_descendants, .reference = "test_delete_get_instance_tree",
          .difference = "parents come before children; an unknown id gives an empty tree, not a tree of one"),
      DURAMEN_CASE(a_tree_contains_no_results),
      DURAMEN_CASE(children_of_a_replaced_parent_are_roots),
      DURAMEN_CASE(pages_show_every_instance_exactly_once),
      DURAMEN_CASE(pages_stay_correct_while_instances_are_added_and_deleted),
      DURAMEN_CASE(pages_of_a_filter_show_only_matches),
      DURAMEN_CASE(every_part_of_a_filter_applies),
      DURAMEN_CASE(a_prefix_is_not_a_pattern),
      DURAMEN_CASE(the_final_turn_sets_the_end_of_an_instance),
      DURAMEN_CASE(ended_before_finds_only_ended_instances),
      DURAMEN_CASE(roots_only_omits_children),
      DURAMEN_CASE(results_are_listed_only_on_request),
      DURAMEN_CASE(a_listed_instance_equals_get_instance),
      DURAMEN_CASE(an_unknown_instance_has_no_pending_work),
      DURAMEN_CASE(pending_activities_are_listed),
      DURAMEN_CASE(pending_messages_are_listed_in_queue_order),
      DURAMEN_CASE(pending_messages_have_the_time_at_which_they_were_sent),
      DURAMEN_CASE(a_long_queue_is_listed_up_to_a_limit),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
