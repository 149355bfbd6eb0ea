// Leases of instances: one holder at a time, and an end that no call revives.
#include "testing/conformance/driver.hpp"

#include <set>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void an_instance_has_one_holder_until_the_lease_ends(Driver& d) {
  d.start("a");
  const LeasedInstance first = d.fetch_one();
  d.check.that(first.lease_until == d.store.clock().lease_now() + d.lease,
               "lease_until is now plus the lease");
  d.check.equal(d.fetch_as(d.other).size(), 0u, "a second fetch");
  d.advance(d.lease - 1ms);
  d.check.equal(d.fetch_as(d.other).size(), 0u, "just before the end");
  d.advance(1ms);
  const auto items = d.fetch_as(d.other);
  if (items.size() != 1) d.stop("the instance is free when the lease ends");
  d.check.that(items[0].lease != first.lease, "a new token");
}

void every_lease_has_its_own_token(Driver& d) {
  for (const char* id : {"a", "b", "c", "d", "e"}) d.start(id);
  std::set<LeaseToken> tokens;
  for (const auto& item : d.fetch()) tokens.insert(item.lease);
  d.check.equal(tokens.size(), 5u, "distinct tokens");
  d.check.that(!tokens.contains(LeaseToken{}), "no token is none");
}

void another_token_cannot_commit_renew_or_release(Driver& d) {
  d.start("a");
  LeasedInstance item = d.fetch_one();
  item.lease = LeaseToken{item.lease.value ^ 0xff};
  TurnCommit commit = d.turn(item);
  commit.events = {started()};
  d.check.equal(d.commit(commit).outcome, CommitOutcome::lease_lost, "a commit under another token");
  d.check.that(!d.renew(item), "a renewal under another token");
  d.release(item);
  d.expect_nothing_to_do();
}

void the_old_holder_is_refused_after_a_takeover(Driver& d) {
  d.running("a");
  const LeasedInstance old = d.woken("a");
  d.advance(d.lease);
  const auto items = d.fetch_as(d.other);
  if (items.size() != 1) d.stop("the instance is free when the lease ends");
  TurnCommit late = d.turn(old);
  late.events = {raised(2, "late")};
  d.check.equal(d.commit(late).outcome, CommitOutcome::lease_lost, "the old holder's commit");
  d.check.that(!d.renew(old), "the old holder's renewal");
  d.release(old);
  d.expect_nothing_to_do();
  d.check.that(d.renew(items[0]), "the new holder is untouched");
  TurnCommit commit = d.turn(items[0]);
  commit.events = {raised(2, "new")};
  d.must_commit(commit);
  d.check.that(d.history("a", 1, 1) == commit.events, "the events of the new holder");
}

void a_commit_under_an_expired_lease_is_refused_without_a_takeover(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  d.advance(d.lease);
  TurnCommit commit = d.turn(item);
  commit.events = {started()};
  d.check.equal(d.commit(commit).outcome, CommitOutcome::lease_lost, "late, without a takeover");
  d.check.that(d.history("a").empty(), "nothing was stored");
}

void a_renewal_extends_a_turn_lease_and_never_revives_it(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  d.advance(d.lease / 2);
  d.check.that(d.renew(item, d.lease), "in time");
  d.advance(d.lease - 1ms);
  d.expect_nothing_to_do();
  d.check.that(d.renew(item, d.lease), "in time again");
  d.advance(d.lease);
  d.check.that(!d.renew(item, d.lease), "a renewal does not revive");
  d.check.equal(d.fetch().size(), 1u, "free again");
}

void each_turn_renewal_of_a_batch_has_its_own_answer(Driver& d) {
  d.start("a");
  d.start("b");
  const auto items = d.fetch();
  if (items.size() != 2) d.stop("two instances to run");
  d.must_commit([&] {
    TurnCommit commit = d.turn(items[0]);
    commit.events = {started()};
    return commit;
  }());
  const std::vector<TurnLease> leases{{items[0].incarnation, items[0].lease},
                                      {items[1].incarnation, items[1].lease},
                                      {Incarnation{987654}, LeaseToken{1}}};
  const auto answers = d.get(d.store.renew_turns(leases, d.lease));
  d.check.that(answers == std::vector<bool>{false, true, false}, "false, true, false");
}

void a_released_instance_is_free_at_once(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  d.release(item);
  const LeasedInstance again = d.fetch_one();
  d.check.that(again.lease != item.lease, "a new token");
  d.check.equal(again.messages.size(), 1u, "its messages are still there");
  TurnCommit commit = d.turn(item);
  commit.events = {started()};
  d.check.equal(d.commit(commit).outcome, CommitOutcome::lease_lost, "a released lease is no longer held");
}

