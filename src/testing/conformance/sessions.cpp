// Sessions: activities that name one run on one owner, as long as it lives.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// What one worker that keeps sessions is handed next, with limit 1.
std::optional<LeasedActivity> take(Driver& d, const std::string& owner, Duration session = 30s,
                                   Duration lease = 30s) {
  auto items = d.fetch_work_batch({.node = owner,
                                   .limit = 1,
                                   .lease = lease,
                                   .sessions = SessionClaim{.owner = owner, .lease = session}})
                   .items;
  if (items.empty()) return std::nullopt;
  return std::move(items[0]);
}

/// The number of the activity; 0 for none.
std::uint64_t number(const std::optional<LeasedActivity>& item) {
  return item ? item->lease.key.activity.value : 0;
}

/// Takes the next activity and ends it; its number.
std::uint64_t run(Driver& d, const std::string& owner, Duration session = 30s) {
  const auto item = take(d, owner, session);
  if (item) d.check.equal(d.ack({item->lease, item->request.instance, {}}).outcome, AckOutcome::done, "ack");
  return number(item);
}

std::size_t renew(Driver& d, const std::string& owner, Duration extend = 30s, Duration idle = 5min) {
  return d.get(d.store.renew_sessions({&owner, 1}, extend, idle));
}
std::size_t release(Driver& d, const std::string& owner) { return d.get(d.store.release_sessions(owner)); }

/// Instance "a" with activities of these sessions, numbered from 2; "" for none.
void with_work(Driver& d, const std::vector<std::string>& sessions) {
  d.running("a");
  std::vector<ActivityRequest> activities;
  for (const auto& session : sessions) activities.push_back(session.empty() ? plain() : in_session(session));
  d.schedule("a", activities);
}
void add_work(Driver& d, const std::string& session) {
  d.schedule("a", {session.empty() ? plain() : in_session(session)});
}

void test_non_session_items_fetchable_by_any_worker(Driver& d) {
  with_work(d, {"", ""});
  d.check.equal(number(take(d, "A")), 2u, "for one worker");
  d.check.equal(number(take(d, "B")), 3u, "for another");
}

void test_session_item_claimable_when_no_session(Driver& d) {
  with_work(d, {"s1"});
  const auto item = take(d, "A");
  if (!item) d.stop("the activity is handed out");
  d.check.that(item->request.session_id == "s1", "it carries its session");
}

void test_session_affinity_same_worker(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A"), 2u, "the first");
  add_work(d, "s1");
  d.check.equal(run(d, "A"), 3u, "the next");
}

void test_session_affinity_blocks_other_worker(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A"), 2u, "the first");
  add_work(d, "s1");
  d.check.equal(number(take(d, "B")), 0u, "for another worker");
  d.check.equal(number(take(d, "A")), 3u, "it was not leased on the way");
}

void test_different_sessions_different_workers(Driver& d) {
  with_work(d, {"s1", "s2"});
  d.check.equal(run(d, "A"), 2u, "the first");
  d.check.equal(run(d, "B"), 3u, "the second");
  add_work(d, "s2");
  add_work(d, "s1");
  d.check.equal(run(d, "A"), 5u, "of s1");
  d.check.equal(run(d, "B"), 4u, "of s2");
}

void test_mixed_session_and_non_session_items(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A"), 2u, "the first");
  add_work(d, "s1");
  add_work(d, "");
  d.check.equal(number(take(d, "B")), 4u, "what B is handed");
}

void test_session_claimable_after_lock_expiry(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A", 10s), 2u, "the first");
  add_work(d, "s1");
  d.advance(9999ms);
  d.check.equal(number(take(d, "B")), 0u, "just before its end");
  d.advance(1ms);
  d.check.equal(number(take(d, "B")), 3u, "at its end");
}

