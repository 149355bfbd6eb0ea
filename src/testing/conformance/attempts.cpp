// Attempts: how often a turn or an activity was fetched, and the isolation of second attempts.
#include "testing/conformance/driver.hpp"

#include <set>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void the_first_delivery_of_a_turn_is_attempt_one(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(item.attempt, 1u, "attempt of the instance");
}

void release_and_expiry_of_a_turn_count_as_attempts(Driver& d) {
  d.start("a");
  d.release(d.fetch_one());
  const LeasedInstance second = d.fetch_one();
  d.check.equal(second.attempt, 2u, "after a release");
  d.advance(d.lease);
  d.check.equal(d.fetch_one().attempt, 3u, "after the lease ended");
}

void a_released_turn_may_leave_the_attempt_uncounted(Driver& d) {
  d.start("a");
  d.release(d.fetch_one());
  d.release(d.fetch_one(), {}, false);
  d.check.equal(d.fetch_one().attempt, 2u, "a delivery that did not count");
}

void uncounted_deliveries_keep_the_attempt_at_one(Driver& d) {
  d.running("a", 1);
  d.send("a", raise("x"));
  for (int i = 0; i < 3; ++i) {
    const LeasedInstance item = d.fetch_one();
    d.check.equal(item.attempt, 1u, "attempt of a turn");
    d.release(item, {}, false);
    const LeasedActivity activity = d.fetch_one_activity();
    d.check.equal(activity.attempt, 1u, "attempt of an activity");
    d.release(activity, {}, false);
  }
}

void attempts_are_counted_per_instance(Driver& d) {
  d.running("a");
  d.send("a", raise("old"));
  d.release(d.fetch_one());
  const LeasedInstance second = d.fetch_one();
  d.send("a", raise("new"));
  d.release(second);
  const LeasedInstance third = d.fetch_one();
  d.check.equal(names_of(third.messages), "old new", "messages");
  d.check.equal(third.attempt, 3u, "attempt of the instance");
  d.check.equal(d.get(d.store.list_pending_work("a")).attempt, 3u, "attempt among its pending work");
  d.must_commit(d.turn_of_first(third, 1));
  d.check.equal(d.get(d.store.list_pending_work("a")).attempt, 0u, "after a commit");
  d.check.equal(d.fetch_one().attempt, 1u, "attempt with a message that the last turn left");
}

void a_fused_or_conditional_turn_starts_the_attempts_anew(Driver& d) {
  d.must_commit(d.fused("a"));
  d.release(d.woken("a"));
  d.must_commit(d.turn(d.fetch_one()));
  const InstanceInfo info = d.info("a").value();
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.events = {raised(2, "x")};
  d.must_commit(commit);
  d.check.equal(d.woken("a").attempt, 1u, "attempt");
}

void the_next_message_after_a_commit_starts_at_attempt_one(Driver& d) {
  d.running("a");
  d.send("a", raise("x"));
  d.release(d.fetch_one());
  d.must_commit(d.turn(d.fetch_one()));
  d.check.equal(d.woken("a").attempt, 1u, "attempt of the next message");
}

void a_second_attempt_of_a_turn_is_fetched_alone(Driver& d) {
  for (const char* id : {"a", "b", "c"}) {
    d.start(id);
    d.advance(1ms);
  }
  d.check.equal(d.fetch().size(), 3u, "first attempts come together");
  d.advance(d.lease);  // a crash: these turns never end
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
  d.check.equal(seen.size(), 5u, "instances fetched in total");
}

void a_second_attempt_is_not_added_to_a_batch_of_first_attempts(Driver& d) {
  d.start("first", "X");
  d.advance(1ms);
  d.start("second", "Y");
  const auto crashed = d.fetch_batch({.orchestrations = {{{"Y"}}}}).items;
  d.check.equal(crashed.size(), 1u, "instances of the second name");
  d.advance(d.lease);
  const auto items = d.fetch();
  d.check.that(items.size() == 1 && items[0].instance == InstanceId{"first"},
               "the longest waiting instance is fetched alone");
  const auto rest = d.fetch();
  d.check.that(rest.size() == 1 && rest[0].attempt == 2, "then the second attempt");
}

void an_uncounted_delivery_does_not_isolate_the_instance(Driver& d) {
  d.start("a");
  d.start("b");
  for (const auto& item : d.fetch()) d.release(item, {}, false);
  d.check.equal(d.fetch().size(), 2u, "both come together again");
}

void a_second_attempt_of_an_activity_is_fetched_alone(Driver& d) {
  d.running("a", 3);
  d.check.equal(d.fetch_activities().size(), 3u, "first attempts come together");
  d.advance(d.lease);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 4; ++i) {
    const auto items = d.fetch_activities();
    d.check.that(items.size() <= 1, "a second attempt came with others");
    for (const auto& item : items) seen.insert(item.lease.key.activity.value);
  }
  d.check.equal(seen.size(), 3u, "activities fetched in total");
}

void the_first_delivery_of_an_activity_is_attempt_one(Driver& d) {
  d.running("a", 1);
  d.check.equal(d.fetch_one_activity().attempt, 1u, "attempt");
}