void a_release_with_a_delay_holds_back_the_instance_and_keeps_order(Driver& d) {
  d.running("a");
  d.send("a", raise("1"));
  d.release(d.fetch_one(), 10s);
  d.send("a", raise("2"));
  const TurnBatch batch = d.fetch_batch({});
  d.check.equal(batch.items.size(), 0u, "instances during the delay");
  d.expect_due(batch.next_due, d.now() + 10s);
  d.advance(10s);
  d.check.equal(names_of(d.fetch_one().messages), "1 2", "a later message did not overtake");
}

void a_release_skips_entries_whose_lease_is_gone(Driver& d) {
  d.start("a");
  d.start("b");
  const auto items = d.fetch();
  if (items.size() != 2) d.stop("two instances to run");
  const std::vector<TurnRelease> entries{{{Incarnation{987654}, LeaseToken{1}}},
                                         {{items[0].incarnation, LeaseToken{items[0].lease.value ^ 1}}},
                                         {{items[1].incarnation, items[1].lease}}};
  d.check.that(d.store.release_turns(entries).has_value(), "the call works");
  d.check.equal(d.fetch_one().instance, items[1].instance, "only the one whose lease was right");
}

void a_commit_frees_the_instance_at_once(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  d.send("a", raise("more"));
  d.expect_nothing_to_do();
  d.must_commit(d.turn(item));
  d.check.equal(names_of(d.fetch_one().messages), "more", "free as soon as the turn is committed");
}

void a_held_instance_delays_no_other(Driver& d) {
  d.running("a");
  d.running("b");
  const LeasedInstance a = d.woken("a");
  const LeasedInstance b = d.woken("b");
  d.must_commit(d.turn(b));
  d.check.equal(d.woken("b").instance, InstanceId{"b"}, "b continues while a is held");
  d.check.that(d.renew(a), "a is still held");
}

void a_wall_clock_jump_changes_no_lease(Driver& d) {
  d.running("a", 1);
  const LeasedInstance item = d.woken("a");
  const LeasedActivity activity = d.fetch_one_activity();
  if (!d.jump_wall(24h)) return;
  d.expect_nothing_to_do();
  d.expect_no_activities();
  d.check.that(d.renew(item, d.lease), "a turn's lease after a jump forward");
  d.check.equal(d.renew(activity.lease, d.lease).outcome, RenewOutcome::renewed,
                "a worker's after a jump forward");
  d.jump_wall(-24h);
  d.advance(d.lease);
  d.check.that(!d.renew(item), "a turn's lease ends in its own time");
  d.check.equal(d.renew(activity.lease).outcome, RenewOutcome::lease_lost, "and so does a worker's");
}

}  // namespace

std::span<const ConformanceCase> lease_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(an_instance_has_one_holder_until_the_lease_ends,
                   .reference = "test_exclusive_instance_lock"),
      DURAMEN_CASE(every_lease_has_its_own_token, .reference = "test_lock_token_uniqueness"),
      DURAMEN_CASE(another_token_cannot_commit_renew_or_release,
                   .reference = "test_invalid_lock_token_rejection",
                   .difference = "a release under another token is skipped, not an error"),
      DURAMEN_CASE(the_old_holder_is_refused_after_a_takeover,
                   .reference = "test_lock_expires_after_timeout"),
      DURAMEN_CASE(a_commit_under_an_expired_lease_is_refused_without_a_takeover,
                   .reference = "test_lock_expiration_during_ack"),
      DURAMEN_CASE(a_renewal_extends_a_turn_lease_and_never_revives_it,
                   .reference = "test_orchestration_lock_renewal_after_expiration",
                   .difference = "the answer is `false`; renewing in time is also checked"),
      DURAMEN_CASE(each_turn_renewal_of_a_batch_has_its_own_answer),
      DURAMEN_CASE(a_released_instance_is_free_at_once,
                   .reference = "test_abandon_releases_lock_immediately"),
      DURAMEN_CASE(a_release_with_a_delay_holds_back_the_instance_and_keeps_order),
      DURAMEN_CASE(a_release_skips_entries_whose_lease_is_gone),
      DURAMEN_CASE(a_commit_frees_the_instance_at_once, .reference = "test_lock_renewal_on_ack",
                   .difference = "a message replaces the second start"),
      DURAMEN_CASE(a_held_instance_delays_no_other, .reference = "test_cross_instance_lock_isolation",
                   .difference = "messages replace second starts, which do not exist here"),
      DURAMEN_CASE(a_wall_clock_jump_changes_no_lease),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
