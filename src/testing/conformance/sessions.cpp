// Sessions: all activities of a live session run on its owner.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// The next activity that `owner`, a worker with sessions, fetches with limit 1.
std::optional<LeasedActivity> fetch_for(Driver& d, const std::string& owner, Duration session = 30s,
                                        Duration lease = 30s) {
  auto items = d.fetch_activity_batch({.node = owner,
                                       .limit = 1,
                                       .lease = lease,
                                       .sessions = SessionClaim{.owner = owner, .lease = session}})
                   .items;
  if (items.empty()) return std::nullopt;
  return std::move(items[0]);
}

/// The number of the activity; 0 for none.
std::uint64_t number_of(const std::optional<LeasedActivity>& item) {
  return item ? item->lease.key.activity.value : 0;
}

/// Fetches the next activity and acknowledges it; returns its number.
std::uint64_t run_one(Driver& d, const std::string& owner, Duration session = 30s) {
  const auto item = fetch_for(d, owner, session);
  if (item) d.check.equal(d.ack({item->lease, item->request.instance, {}}).outcome, AckOutcome::done, "ack");
  return number_of(item);
}

std::size_t renew_sessions_of(Driver& d, const std::string& owner, Duration extend = 30s,
                              Duration idle = 5min) {
  return d.get(d.store.renew_sessions({&owner, 1}, extend, idle));
}
std::size_t release_sessions_of(Driver& d, const std::string& owner) {
  return d.get(d.store.release_sessions(owner));
}

/// Instance "a" with activities of these sessions, numbered from 2; "" for none.
void with_sessions(Driver& d, const std::vector<std::string>& sessions) {
  d.running("a");
  std::vector<ActivityRequest> activities;
  for (const auto& session : sessions) activities.push_back(session.empty() ? plain() : in_session(session));
  d.schedule("a", activities);
}
void add_activity(Driver& d, const std::string& session) {
  d.schedule("a", {session.empty() ? plain() : in_session(session)});
}

void any_session_worker_fetches_activities_without_a_session(Driver& d) {
  with_sessions(d, {"", ""});
  d.check.equal(number_of(fetch_for(d, "A")), 2u, "for one worker");
  d.check.equal(number_of(fetch_for(d, "B")), 3u, "for another");
}

void a_session_without_an_owner_can_be_claimed(Driver& d) {
  with_sessions(d, {"s1"});
  const auto item = fetch_for(d, "A");
  if (!item) d.stop("the activity is fetched");
  d.check.that(item->request.session_id == "s1", "it carries its session");
}

void the_owner_of_a_session_fetches_its_next_activity(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A"), 2u, "the first");
  add_activity(d, "s1");
  d.check.equal(run_one(d, "A"), 3u, "the next");
}

void another_worker_cannot_fetch_from_a_live_session(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A"), 2u, "the first");
  add_activity(d, "s1");
  d.check.equal(number_of(fetch_for(d, "B")), 0u, "for another worker");
  d.check.equal(number_of(fetch_for(d, "A")), 3u, "it was not leased by the other worker");
}

void each_session_has_its_own_owner(Driver& d) {
  with_sessions(d, {"s1", "s2"});
  d.check.equal(run_one(d, "A"), 2u, "the first");
  d.check.equal(run_one(d, "B"), 3u, "the second");
  add_activity(d, "s2");
  add_activity(d, "s1");
  d.check.equal(run_one(d, "A"), 5u, "of s1");
  d.check.equal(run_one(d, "B"), 4u, "of s2");
}

void a_foreign_session_does_not_block_the_queue(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A"), 2u, "the first");
  add_activity(d, "s1");
  add_activity(d, "");
  d.check.equal(number_of(fetch_for(d, "B")), 4u, "B fetches the other activity");
}

void an_ended_session_can_be_claimed(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A", 10s), 2u, "the first");
  add_activity(d, "s1");
  d.advance(9999ms);
  d.check.equal(number_of(fetch_for(d, "B")), 0u, "just before its end");
  d.advance(1ms);
  d.check.equal(number_of(fetch_for(d, "B")), 3u, "at its end");
}

