// Starting instances: by a client, by another orchestration, together with the first turn; and parked
// messages.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void a_start_creates_a_pending_instance_and_its_message(Driver& d) {
  d.check.equal(d.start("a"), StartOutcome::created, "outcome of the start");
  const auto info = d.info("a");
  if (!info) d.stop("the instance does not exist");
  d.check.equal(info->status, Status::pending, "status");
  d.check.equal(info->name, "Orch", "name");
  d.check.equal(info->version, "", "version while pending");
  d.check.that(!info->last_event_id, "a pending instance has no events");
  d.check.that(bool(info->incarnation), "a pending instance has an incarnation");
  d.check.equal(info->created_at, d.now(), "created_at");

  const LeasedInstance item = d.fetch_one();
  d.check.equal(item.instance, InstanceId{"a"}, "fetched instance");
  d.check.equal(item.incarnation, info->incarnation, "fetched incarnation");
  d.check.equal(item.execution, ExecutionId{1}, "execution");
  d.check.equal(item.status, Status::pending, "fetched status");
  d.check.that(!item.last_event_id, "nothing in history yet");
  d.check.equal(item.messages.size(), 1u, "messages");
  const auto* start = std::get_if<message::StartOrchestration>(&item.messages.at(0).body);
  d.check.that(start && start->orchestration == "Orch" && start->input == Payload::text("in"),
               "the message is the start, with name and input");
}

void reading_an_unknown_instance_or_execution_returns_nothing(Driver& d) {
  d.check.that(!d.info("unknown"), "an unknown instance has no info");
  d.check.that(d.history("unknown").empty(), "an unknown instance has no history");
  d.running("a");
  d.check.that(d.history("a", 7).empty(), "an unknown execution has no history");
}

void a_repeated_start_exists_and_a_different_one_conflicts(Driver& d) {
  d.start("a");
  d.check.equal(d.start("a"), StartOutcome::exists, "same name and input");
  d.check.equal(d.start("a", "Orch", "other"), StartOutcome::conflict, "another input");
  d.check.equal(d.start("a", "Other"), StartOutcome::conflict, "another name");
  d.check.equal(d.start("a", "Orch", "in", IdReuse::replace_when_final), StartOutcome::exists,
                "not final yet");
  d.check.equal(d.start("a", "Other", "in", IdReuse::replace_when_final), StartOutcome::conflict,
                "another one, not final yet");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(item.messages.size(), 1u, "only the first start left a message");
}

void a_final_instance_is_replaced_only_by_replace_when_final(Driver& d) {
  const InstanceInfo old = d.finished("a");
  d.check.equal(d.start("a"), StartOutcome::exists, "same name and input, reject");
  d.check.equal(d.start("a", "Other"), StartOutcome::conflict, "another name, reject");
  d.check.equal(d.info("a")->status, Status::completed, "status after refused starts");
  d.check.equal(d.start("a", "Other", "in2", IdReuse::replace_when_final), StartOutcome::created, "replace");
  const InstanceInfo fresh = d.info("a").value();
  d.check.that(fresh.incarnation != old.incarnation, "the new instance has a new incarnation");
  d.check.equal(fresh.status, Status::pending, "status of the new instance");
  d.check.equal(fresh.name, "Other", "name of the new instance");
  d.check.that(!fresh.output, "the old output is gone");
  d.check.that(d.history("a").empty(), "the old history is gone");
}

void each_start_of_a_batch_has_its_own_outcome(Driver& d) {
  const auto request = [](std::string id, std::string name) {
    return StartRequest{.instance = std::move(id), .start = {.orchestration = std::move(name)}};
  };
  const std::vector<StartRequest> batch{request("a", "X"), request("b", "X"), request("a", "X"),
                                        request("b", "Y")};
  const auto outcomes = d.get(d.store.start_instances(batch));
  const std::vector expected{StartOutcome::created, StartOutcome::created, StartOutcome::exists,
                             StartOutcome::conflict};
  d.check.that(outcomes == expected, "created, created, exists, conflict");
  d.check.equal(d.fetch().size(), 2u, "instances to run");
}

message::SubOrchestrationFailed taken_answer(const ParentLink& link) {
  return {link, Failure{.type = "Taken", .message = "in the runtime's own words", .details = "[1]"}};
}

TurnCommit child_start(Driver& d, const LeasedInstance& parent, const InstanceId& child) {
  TurnCommit commit = d.turn(parent);
  const EventId event = parent.last_event_id.next();
  commit.events = {
      make_event(event.value, event::SubOrchestrationScheduled{.name = "Child", .instance = child})};
  const ParentLink link{parent.instance, parent.incarnation, parent.execution, event};
  commit.messages = {{.target = child,
                      .body = message::StartOrchestration{.orchestration = "Child", .parent = link},
                      .if_refused = taken_answer(link)}};
  return commit;
}

