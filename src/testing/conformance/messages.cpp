// Messages: the order, the time and the number of their deliveries.
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

void a_batch_keeps_its_order_and_one_bad_message_fails_alone(Driver& d) {
  d.running("a");
  d.running("b");
  const std::vector<OutboundMessage> batch{{"a", raise("1")},
                                           {"b", raise("x")},
                                           {"a", raise("2")},
                                           {"unknown", message::CancelInstance{}},
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

void the_longest_waiting_instance_is_fetched_first(Driver& d) {
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

void a_timer_fires_at_its_time(Driver& d) {
  d.running("a");
  const TimePoint due = d.now() + 10s;
  d.check.equal(d.send(timer("a", 2, due)), EnqueueOutcome::enqueued, "outcome");
  const TurnBatch early = d.fetch_batch({});
  d.check.equal(early.items.size(), 0u, "instances before the time");
  d.expect_due(early.next_due, due);
  d.advance(9999ms);
  d.expect_nothing_to_do();
  d.advance(1ms);
  d.check.equal(names_of(d.fetch_one().messages), "t2", "delivered on time");
}

void next_due_is_the_earliest_timer(Driver& d) {
  d.running("a");
  d.running("b");
  d.check.that(!d.fetch_batch({}).next_due, "nothing waits for its time");
  const TimePoint now = d.now();
  d.send(timer("a", 2, now + 30s));
  d.send(timer("b", 2, now + 20s));
  d.send(timer("a", 3, now + 40s));
  d.expect_due(d.fetch_batch({}).next_due, now + 20s);
  d.send("b", raise("now"));
  const TurnBatch batch = d.fetch_batch({});
  d.check.equal(batch.items.size(), 1u, "instances now");
  d.check.equal(names_of(batch.items.at(0).messages), "now", "no timer fires early");
  d.expect_due(batch.next_due, now + 20s);
}

void only_timers_and_starts_wait_for_a_time(Driver& d) {
  d.running("a");
  d.send("a", raise("now"));
  d.send("a", raise("past"), d.now() - 1h);
  d.send("a", raise("later"), d.now() + 1h);
  d.send("a", raise("last"));
  d.check.equal(names_of(d.fetch_one().messages), "now past later last", "at once, in order");
}

void a_message_id_is_stored_once_per_instance(Driver& d) {
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

void a_finished_instance_accepts_no_messages(Driver& d) {
  d.finished("a");
  d.check.equal(d.send("a", raise("late")), EnqueueOutcome::finished, "an event");
  d.check.equal(d.send("a", message::CancelInstance{.reason = "x"}), EnqueueOutcome::finished, "a cancel");
  d.expect_nothing_to_do();
  d.check.equal(d.info("a")->status, Status::completed, "status");
}

void messages_that_arrive_during_a_turn_wait_until_its_lease_ends(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  for (const char* name : {"1", "2", "3"}) d.send("a", raise(name));
  d.expect_nothing_to_do();
  d.advance(d.lease + 1ms);
  d.check.equal(names_of(d.fetch_one().messages), "wake 1 2 3", "after the lease ended");
}

void a_commit_deletes_only_the_messages_of_its_fetch(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  d.send("a", raise("2"));
  d.send("a", raise("3"));
  d.expect_nothing_to_do();
  d.must_commit(d.turn(item));
  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "2 3", "messages that arrived during the turn");
  d.must_commit(d.turn(next));
  d.expect_nothing_to_do();
}

void a_final_turn_deletes_undelivered_messages(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  d.send("a", raise("late"));
  d.send(timer("a", 2, d.now() + 1h));
  d.must_commit(d.final_turn(item));
  const TurnBatch batch = d.fetch_batch({});
  d.check.equal(batch.items.size(), 0u, "instances with something to do");
  d.check.that(!batch.next_due, "nothing waits for its time");
}

}  // namespace

std::span<const ConformanceCase> message_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(messages_are_delivered_in_order),
      DURAMEN_CASE(a_batch_keeps_its_order_and_one_bad_message_fails_alone),
      DURAMEN_CASE(the_longest_waiting_instance_is_fetched_first),
      DURAMEN_CASE(a_busy_instance_does_not_starve_another),
      DURAMEN_CASE(a_timer_fires_at_its_time, .reference = "test_timer_delayed_visibility"),
      DURAMEN_CASE(next_due_is_the_earliest_timer),
      DURAMEN_CASE(only_timers_and_starts_wait_for_a_time),
      DURAMEN_CASE(a_message_id_is_stored_once_per_instance),
      DURAMEN_CASE(a_finished_instance_accepts_no_messages),
      DURAMEN_CASE(
          messages_that_arrive_during_a_turn_wait_until_its_lease_ends,
          .reference = "test_completions_arriving_during_lock_blocked",
          .difference =
              "external events replace completions: a completion without an activity does not exist here"),
      DURAMEN_CASE(a_commit_deletes_only_the_messages_of_its_fetch,
                   .reference = "test_ack_only_affects_locked_messages",
                   .difference = "external events replace completions"),
      DURAMEN_CASE(a_final_turn_deletes_undelivered_messages),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