void a_worker_without_sessions_skips_session_activities(Driver& d) {
  with_sessions(d, {"s1", ""});
  d.check.equal(numbers_of(d.fetch_activities()), "3", "without sessions");
  d.expect_no_activities();
  d.check.equal(number_of(fetch_for(d, "A")), 2u, "with sessions");
}

void one_owner_may_have_many_sessions_in_queue_order(Driver& d) {
  with_sessions(d, {"s1", "s2", "", "s3"});
  std::string order;
  for (int i = 0; i < 5; ++i) order += std::to_string(run_one(d, "A"));
  d.check.equal(order, "23450", "order");
}

void a_renewal_extends_every_session_of_the_owner(Driver& d) {
  with_sessions(d, {"s1", "s2"});
  d.check.equal(run_one(d, "A"), 2u, "the first");
  d.check.equal(renew_sessions_of(d, "A"), 1u, "one session");
  d.check.equal(run_one(d, "A"), 3u, "the second");
  d.check.equal(renew_sessions_of(d, "A"), 2u, "two sessions");
  d.check.equal(renew_sessions_of(d, "B"), 0u, "sessions of another owner");
}

void a_renewal_skips_idle_sessions(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A"), 2u, "the first");
  d.check.equal(renew_sessions_of(d, "A", 30s, 0s), 0u, "an idle limit of zero");
  d.advance(10s);
  d.check.equal(renew_sessions_of(d, "A", 30s, 10s), 0u, "used exactly the idle limit ago");
  d.check.equal(renew_sessions_of(d, "A", 30s, 10001ms), 1u, "used more recently");
}

void renewing_no_sessions_is_not_an_error(Driver& d) {
  d.check.equal(renew_sessions_of(d, "A"), 0u, "an unknown owner");
  d.check.equal(d.get(d.store.renew_sessions({}, 30s, 5min)), 0u, "no owner");
}

void a_sweep_removes_ended_sessions_without_activities(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A", 10s), 2u, "the first");
  d.advance(10s);
  d.check.equal(d.sweep().sessions_removed, 1u, "removed");
  d.check.equal(d.sweep().sessions_removed, 0u, "removed again");
}

void a_sweep_keeps_sessions_with_activities(Driver& d) {
  with_sessions(d, {"s1", "s1"});
  d.check.equal(run_one(d, "A", 10s), 2u, "the first");
  d.advance(10s);
  d.check.equal(d.sweep().sessions_removed, 0u, "removed while an activity waits");
  const auto held = fetch_for(d, "B", 10s, 1h);
  if (!held) d.stop("the second activity");
  d.advance(10s);
  d.check.equal(d.sweep().sessions_removed, 0u, "removed while an activity runs");
  d.ack({held->lease, "a", {}});
  d.check.equal(d.sweep().sessions_removed, 1u, "removed after it");
}

void a_sweep_keeps_live_sessions(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A", 5min), 2u, "the first");
  d.advance(1min);
  d.check.equal(d.sweep().sessions_removed, 0u, "removed");
  add_activity(d, "s1");
  d.check.equal(number_of(fetch_for(d, "B")), 0u, "for another worker");
}

void an_ack_counts_as_use_of_the_session(Driver& d) {
  with_sessions(d, {"s1"});
  const auto item = fetch_for(d, "A");
  if (!item) d.stop("an activity");
  d.advance(10s);
  d.check.equal(d.ack(Driver::completion(*item)).outcome, AckOutcome::done, "ack");
  d.check.equal(renew_sessions_of(d, "A", 30s, 5s), 1u, "sessions used within five seconds");
}

void an_activity_renewal_counts_as_use_of_the_session(Driver& d) {
  with_sessions(d, {"s1"});
  const auto item = fetch_for(d, "A");
  if (!item) d.stop("an activity");
  d.advance(10s);
  d.check.equal(renew_sessions_of(d, "A", 30s, 5s), 0u, "before");
  d.check.equal(d.renew(item->lease).outcome, RenewOutcome::renewed, "renewal");
  d.check.equal(renew_sessions_of(d, "A", 30s, 5s), 1u, "sessions used within five seconds");
}

void activities_of_one_session_are_fetched_in_order(Driver& d) {
  with_sessions(d, {"s1", "s1", "s1"});
  std::string order;
  for (int i = 0; i < 3; ++i) order += std::to_string(run_one(d, "A"));
  d.check.equal(order, "234", "order");
}