void test_none_session_skips_session_items(Driver& d) {
  with_work(d, {"s1", ""});
  d.check.equal(numbers_of(d.fetch_work()), "3", "without sessions");
  d.expect_no_work();
  d.check.equal(number(take(d, "A")), 2u, "with sessions");
}

void test_some_session_returns_all_items(Driver& d) {
  with_work(d, {"s1", "s2", "", "s3"});
  std::string order;
  for (int i = 0; i < 5; ++i) order += std::to_string(run(d, "A"));
  d.check.equal(order, "23450", "order");
}

void test_renew_session_lock_active(Driver& d) {
  with_work(d, {"s1", "s2"});
  d.check.equal(run(d, "A"), 2u, "the first");
  d.check.equal(renew(d, "A"), 1u, "one session");
  d.check.equal(run(d, "A"), 3u, "the second");
  d.check.equal(renew(d, "A"), 2u, "two sessions");
  d.check.equal(renew(d, "B"), 0u, "somebody else's");
}

void test_renew_session_lock_skips_idle(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A"), 2u, "the first");
  d.check.equal(renew(d, "A", 30s, 0s), 0u, "no time at all is allowed");
  d.advance(10s);
  d.check.equal(renew(d, "A", 30s, 10s), 0u, "used as long ago as is allowed");
  d.check.equal(renew(d, "A", 30s, 10001ms), 1u, "used less long ago");
}

void test_renew_session_lock_no_sessions(Driver& d) {
  d.check.equal(renew(d, "A"), 0u, "an unknown owner");
  d.check.equal(d.get(d.store.renew_sessions({}, 30s, 5min)), 0u, "no owner");
}

void test_cleanup_removes_expired_no_items(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A", 10s), 2u, "the first");
  d.advance(10s);
  d.check.equal(d.sweep().sessions_removed, 1u, "removed");
  d.check.equal(d.sweep().sessions_removed, 0u, "removed again");
}

void test_cleanup_keeps_sessions_with_pending_items(Driver& d) {
  with_work(d, {"s1", "s1"});
  d.check.equal(run(d, "A", 10s), 2u, "the first");
  d.advance(10s);
  d.check.equal(d.sweep().sessions_removed, 0u, "removed while work waits");
  const auto held = take(d, "B", 10s, 1h);
  if (!held) d.stop("the second activity");
  d.advance(10s);
  d.check.equal(d.sweep().sessions_removed, 0u, "removed while work is done");
  d.ack({held->lease, "a", {}});
  d.check.equal(d.sweep().sessions_removed, 1u, "removed after it");
}

void test_cleanup_keeps_active_sessions(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A", 5min), 2u, "the first");
  d.advance(1min);
  d.check.equal(d.sweep().sessions_removed, 0u, "removed");
  add_work(d, "s1");
  d.check.equal(number(take(d, "B")), 0u, "for another worker");
}

void test_ack_updates_session_last_activity(Driver& d) {
  with_work(d, {"s1"});
  const auto item = take(d, "A");
  if (!item) d.stop("an activity");
  d.advance(10s);
  d.check.equal(d.ack(Driver::completion(*item)).outcome, AckOutcome::done, "ack");
  d.check.equal(renew(d, "A", 30s, 5s), 1u, "sessions used within five seconds");
}

void test_renew_work_item_updates_session_last_activity(Driver& d) {
  with_work(d, {"s1"});
  const auto item = take(d, "A");
  if (!item) d.stop("an activity");
  d.advance(10s);
  d.check.equal(renew(d, "A", 30s, 5s), 0u, "before");
  d.check.equal(d.renew(item->lease).outcome, RenewOutcome::renewed, "renewal");
  d.check.equal(renew(d, "A", 30s, 5s), 1u, "sessions used within five seconds");
}

void test_session_items_processed_in_order(Driver& d) {
  with_work(d, {"s1", "s1", "s1"});
  std::string order;
  for (int i = 0; i < 3; ++i) order += std::to_string(run(d, "A"));
  d.check.equal(order, "234", "order");
}

