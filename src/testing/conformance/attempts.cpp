// Attempts: how often something was handed out, and what happens to things that keep coming back.
#include "testing/conformance/driver.hpp"

#include <set>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void orchestration_attempt_count_starts_at_one(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(item.attempt, 1u, "attempt of the instance");
  d.check.equal(item.messages.at(0).attempt, 1u, "attempt of the message");
}

void orchestration_attempt_count_increments_on_refetch(Driver& d) {
  d.start("a");
  d.abandon(d.fetch_one());
  const LeasedInstance second = d.fetch_one();
  d.check.equal(second.attempt, 2u, "after an abandon");
  d.advance(d.lease);
  d.check.equal(d.fetch_one().attempt, 3u, "after the lease ended");
}

void abandon_orchestration_item_ignore_attempt_decrements(Driver& d) {
  d.start("a");
  d.abandon(d.fetch_one());
  d.abandon(d.fetch_one(), {}, false);
  d.check.equal(d.fetch_one().attempt, 2u, "a delivery that did not count");
}

void ignore_attempt_never_goes_negative(Driver& d) {
  d.running("a", 1);
  d.send("a", raise("x"));
  for (int i = 0; i < 3; ++i) {
    const LeasedInstance item = d.fetch_one();
    d.check.equal(item.attempt, 1u, "attempt of a turn");
    d.abandon(item, {}, false);
    const LeasedActivity work = d.fetch_one_work();
    d.check.equal(work.attempt, 1u, "attempt of an activity");
    d.abandon(work, {}, false);
  }
}

void max_attempt_count_across_message_batch(Driver& d) {
  d.running("a");
  d.send("a", raise("old"));
  d.abandon(d.fetch_one());
  const LeasedInstance second = d.fetch_one();
  d.send("a", raise("new"));
  d.abandon(second);
  const LeasedInstance third = d.fetch_one();
  d.check.equal(names_of(third.messages), "old new", "messages");
  d.check.equal(third.attempt, 3u, "attempt of the instance: the highest");
  d.check.equal(third.messages.at(0).attempt, 3u, "attempt of the old message");
  d.check.equal(third.messages.at(1).attempt, 1u, "attempt of the new message");
}

void a_committed_turn_starts_the_count_anew(Driver& d) {
  d.running("a");
  d.send("a", raise("x"));
  d.abandon(d.fetch_one());
  d.must_commit(d.turn(d.fetch_one()));
  d.check.equal(d.woken("a").attempt, 1u, "attempt of the next message");
}

void a_second_attempt_is_fetched_alone(Driver& d) {
  for (const char* id : {"a", "b", "c"}) {
    d.start(id);
    d.advance(1ms);
  }
  d.check.equal(d.fetch().size(), 3u, "first attempts come together");
  d.advance(d.lease);  // a crash: nobody ends these turns
  d.start("d");
  d.start("e");
  std::set<InstanceId> seen;
  for (int i = 0; i < 6; ++i) {
    const auto items = d.fetch();
    for (const auto& item : items) {
      seen.insert(item.instance);
      d.check.that(item.attempt == 1 || items.size() == 1, "a second attempt came with others");
    }
  }
  d.check.equal(seen.size(), 5u, "instances handed out in the end");
}

void a_second_attempt_joins_nobody_before_it(Driver& d) {
  d.start("first", "X");
  d.advance(1ms);
  d.start("second", "Y");
  const auto crashed = d.fetch_batch({.orchestrations = {{{"Y"}}}}).items;
  d.check.equal(crashed.size(), 1u, "instances of the second name");
  d.advance(d.lease);
  const auto items = d.fetch();
  d.check.that(items.size() == 1 && items[0].instance == InstanceId{"first"},
               "who waits longest comes alone");
  const auto rest = d.fetch();
  d.check.that(rest.size() == 1 && rest[0].attempt == 2, "then the second attempt");
}

void a_delivery_that_did_not_count_does_not_isolate(Driver& d) {
  d.start("a");
  d.start("b");
  for (const auto& item : d.fetch()) d.abandon(item, {}, false);
  d.check.equal(d.fetch().size(), 2u, "both come together again");
}

void a_second_attempt_of_an_activity_is_fetched_alone(Driver& d) {
  d.running("a", 3);
  d.check.equal(d.fetch_work().size(), 3u, "first attempts come together");
  d.advance(d.lease);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 4; ++i) {
    const auto items = d.fetch_work();
    d.check.that(items.size() <= 1, "a second attempt came with others");
    for (const auto& item : items) seen.insert(item.lease.key.activity.value);
  }
  d.check.equal(seen.size(), 3u, "activities handed out in the end");
}

void worker_attempt_count_starts_at_one(Driver& d) {
  d.running("a", 1);
  d.check.equal(d.fetch_one_work().attempt, 1u, "attempt");
}

