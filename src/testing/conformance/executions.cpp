// Executions: each has its own history, and only the newest one goes on.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// Ends the current execution; `events` begin the next one.
void begin_next(Driver& d, const InstanceId& id, std::vector<Event> events) {
  d.must_commit(d.continuing_turn(d.woken(id)));
  TurnCommit first = d.next_execution(d.fetch_one());
  first.events = std::move(events);
  d.must_commit(first);
}

void test_execution_isolation(Driver& d) {
  d.running("a", 2);
  begin_next(d, "a", {started(), raised(2, "x")});
  d.check.equal(d.history("a", 1).size(), 4u, "events of the first");
  d.check.equal(d.history("a", 2).size(), 2u, "events of the second");
  d.check.that(d.history("a", 2)[1] == raised(2, "x"), "the second's own");
  d.check.equal(d.info("a").value().last_event_id, EventId{2}, "last event: of the newest");
}

void test_latest_execution_detection(Driver& d) {
  d.running("a");
  d.check.equal(d.info("a").value().execution, ExecutionId{1}, "before");
  begin_next(d, "a", {started()});
  d.check.equal(d.info("a").value().execution, ExecutionId{2}, "after");
  d.check.equal(d.woken("a").execution, ExecutionId{2}, "for the next turn");
}

void test_execution_id_sequencing(Driver& d) {
  d.running("a");
  for (std::uint64_t number = 2; number <= 4; ++number) {
    d.must_commit(d.continuing_turn(d.woken("a")));
    const LeasedInstance item = d.fetch_one();
    d.check.equal(item.execution.value, number - 1, "the one that ended");
    TurnCommit skipping = d.next_execution(item);
    skipping.execution = ExecutionId{number + 1};
    d.check.equal(d.commit(skipping).outcome, CommitOutcome::invalid, "one is left out");
    d.must_commit(d.next_execution(item));
    d.check.equal(d.info("a").value().execution.value, number, "the one that began");
  }
}

void test_execution_history_persistence(Driver& d) {
  d.running("a");
  begin_next(d, "a", {started(), raised(2, "second")});
  begin_next(d, "a", {started(), raised(2, "third")});
  d.check.equal(d.history("a", 1).size(), 2u, "events of the first");
  d.check.that(d.history("a", 2).at(1) == raised(2, "second"), "the second's own");
  d.check.that(d.history("a", 3).at(1) == raised(2, "third"), "the third's own");
}

void test_instance_creation_via_metadata(Driver& d) {
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

void test_null_version_handling(Driver& d) {
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

void test_no_instance_creation_on_enqueue(Driver& d) {
  d.send("a", raise("x"));
  d.send("a", message::TimerFired{ExecutionId{1}, EventId{2}, d.now()});
  d.send("a", message::ActivityCompleted{ExecutionId{1}, EventId{2}, {}});
  d.send("a", message::CancelInstance{});
  d.check.that(!d.info("a"), "no instance");
  d.check.equal(d.list({}), "", "none is listed");
  d.expect_nothing_to_do();
}

void test_orphan_queue_messages_dropped(Driver& d) {
  d.send("ghost", message::QueueMessage{"q", Payload::text("1")});
  d.send("ghost", message::QueueMessage{"q", Payload::text("2")});
  d.expect_nothing_to_do();
  d.running("b");
  d.send("b", message::QueueMessage{"q", Payload::text("own")});
  const LeasedInstance item = d.fetch_one();
  d.check.that(item.messages.size() == 1 &&
                   item.messages[0].body == MessageBody{message::QueueMessage{"q", Payload::text("own")}},
               "the living get their own");
  d.advance(24h * 400);
  d.check.equal(d.sweep().parked_dropped, 2u, "dropped in the end");
}

void test_atomicity_failure_rollback(Driver& d) {
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
  d.check.equal(numbers_of(d.fetch_work()), "2", "activities");
  d.expect_nothing_to_do();
  d.check.that(d.renew(item), "the lease");
  d.must_commit(d.turn(item));
  d.expect_nothing_to_do();
}

void test_lock_released_only_on_successful_ack(Driver& d) {
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

void test_invalid_lock_token_on_ack(Driver& d) {
  LeasedInstance nobody{.instance = "a", .incarnation = Incarnation{4711}, .lease = LeaseToken{1}};
  nobody.execution = ExecutionId{1};
  d.check.equal(d.commit(d.turn(nobody)).outcome, CommitOutcome::lease_lost, "outcome");
  d.check.that(!d.info("a"), "nothing was created");
}

void test_message_tagging_during_lock(Driver& d) {
  d.running("a");
  d.send("a", raise("1"));
  d.send("a", raise("2"));
  const LeasedInstance item = d.fetch_one();
  d.check.equal(names_of(item.messages), "1 2", "fetched");
  d.send("a", raise("3"));
  d.must_commit(d.turn(item));
  d.check.equal(names_of(d.fetch_one().messages), "3", "left");
}

constexpr ConformanceCase cases[] = {
    {"test_execution_isolation", "Event ids begin anew, and histories do not mix.",
     told<test_execution_isolation>},
    {"test_latest_execution_detection", "The newest execution is the instance's.",
     told<test_latest_execution_detection>},
    {"test_execution_id_sequencing", "Executions are numbered one by one, and none is left out.",
     told<test_execution_id_sequencing>},
    {"test_execution_history_persistence", "Earlier histories stay as they were.",
     told<test_execution_history_persistence>},
    {"test_instance_creation_via_metadata", "The first turn says which version the name stood for.",
     told<test_instance_creation_via_metadata>},
    {"test_null_version_handling", "A start need not name a version; a turn need not repeat it.",
     told<test_null_version_handling>},
    {"test_no_instance_creation_on_enqueue", "Only a start creates an instance.",
     told<test_no_instance_creation_on_enqueue>},
    {"test_orphan_queue_messages_dropped", "Messages for an instance that never comes are in nobody's way.",
     told<test_orphan_queue_messages_dropped>},
    {"test_atomicity_failure_rollback",
     "A turn that cannot be stored leaves nothing, and its lease is still held.",
     told<test_atomicity_failure_rollback>},
    {"test_lock_released_only_on_successful_ack", "A refused turn does not free the instance.",
     told<test_lock_released_only_on_successful_ack>},
    {"test_invalid_lock_token_on_ack", "A lease that never was is lost.",
     told<test_invalid_lock_token_on_ack>},
    {"test_message_tagging_during_lock",
     "A commit takes the messages of its fetch, not those that came since.",
     told<test_message_tagging_during_lock>},
};

}  // namespace

std::span<const ConformanceCase> execution_cases() { return cases; }

}  // namespace duramen::inline v0::testing
