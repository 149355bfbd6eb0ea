// Cancels of instances: which ones count, which node may carry them out, and children that begin cancelled.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

message::CancelInstance cancel(CancelMode mode = CancelMode::graceful,
                               std::optional<ParentLink> parent = {}) {
  return {"why", mode, parent ? CancelOrigin::parent : CancelOrigin::client, std::move(parent)};
}

constexpr CancelMode terminate = CancelMode::terminate;

/// A running instance of graceful code.
void running_gracefully(Driver& d, const InstanceId& id) {
  d.start(id);
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  first.change.version = "1.0.0";
  first.change.graceful = true;
  d.must_commit(first);
}

/// The number of instances that a node without code fetches. They are released afterwards.
std::size_t fetched_without_code(Driver& d) { return d.count_fetched_with({}); }

void a_cancel_counts_once(Driver& d) {
  d.running("a");
  d.check.that(!d.info("a")->cancel_asked, "no cancel yet");
  d.check.equal(d.send("a", cancel()), EnqueueOutcome::enqueued, "the first");
  d.check.that(d.info("a")->cancel_asked == CancelMode::graceful, "cancel_asked after the first");
  d.check.equal(d.send("a", cancel()), EnqueueOutcome::duplicate, "the same again");
  d.check.equal(d.send("a", cancel(terminate)), EnqueueOutcome::enqueued, "a stronger one");
  d.check.that(d.info("a")->cancel_asked == terminate, "cancel_asked after the stronger one");
  d.check.equal(d.send("a", cancel(terminate)), EnqueueOutcome::duplicate, "the stronger one again");
  d.check.equal(d.send("a", cancel()), EnqueueOutcome::duplicate, "a weaker one");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(names_of(item.messages), "cancel cancel", "messages: the two that counted");
  d.must_commit(d.turn(item));
  d.check.equal(d.send("a", cancel(terminate)), EnqueueOutcome::duplicate, "after a turn took it");
  d.expect_nothing_to_do();
}

void a_cancel_of_an_ended_instance_is_finished(Driver& d) {
  d.running("a");
  d.send("a", cancel());
  d.must_commit(d.final_turn(d.fetch_one()));
  d.check.equal(d.send("a", cancel()), EnqueueOutcome::finished, "the same");
  d.check.equal(d.send("a", cancel(terminate)), EnqueueOutcome::finished, "a stronger one");
  d.check.that(d.info("a")->cancel_asked == CancelMode::graceful, "cancel_asked");
}

void a_cancel_from_a_parent_reaches_only_its_own_child(Driver& d) {
  d.running("p");
  const InstanceInfo child = d.child("p", "c");
  const ParentLink own = child.parent.value();
  ParentLink wrong = own;
  wrong.event = own.event.next();
  d.check.equal(d.send("c", cancel(terminate, wrong)), EnqueueOutcome::not_found, "another event");
  wrong = own;
  wrong.execution = own.execution.next();
  d.check.equal(d.send("c", cancel(terminate, wrong)), EnqueueOutcome::not_found, "another execution");
  wrong = own;
  wrong.incarnation = own.incarnation.next();
  d.check.equal(d.send("c", cancel(terminate, wrong)), EnqueueOutcome::not_found, "another incarnation");
  wrong = own;
  wrong.instance = "q";
  d.check.equal(d.send("c", cancel(terminate, wrong)), EnqueueOutcome::not_found, "another instance");
  d.check.equal(d.send("p", cancel(terminate, own)), EnqueueOutcome::not_found,
                "an instance without a parent");
  d.check.that(!d.info("c")->cancel_asked && !d.info("p")->cancel_asked, "cancel_asked");
  d.expect_nothing_to_do();
  d.check.equal(d.send("c", cancel(CancelMode::graceful, own)), EnqueueOutcome::enqueued, "its parent");
  ParentLink unknown = own;
  unknown.incarnation = {};
  d.check.equal(d.send("c", cancel(terminate, unknown)), EnqueueOutcome::enqueued,
                "its parent, of an unknown incarnation");
}

void a_turn_may_note_a_cancel_that_was_not_queued(Driver& d) {
  d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.change.cancel_asked = CancelMode::graceful;
  d.must_commit(commit);
  d.check.that(d.info("a")->cancel_asked == CancelMode::graceful, "cancel_asked");
  d.check.equal(d.send("a", cancel()), EnqueueOutcome::duplicate, "the same");
  d.expect_nothing_to_do();
  d.check.equal(d.send("a", cancel(terminate)), EnqueueOutcome::enqueued, "a stronger one");
  TurnCommit weaker = d.turn(d.fetch_one());
  weaker.change.cancel_asked = CancelMode::graceful;
  d.must_commit(weaker);
  d.check.that(d.info("a")->cancel_asked == terminate, "cancel_asked never falls");
}