void a_child_exists_when_the_turn_that_starts_it_is_committed(Driver& d) {
  d.running("parent");
  const LeasedInstance parent = d.woken("parent");
  d.must_commit(child_start(d, parent, "child"));
  const auto info = d.info("child");
  if (!info) d.stop("the child does not exist");
  d.check.equal(info->status, Status::pending, "status of the child");
  d.check.equal(info->name, "Child", "name of the child");
  d.check.that(
      info->parent && info->parent->instance == InstanceId{"parent"} && info->parent->event == EventId{2},
      "the child knows its parent");
  d.check.equal(d.fetch_one().instance, InstanceId{"child"}, "instance to run");
}

void a_taken_child_id_sends_the_parent_its_prepared_answer(Driver& d) {
  d.running("child");
  const Incarnation first = d.info("child")->incarnation;
  d.running("parent");
  const LeasedInstance parent = d.woken("parent");
  d.must_commit(child_start(d, parent, "child"));
  d.check.equal(d.info("child")->incarnation, first, "the instance that has the id is untouched");
  const LeasedInstance again = d.fetch_one();
  d.check.equal(again.instance, InstanceId{"parent"}, "the instance that receives the answer");
  const MessageBody expected = taken_answer({"parent", parent.incarnation, ExecutionId{1}, EventId{2}});
  d.check.equal(again.messages.size(), 1u, "messages");
  d.check.that(again.messages.at(0).body == expected, "the answer that the turn prepared");
}

void a_turn_receives_answers_for_its_taken_ids_only(Driver& d) {
  d.running("taken");
  d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  const message::StartOrchestration start{.orchestration = "X"};
  for (const char* id : {"taken", "free", "free", "taken"}) {
    commit.messages.push_back({.target = id, .body = start});
    commit.messages.back().if_refused = raise(std::to_string(commit.messages.size()));
  }
  d.must_commit(commit);
  const auto items = d.fetch();
  d.check.equal(items.size(), 2u, "instances with something to do");
  for (const auto& item : items) {
    d.check.equal(names_of(item.messages), item.instance == InstanceId{"a"} ? "1 3 4" : "?", "messages");
  }
}

void a_final_turn_receives_no_answer_about_a_taken_id(Driver& d) {
  d.running("taken");
  d.running("a");
  TurnCommit last = d.final_turn(d.woken("a"));
  last.messages = {{.target = "taken", .body = message::StartOrchestration{}, .if_refused = raise("late")}};
  d.must_commit(last);
  d.expect_nothing_to_do();
}

void a_taken_id_without_a_prepared_answer_sends_nothing(Driver& d) {
  d.running("taken");
  d.running("a");
  TurnCommit commit = child_start(d, d.woken("a"), "taken");
  commit.messages.at(0).if_refused.reset();
  d.must_commit(commit);
  d.expect_nothing_to_do();
}

void a_detached_start_of_a_taken_id_is_dropped(Driver& d) {
  d.running("taken");
  d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.messages = {{"taken", message::StartOrchestration{.orchestration = "X"}},
                     {"new", message::StartOrchestration{.orchestration = "X"}}};
  d.must_commit(commit);
  d.check.equal(d.fetch_one().instance, InstanceId{"new"}, "only the new instance has something to do");
}

void a_detached_start_of_a_taken_id_is_reported(Driver& d) {
  d.running("taken");
  d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  for (const char* id : {"taken", "new", "twice", "twice", "taken"}) {
    commit.messages.push_back({id, message::StartOrchestration{.orchestration = "X"}});
  }
  // A start with a prepared answer needs no report.
  commit.messages.back().if_refused = raise("answered");
  const std::vector<InstanceId> expected{"taken", "twice"};
  d.check.that(d.must_commit(commit).refused_starts == expected, "the starts without effect, once each");
  const CommitResult repeat = d.commit(commit);
  d.check.equal(repeat.outcome, CommitOutcome::already_committed, "the same commit again");
  d.check.that(repeat.refused_starts.empty(), "a repeat refuses nothing");

  TurnCommit fused = d.fused("b");
  fused.messages = {{"new", message::StartOrchestration{.orchestration = "X"}},
                    {"newer", message::StartOrchestration{.orchestration = "X"}}};
  const std::vector<InstanceId> of_fused{"new"};
  d.check.that(d.must_commit(fused).refused_starts == of_fused, "of a fused start");
}

