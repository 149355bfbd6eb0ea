#include "runtime/lease_keeper.hpp"

#include "store/answers.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

LeaseKeeper::LeaseKeeper(Env& env, Provider& provider, Duration lease, LeaseEvents& events, const Log& log)
    : env_(env), provider_(provider), lease_(lease), events_(events), log_(log) {}

void LeaseKeeper::start() {
  std::lock_guard lock(mutex_);
  schedule(env_.clock().lease_now() + lease_ / 3);
}

void LeaseKeeper::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
}

void LeaseKeeper::keep(const ActivityLease& lease, LeaseTime since, Duration heartbeat_limit) {
  std::lock_guard lock(mutex_);
  kept_[lease.key] = KeptLease{lease.token, since + lease_, heartbeat_limit, std::nullopt, {}, since};
}

Standing LeaseKeeper::standing(const ActivityLease& lease) {
  const LeaseTime now = env_.clock().lease_now();
  std::lock_guard lock(mutex_);
  const auto found = kept_.find(lease.key);
  if (found == kept_.end() || found->second.token != lease.token) return Standing::not_kept;
  return found->second.deadline <= now ? Standing::over : Standing::held;
}

std::optional<Heartbeat> LeaseKeeper::release(const ActivityLease& lease) {
  std::lock_guard lock(mutex_);
  const auto found = kept_.find(lease.key);
  if (found == kept_.end() || found->second.token != lease.token) return std::nullopt;
  std::optional<Heartbeat> unsent = std::move(found->second.heartbeat);
  kept_.erase(found);
  return unsent;
}

void LeaseKeeper::beat(const ActivityLease& lease, std::optional<Payload> details) {
  const LeaseTime now = env_.clock().lease_now();
  std::lock_guard lock(mutex_);
  const auto found = kept_.find(lease.key);
  if (found == kept_.end() || found->second.token != lease.token) return;  // lost or released
  KeptLease& kept = found->second;
  if (!kept.heartbeat) {
    // At once if the last one was long ago, so that a heartbeat in time arrives in time. Otherwise no more
    // often than needed.
    const Duration limit =
        kept.heartbeat_limit > Duration{} ? std::min(kept.heartbeat_limit, lease_) : lease_;
    kept.heartbeat.emplace();
    kept.send_at = std::max(now, kept.last_sent + limit / 3);
  }
  if (details) kept.heartbeat->details = std::move(details);
  if (!planned_ || kept.send_at < *planned_) schedule(kept.send_at);
}

void LeaseKeeper::schedule(LeaseTime when) {
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
    if (old || beats)
      due.push_back({ActivityLease{key, kept.token}, std::exchange(kept.heartbeat, std::nullopt)});
  }
  std::sort(due.begin(), due.end(),
            [](const ActivityRenewal& a, const ActivityRenewal& b) { return a.lease.key < b.lease.key; });
  return due;
}

void LeaseKeeper::renew(LeaseTime planned) {
  const LeaseTime sent = env_.clock().lease_now();
  std::vector<ActivityRenewal> due;
  {
    std::lock_guard lock(mutex_);
    if (stopped_ || planned_ != planned) return;
    planned_.reset();
    due = take_due(sent);
  }
  Result<std::vector<RenewResult>> results{std::vector<RenewResult>{}};
  if (!due.empty()) {
    results = base::one_for_each("renew_activities", due.size(), provider_.renew_activities(due, lease_));
  }

  std::vector<std::pair<ActivityLease, RenewResult>> gone;
  const LeaseTime now = env_.clock().lease_now();
  {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < due.size(); ++i) {
      const auto found = kept_.find(due[i].lease.key);
      if (found == kept_.end() || found->second.token != due[i].lease.token) continue;  // it ended meanwhile
      RenewResult result{RenewOutcome::lease_lost, {}};
      if (results) result = (*results)[i];
      if (results && result.outcome == RenewOutcome::renewed) {
        found->second.deadline = sent + lease_;
      } else if (results || found->second.deadline <= now) {
        kept_.erase(found);
        gone.emplace_back(due[i].lease, result);
      } else if (due[i].heartbeat && !found->second.heartbeat) {
        found->second.heartbeat = std::move(due[i].heartbeat);  // it was not sent
        found->second.send_at = now;
      }
    }
    // Counted from when this round was sent, like the lease. After a failure the next round is soon, well
    // before the deadline.
    LeaseTime next = results ? std::max(now, sent + lease_ / 3) : now + std::min(lease_ / 12, Duration{1000});
    if (results) {
      for (const auto& [key, kept] : kept_) {
        if (kept.heartbeat) next = std::min(next, kept.send_at);
      }
    }
    schedule(next);
  }
  if (!results)
    log_(LogLevel::warning, "lease renewal failed; leases stay valid until their deadline",
         {{"error", results.error().describe()}});
  for (const auto& [lease, why] : gone) events_.lease_gone(lease, why);
}

}  // namespace duramen::inline v0::runtime
