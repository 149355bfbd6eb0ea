// The order of an instance's queue: places, timers among messages, what a turn leaves and puts back.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// A turn that takes the messages at these positions of the fetched list.
TurnCommit turn_of(Driver& d, const LeasedInstance& item, const std::vector<std::size_t>& positions) {
  TurnCommit commit = d.turn(item);
  auto& taken = std::get<HeldLease>(commit.basis).taken;
  taken.clear();
  for (const std::size_t i : positions) taken.push_back(item.messages.at(i).place);
  return commit;
}

void places_are_unique_and_rise_with_the_order(Driver& d) {
  d.running("a");
  for (const char* name : {"1", "2", "3"}) d.send("a", raise(name));
  const LeasedInstance item = d.fetch_one();
  d.check.equal(names_of(item.messages), "1 2 3", "messages");
  for (std::size_t i = 1; i < item.messages.size(); ++i) {
    d.check.that(item.messages[i - 1].place < item.messages[i].place, "a higher place");
  }
  d.release(item);
  const LeasedInstance again = d.fetch_one();
  d.check.equal(again.messages.at(0).place, item.messages.at(0).place, "a message keeps its place");
}

void a_due_timer_stands_between_earlier_and_later_messages(Driver& d) {
  d.running("a");
  d.send("a", raise("early"));
  d.send(timer("a", 2, d.now() + 5s));
  d.advance(10s);
  d.send("a", raise("late"));
  d.check.equal(names_of(d.fetch_one().messages), "early t2 late", "order");
}

void a_timer_stands_before_a_message_of_its_very_time(Driver& d) {
  d.running("a");
  d.send(timer("a", 2, d.now() + 5s));
  d.advance(5s);
  d.send("a", raise("x"));
  d.check.equal(names_of(d.fetch_one().messages), "t2 x", "order");
}

void timers_fire_by_time_then_by_event(Driver& d) {
  d.running("a");
  const TimePoint now = d.now();
  for (const auto& [event, after] :
       std::vector<std::pair<std::uint64_t, Duration>>{{5, 3s}, {4, 1s}, {3, 2s}, {2, 2s}, {6, 10s}}) {
    d.send(timer("a", event, now + after));
  }
  d.advance(5s);
  d.check.equal(names_of(d.fetch_one().messages), "t4 t2 t3 t5", "order");
}

void a_turn_may_leave_messages_in_the_queue(Driver& d) {
  d.running("a");
  for (const char* name : {"1", "2", "3"}) d.send("a", raise(name));
  d.must_commit(d.turn_of_first(d.fetch_one(), 1));
  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "2 3", "the messages that the turn left");
  d.check.equal(next.attempt, 1u, "attempt");
  d.send("a", raise("4"));
  d.must_commit(d.turn_of_first(next, 1));
  d.check.equal(names_of(d.fetch_one().messages), "3 4", "a later message stays behind");
}

void a_turn_may_take_messages_from_the_middle(Driver& d) {
  d.running("a");
  d.send("a", raise("1"));
  d.send(timer("a", 2, d.now() + 1s));
  d.send(timer("a", 3, d.now() + 2s));
  d.advance(5s);
  d.send("a", raise("2"));
  d.send("a", raise("3"));
  const LeasedInstance item = d.fetch_one();
  d.check.equal(names_of(item.messages), "1 t2 t3 2 3", "messages");
  d.must_commit(turn_of(d, item, {1, 3}));
  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "1 t3 3", "the messages and the timer that the turn left");
  d.must_commit(d.turn(next));
  d.expect_nothing_to_do();
}

void a_turn_may_take_nothing(Driver& d) {
  d.running("a");
  d.send("a", raise("1"));
  d.must_commit(d.turn_of_first(d.fetch_one(), 0));
  d.check.equal(names_of(d.fetch_one().messages), "1", "messages");
}

void a_final_turn_deletes_what_it_left(Driver& d) {
  d.running("a");
  d.send("a", raise("1"));
  d.send("a", raise("2"));
  const LeasedInstance item = d.fetch_one();
  TurnCommit last = d.final_turn(item);
  std::get<HeldLease>(last.basis).taken.resize(1);
  d.must_commit(last);
  d.expect_nothing_to_do();
  d.check.equal(d.depths().orchestrator_due, 0u, "queued messages");
}

