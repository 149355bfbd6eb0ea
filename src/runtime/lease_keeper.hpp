// Keeps the leases of running activities alive, in one store call per interval for the whole node.
//
// Runs on its own executor, so that a busy loop or a slow commit never costs a lease. A store that fails for
// now takes nothing away: a lease is held until its own deadline, counted from when the last successful
// renewal was sent. Past that it is lost, whatever the store would say. Heartbeats travel with renewals.
#pragma once

#include "runtime/log.hpp"
#include <duramen/env.hpp>
#include <duramen/function.hpp>
#include <duramen/provider.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace duramen::inline v0::runtime {

/// How things stand with a lease, by the holder's own clock.
enum class Standing : std::uint8_t {
  held,
  over,      ///< its deadline has passed, and this was not reported yet
  not_kept,  ///< released, or reported as gone
};

class LeaseKeeper {
 public:
  /// Called on the lease executor for each lease that is gone.
  using OnGone = UniqueFunction<void(const ActivityLease& lease, const RenewResult& why)>;

  LeaseKeeper(Env& env, Provider& provider, Duration lease, OnGone on_gone, const Log& log);

  /// Renews until stop(). Called once.
  void start();
  void stop();

  /// `since`: when the call that gave the lease was sent. `heartbeat_limit`: how long the store waits for a
  /// sign of life; zero for ever. Any thread.
  void keep(const ActivityLease& lease, LeaseTime since, Duration heartbeat_limit = {});
  /// Any thread.
  [[nodiscard]] Standing standing(const ActivityLease& lease);
  /// Answers the heartbeat that was not sent yet.
  std::optional<Heartbeat> release(const ActivityLease& lease);
  /// The activity gave a sign of life. Any thread.
  void beat(const ActivityLease& lease, std::optional<Payload> details);

 private:
  struct KeptLease {
    LeaseToken token;
    LeaseTime deadline;  // ours; never later than the store's
    Duration heartbeat_limit{};
    std::optional<Heartbeat> heartbeat;  // not sent yet
    LeaseTime send_at;                   // with a heartbeat: when it is
    LeaseTime last_sent;                 // of a sign of life: its start is one
  };
  void schedule(LeaseTime when);  // with mutex_ held
  void renew(LeaseTime planned);
  [[nodiscard]] std::vector<ActivityRenewal> take_due(LeaseTime now);

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  const Duration lease_;
  OnGone on_gone_;
  const Log& log_;

  // Guarded by mutex_.
  std::mutex mutex_;
  std::unordered_map<ActivityKey, KeptLease> kept_;
  std::optional<LeaseTime> planned_;  // the next round; a job for another moment does nothing
  bool stopped_ = false;
};

}  // namespace duramen::inline v0::runtime