void a_session_owner_still_fetches_other_activities(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A"), 2u, "the first");
  add_activity(d, "");
  d.check.equal(number_of(fetch_for(d, "A")), 3u, "without a session");
}

void any_node_that_names_the_owner_may_fetch_from_its_session(Driver& d) {
  with_sessions(d, {"s1", "s1"});
  for (const char* node : {"node-1", "node-2"}) {
    const auto items =
        d.fetch_activity_batch({.node = node, .limit = 1, .sessions = SessionClaim{"process-1", 30s}});
    d.check.equal(items.items.size(), 1u, "activities");
  }
  add_activity(d, "s1");
  d.check.equal(number_of(fetch_for(d, "process-2")), 0u, "for another owner");
}

void a_fetch_claims_the_session_before_its_activity_ends(Driver& d) {
  with_sessions(d, {"s1", "s1"});
  d.check.equal(number_of(fetch_for(d, "A")), 2u, "the first");
  d.check.equal(number_of(fetch_for(d, "B")), 0u, "the second, for another worker");
  d.check.equal(number_of(fetch_for(d, "A")), 3u, "the second, for the owner");
}

void an_ended_session_moves_to_the_worker_that_claims_it(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A", 10s), 2u, "the first");
  add_activity(d, "s1");
  d.advance(10s);
  d.check.equal(run_one(d, "B"), 3u, "the second");
  add_activity(d, "s1");
  d.check.equal(number_of(fetch_for(d, "A")), 0u, "the third, for the old owner");
  d.check.equal(number_of(fetch_for(d, "B")), 4u, "the third, for the new one");
}

void a_removed_session_can_be_claimed_again(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A", 10s), 2u, "the first");
  d.advance(10s);
  d.check.equal(d.sweep().sessions_removed, 1u, "removed");
  add_activity(d, "s1");
  d.check.equal(number_of(fetch_for(d, "B")), 3u, "the next activity");
}

void a_released_activity_stays_in_its_session(Driver& d) {
  with_sessions(d, {"s1"});
  const auto item = fetch_for(d, "A");
  if (!item) d.stop("an activity");
  d.release(*item);
  d.check.equal(number_of(fetch_for(d, "B")), 0u, "for another worker");
  const auto again = fetch_for(d, "A");
  if (!again) d.stop("the same activity again");
  d.check.equal(again->attempt, 2u, "attempt");
  d.ack({again->lease, "a", {}});
  d.check.equal(number_of(fetch_for(d, "A")), 0u, "after its end");
}

void an_uncounted_attempt_stays_uncounted_in_a_session(Driver& d) {
  with_sessions(d, {"s1"});
  const auto item = fetch_for(d, "A");
  if (!item) d.stop("an activity");
  d.release(*item, 10ms, false);
  d.advance(10ms);
  const auto again = fetch_for(d, "A");
  if (!again) d.stop("the same activity again");
  d.check.equal(again->attempt, 1u, "attempt");
}

void a_renewal_never_revives_a_session(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A", 10s), 2u, "the first");
  d.advance(10s);
  d.check.equal(renew_sessions_of(d, "A"), 0u, "renewed");
  add_activity(d, "s1");
  d.check.equal(number_of(fetch_for(d, "B")), 3u, "for another worker");
}

void the_old_owner_may_claim_its_ended_session_again(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A", 10s), 2u, "the first");
  d.advance(10s);
  add_activity(d, "s1");
  d.check.equal(number_of(fetch_for(d, "A")), 3u, "the next activity");
}

void an_activity_whose_lease_expired_stays_in_its_session(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(number_of(fetch_for(d, "A", 30s, 10s)), 2u, "the first time");
  d.advance(10s);
  d.check.equal(number_of(fetch_for(d, "B")), 0u, "for another worker");
  const auto again = fetch_for(d, "A");
  if (!again) d.stop("the same activity again");
  d.check.equal(again->attempt, 2u, "attempt");
}

