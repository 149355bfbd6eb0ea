#include "runtime/lease_keeper.hpp"

#include "base/longest_wait.hpp"
#include "store/answers.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

LeaseKeeper::LeaseKeeper(Env& env, Provider& provider, Duration lease, LeaseEvents& events, const Log& log)
    : env_(env), provider_(provider), lease_(lease), events_(events), log_(log) {}

void LeaseKeeper::start() {
  std::lock_guard lock(mutex_);
  plan_renewal(env_.clock().lease_now() + lease_ / 3);
}

void LeaseKeeper::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
}

void LeaseKeeper::keep(const ActivityLease& lease, const std::shared_ptr<detail::ActivityState>& holder,
                       LeaseTime since, const ActivityOptions& limits) {
  std::lock_guard lock(mutex_);
  KeptLease& kept = kept_[lease.key];
  kept = KeptLease{};
  kept.token = lease.token;
  kept.holder = holder;
  kept.deadline = since + lease_;
  kept.limits = limits;
  kept.last_sent = since;
  // The begin of the activity plans an end that comes earlier.
  if (!end_planned_) plan_end(since + lease_);
  if (detail::mutant("limits_count_from_the_lease")) count_from(kept, since);
}

void LeaseKeeper::begun(const ActivityLease& lease) {
  const LeaseTime now = env_.clock().lease_now();
  std::lock_guard lock(mutex_);
  const auto found = find(lease);
  if (found == kept_.end() || found->second.begun) return;
  found->second.begun = true;
  if (!detail::mutant("limits_are_left_to_the_sweep")) count_from(found->second, now);
}

void LeaseKeeper::count_from(KeptLease& kept, LeaseTime when) {
  if (kept.limits.start_to_close > Duration{})
    kept.close_by = when + base::no_longer(kept.limits.start_to_close);
  if (kept.limits.heartbeat > Duration{}) kept.beat_by = when + base::no_longer(kept.limits.heartbeat);
  if (!end_planned_ || kept.first_end() < *end_planned_) plan_end(kept.first_end());
}

LeaseKeeper::Kept::iterator LeaseKeeper::find(const ActivityLease& lease) {
  const auto found = kept_.find(lease.key);
  return found == kept_.end() || found->second.token != lease.token ? kept_.end() : found;
}

Standing LeaseKeeper::standing(const ActivityLease& lease) {
  const LeaseTime now = env_.clock().lease_now();
  std::lock_guard lock(mutex_);
  const auto found = find(lease);
  if (found == kept_.end()) return Standing::not_kept;
  return found->second.deadline <= now ? Standing::over : Standing::held;
}

std::optional<Heartbeat> LeaseKeeper::release(const ActivityLease& lease) {
  std::lock_guard lock(mutex_);
  const auto found = find(lease);
  if (found == kept_.end()) return std::nullopt;
  std::optional<Heartbeat> unsent = std::move(found->second.heartbeat);
  kept_.erase(found);
  return unsent;
}

void LeaseKeeper::beat(const ActivityLease& lease, std::optional<Payload> details) {
  const LeaseTime now = env_.clock().lease_now();
  std::lock_guard lock(mutex_);
  const auto found = find(lease);
  if (found == kept_.end()) return;  // lost or released
  KeptLease& kept = found->second;
  // Not if its end is on its way.
  if (kept.beat_by != LeaseTime::max()) kept.beat_by = now + base::no_longer(kept.limits.heartbeat);
  if (!kept.heartbeat) {
    // At once if the last one was long ago, so that a heartbeat in time arrives in time. Otherwise no more
    // often than needed.
    const Duration limit =
        kept.limits.heartbeat > Duration{} ? std::min(kept.limits.heartbeat, lease_) : lease_;
    kept.heartbeat.emplace();
    kept.send_at = std::max(now, kept.last_sent + limit / 3);
  }
  if (details) kept.heartbeat->details = std::move(details);
  // The answer to a round that is under way plans the next one.
  if (!calling_ && (!planned_ || kept.send_at < *planned_)) plan_renewal(kept.send_at);
}

// -- renewals -------------------------------------------------------------------------------------

void LeaseKeeper::plan_renewal(LeaseTime when) {
  if (stopped_) return;
  planned_ = when;
  env_.lease_loop().post_at(when, [this, when] { renew(when); });
}

/// Leases that are old enough to be renewed, and heartbeats that are due. A young lease waits for the next
/// round: the lease of a short activity is never renewed.
std::vector<ActivityRenewal> LeaseKeeper::take_due(LeaseTime now) {
  std::vector<ActivityRenewal> due;
  for (auto& [key, kept] : kept_) {
    const bool old = kept.deadline - now <= lease_ * 2 / 3;
    const bool beats = kept.heartbeat && kept.send_at <= now;
    if (kept.heartbeat && (old || beats)) kept.last_sent = now;
    if (!old && !beats) continue;
    const ActivityProgress progress = !kept.begun                                ? ActivityProgress::waits
                                      : std::exchange(kept.begin_reported, true) ? ActivityProgress::runs
                                                                                 : ActivityProgress::begins;
    due.push_back({ActivityLease{key, kept.token}, std::exchange(kept.heartbeat, std::nullopt), progress});
  }
  std::sort(due.begin(), due.end(),
            [](const ActivityRenewal& a, const ActivityRenewal& b) { return a.lease.key < b.lease.key; });
  return due;
}

