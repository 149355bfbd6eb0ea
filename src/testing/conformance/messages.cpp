// Messages: in what order, when, and how often they are delivered.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void messages_are_delivered_in_order(Driver& d) {
  d.running("a");
  for (const char* name : {"1", "2", "3", "4", "5"}) {
    d.check.equal(d.send("a", raise(name)), EnqueueOutcome::enqueued, "outcome");
  }
  d.check.equal(names_of(d.fetch_one().messages), "1 2 3 4 5", "order");
}

void a_batch_of_messages_keeps_its_order(Driver& d) {
  d.running("a");
  d.running("b");
  const std::vector<OutboundMessage> batch{{"a", raise("1")},
                                           {"b", raise("x")},
                                           {"a", raise("2")},
                                           {"nobody", message::CancelInstance{}},
                                           {"a", raise("3")}};
  const auto outcomes = d.get(d.store.enqueue_messages(batch));
  d.check.equal(outcomes.size(), 5u, "one outcome per message");
  d.check.equal(outcomes.at(3), EnqueueOutcome::not_found, "the one that cannot be stored");
  const auto items = d.fetch();
  d.check.equal(items.size(), 2u, "instances");
  for (const auto& item : items) {
    d.check.equal(names_of(item.messages), item.instance == InstanceId{"a"} ? "1 2 3" : "x", "order");
  }
}

void the_longest_waiting_instance_comes_first(Driver& d) {
  for (const char* id : {"c", "a", "b"}) d.running(id);
  for (const char* id : {"b", "c", "a"}) {
    d.send(id, raise("x"));
    d.advance(1ms);
  }
  std::string order;
  for (int i = 0; i < 3; ++i) {
    const auto items = d.fetch(1);
    if (items.size() != 1) d.stop("limit 1 gives one instance while there are some");
    order += items[0].instance.value;
  }
  d.check.equal(order, "bca", "order of instances");
  d.expect_nothing_to_do();
}

void a_busy_instance_does_not_starve_another(Driver& d) {
  d.running("busy");
  d.running("quiet");
  d.send("busy", raise("x"));
  d.advance(1ms);
  d.send("quiet", raise("x"));
  bool served = false;
  for (int round = 0; round < 4 && !served; ++round) {
    d.send("busy", raise("more"));
    d.advance(1ms);
    const auto items = d.fetch(1);
    if (items.size() != 1) d.stop("nothing to do, although messages wait");
    served = items[0].instance == InstanceId{"quiet"};
    d.must_commit(d.turn(items[0]));
  }
  d.check.that(served, "the quiet instance had its turn within four");
}

void test_timer_delayed_visibility(Driver& d) {
  d.running("a");
  const TimePoint due = d.now() + 10s;
  d.check.equal(d.send("a", raise("later"), due), EnqueueOutcome::enqueued, "outcome");
  const TurnBatch early = d.fetch_batch({});
  d.check.equal(early.items.size(), 0u, "instances before the time");
  d.expect_due(early.next_due, due);
  d.advance(9999ms);
  d.expect_nothing_to_do();
  d.advance(1ms);
  d.check.equal(names_of(d.fetch_one().messages), "later", "delivered on time");
}

void next_due_is_the_earliest_waiting_message(Driver& d) {
  d.running("a");
  d.running("b");
  d.check.that(!d.fetch_batch({}).next_due, "nothing waits for its time");
  const TimePoint now = d.now();
  d.send("a", raise("x"), now + 30s);
  d.send("b", raise("x"), now + 20s);
  d.send("a", raise("x"), now + 40s);
  d.expect_due(d.fetch_batch({}).next_due, now + 20s);
  d.send("b", raise("now"));
  const TurnBatch batch = d.fetch_batch({});
  d.check.equal(batch.items.size(), 1u, "instances now");
  d.check.equal(names_of(batch.items.at(0).messages), "now", "a later message is not delivered early");
  d.expect_due(batch.next_due, now + 20s);
}

void messages_are_delivered_by_time_then_arrival(Driver& d) {
  d.running("a");
  const TimePoint now = d.now();
  d.send("a", raise("third"), now + 3s);
  d.send("a", raise("first"), now + 1s);
  d.send("a", raise("second"), now + 2s);
  d.send("a", raise("second'"), now + 2s);
  d.advance(5s);
  d.check.equal(names_of(d.fetch_one().messages), "first second second' third", "order");
}

void a_message_in_the_past_is_visible_now(Driver& d) {
  d.running("a");
  d.send("a", raise("now"));
  d.send("a", raise("past"), d.now() - 1h);
  d.check.equal(names_of(d.fetch_one().messages), "now past", "a past time overtakes nobody");
}