void activities_released_by_the_old_owner_go_to_the_new_one(Driver& d) {
  with_sessions(d, {"s1", "s1"});
  const auto first = fetch_for(d, "A", 10s);
  if (!first) d.stop("an activity");
  d.advance(10s);
  d.check.equal(run_one(d, "B"), 3u, "the second");
  d.release(*first);
  const auto again = fetch_for(d, "B");
  if (!again) d.stop("the first activity again");
  d.check.that(number_of(again) == 2 && again->attempt == 2, "which one, and its attempt");
}

void an_owner_regains_its_ended_session_with_the_next_fetch(Driver& d) {
  with_sessions(d, {"s1", "s1"});
  const auto first = fetch_for(d, "A", 10s);
  if (!first) d.stop("an activity");
  d.advance(10s);
  d.ack({first->lease, "a", {}});
  d.check.equal(number_of(fetch_for(d, "A")), 3u, "the second");
  d.check.equal(renew_sessions_of(d, "A"), 1u, "live sessions");
}

void any_worker_may_continue_after_both_leases_expired(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(number_of(fetch_for(d, "A", 10s, 10s)), 2u, "the first time");
  d.advance(10s);
  const auto again = fetch_for(d, "B");
  if (!again) d.stop("the same activity again");
  d.check.equal(again->attempt, 2u, "attempt");
}

void the_end_of_a_session_does_not_end_its_activities(Driver& d) {
  with_sessions(d, {"s1"});
  const auto item = fetch_for(d, "A", 10s);
  if (!item) d.stop("an activity");
  d.advance(10s);
  d.check.equal(d.renew(item->lease).outcome, RenewOutcome::renewed, "renewal");
  d.check.equal(d.ack(Driver::completion(*item)).outcome, AckOutcome::done, "ack");
  d.check.equal(d.fetch_one().messages.size(), 1u, "completions");
}

void a_renewed_session_outlives_its_first_lease(Driver& d) {
  with_sessions(d, {"s1"});
  d.check.equal(run_one(d, "A", 10s), 2u, "the first");
  d.advance(6s);
  d.check.equal(renew_sessions_of(d, "A", 10s), 1u, "renewed");
  d.advance(6s);
  add_activity(d, "s1");
  d.check.equal(number_of(fetch_for(d, "B")), 0u, "for another worker");
  d.check.equal(number_of(fetch_for(d, "A")), 3u, "for the owner");
}

void a_fetch_extends_the_session_it_uses(Driver& d) {
  with_sessions(d, {"s1"});
  for (std::uint64_t i = 2; i < 5; ++i) {
    d.check.equal(run_one(d, "A", 10s), i, "the next");
    add_activity(d, "s1");
    d.advance(9s);
  }
  d.check.equal(number_of(fetch_for(d, "B")), 0u, "for another worker");
}

void late_renewals_and_acks_do_not_revive_a_session(Driver& d) {
  with_sessions(d, {"s1", "s1"});
  const auto first = fetch_for(d, "A", 10s);
  const auto second = fetch_for(d, "A", 10s);
  if (!first || !second) d.stop("two activities");
  d.advance(10s);
  d.renew(first->lease);
  d.ack({second->lease, "a", {}});
  d.check.equal(renew_sessions_of(d, "A"), 0u, "renewed");
  add_activity(d, "s1");
  d.check.equal(number_of(fetch_for(d, "B")), 4u, "for another worker");
}

void an_ack_in_a_conditional_commit_counts_as_use_of_the_session(Driver& d) {
  with_sessions(d, {"s1"});
  const auto item = fetch_for(d, "A");
  if (!item) d.stop("an activity");
  d.advance(10s);
  const InstanceInfo info = d.info("a").value();
  TurnCommit commit = d.conditional(info, info.last_event_id);
  commit.activity_acks = {Driver::completion(*item)};
  d.must_commit(commit);
  d.check.equal(renew_sessions_of(d, "A", 30s, 5s), 1u, "sessions used within five seconds");
}