void worker_attempt_count_increments_on_lock_expiry(Driver& d) {
  d.running("a", 1);
  (void)d.fetch_one_work();
  d.advance(d.lease);
  const LeasedActivity second = d.fetch_one_work();
  d.check.equal(second.attempt, 2u, "after the lease ended");
  d.abandon(second);
  d.check.equal(d.fetch_one_work().attempt, 3u, "after an abandon");
}

void abandon_work_item_ignore_attempt_decrements(Driver& d) {
  d.running("a", 1);
  d.abandon(d.fetch_one_work());
  d.abandon(d.fetch_one_work(), {}, false);
  d.check.equal(d.fetch_one_work().attempt, 2u, "a delivery that did not count");
}

void being_born_leased_is_the_first_attempt(Driver& d) {
  const InstanceInfo info = d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2)};
  commit.new_activities = {Driver::activity(info, 2)};
  commit.new_activities[0].born_leased = LeaseToken{4711};
  d.must_commit(commit);
  d.expect_no_work();
  d.advance(d.lease);
  d.check.equal(d.fetch_one_work().attempt, 2u, "after the lease it was born with ended");
}

void every_lease_has_a_higher_fence(Driver& d) {
  const InstanceInfo info = d.running("a", 1);
  std::uint64_t last = 0;
  for (const bool counted : {true, false, false, true}) {
    const LeasedActivity work = d.fetch_one_work();
    d.check.that(work.fence > last, "higher than that of the lease before");
    last = work.fence;
    d.abandon(work, {}, counted);
  }
  (void)d.fetch_one_work();
  d.advance(d.lease);
  d.check.that(d.fetch_one_work().fence > last + 1, "also after a lease that ended by itself");

  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(3)};
  commit.new_activities = {Driver::activity(info, 3)};
  commit.new_activities[0].born_leased = LeaseToken{4711};
  d.must_commit(commit);
  d.advance(d.lease);
  for (const auto& item : {d.fetch_one_work(), d.fetch_one_work()}) {
    if (item.lease.key.activity == EventId{3})
      d.check.that(item.fence > 1, "being born leased was the first");
  }
}

constexpr ConformanceCase cases[] = {
    {"orchestration_attempt_count_starts_at_one", "The first delivery is attempt 1.",
     told<orchestration_attempt_count_starts_at_one>},
    {"orchestration_attempt_count_increments_on_refetch", "Abandon and expiry cost an attempt.",
     told<orchestration_attempt_count_increments_on_refetch>},
    {"abandon_orchestration_item_ignore_attempt_decrements", "An abandon may say that it did not count.",
     told<abandon_orchestration_item_ignore_attempt_decrements>},
    {"ignore_attempt_never_goes_negative", "Deliveries that do not count leave the count where it was.",
     told<ignore_attempt_never_goes_negative>},
    {"max_attempt_count_across_message_batch", "An instance's attempt is the highest of its messages.",
     told<max_attempt_count_across_message_batch>},
    {"a_committed_turn_starts_the_count_anew", "Attempts belong to messages, not to instances.",
     told<a_committed_turn_starts_the_count_anew>},
    {"a_second_attempt_is_fetched_alone", "An instance that may have crashed a node has no neighbours.",
     told<a_second_attempt_is_fetched_alone>},
    {"a_second_attempt_joins_nobody_before_it", "A second attempt does not come behind a first one either.",
     told<a_second_attempt_joins_nobody_before_it>},
    {"a_delivery_that_did_not_count_does_not_isolate", "Leased but unstarted is not a second attempt.",
     told<a_delivery_that_did_not_count_does_not_isolate>},
    {"a_second_attempt_of_an_activity_is_fetched_alone", "The same holds for activities.",
     told<a_second_attempt_of_an_activity_is_fetched_alone>},
    {"worker_attempt_count_starts_at_one", "The first delivery is attempt 1.",
     told<worker_attempt_count_starts_at_one>},
    {"worker_attempt_count_increments_on_lock_expiry", "Expiry and abandon cost an attempt.",
     told<worker_attempt_count_increments_on_lock_expiry>},
    {"abandon_work_item_ignore_attempt_decrements", "An abandon may say that it did not count.",
     told<abandon_work_item_ignore_attempt_decrements>},
    {"every_lease_has_a_higher_fence", "Whoever an activity calls can tell a late attempt from a newer one.",
     told<every_lease_has_a_higher_fence>},
    {"being_born_leased_is_the_first_attempt", "A row that is born leased has been handed out once.",
     told<being_born_leased_is_the_first_attempt>},
};

}  // namespace

std::span<const ConformanceCase> attempt_cases() { return cases; }

}  // namespace duramen::inline v0::testing