void test_non_session_items_returned_with_session_config(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A"), 2u, "the first");
  add_work(d, "");
  d.check.equal(number(take(d, "A")), 3u, "without a session");
}

void test_shared_worker_id_any_caller_can_fetch_owned_session(Driver& d) {
  with_work(d, {"s1", "s1"});
  for (const char* node : {"node-1", "node-2"}) {
    const auto items =
        d.fetch_work_batch({.node = node, .limit = 1, .sessions = SessionClaim{"process-1", 30s}});
    d.check.equal(items.items.size(), 1u, "activities");
  }
  add_work(d, "s1");
  d.check.equal(number(take(d, "process-2")), 0u, "for another owner");
}

void test_concurrent_session_claim_only_one_wins(Driver& d) {
  with_work(d, {"s1", "s1"});
  d.check.equal(number(take(d, "A")), 2u, "the first");
  d.check.equal(number(take(d, "B")), 0u, "the second, for another worker");
  d.check.equal(number(take(d, "A")), 3u, "the second, for the owner");
}

void test_session_takeover_after_lock_expiry(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A", 10s), 2u, "the first");
  add_work(d, "s1");
  d.advance(10s);
  d.check.equal(run(d, "B"), 3u, "the second");
  add_work(d, "s1");
  d.check.equal(number(take(d, "A")), 0u, "the third, for the old owner");
  d.check.equal(number(take(d, "B")), 4u, "the third, for the new one");
}

void test_cleanup_then_new_item_recreates_session(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A", 10s), 2u, "the first");
  d.advance(10s);
  d.check.equal(d.sweep().sessions_removed, 1u, "removed");
  add_work(d, "s1");
  d.check.equal(number(take(d, "B")), 3u, "what comes after");
}

void test_abandoned_session_item_retryable(Driver& d) {
  with_work(d, {"s1"});
  const auto item = take(d, "A");
  if (!item) d.stop("an activity");
  d.abandon(*item);
  d.check.equal(number(take(d, "B")), 0u, "for another worker");
  const auto again = take(d, "A");
  if (!again) d.stop("the same activity again");
  d.check.equal(again->attempt, 2u, "attempt");
  d.ack({again->lease, "a", {}});
  d.check.equal(number(take(d, "A")), 0u, "after its end");
}

void test_abandoned_session_item_ignore_attempt(Driver& d) {
  with_work(d, {"s1"});
  const auto item = take(d, "A");
  if (!item) d.stop("an activity");
  d.abandon(*item, 10ms, false);
  d.advance(10ms);
  const auto again = take(d, "A");
  if (!again) d.stop("the same activity again");
  d.check.equal(again->attempt, 1u, "attempt");
}

void test_renew_session_lock_after_expiry_returns_zero(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A", 10s), 2u, "the first");
  d.advance(10s);
  d.check.equal(renew(d, "A"), 0u, "renewed");
  add_work(d, "s1");
  d.check.equal(number(take(d, "B")), 3u, "for another worker");
}

void test_original_worker_reclaims_expired_session(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A", 10s), 2u, "the first");
  d.advance(10s);
  add_work(d, "s1");
  d.check.equal(number(take(d, "A")), 3u, "what comes after");
}

void test_activity_lock_expires_session_lock_valid_same_worker_refetches(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(number(take(d, "A", 30s, 10s)), 2u, "the first time");
  d.advance(10s);
  d.check.equal(number(take(d, "B")), 0u, "for another worker");
  const auto again = take(d, "A");
  if (!again) d.stop("the same activity again");
  d.check.equal(again->attempt, 2u, "attempt");
}

void test_session_lock_expires_new_owner_gets_redelivery(Driver& d) {
  with_work(d, {"s1", "s1"});
  const auto first = take(d, "A", 10s);
  if (!first) d.stop("an activity");
  d.advance(10s);
  d.check.equal(run(d, "B"), 3u, "the second");
  d.abandon(*first);
  const auto again = take(d, "B");
  if (!again) d.stop("the first activity again");
  d.check.that(number(again) == 2 && again->attempt == 2, "which one, and its attempt");
}