void release_sessions_frees_all_sessions_of_the_owner(Driver& d) {
  with_sessions(d, {"s1", "s2", "s3"});
  d.check.equal(run_one(d, "A"), 2u, "the first");
  d.check.equal(run_one(d, "A"), 3u, "the second");
  d.check.equal(run_one(d, "B"), 4u, "the third");
  for (const char* session : {"s1", "s2", "s3"}) add_activity(d, session);
  d.check.equal(number_of(fetch_for(d, "C")), 0u, "before");
  d.check.equal(release_sessions_of(d, "A"), 2u, "released");
  d.check.equal(release_sessions_of(d, "A"), 0u, "released again");
  d.check.equal(release_sessions_of(d, "unknown"), 0u, "of an unknown owner");
  d.check.equal(run_one(d, "C"), 5u, "after");
  d.check.equal(run_one(d, "C"), 6u, "after");
  d.check.equal(number_of(fetch_for(d, "C")), 0u, "of another owner");
}

void a_batch_claims_the_session_of_each_returned_activity(Driver& d) {
  with_sessions(d, {"s1", "s1", "", "s2", "s1", "s2"});
  const auto batch = d.fetch_activity_batch({.limit = 4, .sessions = SessionClaim{"A", 30s}});
  d.check.equal(numbers_of(batch.items), "2 3 4 5", "the batch");
  d.check.equal(number_of(fetch_for(d, "B")), 0u, "for another worker");
  d.check.equal(d.depths().sessions, 2u, "sessions that have an owner");
}

void a_fetch_claims_at_most_max_active_sessions(Driver& d) {
  with_sessions(d, {"s1", "s2", "s1", "s3", ""});
  const auto fetch = [&](std::vector<std::string> active, std::size_t max_active) {
    const auto items =
        d.fetch_activity_batch({.sessions = SessionClaim{"A", 30s, std::move(active), max_active}}).items;
    for (const auto& item : items) d.release(item, {}, false);
    d.get(d.store.release_sessions("A"));
    return numbers_of(items);
  };
  d.check.equal(fetch({}, 2), "2 3 4 6", "two of three");
  d.check.equal(fetch({}, 1), "2 4 6", "one");
  d.check.equal(fetch({"s3"}, 1), "5 6", "the active one");
  d.check.equal(fetch({"s3"}, 2), "2 4 5 6", "the active one and another");
  d.check.equal(fetch({"other"}, 1), "6", "an active one without activities");
  d.check.equal(fetch({}, 0), "6", "none");
  d.check.equal(fetch({}, 3), "2 3 4 5 6", "all");
}

void an_unclaimable_second_attempt_does_not_block_the_queue(Driver& d) {
  with_sessions(d, {"s1", ""});
  const auto crashed =
      d.fetch_activity_batch({.limit = 1, .lease = 10s, .sessions = SessionClaim{"A", 10s}}).items;
  d.check.equal(numbers_of(crashed), "2", "the one that crashed");
  d.advance(10s);
  d.check.equal(numbers_of(d.fetch_activity_batch({.sessions = SessionClaim{"B", 30s, {"s9"}, 1}}).items),
                "3", "the one behind it");
}

void next_due_includes_the_end_of_a_foreign_session(Driver& d) {
  with_sessions(d, {"s1", "s1"});
  d.check.equal(run_one(d, "A", 10s), 2u, "the first");
  const auto batch = d.fetch_activity_batch({.sessions = SessionClaim{"B", 30s}});
  d.check.equal(batch.items.size(), 0u, "activities");
  d.expect_due(batch.next_due, d.now() + 10s);
}

void a_wall_clock_jump_changes_no_session(Driver& d) {
  with_sessions(d, {"s1", "s1"});
  d.check.equal(run_one(d, "A", 10s), 2u, "the first");
  if (!d.jump_wall(24h)) return;
  d.check.equal(number_of(fetch_for(d, "B")), 0u, "for another worker");
  d.check.equal(renew_sessions_of(d, "A", 10s, 10s), 1u, "renewed");
}

void session_tag_and_name_filters_all_apply(Driver& d) {
  d.running("a");
  ActivityRequest both = in_session("s1");
  both.tag = "gpu";
  ActivityRequest other = in_session("s1");
  other.name = "Other";
  d.schedule("a", {both, other, in_session("s1")});
  const SessionClaim claim{.owner = "A", .lease = 30s};
  using Names = std::vector<std::string>;
  d.check.equal(numbers_of(d.fetch_activity_batch({.names = Names{"Other"}, .sessions = claim}).items), "3",
                "by name");
  d.check.equal(
      numbers_of(d.fetch_activity_batch({.tags = TagFilter::only({"gpu"}), .sessions = claim}).items), "2",
      "by tag");
  d.check.equal(numbers_of(d.fetch_activity_batch({.sessions = claim}).items), "4", "the rest");
}

