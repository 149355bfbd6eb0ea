#include "runtime/turn_leases.hpp"

#include "store/answers.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

TurnLeases::TurnLeases(Env& env, Provider& provider, Options options, Watchdog& watchdog, const Log& log)
    : env_(env), provider_(provider), options_(options), watchdog_(watchdog), log_(log) {}

void TurnLeases::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
}

void TurnLeases::keep(std::span<const LeasedInstance> fetched, LeaseTime sent) {
  if (fetched.empty()) return;
  std::lock_guard lock(mutex_);
  for (const LeasedInstance& leased : fetched) {
    kept_[leased.lease.value] = KeptLease{leased.incarnation, sent + options_.lease};
  }
  // All leases last equally long: a round that is planned already comes first.
  if (!planned_) plan(sent + options_.lease / 3);
}

bool TurnLeases::holds(LeaseToken lease) {
  const LeaseTime now = env_.clock().lease_now();
  std::lock_guard lock(mutex_);
  const auto found = kept_.find(lease.value);
  return found != kept_.end() && found->second.deadline > now;
}

void TurnLeases::begin(LeaseToken lease) {
  std::lock_guard lock(mutex_);
  if (const auto found = kept_.find(lease.value); found != kept_.end()) found->second.begun = true;
}

void TurnLeases::forget(LeaseToken lease) {
  std::lock_guard lock(mutex_);
  kept_.erase(lease.value);
}

void TurnLeases::plan(LeaseTime when) {
  if (stopped_) return;
  planned_ = true;
  env_.lease_loop().post_at(when, [this] { renew(); });
}

/// For the lease that ends first, when a third of it has passed.
void TurnLeases::plan_next(LeaseTime not_before) {
  planned_ = false;
  LeaseTime earliest = LeaseTime::max();
  for (const auto& [token, kept] : kept_) earliest = std::min(earliest, kept.deadline);
  if (earliest != LeaseTime::max()) plan(std::max(earliest - options_.lease * 2 / 3, not_before));
}

/// Forgets the leases that are over: they are lost, whatever the store would answer.
std::vector<TurnLease> TurnLeases::take_due(LeaseTime now) {
  std::vector<TurnLease> due;
  for (auto at = kept_.begin(); at != kept_.end();) {
    const KeptLease& kept = at->second;
    if (kept.deadline <= now) {
      at = kept_.erase(at);
      continue;
    }
    if (kept.deadline - now <= options_.lease * 2 / 3)
      due.push_back(TurnLease{kept.incarnation, LeaseToken{at->first}});
    ++at;
  }
  std::sort(due.begin(), due.end(),
            [](const TurnLease& a, const TurnLease& b) { return a.incarnation < b.incarnation; });
  return due;
}

std::vector<TurnRelease> TurnLeases::take_unbegun() {
  std::vector<TurnRelease> unbegun;
  for (auto at = kept_.begin(); at != kept_.end();) {
    if (at->second.begun) {
      ++at;
      continue;
    }
    unbegun.push_back({.lease = {at->second.incarnation, LeaseToken{at->first}}, .count_attempt = false});
    at = kept_.erase(at);
  }
  return unbegun;
}

void TurnLeases::renew() {
  const LeaseTime now = env_.clock().lease_now();
  std::optional<Watchdog::Turn> blocked = watchdog_.running();
  if (blocked && now - blocked->began <= options_.max_turn_time) blocked.reset();
  if (detail::mutant("turns_of_any_length_are_renewed")) blocked.reset();
  Round round;
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    if (blocked) {
      round.released = take_unbegun();
    } else {
      round.renewed = take_due(now);
    }
    if (detail::mutant("turn_leases_are_not_renewed")) round = {};
    if (round.renewed.empty() && round.released.empty()) return plan_next(now + options_.lease / 12);
  }
  if (blocked) report_blocked(*blocked, round.released.size());
  env_.run_elsewhere(Lane::leases, [this, round = std::move(round)] { call_store(round); });
}

void TurnLeases::report_blocked(const Watchdog::Turn& turn, std::size_t released) {
  if (std::exchange(reported_, turn.began) == turn.began) return;
  log_(LogLevel::error,
       "a turn has run for longer than max_turn_time: its lease is not renewed, so that another node may run "
       "it; instances whose turns wait for it are released",
       {{"instance_id", turn.instance.value}, {"released", std::to_string(released)}});
}

void TurnLeases::call_store(const Round& round) {
  const LeaseTime sent = env_.clock().lease_now();
  if (!round.released.empty()) {
    if (const Result<void> result = provider_.release_turns(round.released); !result) {
      log_(LogLevel::warning, "releasing turns failed; their leases end at their deadlines",
           {{"error", result.error().describe()}});
    }
  }
  Result<std::vector<bool>> results{std::vector<bool>{}};
  if (!round.renewed.empty()) {
    results = base::one_for_each("renew_turns", round.renewed.size(),
                                 provider_.renew_turns(round.renewed, options_.lease));
  }
  answered(round.renewed, sent, results);
  if (!results) {
    log_(LogLevel::warning, "renewing turns failed; their leases stay valid until their deadlines",
         {{"error", results.error().describe()}});
  }
}

void TurnLeases::answered(const std::vector<TurnLease>& due, LeaseTime sent,
                          const Result<std::vector<bool>>& results) {
  const LeaseTime now = env_.clock().lease_now();
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; results && i < due.size(); ++i) {
    const auto found = kept_.find(due[i].token.value);
    if (found == kept_.end()) continue;  // answered or released meanwhile
    if ((*results)[i]) {
      found->second.deadline = sent + options_.lease;
    } else {
      kept_.erase(found);
    }
  }
  plan_next(results ? now : now + std::min(options_.lease / 12, Duration{1000}));
}

}  // namespace duramen::inline v0::runtime