void message_ids_deduplicate(Driver& d) {
  d.running("a");
  d.running("b");
  d.check.equal(d.send("a", raise("one"), {}, "m"), EnqueueOutcome::enqueued, "first");
  d.check.equal(d.send("a", raise("one"), {}, "m"), EnqueueOutcome::duplicate, "again, while it waits");
  d.check.equal(d.send("b", raise("one"), {}, "m"), EnqueueOutcome::enqueued, "another instance");
  d.check.equal(d.send("a", raise("two"), {}, "m2"), EnqueueOutcome::enqueued, "another id");
  for (const auto& item : d.fetch()) {
    if (item.instance == InstanceId{"a"}) d.check.equal(names_of(item.messages), "one two", "delivered");
    d.must_commit(d.turn(item));
  }
  d.check.equal(d.send("a", raise("one"), {}, "m"), EnqueueOutcome::duplicate,
                "again, after it was delivered");
  d.expect_nothing_to_do();
}

void a_finished_instance_takes_no_messages(Driver& d) {
  d.finished("a");
  d.check.equal(d.send("a", raise("late")), EnqueueOutcome::finished, "an event");
  d.check.equal(d.send("a", message::CancelInstance{.reason = "x"}), EnqueueOutcome::finished, "a cancel");
  d.expect_nothing_to_do();
  d.check.equal(d.info("a")->status, Status::completed, "status");
}

void test_completions_arriving_during_lock_blocked(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  for (const char* name : {"1", "2", "3"}) d.send("a", raise(name));
  d.expect_nothing_to_do();
  d.advance(d.lease + 1ms);
  d.check.equal(names_of(d.fetch_one().messages), "wake 1 2 3", "after the lease ended");
}

void test_ack_only_affects_locked_messages(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  d.send("a", raise("2"));
  d.send("a", raise("3"));
  d.expect_nothing_to_do();
  d.must_commit(d.turn(item));
  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "2 3", "what arrived during the turn");
  d.must_commit(d.turn(next));
  d.expect_nothing_to_do();
}

void what_arrives_before_the_end_goes_unseen(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  d.send("a", raise("late"));
  d.send("a", raise("later"), d.now() + 1h);
  d.must_commit(d.final_turn(item));
  const TurnBatch batch = d.fetch_batch({});
  d.check.equal(batch.items.size(), 0u, "instances with something to do");
  d.check.that(!batch.next_due, "nothing waits for its time");
}

constexpr ConformanceCase cases[] = {
    {"messages_are_delivered_in_order", "One instance gets its messages in the order of arrival.",
     told<messages_are_delivered_in_order>},
    {"a_batch_of_messages_keeps_its_order", "A batch keeps its order and one bad entry fails alone.",
     told<a_batch_of_messages_keeps_its_order>},
    {"the_longest_waiting_instance_comes_first", "Instances are handed out by how long they have waited.",
     told<the_longest_waiting_instance_comes_first>},
    {"a_busy_instance_does_not_starve_another", "An instance that gets messages all the time is no obstacle.",
     told<a_busy_instance_does_not_starve_another>},
    {"test_timer_delayed_visibility", "A message for later is delivered at its time, not before.",
     told<test_timer_delayed_visibility>},
    {"next_due_is_the_earliest_waiting_message", "A fetch says when to come again.",
     told<next_due_is_the_earliest_waiting_message>},
    {"messages_are_delivered_by_time_then_arrival", "The order is (visible_at, arrival).",
     told<messages_are_delivered_by_time_then_arrival>},
    {"a_message_in_the_past_is_visible_now", "A time in the past means now.",
     told<a_message_in_the_past_is_visible_now>},
    {"message_ids_deduplicate", "A message id is stored once per instance, also after its delivery.",
     told<message_ids_deduplicate>},
    {"a_finished_instance_takes_no_messages", "Messages to an ended instance are answered `finished`.",
     told<a_finished_instance_takes_no_messages>},
    {"test_completions_arriving_during_lock_blocked", "Arrivals wait until the lease of their instance ends.",
     told<test_completions_arriving_during_lock_blocked>},
    {"test_ack_only_affects_locked_messages", "A commit deletes the messages of its own fetch only.",
     told<test_ack_only_affects_locked_messages>},
    {"what_arrives_before_the_end_goes_unseen", "A final turn leaves no message behind.",
     told<what_arrives_before_the_end_goes_unseen>},
};

}  // namespace

std::span<const ConformanceCase> message_cases() { return cases; }

}  // namespace duramen::inline v0::testing