void a_skipped_activity_claims_no_session(Driver& d) {
  d.running("a");
  d.schedule("a", {in_session("s1"), in_session("s2")});
  using Names = std::vector<std::string>;
  const auto none = d.fetch_activity_batch({.names = Names{"Other"}, .sessions = SessionClaim{"A", 30s}});
  d.check.equal(none.items.size(), 0u, "activities");
  d.check.equal(d.fetch_activity_batch({.limit = 1, .sessions = SessionClaim{"A", 30s}}).items.size(), 1u,
                "one of two");
  d.check.equal(d.depths().sessions, 1u, "sessions that have an owner");
  d.check.equal(number_of(fetch_for(d, "B")), 3u, "for another worker");
}

void an_empty_session_id_is_refused(Driver& d) {
  const InstanceInfo a = d.running("a");
  TurnCommit turn = d.turn(d.woken("a"));
  turn.events = {scheduled(2)};
  turn.new_activities = {Driver::activity(a, 2)};
  turn.new_activities[0].request.session_id = "";
  const CommitResult refused = d.commit(turn);
  d.check.equal(refused.outcome, CommitOutcome::invalid, "a turn");
  d.check.that(!refused.message.empty(), "the reason");
  TurnCommit first = d.fused("b");
  first.events = {started(), scheduled(2)};
  first.new_activities = {Driver::activity({.instance = "b"}, 2)};
  first.new_activities[0].request.session_id = "";
  d.check.equal(d.commit(first).outcome, CommitOutcome::invalid, "a start with its first turn");
  d.check.that(!d.info("b").has_value(), "nothing was started");
  turn.new_activities[0].request.session_id = "s";
  d.must_commit(turn);
  d.check.equal(number_of(fetch_for(d, "A")), 2u, "a session with a name");
}

}  // namespace