void a_fused_start_stores_the_start_and_its_first_turn(Driver& d) {
  TurnCommit commit = d.fused("a");
  commit.events.push_back(scheduled(2));
  commit.new_activities = {Driver::activity({.instance = "a"}, 2)};
  const CommitResult result = d.must_commit(commit);
  const InstanceInfo info = d.info("a").value();
  d.check.equal(result.incarnation, info.incarnation, "the commit returns the new incarnation");
  d.check.equal(info.status, Status::running, "status");
  d.check.equal(info.name, "Orch", "name");
  d.check.equal(info.version, "1.0.0", "version");
  d.check.equal(info.last_event_id, EventId{2}, "last event");
  d.check.equal(d.history("a").size(), 2u, "events");
  d.expect_nothing_to_do();
  const LeasedActivity activity = d.fetch_one_activity();
  d.check.equal(activity.request.key.incarnation, info.incarnation, "the row's incarnation is filled in");
  d.check.equal(d.ack(Driver::completion(activity)).outcome, AckOutcome::done, "its ack");
  d.check.equal(d.fetch_one().instance, InstanceId{"a"}, "the completion reaches the new instance");
}

void a_fused_start_fills_its_incarnation_into_parent_links(Driver& d) {
  TurnCommit commit = d.fused("parent");
  const ParentLink link{"parent", {}, ExecutionId{1}, EventId{2}};
  commit.messages = {{"child", message::StartOrchestration{.orchestration = "Child", .parent = link}}};
  const CommitResult result = d.must_commit(commit);
  d.check.equal(d.info("child").value().parent.value().incarnation, result.incarnation, "in the child's row");
  const LeasedInstance child = d.fetch_one();
  const auto& start = std::get<message::StartOrchestration>(child.messages.at(0).body);
  d.check.equal(start.parent.value().incarnation, result.incarnation, "in the child's start message");
}

void a_fused_start_fills_its_incarnation_into_answers_for_taken_ids(Driver& d) {
  d.running("child");
  TurnCommit commit = d.fused("parent");
  const ParentLink link{"parent", {}, ExecutionId{1}, EventId{2}};
  for (const char* child : {"child", "free"}) {
    commit.messages.push_back({.target = child,
                               .body = message::StartOrchestration{.orchestration = "Child", .parent = link},
                               .if_refused = taken_answer(link)});
  }
  const CommitResult result = d.must_commit(commit);
  const auto items = d.fetch();
  d.check.equal(items.size(), 2u, "instances with something to do");
  for (const auto& item : items) {
    if (item.instance == InstanceId{"free"}) continue;
    d.check.equal(item.instance, InstanceId{"parent"}, "the instance that receives the answer");
    const MessageBody expected = taken_answer({"parent", result.incarnation, ExecutionId{1}, EventId{2}});
    d.check.equal(item.messages.size(), 1u, "messages");
    d.check.that(item.messages.at(0).body == expected, "the answer, with the incarnation filled in");
  }
}

void a_fused_start_of_a_taken_id_is_refused_and_stores_nothing(Driver& d) {
  const InstanceInfo first = d.running("a");
  const CommitResult repeat = d.commit(d.fused("a"));
  d.check.equal(repeat.outcome, CommitOutcome::start_refused, "same name and input");
  d.check.equal(repeat.start, StartOutcome::exists, "same name and input");
  const CommitResult other = d.commit(d.fused("a", "Other"));
  d.check.equal(other.outcome, CommitOutcome::start_refused, "another name");
  d.check.equal(other.start, StartOutcome::conflict, "another name");
  d.check.equal(d.info("a")->incarnation, first.incarnation, "the instance is untouched");
  d.check.equal(d.history("a").size(), 1u, "and so is its history");
}

void a_fused_start_may_replace_a_final_instance(Driver& d) {
  const InstanceInfo old = d.finished("a");
  const CommitResult result = d.must_commit(d.fused("a", "Other", "in2", IdReuse::replace_when_final));
  d.check.that(result.incarnation != old.incarnation, "a new incarnation");
  d.check.equal(d.info("a")->name, "Other", "name");
  d.check.equal(d.history("a").size(), 1u, "events");
}

void a_fused_start_may_complete_its_instance(Driver& d) {
  TurnCommit commit = d.fused("a");
  commit.events.push_back(make_event(2, event::OrchestrationCompleted{Payload::text("out")}));
  commit.change.status = Status::completed;
  commit.change.output = Payload::text("out");
  d.must_commit(commit);
  d.check.equal(d.info("a")->status, Status::completed, "status");
  d.check.that(d.info("a")->output == Payload::text("out"), "output");
  d.expect_nothing_to_do();
}