void the_first_turn_of_an_execution_says_whether_it_is_graceful(Driver& d) {
  running_gracefully(d, "a");
  d.check.that(d.info("a")->graceful, "after the first turn");
  TurnCommit end = d.continuing_turn(d.woken("a"));
  d.must_commit(end);
  d.check.that(d.info("a")->graceful, "after a later turn");
  d.must_commit(d.next_execution(d.fetch_one()));
  d.check.that(!d.info("a")->graceful, "after the first turn of the next execution");
  TurnCommit fused = d.fused("b");
  fused.change.graceful = true;
  d.must_commit(fused);
  d.check.that(d.info("b")->graceful, "after a fused start");
}

void a_terminated_instance_is_fetched_by_any_node(Driver& d) {
  running_gracefully(d, "a");
  d.send("a", raise("x"));
  d.check.equal(fetched_without_code(d), 0u, "before the cancel");
  d.send("a", cancel(terminate));
  d.check.equal(fetched_without_code(d), 1u, "by a node without code");
  d.check.equal(d.count_fetched_with({{"Orch", {"9"}}}), 1u, "by a node with another version");
  const auto items = d.fetch_batch({.orchestrations = std::vector<RegisteredOrchestration>{}}).items;
  if (items.size() != 1) d.stop("an instance");
  d.check.equal(names_of(items[0].messages), "x cancel", "with all its messages");
}

void a_cancel_of_code_that_is_not_graceful_is_fetched_by_any_node(Driver& d) {
  d.running("a");
  d.send("a", cancel());
  d.check.equal(fetched_without_code(d), 1u, "by a node without code");
  d.check.equal(d.fetch().size(), 1u, "by any other");
}

void a_graceful_cancel_of_graceful_code_waits_for_the_code(Driver& d) {
  running_gracefully(d, "a");
  d.send("a", cancel());
  d.check.equal(fetched_without_code(d), 0u, "by a node without code");
  d.check.equal(d.count_fetched_with({{"Orch", {"2.0.0"}}}), 0u, "by a node with another version");
  d.check.equal(d.count_fetched_with({{"Orch", {"1.0.0"}}}), 1u, "by a node with the code");
}

void a_cancel_before_the_first_turn_is_fetched_by_any_node(Driver& d) {
  const StartRequest start{.instance = "a", .start = {.orchestration = "Orch", .version = "2.0.0"}};
  d.get(d.store.start_instances({&start, 1}));
  d.check.equal(fetched_without_code(d), 0u, "before the cancel");
  d.send("a", cancel());
  d.check.equal(fetched_without_code(d), 1u, "by a node without code");
  d.check.equal(d.count_fetched_with({{"Orch", {"1.0.0"}}}), 1u, "by a node with another version");
}

void a_graceful_cancel_between_executions_waits_for_the_code(Driver& d) {
  running_gracefully(d, "a");
  d.must_commit(d.continuing_turn(d.woken("a")));
  d.send("a", cancel());
  d.check.equal(fetched_without_code(d), 0u, "by a node without code");
  d.check.equal(d.count_fetched_with({{"Orch", {"2.0.0"}}}), 1u, "by a node with the name");
  d.send("a", cancel(terminate));
  d.check.equal(fetched_without_code(d), 1u, "by a node without code, once it is terminated");
}

void a_cancel_that_needs_no_code_needs_its_engine_version(Driver& d) {
  d.start("a");
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  first.change.engine_version = 12;
  d.must_commit(first);
  d.send("a", cancel());
  const std::vector<RegisteredOrchestration> none;
  d.check.equal(d.fetch_batch({.max_engine_version = 11, .orchestrations = none}).items.size(), 0u, "lower");
  d.check.equal(d.fetch_batch({.max_engine_version = 12, .orchestrations = none}).items.size(), 1u, "enough");
}

void a_cancel_that_was_taken_frees_no_instance_from_its_code(Driver& d) {
  d.running("a");
  d.send("a", cancel());
  d.must_commit(d.turn(d.fetch_one()));
  d.send("a", raise("x"));
  d.check.equal(fetched_without_code(d), 0u, "by a node without code");
  d.check.equal(d.count_fetched_with({{"Orch", {"1.0.0"}}}), 1u, "by a node with the code");
}

void a_cancel_during_a_turn_is_fetched_by_any_node_afterwards(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  d.send("a", cancel());
  d.check.equal(fetched_without_code(d), 0u, "during the turn");
  d.must_commit(d.turn(item));
  d.check.equal(fetched_without_code(d), 1u, "after a commit that left it");
  const LeasedInstance second = d.fetch_one();
  d.release(second, 10s);
  d.check.equal(fetched_without_code(d), 0u, "during a delay");
  d.advance(10s);
  d.check.equal(fetched_without_code(d), 1u, "after the delay");
  (void)d.fetch_one();
  d.advance(d.lease);
  d.check.equal(fetched_without_code(d), 1u, "after a lease that ended");
}

/// A turn of the parent that starts a child, and another instance without a parent.
TurnCommit starting_turn(Driver& d, const LeasedInstance& parent) {
  TurnCommit commit = d.turn(parent);
  const EventId event = parent.last_event_id.next();
  commit.events = {
      make_event(event.value, event::SubOrchestrationScheduled{.name = "Orch", .instance = "c"})};
  const ParentLink link{parent.instance, parent.incarnation, parent.execution, event};
  commit.messages = {{"c", message::StartOrchestration{.orchestration = "Orch", .parent = link}},
                     {"d", message::StartOrchestration{.orchestration = "Orch"}}};
  return commit;
}

