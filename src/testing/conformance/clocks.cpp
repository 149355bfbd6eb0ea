// The wall clock: setting it moves timers and delayed starts, and nothing else.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void messages_keep_their_order_when_the_wall_clock_is_set(Driver& d) {
  d.running("a");
  d.send("a", raise("1"));
  if (!d.jump_wall(-24h)) return;
  d.send("a", raise("2"));
  d.jump_wall(48h);
  d.send("a", raise("3"));
  d.jump_wall(-72h);
  d.send("a", raise("4"));
  d.check.equal(names_of(d.fetch_one().messages), "1 2 3 4", "order");
}

void setting_the_wall_clock_back_delays_no_message(Driver& d) {
  d.running("a", 1);
  if (!d.jump_wall(-48h)) return;
  d.start("b");
  d.check.equal(d.fetch_one().instance, InstanceId{"b"}, "a start");
  d.send("a", raise("x"));
  const LeasedInstance item = d.fetch_one();
  d.check.equal(names_of(item.messages), "x", "a message");
  d.must_commit(d.turn(item));
  d.ack(Driver::completion(d.fetch_one_activity()));
  d.check.equal(names_of(d.fetch_one().messages), "?", "an activity and its result");
}

void the_longest_waiting_instance_is_first_whatever_the_wall_clock(Driver& d) {
  for (const char* id : {"a", "b", "c"}) d.running(id);
  d.send("b", raise("x"));
  d.advance(1ms);
  if (!d.jump_wall(-24h)) return;
  d.send("c", raise("x"));
  d.advance(1ms);
  d.jump_wall(12h);
  d.send("a", raise("x"));
  std::string order;
  for (int i = 0; i < 3; ++i) {
    const auto items = d.fetch(1);
    if (items.size() != 1) d.stop("an instance that waits");
    order += items[0].instance.value;
  }
  d.check.equal(order, "bca", "order of instances");
}

void parked_mail_expires_in_lease_time(Driver& d) {
  d.send("a", raise("early"));
  if (!d.jump_wall(48h)) return;
  d.send("a", raise("late"));
  d.sweep();
  d.start("a");
  d.check.equal(names_of(d.fetch_one().messages), "? early late", "messages");
}

void a_timer_follows_the_wall_clock(Driver& d) {
  d.running("a");
  d.send(timer("a", 2, d.now() + 1h));
  if (!d.jump_wall(1h)) return;
  const LeasedInstance item = d.fetch_one();
  d.check.equal(names_of(item.messages), "t2", "after a jump forward");
  d.release(item);
  d.jump_wall(-2h);
  d.expect_nothing_to_do();
  d.send("a", raise("x"));
  const LeasedInstance other = d.fetch_one();
  d.check.equal(names_of(other.messages), "x", "a message while the timer is not due");
  d.must_commit(d.turn(other));
  d.jump_wall(2h);
  d.check.equal(names_of(d.fetch_one().messages), "t2", "due again");
}

void a_delay_of_a_turn_counts_in_lease_time(Driver& d) {
  d.running("a");
  d.release(d.woken("a"), 10s);
  if (!d.jump_wall(24h)) return;
  d.expect_nothing_to_do();
  d.jump_wall(-48h);
  d.advance(9999ms);
  d.expect_nothing_to_do();
  d.advance(1ms);
  d.check.equal(names_of(d.fetch_one().messages), "wake", "after the delay");
}

void activities_are_fetched_whatever_the_wall_clock(Driver& d) {
  d.running("a", 1);
  if (!d.jump_wall(-24h)) return;
  const LeasedActivity first = d.fetch_one_activity();
  d.release(first, 10s);
  d.jump_wall(48h);
  d.expect_no_activities();
  d.jump_wall(-96h);
  d.advance(9999ms);
  d.expect_no_activities();
  d.advance(1ms);
  d.check.equal(d.fetch_one_activity().attempt, 2u, "after the delay");
}

void schedule_to_start_counts_in_lease_time(Driver& d) {
  d.running("a");
  d.schedule("a", {limited({.schedule_to_start = 10s})});
  if (!d.jump_wall(24h)) return;
  d.check.equal(d.sweep().overdue, 0u, "after a jump forward");
  d.jump_wall(-48h);
  d.advance(9999ms);
  d.check.equal(d.sweep().overdue, 0u, "just before");
  d.advance(1ms);
  d.check.equal(d.sweep().overdue, 1u, "at the limit");
}

}  // namespace

std::span<const ConformanceCase> clock_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(messages_keep_their_order_when_the_wall_clock_is_set),
      DURAMEN_CASE(setting_the_wall_clock_back_delays_no_message),
      DURAMEN_CASE(the_longest_waiting_instance_is_first_whatever_the_wall_clock),
      DURAMEN_CASE(a_timer_follows_the_wall_clock),
      DURAMEN_CASE(a_delay_of_a_turn_counts_in_lease_time),
      DURAMEN_CASE(activities_are_fetched_whatever_the_wall_clock),
      DURAMEN_CASE(schedule_to_start_counts_in_lease_time),
      DURAMEN_CASE(parked_mail_expires_in_lease_time),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