void the_beginning_of_an_execution_stands_ahead_of_the_queue(Driver& d) {
  d.running("a");
  d.send("a", raise("1"));
  d.send("a", raise("2"));
  const LeasedInstance item = d.fetch_one();
  d.send("a", raise("3"));
  TurnCommit end = d.continuing_turn(item);
  std::get<HeldLease>(end.basis).taken.resize(1);
  d.must_commit(end);
  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "? 2 3", "order");
  d.check.that(
      !next.messages.empty() && std::holds_alternative<message::ContinueAsNew>(next.messages[0].body),
      "the first is the beginning");
}

void what_a_turn_puts_back_comes_before_the_queue(Driver& d) {
  d.running("a");
  for (const char* name : {"1", "2", "3"}) d.send("a", raise(name));
  const LeasedInstance item = d.fetch_one();
  d.send("a", raise("meanwhile"));
  TurnCommit end = d.continuing_turn(item);
  end.put_back = {raise("2"), raise("3")};
  d.must_commit(end);
  d.send("a", raise("later"));
  const LeasedInstance next = d.fetch_one();
  d.check.equal(names_of(next.messages), "? 2 3 meanwhile later", "order");

  TurnCommit first = d.next_execution(next);
  std::get<HeldLease>(first.basis).taken.resize(2);  // the beginning and "2"
  d.must_commit(first);
  TurnCommit second_end = d.continuing_turn(d.fetch_one());
  std::get<HeldLease>(second_end.basis).taken.clear();
  second_end.put_back = {raise("0")};
  d.must_commit(second_end);
  d.check.equal(names_of(d.fetch_one().messages), "? 0 3 meanwhile later", "order after a second time");
}

void any_amount_of_mail_is_put_back(Driver& d) {
  d.running("a");
  TurnCommit end = d.continuing_turn(d.woken("a"));
  std::string expected = "?";
  for (int i = 0; i < 12; ++i) {
    message::ExternalRaised mail = raise(std::to_string(i), std::string(std::size_t{2} << 20u, 'x'));
    mail.requested_by = "someone";
    end.put_back.emplace_back(std::move(mail));
    expected += " " + std::to_string(i);
  }
  d.must_commit(end);
  d.send("a", raise("later"));
  expected += " later";
  std::string found;
  for (bool begins = true; found.size() < expected.size(); begins = false) {
    const LeasedInstance part = d.fetch_one();
    found += (found.empty() ? "" : " ") + names_of(part.messages);
    if (!begins) {
      const auto* mail = std::get_if<message::ExternalRaised>(&part.messages.at(0).body);
      d.check.that(mail != nullptr && mail->requested_by == "someone", "its requester");
    }
    d.must_commit(begins ? d.next_execution(part) : d.turn(part));
  }
  d.check.equal(found, expected, "order");
  d.expect_nothing_to_do();
}

void only_mail_is_put_back_and_only_with_a_beginning(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  TurnCommit wrong = d.continuing_turn(item);
  wrong.put_back = {message::CancelInstance{.reason = "why"}};
  d.check.equal(d.commit(wrong).outcome, CommitOutcome::invalid, "a cancel");
  TurnCommit without = d.turn(item);
  without.put_back = {raise("1")};
  const CommitResult refused = d.commit(without);
  d.check.equal(refused.outcome, CommitOutcome::invalid, "without a beginning");
  d.check.that(!refused.message.empty(), "the reason");
  TurnCommit end = d.continuing_turn(item);
  end.put_back = {raise("1")};
  d.must_commit(end);
  d.check.equal(names_of(d.fetch_one().messages), "? 1", "messages");
}

void a_timer_stands_behind_what_was_put_back(Driver& d) {
  d.running("a");
  TurnCommit end = d.continuing_turn(d.woken("a"));
  end.put_back = {raise("1"), raise("2")};
  d.must_commit(end);
  d.advance(5s);
  d.send("a", raise("late"));
  TurnCommit first = d.next_execution(d.fetch_one());
  std::get<HeldLease>(first.basis).taken.resize(1);  // the beginning
  first.messages = {timer("a", 2, d.now() - 1s, 2)};
  d.must_commit(first);
  d.check.equal(names_of(d.fetch_one().messages), "1 2 t2 late", "order");
}

