// Limits of a fetch: how many messages and bytes of one instance it returns, and of all together.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

constexpr std::size_t large = 100 * 1024;

/// Sends this many messages of 100 KiB, named by number.
void send_large(Driver& d, const InstanceId& id, int count) {
  for (int i = 1; i <= count; ++i) d.send(id, raise(std::to_string(i), std::string(large, 'x')));
}

LeasedInstance fetch_only(Driver& d, const TurnFetch& request, Check::Where where = Check::Where::current()) {
  auto items = d.fetch_batch(request).items;
  if (items.size() != 1) d.stop("one instance", where);
  return std::move(items[0]);
}

void a_fetch_returns_at_most_so_many_messages_of_an_instance(Driver& d) {
  d.running("a");
  for (const char* name : {"1", "2", "3", "4", "5"}) d.send("a", raise(name));
  for (const char* expected : {"1 2", "3 4", "5"}) {
    const LeasedInstance item = fetch_only(d, {.max_messages = 2});
    d.check.equal(names_of(item.messages), expected, "messages");
    d.check.equal(item.attempt, 1u, "attempt");
    d.must_commit(d.turn(item));
  }
  d.expect_nothing_to_do();
}

void due_timers_count_towards_the_limit(Driver& d) {
  d.running("a");
  const TimePoint now = d.now();
  d.send("a", raise("early"));
  for (std::uint64_t event : {2, 3, 4}) d.send(timer("a", event, now + 1s));
  d.advance(1s);
  d.send("a", raise("late"));
  for (const char* expected : {"early t2", "t3 t4", "late"}) {
    const LeasedInstance item = fetch_only(d, {.max_messages = 2});
    d.check.equal(names_of(item.messages), expected, "messages");
    d.must_commit(d.turn(item));
  }
  d.expect_nothing_to_do();
}

void a_fetch_returns_at_most_so_many_bytes_of_an_instance(Driver& d) {
  d.running("a");
  send_large(d, "a", 5);
  for (const char* expected : {"1 2", "3 4", "5"}) {
    const LeasedInstance item = fetch_only(d, {.max_bytes = 2 * large + large / 2});
    d.check.equal(names_of(item.messages), expected, "messages");
    d.must_commit(d.turn(item));
  }
}

void the_first_message_is_returned_whatever_its_size(Driver& d) {
  d.running("a");
  send_large(d, "a", 2);
  const LeasedInstance item = fetch_only(d, {.max_bytes = 10});
  d.check.equal(names_of(item.messages), "1", "messages");
  d.must_commit(d.turn(item));
  d.check.equal(names_of(fetch_only(d, {.max_total_bytes = 10}).messages), "2", "by the limit of all");
}

void a_fetch_returns_at_most_so_many_bytes_in_all(Driver& d) {
  for (const char* id : {"a", "b", "c"}) d.running(id);
  for (const char* id : {"a", "b", "c"}) {
    send_large(d, id, 3);
    d.advance(1ms);
  }
  const auto items = d.fetch_batch({.max_total_bytes = 2 * large + large / 2}).items;
  if (items.size() != 2) d.stop("the third instance is beyond the limit");
  d.check.that(items[0].instance == InstanceId{"a"} && items[1].instance == InstanceId{"b"}, "instances");
  d.check.equal(names_of(items[0].messages), "1 2", "messages of the first");
  d.check.equal(names_of(items[1].messages), "1", "messages of the second: the first, whatever its size");
  const LeasedInstance rest = fetch_only(d, {});
  d.check.equal(rest.instance, InstanceId{"c"}, "the third was not leased");
  d.check.equal(names_of(rest.messages), "1 2 3", "its messages");
  d.check.equal(rest.attempt, 1u, "its attempt");
}

void a_queued_cancel_is_returned_beyond_the_limits(Driver& d) {
  d.running("a");
  for (const char* name : {"1", "2", "3"}) d.send("a", raise(name));
  d.send("a", message::CancelInstance{.reason = "why"});
  d.send("a", raise("4"));
  const LeasedInstance item = fetch_only(d, {.max_messages = 2});
  d.check.equal(names_of(item.messages), "1 2 cancel", "messages, by number");
  d.release(item);
  const LeasedInstance by_bytes = fetch_only(d, {.max_bytes = 1});
  d.check.equal(names_of(by_bytes.messages), "1 cancel", "messages, by bytes");
  d.must_commit(d.turn(by_bytes));
  const LeasedInstance rest = fetch_only(d, {.max_messages = 2});
  d.check.equal(names_of(rest.messages), "2 3", "the rest");
  d.must_commit(d.turn(rest));
  d.check.equal(names_of(fetch_only(d, {}).messages), "4", "the last");
}

void a_cancel_that_is_the_last_within_the_limits_comes_before_a_later_timer(Driver& d) {
  d.running("a");
  d.send(timer("a", 2, d.now() + 2s));
  d.send("a", raise("1", std::string(large, 'x')));
  d.advance(1s);
  d.send("a", message::CancelInstance{"enough"});
  d.advance(5s);
  d.send("a", raise("2", std::string(large, 'x')));
  d.check.equal(names_of(fetch_only(d, {.max_bytes = large + large / 2}).messages), "1 cancel t2",
                "messages");
}

void a_cancel_within_the_limits_is_returned_once(Driver& d) {
  d.running("a");
  d.send("a", raise("1"));
  d.send("a", message::CancelInstance{.reason = "why"});
  d.send("a", raise("2"));
  d.check.equal(names_of(fetch_only(d, {.max_messages = 2}).messages), "1 cancel", "messages");
}

}  // namespace

std::span<const ConformanceCase> limit_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_fetch_returns_at_most_so_many_messages_of_an_instance),
      DURAMEN_CASE(due_timers_count_towards_the_limit),
      DURAMEN_CASE(a_fetch_returns_at_most_so_many_bytes_of_an_instance),
      DURAMEN_CASE(the_first_message_is_returned_whatever_its_size),
      DURAMEN_CASE(a_fetch_returns_at_most_so_many_bytes_in_all),
      DURAMEN_CASE(a_queued_cancel_is_returned_beyond_the_limits),
      DURAMEN_CASE(a_cancel_within_the_limits_is_returned_once),
      DURAMEN_CASE(a_cancel_that_is_the_last_within_the_limits_comes_before_a_later_timer),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