void test_session_lock_expires_same_worker_reacquires(Driver& d) {
  with_work(d, {"s1", "s1"});
  const auto first = take(d, "A", 10s);
  if (!first) d.stop("an activity");
  d.advance(10s);
  d.ack({first->lease, "a", {}});
  d.check.equal(number(take(d, "A")), 3u, "the second");
  d.check.equal(renew(d, "A"), 1u, "sessions that live");
}

void test_both_locks_expire_different_worker_claims(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(number(take(d, "A", 10s, 10s)), 2u, "the first time");
  d.advance(10s);
  const auto again = take(d, "B");
  if (!again) d.stop("the same activity again");
  d.check.equal(again->attempt, 2u, "attempt");
}

void test_session_lock_expires_activity_lock_valid_ack_succeeds(Driver& d) {
  with_work(d, {"s1"});
  const auto item = take(d, "A", 10s);
  if (!item) d.stop("an activity");
  d.advance(10s);
  d.check.equal(d.renew(item->lease).outcome, RenewOutcome::renewed, "renewal");
  d.check.equal(d.ack(Driver::completion(*item)).outcome, AckOutcome::done, "ack");
  d.check.equal(d.fetch_one().messages.size(), 1u, "completions");
}

void test_session_lock_renewal_extends_past_original_timeout(Driver& d) {
  with_work(d, {"s1"});
  d.check.equal(run(d, "A", 10s), 2u, "the first");
  d.advance(6s);
  d.check.equal(renew(d, "A", 10s), 1u, "renewed");
  d.advance(6s);
  add_work(d, "s1");
  d.check.equal(number(take(d, "B")), 0u, "for another worker");
  d.check.equal(number(take(d, "A")), 3u, "for the owner");
}

void a_fetch_extends_the_session_it_uses(Driver& d) {
  with_work(d, {"s1"});
  for (std::uint64_t i = 2; i < 5; ++i) {
    d.check.equal(run(d, "A", 10s), i, "the next");
    add_work(d, "s1");
    d.advance(9s);
  }
  d.check.equal(number(take(d, "B")), 0u, "for another worker");
}

void an_ended_session_is_not_used(Driver& d) {
  with_work(d, {"s1", "s1"});
  const auto first = take(d, "A", 10s);
  const auto second = take(d, "A", 10s);
  if (!first || !second) d.stop("two activities");
  d.advance(10s);
  d.renew(first->lease);
  d.ack({second->lease, "a", {}});
  d.check.equal(renew(d, "A"), 0u, "renewed");
  add_work(d, "s1");
  d.check.equal(number(take(d, "B")), 4u, "for another worker");
}

void a_turn_that_ends_an_activity_uses_its_session(Driver& d) {
  with_work(d, {"s1"});
  const auto item = take(d, "A");
  if (!item) d.stop("an activity");
  d.advance(10s);
  const InstanceInfo info = d.info("a").value();
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.activity_acks = {Driver::completion(*item)};
  d.must_commit(commit);
  d.check.equal(renew(d, "A", 30s, 5s), 1u, "sessions used within five seconds");
}

void release_sessions_frees_them_at_once(Driver& d) {
  with_work(d, {"s1", "s2", "s3"});
  d.check.equal(run(d, "A"), 2u, "the first");
  d.check.equal(run(d, "A"), 3u, "the second");
  d.check.equal(run(d, "B"), 4u, "the third");
  for (const char* session : {"s1", "s2", "s3"}) add_work(d, session);
  d.check.equal(number(take(d, "C")), 0u, "before");
  d.check.equal(release(d, "A"), 2u, "released");
  d.check.equal(release(d, "A"), 0u, "released again");
  d.check.equal(release(d, "nobody"), 0u, "of an unknown owner");
  d.check.equal(run(d, "C"), 5u, "after");
  d.check.equal(run(d, "C"), 6u, "after");
  d.check.equal(number(take(d, "C")), 0u, "of another owner");
}