void LeaseKeeper::renew(LeaseTime planned) {
  std::vector<ActivityRenewal> due;
  {
    std::lock_guard lock(mutex_);
    if (stopped_ || planned_ != planned) return;
    planned_.reset();
    due = take_due(env_.clock().lease_now());
    calling_ = true;
  }
  if (due.empty() || detail::mutant("renewals_block_the_lease_loop")) return call_renew(std::move(due));
  env_.run_elsewhere(Lane::leases, [this, due = std::move(due)]() mutable { call_renew(std::move(due)); });
}

void LeaseKeeper::call_renew(std::vector<ActivityRenewal> due) {
  const LeaseTime sent = env_.clock().lease_now();
  Result<std::vector<RenewResult>> results{std::vector<RenewResult>{}};
  if (!due.empty()) {
    results = base::one_for_each("renew_activities", due.size(), provider_.renew_activities(due, lease_));
  }
  const std::vector<Gone> gone = answered(due, sent, results);
  if (!results)
    log_(LogLevel::warning, "lease renewal failed; leases stay valid until their deadline",
         {{"error", results.error().describe()}});
  report(gone);
}

std::vector<LeaseKeeper::Gone> LeaseKeeper::answered(std::vector<ActivityRenewal>& due, LeaseTime sent,
                                                     const Result<std::vector<RenewResult>>& results) {
  std::vector<Gone> gone;
  const LeaseTime now = env_.clock().lease_now();
  std::lock_guard lock(mutex_);
  calling_ = false;
  for (std::size_t i = 0; i < due.size(); ++i) {
    const auto found = find(due[i].lease);
    if (found == kept_.end()) continue;  // it ended meanwhile
    KeptLease& kept = found->second;
    if (results && (*results)[i].outcome == RenewOutcome::renewed) {
      kept.deadline = sent + lease_;
    } else if (results) {
      gone.push_back({kept.holder.lock(), (*results)[i]});
      kept_.erase(found);
    } else {
      if (due[i].progress == ActivityProgress::begins) kept.begin_reported = false;
      if (!due[i].heartbeat || kept.heartbeat) continue;
      kept.heartbeat = std::move(due[i].heartbeat);  // it was not sent
      kept.send_at = now;
    }
  }
  // Counted from when this round was sent, like the lease. After a failure the next round is soon, well
  // before the deadline.
  LeaseTime next = results ? std::max(now, sent + lease_ / 3) : now + std::min(lease_ / 12, Duration{1000});
  for (const auto& [key, kept] : kept_) {
    if (results && kept.heartbeat) next = std::min(next, kept.send_at);
  }
  plan_renewal(next);
  return gone;
}

// -- the end of a lease ---------------------------------------------------------------------------

void LeaseKeeper::plan_end(LeaseTime when) {
  if (stopped_) return;
  end_planned_ = when;
  env_.lease_loop().post_at(when, [this, when] { end_overdue(when); });
}

/// The limit that has passed, if one has; it is reported once. The first one is the reason.
std::optional<TimeoutKind> LeaseKeeper::take_passed_limit(KeptLease& kept, LeaseTime now) {
  if (std::min(kept.close_by, kept.beat_by) > now) return std::nullopt;
  const bool closed = kept.close_by <= kept.beat_by;
  kept.close_by = kept.beat_by = LeaseTime::max();
  return closed ? TimeoutKind::start_to_close : TimeoutKind::heartbeat;
}

/// Renewals and heartbeats move deadlines later, so a job per lease is not needed: this one plans itself for
/// the earliest.
void LeaseKeeper::end_overdue(LeaseTime planned) {
  std::vector<Gone> gone;
  std::vector<Overdue> overdue;
  {
    const LeaseTime now = env_.clock().lease_now();
    std::lock_guard lock(mutex_);
    if (end_planned_ != planned) return;
    end_planned_.reset();
    if (stopped_ || detail::mutant("activity_begins_without_its_lease")) return;
    LeaseTime next = LeaseTime::max();
    for (auto at = kept_.begin(); at != kept_.end();) {
      KeptLease& kept = at->second;
      if (kept.deadline <= now) {
        gone.push_back({kept.holder.lock(), {RenewOutcome::lease_lost, {}}});
        at = kept_.erase(at);
        continue;
      }
      if (const auto which = take_passed_limit(kept, now)) overdue.push_back({kept.holder.lock(), *which});
      next = std::min(next, kept.first_end());
      ++at;
    }
    if (next != LeaseTime::max()) plan_end(next);
  }
  if (!gone.empty()) {
    log_(LogLevel::warning,
         "no renewal was answered in time; the activities whose leases are over are asked to stop",
         {{"count", std::to_string(gone.size())}});
  }
  report(gone);
  for (const Overdue& entry : overdue) {
    if (entry.holder) events_.limit_passed(entry.holder, entry.which);
  }
}

void LeaseKeeper::report(const std::vector<Gone>& gone) {
  for (const Gone& lease : gone) {
    if (lease.holder) events_.lease_gone(lease.holder, lease.why);
  }
}

}  // namespace duramen::inline v0::runtime
