#include "runtime/lease_keeper.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

LeaseKeeper::LeaseKeeper(Env& env, Provider& provider, Duration lease, OnGone on_gone, const LogSink& log)
    : env_(env), provider_(provider), lease_(lease), on_gone_(std::move(on_gone)), log_(log) {}

void LeaseKeeper::start() { schedule(env_.clock().lease_now() + lease_ / 3); }

void LeaseKeeper::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
}

void LeaseKeeper::keep(const WorkLease& lease, LeaseTime since) {
  std::lock_guard lock(mutex_);
  kept_[lease.key] = Kept{lease.token, since + lease_};
}

void LeaseKeeper::release(const WorkLease& lease) {
  std::lock_guard lock(mutex_);
  const auto found = kept_.find(lease.key);
  if (found != kept_.end() && found->second.token == lease.token) kept_.erase(found);
}

void LeaseKeeper::schedule(LeaseTime when) {
  env_.lease_loop().post_at(when, [this] { renew(); });
}

void LeaseKeeper::renew() {
  const LeaseTime sent = env_.clock().lease_now();
  std::vector<WorkRenewal> due;
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    for (const auto& [key, kept] : kept_) {
      // Young leases wait for the next round: a short activity is never renewed at all.
      if (kept.deadline - sent <= lease_ * 2 / 3) due.push_back({WorkLease{key, kept.token}});
    }
  }
  std::sort(due.begin(), due.end(), [](const WorkRenewal& a, const WorkRenewal& b) { return a.lease.key < b.lease.key; });

  Result<std::vector<RenewResult>> results{std::vector<RenewResult>{}};
  if (!due.empty()) results = provider_.renew_work_item_locks(due, lease_);

  std::vector<std::pair<WorkLease, RenewResult>> gone;
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
      }
    }
  }
  if (!results) log_(LogLevel::warning, "leases could not be renewed and are held on: " + results.error().describe());
  for (const auto& [lease, why] : gone) on_gone_(lease, why);
  // After a failure again soon, well before the deadline.
  schedule(now + (results ? lease_ / 3 : std::min(lease_ / 12, Duration{1000})));
}

}  // namespace duramen::v0::runtime
