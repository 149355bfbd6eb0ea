// Cancels of trees: a cancel from a parent reaches the descendants in the call that stores it.
#include "providers/common/cancel_descent.hpp"

#include "testing/conformance/driver.hpp"

#include <algorithm>

namespace duramen::inline v0::testing {
namespace {

constexpr CancelMode graceful = CancelMode::graceful;
constexpr CancelMode at_once = CancelMode::terminate;

/// The cancel that the parent of this instance sends to it.
OutboundMessage cancel_of(Driver& d, const InstanceId& child, CancelMode mode = graceful) {
  return {child,
          message::CancelInstance{"enough", mode, CancelOrigin::parent, d.info(child)->parent, "someone"}};
}

/// A turn of the running parent that sends these messages.
void send_by_a_turn(Driver& d, const InstanceId& parent, std::vector<OutboundMessage> messages) {
  TurnCommit commit = d.turn(d.woken(parent));
  commit.messages = std::move(messages);
  d.must_commit(commit);
}

/// A turn of the running parent that starts these children, which do not begin.
void start_children(Driver& d, const InstanceId& parent, const std::vector<InstanceId>& children) {
  const LeasedInstance item = d.woken(parent);
  TurnCommit commit = d.turn(item);
  EventId event = item.last_event_id;
  for (const InstanceId& child : children) {
    event = event.next();
    commit.events.push_back(
        make_event(event.value, event::SubOrchestrationScheduled{.name = "Orch", .instance = child}));
    const ParentLink link{parent, item.incarnation, item.execution, event};
    commit.messages.push_back({child, message::StartOrchestration{.orchestration = "Orch", .parent = link}});
  }
  d.must_commit(commit);
}

/// A running child of graceful code.
void graceful_child(Driver& d, const InstanceId& parent, const InstanceId& id) {
  start_children(d, parent, {id});
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  first.change.version = "1.0.0";
  first.change.graceful = true;
  first.change.parent = d.info(id)->parent;
  d.must_commit(first);
}

/// The modes that were asked for: "-" none, "g" graceful, "t" terminate.
std::string asked(Driver& d, const std::vector<InstanceId>& ids) {
  std::string all;
  for (const InstanceId& id : ids) {
    const auto mode = d.info(id)->cancel_asked;
    all += !mode ? '-' : mode == at_once ? 't' : 'g';
  }
  return all;
}

std::vector<InstanceInfo> children_of(Driver& d, const InstanceId& parent) {
  InstanceQuery query;
  query.filter.parent = parent;
  query.limit = 10'000;
  return d.get(d.store.list_instances(query)).instances;
}

std::size_t count_asked(const std::vector<InstanceInfo>& instances) {
  const auto was_asked = [](const InstanceInfo& info) { return info.cancel_asked.has_value(); };
  return static_cast<std::size_t>(std::ranges::count_if(instances, was_asked));
}

void a_cancel_from_a_parent_goes_down_the_tree(Driver& d) {
  d.running("root");
  d.child("root", "a");
  d.child("root", "other");
  d.child("a", "b");
  d.child("a", "c");
  d.child("b", "d");
  send_by_a_turn(d, "root", {cancel_of(d, "a")});
  d.check.equal(asked(d, {"a", "b", "c", "d"}), "gggg", "cancel_asked below");
  d.check.equal(asked(d, {"root", "other"}), "--", "cancel_asked of others");
  const auto items = d.fetch_batch({.orchestrations = std::vector<RegisteredOrchestration>{}}).items;
  d.check.equal(items.size(), 4u, "instances that a node without code fetches");
  for (const LeasedInstance& item : items) d.check.equal(names_of(item.messages), "cancel", "messages");
}

void a_cancel_that_goes_down_keeps_its_words(Driver& d) {
  d.running("root");
  d.child("root", "a");
  d.child("a", "b");
  const ParentLink link = d.child("b", "c").parent.value();
  d.check.equal(d.send(cancel_of(d, "a", at_once)), EnqueueOutcome::enqueued, "the cancel");
  bool found = false;
  for (const LeasedInstance& item : d.fetch()) {
    if (item.instance != InstanceId{"c"} || item.messages.size() != 1) continue;
    const auto* cancel = std::get_if<message::CancelInstance>(&item.messages[0].body);
    if (!cancel) d.stop("a cancel");
    found = true;
    d.check.equal(cancel->reason, "enough", "reason");
    d.check.equal(cancel->mode, at_once, "mode");
    d.check.equal(cancel->origin, CancelOrigin::parent, "origin");
    d.check.that(cancel->parent == link, "parent");
    d.check.that(cancel->requested_by == "someone", "requested_by");
  }
  d.check.that(found, "the last of the tree is fetched with one message");
}

void a_cancel_that_went_down_is_not_stored_again(Driver& d) {
  d.running("root");
  d.child("root", "a");
  d.child("a", "b");
  d.send(cancel_of(d, "a"));
  d.check.equal(d.send(cancel_of(d, "b")), EnqueueOutcome::duplicate, "the cancel of the next parent");
  for (const LeasedInstance& item : d.fetch()) d.check.equal(names_of(item.messages), "cancel", "messages");
}

void a_graceful_cancel_stops_at_a_graceful_instance_that_has_begun(Driver& d) {
  d.running("root");
  d.child("root", "a");
  graceful_child(d, "a", "b");
  d.child("b", "c");
  send_by_a_turn(d, "root", {cancel_of(d, "a")});
  d.check.equal(asked(d, {"a", "b", "c"}), "gg-", "cancel_asked");
}

void terminate_goes_down_through_graceful_instances(Driver& d) {
  d.running("root");
  graceful_child(d, "root", "a");
  graceful_child(d, "a", "b");
  d.child("b", "c");
  send_by_a_turn(d, "root", {cancel_of(d, "a", at_once)});
  d.check.equal(asked(d, {"a", "b", "c"}), "ttt", "cancel_asked");
}

void a_cancel_that_goes_down_reaches_instances_that_have_not_begun(Driver& d) {
  d.running("root");
  d.child("root", "a");
  start_children(d, "a", {"b"});
  const LeasedInstance leased = d.fetch_one();
  d.send(cancel_of(d, "a"));
  d.check.equal(asked(d, {"a", "b"}), "gg", "cancel_asked");
  d.release(leased, {}, false);
  const auto items = d.fetch_batch({.orchestrations = std::vector<RegisteredOrchestration>{}}).items;
  d.check.equal(items.size(), 2u, "instances that a node without code fetches");
}

void a_cancel_that_goes_down_waits_for_the_turn_that_runs(Driver& d) {
  d.running("root");
  d.child("root", "a");
  d.child("a", "b");
  const LeasedInstance leased = d.woken("b");
  d.send(cancel_of(d, "a"));
  d.check.equal(asked(d, {"b"}), "g", "cancel_asked of an instance with a turn");
  d.must_commit(d.turn(leased));
  bool found = false;
  for (const LeasedInstance& item : d.fetch()) {
    if (item.instance == InstanceId{"b"}) found = names_of(item.messages) == "cancel";
  }
  d.check.that(found, "the next turn takes the cancel");
}

void a_cancel_goes_down_to_a_bounded_number_and_turns_reach_the_rest(Driver& d) {
  const std::size_t many = providers::max_cancel_descent + 50;
  d.running("root");
  d.child("root", "a");
  std::vector<InstanceId> ids;
  for (std::size_t i = 0; i < many; ++i) ids.push_back("c" + std::to_string(i));
  start_children(d, "a", ids);
  d.send(cancel_of(d, "a"));
  const std::vector<InstanceInfo> children = children_of(d, "a");
  d.check.equal(children.size(), many, "children");
  const std::size_t reached = count_asked(children);
  d.check.that(reached > 0, "some children are reached");
  d.check.that(reached <= providers::max_cancel_descent, "at most 1,024 are reached by one call");
  std::vector<OutboundMessage> cancels;
  for (const InstanceInfo& child : children) {
    cancels.push_back(
        {child.instance, message::CancelInstance{
                             .reason = "enough", .origin = CancelOrigin::parent, .parent = child.parent}});
  }
  d.get(d.store.enqueue_messages(cancels));
  d.check.equal(count_asked(children_of(d, "a")), many, "children that are reached at last");
}

void a_cancel_goes_down_only_to_the_children_of_that_incarnation(Driver& d) {
  d.running("root");
  d.running("a");
  d.child("a", "b");
  d.finish("a");
  // Another instance takes the id. "b" stays the child of the one before.
  const EventId event = d.info("root")->last_event_id;
  const ParentLink link{"root", d.info("root")->incarnation, ExecutionId{1}, event};
  const StartRequest again{.instance = "a",
                           .start = {.orchestration = "Orch", .parent = link},
                           .reuse = IdReuse::replace_when_final};
  d.get(d.store.start_instances({&again, 1}));
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  first.change.parent = link;
  d.must_commit(first);
  d.check.equal(d.send(cancel_of(d, "a")), EnqueueOutcome::enqueued, "the cancel");
  d.check.equal(asked(d, {"a", "b"}), "g-", "cancel_asked");
}

void a_cancel_that_goes_down_leaves_out_ended_instances(Driver& d) {
  d.running("root");
  d.child("root", "a");
  d.child("a", "b");
  d.child("b", "c");
  d.child("a", "d");
  d.finish("b");
  d.send(cancel_of(d, "a"));
  d.check.equal(asked(d, {"a", "b", "c", "d"}), "g--g", "cancel_asked");
}

void a_stronger_cancel_goes_down_after_a_weaker_one(Driver& d) {
  d.running("root");
  d.child("root", "a");
  graceful_child(d, "a", "b");
  d.child("b", "c");
  d.send(cancel_of(d, "a"));
  d.check.equal(asked(d, {"a", "b", "c"}), "gg-", "cancel_asked after the weaker one");
  d.send(cancel_of(d, "a", at_once));
  d.check.equal(asked(d, {"a", "b", "c"}), "ttt", "cancel_asked after the stronger one");
  d.check.equal(d.count_fetched_with({}), 3u, "instances that a node without code fetches");
}

void a_cancel_of_a_client_is_passed_on_by_turns(Driver& d) {
  d.running("root");
  d.child("root", "a");
  d.send("root", message::CancelInstance{"enough"});
  d.check.equal(asked(d, {"root", "a"}), "g-", "cancel_asked");
}

}  // namespace

std::span<const ConformanceCase> cancel_descent_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_cancel_from_a_parent_goes_down_the_tree),
      DURAMEN_CASE(a_cancel_that_goes_down_keeps_its_words),
      DURAMEN_CASE(a_cancel_that_went_down_is_not_stored_again),
      DURAMEN_CASE(a_graceful_cancel_stops_at_a_graceful_instance_that_has_begun),
      DURAMEN_CASE(terminate_goes_down_through_graceful_instances),
      DURAMEN_CASE(a_cancel_that_goes_down_reaches_instances_that_have_not_begun),
      DURAMEN_CASE(a_cancel_that_goes_down_waits_for_the_turn_that_runs),
      DURAMEN_CASE(a_cancel_goes_down_to_a_bounded_number_and_turns_reach_the_rest),
      DURAMEN_CASE(a_cancel_goes_down_only_to_the_children_of_that_incarnation),
      DURAMEN_CASE(a_cancel_that_goes_down_leaves_out_ended_instances),
      DURAMEN_CASE(a_stronger_cancel_goes_down_after_a_weaker_one),
      DURAMEN_CASE(a_cancel_of_a_client_is_passed_on_by_turns),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