void a_batch_claims_the_sessions_of_all_it_returns(Driver& d) {
  with_work(d, {"s1", "s1", "", "s2", "s1", "s2"});
  const auto batch = d.fetch_work_batch({.limit = 4, .sessions = SessionClaim{"A", 30s}});
  d.check.equal(numbers_of(batch.items), "2 3 4 5", "the batch");
  d.check.equal(number(take(d, "B")), 0u, "for another worker");
  d.check.equal(d.depths().sessions, 2u, "sessions that have an owner");
}

void a_fetch_opens_no_more_sessions_than_allowed(Driver& d) {
  with_work(d, {"s1", "s2", "s1", "s3", ""});
  const auto fetch = [&](std::vector<std::string> active, std::size_t max_active) {
    const auto items =
        d.fetch_work_batch({.sessions = SessionClaim{"A", 30s, std::move(active), max_active}}).items;
    for (const auto& item : items) d.abandon(item, {}, false);
    d.get(d.store.release_sessions("A"));
    return numbers_of(items);
  };
  d.check.equal(fetch({}, 2), "2 3 4 6", "two of three");
  d.check.equal(fetch({}, 1), "2 4 6", "one");
  d.check.equal(fetch({"s3"}, 1), "5 6", "the one in hand");
  d.check.equal(fetch({"s3"}, 2), "2 4 5 6", "the one in hand and another");
  d.check.equal(fetch({"other"}, 1), "6", "one in hand that has no work");
  d.check.equal(fetch({}, 0), "6", "none");
  d.check.equal(fetch({}, 3), "2 3 4 5 6", "all");
}

void a_session_out_of_reach_starves_nobody(Driver& d) {
  with_work(d, {"s1", ""});
  const auto crashed =
      d.fetch_work_batch({.limit = 1, .lease = 10s, .sessions = SessionClaim{"A", 10s}}).items;
  d.check.equal(numbers_of(crashed), "2", "the one that crashed");
  d.advance(10s);
  d.check.equal(numbers_of(d.fetch_work_batch({.sessions = SessionClaim{"B", 30s, {"s9"}, 1}}).items), "3",
                "the one behind it");
}

void the_end_of_anothers_session_is_due(Driver& d) {
  with_work(d, {"s1", "s1"});
  d.check.equal(run(d, "A", 10s), 2u, "the first");
  const auto batch = d.fetch_work_batch({.sessions = SessionClaim{"B", 30s}});
  d.check.equal(batch.items.size(), 0u, "activities");
  d.expect_due(batch.next_due, d.now() + 10s);
}

void a_jump_of_the_wall_clock_touches_no_session(Driver& d) {
  with_work(d, {"s1", "s1"});
  d.check.equal(run(d, "A", 10s), 2u, "the first");
  if (!d.jump_wall(24h)) return;
  d.check.equal(number(take(d, "B")), 0u, "for another worker");
  d.check.equal(renew(d, "A", 10s, 10s), 1u, "renewed");
}

void sessions_and_tags_and_names_all_count(Driver& d) {
  d.running("a");
  ActivityRequest both = in_session("s1");
  both.tag = "gpu";
  ActivityRequest other = in_session("s1");
  other.name = "Other";
  d.schedule("a", {both, other, in_session("s1")});
  const SessionClaim claim{.owner = "A", .lease = 30s};
  using Names = std::vector<std::string>;
  d.check.equal(numbers_of(d.fetch_work_batch({.names = Names{"Other"}, .sessions = claim}).items), "3",
                "by name");
  d.check.equal(numbers_of(d.fetch_work_batch({.tags = TagFilter::only({"gpu"}), .sessions = claim}).items),
                "2", "by tag");
  d.check.equal(numbers_of(d.fetch_work_batch({.sessions = claim}).items), "4", "the rest");
}

