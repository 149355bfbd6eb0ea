// Incarnations: nothing of a replaced instance affects the new one of the same id.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// Ends the running instance and leaves its activities. No proper turn does that, but a store must accept it.
void end_without_cleanup(Driver& d, const InstanceId& id) {
  TurnCommit last = d.final_turn(d.woken(id));
  last.cancel_rest.reset();
  d.must_commit(last);
}

void replace_instance(Driver& d, const InstanceId& id) {
  if (d.start(id, "Orch", "in", IdReuse::replace_when_final) != StartOutcome::created) {
    d.stop("a final instance can be replaced");
  }
}

void incarnations_are_never_reused(Driver& d) {
  std::vector<Incarnation> seen;
  for (int i = 0; i < 4; ++i) {
    const auto outcome = d.start("a", "Orch", "in", IdReuse::replace_when_final);
    d.check.equal(outcome, StartOutcome::created, "start");
    const LeasedInstance item = d.fetch_one();
    for (const Incarnation old : seen)
      d.check.that(item.incarnation > old, "a new incarnation is a higher number");
    seen.push_back(item.incarnation);
    TurnCommit only = d.final_turn(item);
    d.must_commit(only);
  }
}

void activities_of_a_replaced_instance_are_cancelled_as_deleted(Driver& d) {
  d.running("a", 2);
  const auto held = d.fetch_activities_as(d.other, 1);
  if (held.size() != 1) d.stop("an activity to hold");
  end_without_cleanup(d, "a");
  replace_instance(d, "a");
  d.expect_no_activities();
  const RenewResult renewed = d.renew(held[0].lease);
  d.check.equal(renewed.outcome, RenewOutcome::cancelled, "the old holder's renewal");
  d.check.equal(renewed.reason, CancelReason::instance_deleted, "reason");
  d.check.equal(d.ack(Driver::completion(held[0])).outcome, AckOutcome::cancelled, "the old holder's ack");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(item.messages.size(), 1u, "messages of the new one: its start");
}

void an_old_ack_does_not_affect_a_new_activity_of_the_same_number(Driver& d) {
  d.running("a", 1);
  const LeasedActivity old = d.fetch_one_activity();
  end_without_cleanup(d, "a");
  replace_instance(d, "a");
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started(), scheduled(2)};
  first.new_activities = {Driver::activity(d.info("a").value(), 2)};
  d.must_commit(first);
  d.check.that(d.ack(Driver::completion(old)).outcome != AckOutcome::done, "the old ack");
  d.release(old);
  d.expect_nothing_to_do();
  d.check.equal(d.fetch_one_activity().attempt, 1u, "the new row is untouched");
}

void leases_and_turns_of_a_replaced_instance_are_refused(Driver& d) {
  const InstanceInfo old = d.running("a");
  const LeasedInstance item = d.woken("a");
  d.must_commit(d.final_turn(item));
  replace_instance(d, "a");
  const LeasedInstance fresh = d.fetch_one();

  d.check.that(!d.renew(item), "an old lease");
  d.release(item);
  d.expect_nothing_to_do();
  TurnCommit held = d.turn(item);
  held.events = {started()};
  d.check.equal(d.commit(held).outcome, CommitOutcome::lease_lost, "a turn under an old lease");
  TurnCommit mixed = d.turn(fresh);
  mixed.incarnation = old.incarnation;
  mixed.events = {started()};
  d.check.equal(d.commit(mixed).outcome, CommitOutcome::lease_lost, "the new lease with the old incarnation");
  TurnCommit first = d.turn(fresh);
  first.events = {started()};
  d.must_commit(first);
  // Now both have one event and differ only by their incarnation.
  TurnCommit conditional = d.conditional(old, EventId{1});
  conditional.events = {raised(2, "old")};
  d.check.equal(d.commit(conditional).outcome, CommitOutcome::condition_failed, "an old conditional turn");
  d.check.equal(d.history("a").size(), 1u, "events of the new one");
}

void a_childs_answer_to_a_replaced_parent_is_dropped(Driver& d) {
  const InstanceInfo old = d.running("a");
  d.must_commit(d.final_turn(d.woken("a")));
  replace_instance(d, "a");
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  d.must_commit(first);
  const ParentLink link{"a", old.incarnation, ExecutionId{1}, EventId{2}};
  d.send("a", message::SubOrchestrationCompleted{link, Payload::text("late")});
  d.send("a", message::SubOrchestrationFailed{link, {}});
  d.running("child");
  TurnCommit answer = d.turn(d.woken("child"));
  answer.messages = {{"a", message::SubOrchestrationCompleted{link, Payload::text("late")}}};
  d.must_commit(answer);
  d.expect_nothing_to_do();
  const ParentLink good{"a", d.info("a")->incarnation, ExecutionId{1}, EventId{2}};
  d.check.equal(d.send("a", message::SubOrchestrationCompleted{good, {}}), EnqueueOutcome::enqueued,
                "an answer to the new one");
  d.check.equal(d.fetch_one().messages.size(), 1u, "messages");
}

void message_ids_end_with_their_instance(Driver& d) {
  d.running("a");
  d.send("a", raise("x"), {}, "m");
  d.must_commit(d.final_turn(d.fetch_one()));
  replace_instance(d, "a");
  d.check.equal(d.send("a", raise("x"), {}, "m"), EnqueueOutcome::enqueued,
                "the id is new to the new instance");
}

void a_refused_message_does_not_use_up_its_id(Driver& d) {
  const InstanceInfo old = d.running("a");
  d.must_commit(d.final_turn(d.woken("a")));
  replace_instance(d, "a");
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  d.must_commit(first);
  const ParentLink late{"a", old.incarnation, ExecutionId{1}, EventId{2}};
  const ParentLink good{"a", d.info("a")->incarnation, ExecutionId{1}, EventId{2}};
  const std::vector<OutboundMessage> answers{
      {"a", message::SubOrchestrationCompleted{late, Payload::text("late")}, {}, "m"},
      {"a", message::SubOrchestrationCompleted{good, Payload::text("good")}, {}, "m"},
      {"a", message::SubOrchestrationCompleted{good, Payload::text("again")}, {}, "m"}};
  const auto outcomes = d.get(d.store.enqueue_messages(answers));
  if (outcomes.size() != 3) d.stop("one answer per message");
  d.check.equal(outcomes[0], EnqueueOutcome::not_found, "one for the instance that was replaced");
  d.check.equal(outcomes[1], EnqueueOutcome::enqueued, "one of the same id for the new one");
  d.check.equal(outcomes[2], EnqueueOutcome::duplicate, "another one for the new one");
  const LeasedInstance item = d.fetch_one();
  if (item.messages.size() != 1) d.stop("one message");
  d.check.that(
      item.messages[0].body == MessageBody{message::SubOrchestrationCompleted{good, Payload::text("good")}},
      "the message is the one that was enqueued");
}

}  // namespace

std::span<const ConformanceCase> incarnation_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(incarnations_are_never_reused),
      DURAMEN_CASE(activities_of_a_replaced_instance_are_cancelled_as_deleted),
      DURAMEN_CASE(an_old_ack_does_not_affect_a_new_activity_of_the_same_number),
      DURAMEN_CASE(leases_and_turns_of_a_replaced_instance_are_refused),
      DURAMEN_CASE(a_childs_answer_to_a_replaced_parent_is_dropped),
      DURAMEN_CASE(a_refused_message_does_not_use_up_its_id),
      DURAMEN_CASE(message_ids_end_with_their_instance),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
