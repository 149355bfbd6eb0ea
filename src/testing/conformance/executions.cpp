// Executions: each has its own history, and only the newest one continues.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// Ends the current execution; `events` begin the next one.
void begin_next_execution(Driver& d, const InstanceId& id, std::vector<Event> events) {
  d.must_commit(d.continuing_turn(d.woken(id)));
  TurnCommit first = d.next_execution(d.fetch_one());
  first.events = std::move(events);
  d.must_commit(first);
}

void each_execution_has_its_own_event_ids_and_history(Driver& d) {
  d.running("a", 2);
  begin_next_execution(d, "a", {started(), raised(2, "x")});
  d.check.equal(d.history("a", 1).size(), 4u, "events of the first");
  d.check.equal(d.history("a", 2).size(), 2u, "events of the second");
  d.check.that(d.history("a", 2)[1] == raised(2, "x"), "the second's own");
  d.check.equal(d.info("a").value().last_event_id, EventId{2}, "last event: of the newest");
}

void the_newest_execution_is_the_current_one(Driver& d) {
  d.running("a");
  d.check.equal(d.info("a").value().execution, ExecutionId{1}, "before");
  begin_next_execution(d, "a", {started()});
  d.check.equal(d.info("a").value().execution, ExecutionId{2}, "after");
  d.check.equal(d.woken("a").execution, ExecutionId{2}, "for the next turn");
}

void executions_are_numbered_without_gaps(Driver& d) {
  d.running("a");
  for (std::uint64_t number = 2; number <= 4; ++number) {
    d.must_commit(d.continuing_turn(d.woken("a")));
    const LeasedInstance item = d.fetch_one();
    d.check.equal(item.execution.value, number - 1, "the one that ended");
    TurnCommit skipping = d.next_execution(item);
    skipping.execution = ExecutionId{number + 1};
    d.check.equal(d.commit(skipping).outcome, CommitOutcome::invalid, "an execution number is skipped");
    d.must_commit(d.next_execution(item));
    d.check.equal(d.info("a").value().execution.value, number, "the one that began");
  }
}

void earlier_histories_stay_unchanged(Driver& d) {
  d.running("a");
  begin_next_execution(d, "a", {started(), raised(2, "second")});
  begin_next_execution(d, "a", {started(), raised(2, "third")});
  d.check.equal(d.history("a", 1).size(), 2u, "events of the first");
  d.check.that(d.history("a", 2).at(1) == raised(2, "second"), "the second's own");
  d.check.that(d.history("a", 3).at(1) == raised(2, "third"), "the third's own");
}

void the_first_turn_stores_the_resolved_version(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  d.check.that(item.name == "Orch" && item.version.empty() && !item.last_event_id, "before the first turn");
  TurnCommit first = d.turn(item);
  first.events = {started()};
  first.change.version = "2.0.0";
  d.must_commit(first);
  const LeasedInstance next = d.woken("a");
  d.check.that(next.version == "2.0.0" && next.last_event_id == EventId{1}, "after it");
}

void later_turns_need_not_repeat_the_version(Driver& d) {
  d.start("a");
  TurnCommit first = d.turn(d.fetch_one());
  first.events = {started()};
  first.change.version = "3.0.0";
  d.must_commit(first);
  for (int i = 0; i < 2; ++i) {
    const LeasedInstance item = d.woken("a");
    d.check.equal(item.version, "3.0.0", "version");
    d.must_commit(d.turn(item));
  }
}

void only_a_start_creates_an_instance(Driver& d) {
  d.send("a", raise("x"));
  d.send("a", message::TimerFired{ExecutionId{1}, EventId{2}, d.now()});
  d.send("a", message::ActivityCompleted{ExecutionId{1}, EventId{2}, {}});
  d.send("a", message::CancelInstance{});
  d.check.that(!d.info("a"), "no instance");
  d.check.equal(d.list({}), "", "none is listed");
  d.expect_nothing_to_do();
}

void orphan_messages_block_no_instance_and_are_dropped_later(Driver& d) {
  d.send("ghost", message::QueueMessage{"q", Payload::text("1")});
  d.send("ghost", message::QueueMessage{"q", Payload::text("2")});
  d.expect_nothing_to_do();
  d.running("b");
  d.send("b", message::QueueMessage{"q", Payload::text("own")});
  const LeasedInstance item = d.fetch_one();
  d.check.that(item.messages.size() == 1 &&
                   item.messages[0].body == MessageBody{message::QueueMessage{"q", Payload::text("own")}},
               "an existing instance receives its own message");
  d.advance(24h * 400);
  d.check.equal(d.sweep().parked_dropped, 2u, "dropped by the sweep");
}