void a_child_of_a_parent_with_a_queued_cancel_is_born_with_it(Driver& d) {
  d.running("p");
  const LeasedInstance parent = d.woken("p");
  d.send("p", message::CancelInstance{"enough", terminate, CancelOrigin::client, {}, "someone"});
  const TurnCommit commit = starting_turn(d, parent);
  d.must_commit(commit);
  d.check.that(d.info("c")->cancel_asked == terminate, "cancel_asked of the child");
  d.check.that(!d.info("d")->cancel_asked, "cancel_asked of an instance without a parent");
  const auto items = d.fetch_batch({.orchestrations = std::vector<RegisteredOrchestration>{}}).items;
  bool found = false;
  for (const LeasedInstance& item : items) {
    if (item.instance != InstanceId{"c"}) continue;
    found = true;
    d.check.equal(names_of(item.messages), "? cancel", "messages of the child");
    const auto* born = std::get_if<message::CancelInstance>(&item.messages.back().body);
    if (!born) d.stop("a cancel");
    d.check.equal(born->reason, "enough", "reason");
    d.check.equal(born->mode, terminate, "mode");
    d.check.equal(born->origin, CancelOrigin::parent, "origin");
    d.check.that(born->parent == std::get<message::StartOrchestration>(commit.messages[0].body).parent,
                 "parent");
  }
  d.check.that(found, "a node without code fetches the child");
  d.check.equal(items.size(), 2u, "instances that need no code: the parent and the child");
}

// The cancel is in no history: nothing else would reach the child.
void a_child_that_a_last_turn_starts_is_born_with_the_queued_cancel(Driver& d) {
  d.running("p");
  const LeasedInstance parent = d.woken("p");
  d.send("p", message::CancelInstance{"enough", terminate, CancelOrigin::client, {}, "someone"});
  TurnCommit commit = starting_turn(d, parent);
  commit.change.status = Status::completed;
  d.must_commit(commit);
  d.check.that(d.info("c")->cancel_asked == terminate, "cancel_asked of the child");
  d.check.that(!d.info("d")->cancel_asked, "cancel_asked of an instance without a parent");
  const auto items = d.fetch_batch({.orchestrations = std::vector<RegisteredOrchestration>{}}).items;
  if (items.size() != 1) d.stop("a node without code fetches the child only");
  d.check.equal(items[0].instance, InstanceId{"c"}, "instance");
  const auto* born = std::get_if<message::CancelInstance>(&items[0].messages.back().body);
  if (!born) d.stop("a cancel");
  d.check.equal(born->reason, "enough", "reason");
  d.check.equal(born->mode, terminate, "mode");
  d.check.equal(born->requested_by, "someone", "requested_by");
}

void a_child_that_is_started_after_the_cancel_was_taken_is_not_cancelled(Driver& d) {
  running_gracefully(d, "p");
  d.send("p", cancel());
  const LeasedInstance parent = d.fetch_one();
  d.must_commit(starting_turn(d, parent));
  d.check.that(!d.info("c")->cancel_asked, "cancel_asked of the child");
  d.check.equal(fetched_without_code(d), 0u, "instances that need no code");
}

}  // namespace

std::span<const ConformanceCase> cancel_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_cancel_counts_once),
      DURAMEN_CASE(a_cancel_of_an_ended_instance_is_finished),
      DURAMEN_CASE(a_cancel_from_a_parent_reaches_only_its_own_child),
      DURAMEN_CASE(a_turn_may_note_a_cancel_that_was_not_queued),
      DURAMEN_CASE(the_first_turn_of_an_execution_says_whether_it_is_graceful),
      DURAMEN_CASE(a_terminated_instance_is_fetched_by_any_node),
      DURAMEN_CASE(a_cancel_of_code_that_is_not_graceful_is_fetched_by_any_node),
      DURAMEN_CASE(a_graceful_cancel_of_graceful_code_waits_for_the_code),
      DURAMEN_CASE(a_cancel_before_the_first_turn_is_fetched_by_any_node),
      DURAMEN_CASE(a_graceful_cancel_between_executions_waits_for_the_code),
      DURAMEN_CASE(a_cancel_that_needs_no_code_needs_its_engine_version),
      DURAMEN_CASE(a_cancel_that_was_taken_frees_no_instance_from_its_code),
      DURAMEN_CASE(a_cancel_during_a_turn_is_fetched_by_any_node_afterwards),
      DURAMEN_CASE(a_child_of_a_parent_with_a_queued_cancel_is_born_with_it),
      DURAMEN_CASE(a_child_that_a_last_turn_starts_is_born_with_the_queued_cancel),
      DURAMEN_CASE(a_child_that_is_started_after_the_cancel_was_taken_is_not_cancelled),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