std::span<const ConformanceCase> session_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(any_session_worker_fetches_activities_without_a_session,
                   .reference = "test_non_session_items_fetchable_by_any_worker"),
      DURAMEN_CASE(a_session_without_an_owner_can_be_claimed,
                   .reference = "test_session_item_claimable_when_no_session"),
      DURAMEN_CASE(the_owner_of_a_session_fetches_its_next_activity,
                   .reference = "test_session_affinity_same_worker"),
      DURAMEN_CASE(another_worker_cannot_fetch_from_a_live_session,
                   .reference = "test_session_affinity_blocks_other_worker"),
      DURAMEN_CASE(each_session_has_its_own_owner, .reference = "test_different_sessions_different_workers"),
      DURAMEN_CASE(a_foreign_session_does_not_block_the_queue,
                   .reference = "test_mixed_session_and_non_session_items"),
      DURAMEN_CASE(an_ended_session_can_be_claimed, .reference = "test_session_claimable_after_lock_expiry"),
      DURAMEN_CASE(a_worker_without_sessions_skips_session_activities,
                   .reference = "test_none_session_skips_session_items"),
      DURAMEN_CASE(one_owner_may_have_many_sessions_in_queue_order,
                   .reference = "test_some_session_returns_all_items"),
      DURAMEN_CASE(a_renewal_extends_every_session_of_the_owner,
                   .reference = "test_renew_session_lock_active"),
      DURAMEN_CASE(a_renewal_skips_idle_sessions, .reference = "test_renew_session_lock_skips_idle",
                   .difference = "the exact moment is also checked"),
      DURAMEN_CASE(renewing_no_sessions_is_not_an_error, .reference = "test_renew_session_lock_no_sessions"),
      DURAMEN_CASE(a_sweep_removes_ended_sessions_without_activities,
                   .reference = "test_cleanup_removes_expired_no_items", .difference = "part of `sweep`"),
      DURAMEN_CASE(a_sweep_keeps_sessions_with_activities,
                   .reference = "test_cleanup_keeps_sessions_with_pending_items",
                   .difference = "part of `sweep`; running activities also count"),
      DURAMEN_CASE(a_sweep_keeps_live_sessions, .reference = "test_cleanup_keeps_active_sessions",
                   .difference = "part of `sweep`"),
      DURAMEN_CASE(an_ack_counts_as_use_of_the_session,
                   .reference = "test_ack_updates_session_last_activity"),
      DURAMEN_CASE(an_activity_renewal_counts_as_use_of_the_session,
                   .reference = "test_renew_work_item_updates_session_last_activity"),
      DURAMEN_CASE(activities_of_one_session_are_fetched_in_order,
                   .reference = "test_session_items_processed_in_order"),
      DURAMEN_CASE(a_session_owner_still_fetches_other_activities,
                   .reference = "test_non_session_items_returned_with_session_config"),
      DURAMEN_CASE(any_node_that_names_the_owner_may_fetch_from_its_session,
                   .reference = "test_shared_worker_id_any_caller_can_fetch_owned_session",
                   .difference = "two nodes fetch with the same owner"),
      DURAMEN_CASE(
          a_fetch_claims_the_session_before_its_activity_ends,
          .reference = "test_concurrent_session_claim_only_one_wins",
          .difference = "in sequence here; with threads in `one_session_has_one_owner_among_threads`"),
      DURAMEN_CASE(an_ended_session_moves_to_the_worker_that_claims_it,
                   .reference = "test_session_takeover_after_lock_expiry",
                   .difference = "the old owner is also checked"),
      DURAMEN_CASE(a_removed_session_can_be_claimed_again,
                   .reference = "test_cleanup_then_new_item_recreates_session",
                   .difference = "part of `sweep`"),
      DURAMEN_CASE(a_released_activity_stays_in_its_session,
                   .reference = "test_abandoned_session_item_retryable"),
      DURAMEN_CASE(an_uncounted_attempt_stays_uncounted_in_a_session,
                   .reference = "test_abandoned_session_item_ignore_attempt"),
      DURAMEN_CASE(a_renewal_never_revives_a_session,
                   .reference = "test_renew_session_lock_after_expiry_returns_zero"),
      DURAMEN_CASE(the_old_owner_may_claim_its_ended_session_again,
                   .reference = "test_original_worker_reclaims_expired_session"),
      DURAMEN_CASE(an_activity_whose_lease_expired_stays_in_its_session,
                   .reference = "test_activity_lock_expires_session_lock_valid_same_worker_refetches"),
      DURAMEN_CASE(activities_released_by_the_old_owner_go_to_the_new_one,
                   .reference = "test_session_lock_expires_new_owner_gets_redelivery"),
      DURAMEN_CASE(an_owner_regains_its_ended_session_with_the_next_fetch,
                   .reference = "test_session_lock_expires_same_worker_reacquires"),
      DURAMEN_CASE(any_worker_may_continue_after_both_leases_expired,
                   .reference = "test_both_locks_expire_different_worker_claims"),
      DURAMEN_CASE(the_end_of_a_session_does_not_end_its_activities,
                   .reference = "test_session_lock_expires_activity_lock_valid_ack_succeeds"),
      DURAMEN_CASE(a_renewed_session_outlives_its_first_lease,
                   .reference = "test_session_lock_renewal_extends_past_original_timeout"),
      DURAMEN_CASE(a_fetch_extends_the_session_it_uses),
      DURAMEN_CASE(late_renewals_and_acks_do_not_revive_a_session),
      DURAMEN_CASE(an_ack_in_a_conditional_commit_counts_as_use_of_the_session),
      DURAMEN_CASE(release_sessions_frees_all_sessions_of_the_owner),
      DURAMEN_CASE(a_batch_claims_the_session_of_each_returned_activity),
      DURAMEN_CASE(a_fetch_claims_at_most_max_active_sessions),
      DURAMEN_CASE(an_unclaimable_second_attempt_does_not_block_the_queue),
      DURAMEN_CASE(next_due_includes_the_end_of_a_foreign_session),
      DURAMEN_CASE(a_wall_clock_jump_changes_no_session),
      DURAMEN_CASE(session_tag_and_name_filters_all_apply),
      DURAMEN_CASE(a_skipped_activity_claims_no_session),
      DURAMEN_CASE(an_empty_session_id_is_refused),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