void an_invalid_turn_stores_nothing_and_keeps_its_lease(Driver& d) {
  d.running("a", 1);
  const InstanceInfo before = d.info("a").value();
  const LeasedInstance item = d.woken("a");
  TurnCommit bad = d.turn(item);
  bad.events = {raised(1, "again")};
  bad.new_activities = {Driver::activity(before, 7)};
  bad.messages = {{"a", raise("own")}, {"b", message::StartOrchestration{.orchestration = "Orch"}}};
  bad.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
  bad.change.status = Status::completed;
  bad.change.custom_status = CustomStatusChange{"bad"};
  bad.change.key_values = {{"k", Payload::text("bad"), d.now()}};
  d.check.equal(d.commit(bad).outcome, CommitOutcome::invalid, "outcome");
  d.check.equal(d.history("a").size(), 2u, "events");
  const InstanceInfo after = d.info("a").value();
  d.check.that(after.status == Status::running && !after.custom_status && after.custom_status_version == 0,
               "state");
  d.check.that(d.key_values("a").empty() && !d.info("b"), "key-values and other instances");
  d.check.equal(numbers_of(d.fetch_activities()), "2", "activities");
  d.expect_nothing_to_do();
  d.check.that(d.renew(item), "the lease");
  d.must_commit(d.turn(item));
  d.expect_nothing_to_do();
}

void a_refused_turn_does_not_free_the_instance(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  LeasedInstance forged = item;
  forged.lease = LeaseToken{item.lease.value ^ 1};
  TurnCommit bad = d.turn(forged);
  bad.events = {started()};
  d.check.equal(d.commit(bad).outcome, CommitOutcome::lease_lost, "outcome");
  d.expect_nothing_to_do();
  d.advance(d.lease);
  d.check.equal(d.fetch().size(), 1u, "free when the lease ends");
}

void a_commit_under_an_unknown_lease_is_lease_lost(Driver& d) {
  LeasedInstance unknown{.instance = "a", .incarnation = Incarnation{4711}, .lease = LeaseToken{1}};
  unknown.execution = ExecutionId{1};
  d.check.equal(d.commit(d.turn(unknown)).outcome, CommitOutcome::lease_lost, "outcome");
  d.check.that(!d.info("a"), "nothing was created");
}

void messages_sent_after_the_fetch_stay_after_the_commit(Driver& d) {
  d.running("a");
  d.send("a", raise("1"));
  d.send("a", raise("2"));
  const LeasedInstance item = d.fetch_one();
  d.check.equal(names_of(item.messages), "1 2", "fetched");
  d.send("a", raise("3"));
  d.must_commit(d.turn(item));
  d.check.equal(names_of(d.fetch_one().messages), "3", "left");
}

}  // namespace

std::span<const ConformanceCase> execution_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(
          each_execution_has_its_own_event_ids_and_history, .reference = "test_execution_isolation",
          .difference = "the second execution follows by continue-as-new: a store refuses any other"),
      DURAMEN_CASE(the_newest_execution_is_the_current_one, .reference = "test_latest_execution_detection",
                   .difference = "`get_instance` and the fetch return the newest execution"),
      DURAMEN_CASE(executions_are_numbered_without_gaps, .reference = "test_execution_id_sequencing",
                   .difference = "only the next number is accepted; leaving one out is `invalid`"),
      DURAMEN_CASE(earlier_histories_stay_unchanged, .reference = "test_execution_history_persistence",
                   .difference = "executions follow each other by continue-as-new"),
      DURAMEN_CASE(
          the_first_turn_stores_the_resolved_version, .reference = "test_instance_creation_via_metadata",
          .difference = "the start creates the instance as pending; the first turn adds the version"),
      DURAMEN_CASE(later_turns_need_not_repeat_the_version, .reference = "test_null_version_handling",
                   .difference = "the version is empty, not `unknown`, until the first turn"),
      DURAMEN_CASE(
          only_a_start_creates_an_instance, .reference = "test_no_instance_creation_on_enqueue",
          .difference =
              "the opposite: a start creates the instance; that other messages create none is checked"),
      DURAMEN_CASE(orphan_messages_block_no_instance_and_are_dropped_later,
                   .reference = "test_orphan_queue_messages_dropped",
                   .difference = "they are parked for a configured time and block no instance; then a sweep "
                                 "drops and counts them"),
      DURAMEN_CASE(an_invalid_turn_stores_nothing_and_keeps_its_lease,
                   .reference = "test_atomicity_failure_rollback",
                   .difference = "the answer is `invalid`; status, key-values, custom status, activities and "
                                 "other instances are also checked"),
      DURAMEN_CASE(a_refused_turn_does_not_free_the_instance,
                   .reference = "test_lock_released_only_on_successful_ack"),
      DURAMEN_CASE(a_commit_under_an_unknown_lease_is_lease_lost,
                   .reference = "test_invalid_lock_token_on_ack",
                   .difference = "the answer is `lease_lost`, not an error text"),
      DURAMEN_CASE(messages_sent_after_the_fetch_stay_after_the_commit,
                   .reference = "test_message_tagging_during_lock",
                   .difference = "external events replace completions"),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
