// Leases: one holder at a time, an end that nothing revives, and what the next holder finds.
#include "testing/conformance/driver.hpp"

#include <set>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

void test_exclusive_instance_lock(Driver& d) {
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

void test_lock_token_uniqueness(Driver& d) {
  for (const char* id : {"a", "b", "c", "d", "e"}) d.start(id);
  std::set<LeaseToken> tokens;
  for (const auto& item : d.fetch()) tokens.insert(item.lease);
  d.check.equal(tokens.size(), 5u, "distinct tokens");
  d.check.that(!tokens.contains(LeaseToken{}), "no token is none");
}

void test_invalid_lock_token_rejection(Driver& d) {
  d.start("a");
  LeasedInstance item = d.fetch_one();
  item.lease = LeaseToken{item.lease.value ^ 0xff};
  TurnCommit commit = d.turn(item);
  commit.events = {started()};
  d.check.equal(d.commit(commit).outcome, CommitOutcome::lease_lost, "a commit under another token");
  d.check.that(!d.renew(item), "a renewal under another token");
  d.abandon(item);
  d.expect_nothing_to_do();
}

void test_lock_expires_after_timeout(Driver& d) {
  d.running("a");
  const LeasedInstance old = d.woken("a");
  d.advance(d.lease);
  const auto items = d.fetch_as(d.other);
  if (items.size() != 1) d.stop("the instance is free when the lease ends");
  TurnCommit late = d.turn(old);
  late.events = {raised(2, "late")};
  d.check.equal(d.commit(late).outcome, CommitOutcome::lease_lost, "the old holder's commit");
  d.check.that(!d.renew(old), "the old holder's renewal");
  d.abandon(old);
  d.expect_nothing_to_do();
  d.check.that(d.renew(items[0]), "the new holder is untouched");
  TurnCommit commit = d.turn(items[0]);
  commit.events = {raised(2, "new")};
  d.must_commit(commit);
  d.check.that(d.history("a", 1, 1) == commit.events, "what the new holder stored");
}

void test_lock_expiration_during_ack(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  d.advance(d.lease);
  TurnCommit commit = d.turn(item);
  commit.events = {started()};
  d.check.equal(d.commit(commit).outcome, CommitOutcome::lease_lost, "late, although nobody took over");
  d.check.that(d.history("a").empty(), "nothing was stored");
}

void test_orchestration_lock_renewal_after_expiration(Driver& d) {
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

void renewals_are_answered_one_by_one(Driver& d) {
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

void test_abandon_releases_lock_immediately(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  d.abandon(item);
  const LeasedInstance again = d.fetch_one();
  d.check.that(again.lease != item.lease, "a new token");
  d.check.equal(again.messages.size(), 1u, "its messages are still there");
  TurnCommit commit = d.turn(item);
  commit.events = {started()};
  d.check.equal(d.commit(commit).outcome, CommitOutcome::lease_lost, "what was given back is no longer held");
}

void abandon_with_a_delay_holds_back_and_keeps_order(Driver& d) {
  d.running("a");
  d.send("a", raise("1"));
  d.abandon(d.fetch_one(), 10s);
  d.send("a", raise("2"));
  const TurnBatch batch = d.fetch_batch({});
  d.check.equal(batch.items.size(), 0u, "instances during the delay");
  d.expect_due(batch.next_due, d.now() + 10s);
  d.advance(10s);
  d.check.equal(names_of(d.fetch_one().messages), "1 2", "a later message did not overtake");
}

void an_abandon_of_many_skips_what_is_gone(Driver& d) {
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

void test_lock_renewal_on_ack(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  d.send("a", raise("more"));
  d.expect_nothing_to_do();
  d.must_commit(d.turn(item));
  d.check.equal(names_of(d.fetch_one().messages), "more", "free as soon as the turn is committed");
}

void test_cross_instance_lock_isolation(Driver& d) {
  d.running("a");
  d.running("b");
  const LeasedInstance a = d.woken("a");
  const LeasedInstance b = d.woken("b");
  d.must_commit(d.turn(b));
  d.check.equal(d.woken("b").instance, InstanceId{"b"}, "b goes on while a is held");
  d.check.that(d.renew(a), "a is still held");
}

void a_jump_of_the_wall_clock_touches_no_lease(Driver& d) {
  d.running("a", 1);
  const LeasedInstance item = d.woken("a");
  const LeasedActivity work = d.fetch_one_work();
  if (!d.jump_wall(24h)) return;
  d.expect_nothing_to_do();
  d.expect_no_work();
  d.check.that(d.renew(item, d.lease), "a turn's lease after a jump forward");
  d.check.equal(d.renew(work.lease, d.lease).outcome, RenewOutcome::renewed,
                "a worker's after a jump forward");
  d.jump_wall(-24h);
  d.advance(d.lease);
  d.check.that(!d.renew(item), "a turn's lease ends in its own time");
  d.check.equal(d.renew(work.lease).outcome, RenewOutcome::lease_lost, "and so does a worker's");
}

constexpr ConformanceCase cases[] = {
    {"test_exclusive_instance_lock", "An instance is held by one at a time, until the lease ends.",
     told<test_exclusive_instance_lock>},
    {"test_lock_token_uniqueness", "Every lease has its own token.", told<test_lock_token_uniqueness>},
    {"test_invalid_lock_token_rejection", "Another token does nothing.",
     told<test_invalid_lock_token_rejection>},
    {"test_lock_expires_after_timeout", "After a takeover the old holder is refused.",
     told<test_lock_expires_after_timeout>},
    {"test_lock_expiration_during_ack", "An ended lease is lost even if nobody took over.",
     told<test_lock_expiration_during_ack>},
    {"test_orchestration_lock_renewal_after_expiration", "A renewal extends and never revives.",
     told<test_orchestration_lock_renewal_after_expiration>},
    {"renewals_are_answered_one_by_one", "Each renewal of a batch has its own answer.",
     told<renewals_are_answered_one_by_one>},
    {"test_abandon_releases_lock_immediately", "What is given back is free at once.",
     told<test_abandon_releases_lock_immediately>},
    {"abandon_with_a_delay_holds_back_and_keeps_order", "A delay holds back the instance, not the order.",
     told<abandon_with_a_delay_holds_back_and_keeps_order>},
    {"an_abandon_of_many_skips_what_is_gone", "Entries whose lease is gone are skipped.",
     told<an_abandon_of_many_skips_what_is_gone>},
    {"test_lock_renewal_on_ack", "A commit gives the lease back.", told<test_lock_renewal_on_ack>},
    {"test_cross_instance_lock_isolation", "A held instance delays no other.",
     told<test_cross_instance_lock_isolation>},
    {"a_jump_of_the_wall_clock_touches_no_lease", "Leases are not measured in wall time.",
     told<a_jump_of_the_wall_clock_touches_no_lease>},
};

}  // namespace

std::span<const ConformanceCase> lease_cases() { return cases; }

}  // namespace duramen::inline v0::testing