void parked_mail_keeps_the_time_at_which_it_was_parked(Driver& d) {
  d.send("a", raise("parked"));
  const TimePoint due = d.now() + 5s;
  d.advance(10s);
  d.start("a");
  d.send("a", raise("late"));
  const LeasedInstance item = d.fetch_one();
  d.check.equal(names_of(item.messages), "? parked late", "messages");
  TurnCommit first = d.turn_of_first(item, 1);
  first.events = {started()};
  first.messages = {timer("a", 2, due)};
  d.must_commit(first);
  d.check.equal(names_of(d.fetch_one().messages), "parked t2 late", "order");
}

void a_delayed_start_begins_at_its_time(Driver& d) {
  d.running("p");
  TurnCommit commit = d.turn(d.woken("p"));
  const TimePoint due = d.now() + 10s;
  commit.messages = {{"a", message::StartOrchestration{.orchestration = "Orch"}, due}};
  d.must_commit(commit);
  d.check.that(d.info("a") && d.info("a")->status == Status::pending, "it exists at once");
  TurnBatch batch = d.fetch_batch({});
  d.check.equal(batch.items.size(), 0u, "instances before the time");
  d.expect_due(batch.next_due, due);
  d.check.equal(d.send("a", raise("x")), EnqueueOutcome::enqueued, "a message before its start");
  d.advance(9999ms);
  d.expect_nothing_to_do();
  d.advance(1ms);
  d.check.equal(names_of(d.fetch_one().messages), "? x", "the start, then the message");
}

void a_timer_that_is_sent_again_still_fires(Driver& d) {
  d.running("a");
  d.send(timer("a", 5, d.now()));
  const LeasedInstance item = d.fetch_one();
  d.send(timer("a", 5, d.now()));
  d.expect_nothing_to_do();
  d.release(item);
  d.check.equal(names_of(d.fetch_one().messages), "t5", "after a release");
  d.send(timer("a", 5, d.now()));
  d.expect_nothing_to_do();
  d.advance(d.lease);
  d.check.equal(names_of(d.fetch_one().messages), "t5", "after the end of a lease");
}

void many_messages_keep_their_order_over_many_turns(Driver& d) {
  d.running("a");
  std::vector<OutboundMessage> batch;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    batch.push_back({"a", raise(std::to_string(i))});
    expected += (i == 0 ? "" : " ") + std::to_string(i);
  }
  d.get(d.store.enqueue_messages(batch));
  std::string order;
  while (true) {
    const auto items = d.fetch_batch({.max_messages = 7}).items;
    if (items.empty()) break;
    if (items.size() != 1) d.stop("one instance");
    order += (order.empty() ? "" : " ") + names_of(items[0].messages);
    d.must_commit(d.turn(items[0]));
  }
  d.check.equal(order, expected, "order");
}

}  // namespace

std::span<const ConformanceCase> order_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(places_are_unique_and_rise_with_the_order),
      DURAMEN_CASE(a_due_timer_stands_between_earlier_and_later_messages),
      DURAMEN_CASE(a_timer_stands_before_a_message_of_its_very_time),
      DURAMEN_CASE(timers_fire_by_time_then_by_event),
      DURAMEN_CASE(a_turn_may_leave_messages_in_the_queue),
      DURAMEN_CASE(a_turn_may_take_messages_from_the_middle),
      DURAMEN_CASE(a_turn_may_take_nothing),
      DURAMEN_CASE(a_final_turn_deletes_what_it_left),
      DURAMEN_CASE(the_beginning_of_an_execution_stands_ahead_of_the_queue),
      DURAMEN_CASE(what_a_turn_puts_back_comes_before_the_queue),
      DURAMEN_CASE(any_amount_of_mail_is_put_back),
      DURAMEN_CASE(only_mail_is_put_back_and_only_with_a_beginning),
      DURAMEN_CASE(a_timer_stands_behind_what_was_put_back),
      DURAMEN_CASE(parked_mail_keeps_the_time_at_which_it_was_parked),
      DURAMEN_CASE(a_delayed_start_begins_at_its_time),
      DURAMEN_CASE(a_timer_that_is_sent_again_still_fires),
      DURAMEN_CASE(many_messages_keep_their_order_over_many_turns),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