void what_is_not_taken_claims_no_session(Driver& d) {
  d.running("a");
  d.schedule("a", {in_session("s1"), in_session("s2")});
  using Names = std::vector<std::string>;
  const auto none = d.fetch_work_batch({.names = Names{"Other"}, .sessions = SessionClaim{"A", 30s}});
  d.check.equal(none.items.size(), 0u, "activities");
  d.check.equal(d.fetch_work_batch({.limit = 1, .sessions = SessionClaim{"A", 30s}}).items.size(), 1u,
                "one of two");
  d.check.equal(d.depths().sessions, 1u, "sessions that have an owner");
  d.check.equal(number(take(d, "B")), 3u, "for another worker");
}

constexpr ConformanceCase cases[] = {
    {"test_non_session_items_fetchable_by_any_worker",
     "A worker that keeps sessions also runs what has none.",
     told<test_non_session_items_fetchable_by_any_worker>},
    {"test_session_item_claimable_when_no_session", "A session that nobody has is there for the taking.",
     told<test_session_item_claimable_when_no_session>},
    {"test_session_affinity_same_worker", "The owner of a session gets what comes after.",
     told<test_session_affinity_same_worker>},
    {"test_session_affinity_blocks_other_worker", "Nobody else gets work of a session that lives.",
     told<test_session_affinity_blocks_other_worker>},
    {"test_different_sessions_different_workers", "Each session has an owner of its own.",
     told<test_different_sessions_different_workers>},
    {"test_mixed_session_and_non_session_items", "Another's session at the head of the queue is no obstacle.",
     told<test_mixed_session_and_non_session_items>},
    {"test_session_claimable_after_lock_expiry", "A session that has ended is there for the taking.",
     told<test_session_claimable_after_lock_expiry>},
    {"test_none_session_skips_session_items", "A worker without sessions leaves them alone.",
     told<test_none_session_skips_session_items>},
    {"test_some_session_returns_all_items",
     "One owner may have many sessions; the order is that of the queue.",
     told<test_some_session_returns_all_items>},
    {"test_renew_session_lock_active", "A renewal extends every session of the owner.",
     told<test_renew_session_lock_active>},
    {"test_renew_session_lock_skips_idle", "A session that was not used lately is not extended.",
     told<test_renew_session_lock_skips_idle>},
    {"test_renew_session_lock_no_sessions", "Nothing to extend is not an error.",
     told<test_renew_session_lock_no_sessions>},
    {"test_cleanup_removes_expired_no_items", "A sweep removes sessions that are nobody's and have no work.",
     told<test_cleanup_removes_expired_no_items>},
    {"test_cleanup_keeps_sessions_with_pending_items", "A session that has work is not removed.",
     told<test_cleanup_keeps_sessions_with_pending_items>},
    {"test_cleanup_keeps_active_sessions", "A session that lives is not removed, work or not.",
     told<test_cleanup_keeps_active_sessions>},
    {"test_ack_updates_session_last_activity", "The end of an activity uses its session.",
     told<test_ack_updates_session_last_activity>},
    {"test_renew_work_item_updates_session_last_activity", "The renewal of an activity uses its session.",
     told<test_renew_work_item_updates_session_last_activity>},
    {"test_session_items_processed_in_order",
     "Activities of one session come in the order they were scheduled.",
     told<test_session_items_processed_in_order>},
    {"test_non_session_items_returned_with_session_config",
     "Owning a session does not keep one from other work.",
     told<test_non_session_items_returned_with_session_config>},
    {"test_shared_worker_id_any_caller_can_fetch_owned_session",
     "Who calls with the owner's name is the owner.",
     told<test_shared_worker_id_any_caller_can_fetch_owned_session>},
    {"test_concurrent_session_claim_only_one_wins",
     "A session is claimed with the fetch, not with the end of its work.",
     told<test_concurrent_session_claim_only_one_wins>},
    {"test_session_takeover_after_lock_expiry", "Work of an ended session goes to who takes it over.",
     told<test_session_takeover_after_lock_expiry>},
    {"test_cleanup_then_new_item_recreates_session", "A removed session can be had again.",
     told<test_cleanup_then_new_item_recreates_session>},
    {"test_abandoned_session_item_retryable", "What is given back stays in its session.",
     told<test_abandoned_session_item_retryable>},
    {"test_abandoned_session_item_ignore_attempt",
     "A delivery that did not count does not count here either.",
     told<test_abandoned_session_item_ignore_attempt>},
    {"test_renew_session_lock_after_expiry_returns_zero", "A session that has ended is not revived.",
     told<test_renew_session_lock_after_expiry_returns_zero>},
    {"test_original_worker_reclaims_expired_session",
     "The old owner may take its session again like anybody.",
     told<test_original_worker_reclaims_expired_session>},
    {"test_activity_lock_expires_session_lock_valid_same_worker_refetches",
     "An activity whose lease ended stays in its session.",
     told<test_activity_lock_expires_session_lock_valid_same_worker_refetches>},
    {"test_session_lock_expires_new_owner_gets_redelivery", "A new owner gets what the old one gives back.",
     told<test_session_lock_expires_new_owner_gets_redelivery>},
    {"test_session_lock_expires_same_worker_reacquires",
     "An owner whose session ended goes on with the next fetch.",
     told<test_session_lock_expires_same_worker_reacquires>},
    {"test_both_locks_expire_different_worker_claims", "When all leases have ended, anybody may go on.",
     told<test_both_locks_expire_different_worker_claims>},
    {"test_session_lock_expires_activity_lock_valid_ack_succeeds",
     "The end of a session does not end its activities.",
     told<test_session_lock_expires_activity_lock_valid_ack_succeeds>},
    {"test_session_lock_renewal_extends_past_original_timeout", "A renewed session outlives its first lease.",
     told<test_session_lock_renewal_extends_past_original_timeout>},
    {"a_fetch_extends_the_session_it_uses", "Work of a session keeps it alive.",
     told<a_fetch_extends_the_session_it_uses>},
    {"an_ended_session_is_not_used", "Late work does not make a session live again.",
     told<an_ended_session_is_not_used>},
    {"a_turn_that_ends_an_activity_uses_its_session",
     "A conditional commit's acknowledgements count as well.",
     told<a_turn_that_ends_an_activity_uses_its_session>},
    {"release_sessions_frees_them_at_once", "A worker that goes leaves its sessions to others.",
     told<release_sessions_frees_them_at_once>},
    {"a_batch_claims_the_sessions_of_all_it_returns", "Every session of a batch belongs to its owner.",
     told<a_batch_claims_the_sessions_of_all_it_returns>},
    {"a_fetch_opens_no_more_sessions_than_allowed", "At most max_active sessions, those in hand counted.",
     told<a_fetch_opens_no_more_sessions_than_allowed>},
    {"a_session_out_of_reach_starves_nobody",
     "A second attempt that one cannot take blocks nothing behind it.",
     told<a_session_out_of_reach_starves_nobody>},
    {"the_end_of_anothers_session_is_due", "A fetch says when work of another's session may be had.",
     told<the_end_of_anothers_session_is_due>},
    {"a_jump_of_the_wall_clock_touches_no_session", "Sessions are not measured in wall time.",
     told<a_jump_of_the_wall_clock_touches_no_session>},
    {"sessions_and_tags_and_names_all_count", "A session is no way around the other filters.",
     told<sessions_and_tags_and_names_all_count>},
    {"what_is_not_taken_claims_no_session", "Skipped work leaves its session free.",
     told<what_is_not_taken_claims_no_session>},
};

}  // namespace

std::span<const ConformanceCase> session_cases() { return cases; }

}  // namespace duramen::inline v0::testing