void expiry_and_release_of_an_activity_count_as_attempts(Driver& d) {
  d.running("a", 1);
  (void)d.fetch_one_activity();
  d.advance(d.lease);
  const LeasedActivity second = d.fetch_one_activity();
  d.check.equal(second.attempt, 2u, "after the lease ended");
  d.release(second);
  d.check.equal(d.fetch_one_activity().attempt, 3u, "after a release");
}

void a_released_activity_may_leave_the_attempt_uncounted(Driver& d) {
  d.running("a", 1);
  d.release(d.fetch_one_activity());
  d.release(d.fetch_one_activity(), {}, false);
  d.check.equal(d.fetch_one_activity().attempt, 2u, "a delivery that did not count");
}

void being_born_leased_is_the_first_attempt(Driver& d) {
  const InstanceInfo info = d.running("a");
  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(2)};
  commit.new_activities = {Driver::activity(info, 2)};
  commit.new_activities[0].born_leased = LeaseToken{4711};
  d.must_commit(commit);
  d.expect_no_activities();
  d.advance(d.lease);
  d.check.equal(d.fetch_one_activity().attempt, 2u, "after the lease it was born with ended");
}

void the_fences_of_an_activity_are_above_its_base(Driver& d) {
  d.running("a");
  std::vector<ActivityRequest> activities(3, plain());
  for (std::size_t i = 0; i < activities.size(); ++i) activities[i].fence_base = 7 + i;
  d.schedule("a", activities);
  std::uint64_t last = 0;
  for (std::uint64_t base = 7; base < 10; ++base) {
    for (int lease = 0; lease < 3; ++lease) {
      const auto items = d.fetch_activities(1);
      if (items.size() != 1) d.stop("an activity to run");
      d.check.equal(items[0].request.fence_base, base, "base");
      d.check.equal(items[0].fence >> 32u, base, "base of the fence");
      d.check.that(items[0].fence > last, "higher than every fence before");
      last = items[0].fence;
      if (lease < 2) d.release(items[0], {}, false);
    }
  }
}

void every_activity_lease_has_a_higher_fence(Driver& d) {
  const InstanceInfo info = d.running("a", 1);
  std::uint64_t last = 0;
  for (const bool counted : {true, false, false, true}) {
    const LeasedActivity activity = d.fetch_one_activity();
    d.check.that(activity.fence > last, "higher than the fence of the last lease");
    last = activity.fence;
    d.release(activity, {}, counted);
  }
  (void)d.fetch_one_activity();
  d.advance(d.lease);
  d.check.that(d.fetch_one_activity().fence > last + 1, "even after a lease that expired");

  TurnCommit commit = d.turn(d.woken("a"));
  commit.events = {scheduled(3)};
  commit.new_activities = {Driver::activity(info, 3)};
  commit.new_activities[0].born_leased = LeaseToken{4711};
  d.must_commit(commit);
  d.advance(d.lease);
  for (const auto& item : {d.fetch_one_activity(), d.fetch_one_activity()}) {
    if (item.lease.key.activity == EventId{3})
      d.check.that(item.fence > 1, "being born leased was the first lease");
  }
}

}  // namespace

std::span<const ConformanceCase> attempt_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(the_first_delivery_of_a_turn_is_attempt_one,
                   .reference = "orchestration_attempt_count_starts_at_one"),
      DURAMEN_CASE(release_and_expiry_of_a_turn_count_as_attempts,
                   .reference = "orchestration_attempt_count_increments_on_refetch",
                   .difference = "an expired lease is one of the refetches"),
      DURAMEN_CASE(a_released_turn_may_leave_the_attempt_uncounted,
                   .reference = "abandon_orchestration_item_ignore_attempt_decrements"),
      DURAMEN_CASE(uncounted_deliveries_keep_the_attempt_at_one,
                   .reference = "ignore_attempt_never_goes_negative"),
      DURAMEN_CASE(attempts_are_counted_per_instance, .reference = "max_attempt_count_across_message_batch",
                   .difference = "the instance has one count, its messages have none"),
      DURAMEN_CASE(a_fused_or_conditional_turn_starts_the_attempts_anew),
      DURAMEN_CASE(the_next_message_after_a_commit_starts_at_attempt_one),
      DURAMEN_CASE(a_second_attempt_of_a_turn_is_fetched_alone),
      DURAMEN_CASE(a_second_attempt_is_not_added_to_a_batch_of_first_attempts),
      DURAMEN_CASE(an_uncounted_delivery_does_not_isolate_the_instance),
      DURAMEN_CASE(a_second_attempt_of_an_activity_is_fetched_alone),
      DURAMEN_CASE(the_first_delivery_of_an_activity_is_attempt_one,
                   .reference = "worker_attempt_count_starts_at_one"),
      DURAMEN_CASE(expiry_and_release_of_an_activity_count_as_attempts,
                   .reference = "worker_attempt_count_increments_on_lock_expiry"),
      DURAMEN_CASE(a_released_activity_may_leave_the_attempt_uncounted,
                   .reference = "abandon_work_item_ignore_attempt_decrements"),
      DURAMEN_CASE(every_activity_lease_has_a_higher_fence),
      DURAMEN_CASE(the_fences_of_an_activity_are_above_its_base),
      DURAMEN_CASE(being_born_leased_is_the_first_attempt),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