void parked_messages_are_delivered_when_the_instance_starts(Driver& d) {
  d.check.equal(d.send("a", raise("one")), EnqueueOutcome::parked, "an event");
  d.check.equal(d.send("a", message::QueueMessage{"q", Payload::text("two")}), EnqueueOutcome::parked,
                "a queue message");
  d.check.equal(d.send("a", raise("three"), {}, "m3"), EnqueueOutcome::parked, "one with an id");
  d.check.equal(d.send("a", raise("three"), {}, "m3"), EnqueueOutcome::duplicate, "the same id again");
  d.expect_nothing_to_do();
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(names_of(item.messages), "? one ? three", "the start, then the parked messages, in order");
  d.check.equal(d.send("a", raise("three"), {}, "m3"), EnqueueOutcome::duplicate, "an id that was parked");
}

void parked_messages_are_delivered_to_a_fused_start(Driver& d) {
  d.send("a", raise("early"));
  d.must_commit(d.fused("a"));
  d.check.equal(names_of(d.fetch_one().messages), "early", "the parked message");
}

void parked_messages_are_delivered_once(Driver& d) {
  d.send("a", raise("early"));
  d.running("a");
  d.expect_nothing_to_do();
}

void a_cancel_for_an_unknown_instance_is_not_parked(Driver& d) {
  d.check.equal(d.send("a", message::CancelInstance{.reason = "x"}), EnqueueOutcome::not_found, "a cancel");
  d.start("a");
  d.check.equal(d.fetch_one().messages.size(), 1u, "messages after a refused cancel");
}

void messages_to_unknown_instances_do_not_delay_others(Driver& d) {
  d.send("ghost", message::QueueMessage{"q", {}});
  d.send("ghost", message::QueueMessage{"q", {}});
  d.expect_nothing_to_do();
  d.running("b");
  TurnCommit commit = d.turn(d.woken("b"));
  commit.messages = {
      {"unknown", message::CancelInstance{.reason = "x"}}, {"unknown", raise("kept")}, {"b", raise("own")}};
  d.must_commit(commit);
  d.check.equal(names_of(d.fetch_one().messages), "own", "the message to the existing instance");
}

}  // namespace

std::span<const ConformanceCase> start_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_start_creates_a_pending_instance_and_its_message),
      DURAMEN_CASE(reading_an_unknown_instance_or_execution_returns_nothing,
                   .reference = "test_missing_instance_metadata",
                   .difference = "an unknown execution is also empty"),
      DURAMEN_CASE(a_repeated_start_exists_and_a_different_one_conflicts),
      DURAMEN_CASE(a_final_instance_is_replaced_only_by_replace_when_final),
      DURAMEN_CASE(each_start_of_a_batch_has_its_own_outcome),
      DURAMEN_CASE(a_child_exists_when_the_turn_that_starts_it_is_committed,
                   .reference = "test_sub_orchestration_instance_creation",
                   .difference = "the child exists, pending, when its parent's turn is committed"),
      DURAMEN_CASE(a_taken_child_id_sends_the_parent_its_prepared_answer),
      DURAMEN_CASE(a_turn_receives_answers_for_its_taken_ids_only),
      DURAMEN_CASE(a_final_turn_receives_no_answer_about_a_taken_id),
      DURAMEN_CASE(a_taken_id_without_a_prepared_answer_sends_nothing),
      DURAMEN_CASE(a_detached_start_of_a_taken_id_is_dropped),
      DURAMEN_CASE(a_detached_start_of_a_taken_id_is_reported),
      DURAMEN_CASE(a_fused_start_stores_the_start_and_its_first_turn),
      DURAMEN_CASE(a_fused_start_fills_its_incarnation_into_parent_links),
      DURAMEN_CASE(a_fused_start_fills_its_incarnation_into_answers_for_taken_ids),
      DURAMEN_CASE(a_fused_start_of_a_taken_id_is_refused_and_stores_nothing),
      DURAMEN_CASE(a_fused_start_may_replace_a_final_instance),
      DURAMEN_CASE(a_fused_start_may_complete_its_instance),
      DURAMEN_CASE(parked_messages_are_delivered_when_the_instance_starts),
      DURAMEN_CASE(parked_messages_are_delivered_to_a_fused_start),
      DURAMEN_CASE(parked_messages_are_delivered_once),
      DURAMEN_CASE(a_cancel_for_an_unknown_instance_is_not_parked),
      DURAMEN_CASE(messages_to_unknown_instances_do_not_delay_others),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
