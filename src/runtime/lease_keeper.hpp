// Keeps the leases of running activities alive, in one store call per interval for the whole node.
//
// Runs on its own executor, so that a busy loop or a slow commit never costs a lease. A failing store does
// not end a lease: it is held until its own deadline, counted from when the last successful renewal was sent.
// After that it is lost, whatever the store would answer. Heartbeats travel with renewals.
#pragma once

#include "runtime/log.hpp"
#include <duramen/env.hpp>
#include <duramen/provider.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace duramen::inline v0::runtime {

/// The state of a lease, by the holder's own clock.
enum class Standing : std::uint8_t {
  held,
  /// Its deadline has passed, and this was not reported yet.
  over,
  not_kept,  ///< released, or reported as gone
};

/// Called on the lease executor: only posts.
class LeaseEvents {
 public:
  /// The lease is lost, or its activity was cancelled.
  virtual void lease_gone(const ActivityLease& lease, const RenewResult& why) = 0;

 protected:
  ~LeaseEvents() = default;
};

class LeaseKeeper {
 public:
  LeaseKeeper(Env& env, Provider& provider, Duration lease, LeaseEvents& events, const Log& log);

  /// Renews until stop(). Called once.
  void start();
  void stop();

  /// `since`: when the call that returned the lease was sent. `heartbeat_limit`: how long the store waits for
  /// a heartbeat; zero: no limit. Any thread.
  void keep(const ActivityLease& lease, LeaseTime since, Duration heartbeat_limit = {});
  /// Any thread.
  [[nodiscard]] Standing standing(const ActivityLease& lease);
  /// Forgets the lease. Returns the heartbeat that was not sent yet.
  std::optional<Heartbeat> release(const ActivityLease& lease);
  /// The activity reported that it is alive. Any thread.
  void beat(const ActivityLease& lease, std::optional<Payload> details);

 private:
  struct KeptLease {
    LeaseToken token;
    LeaseTime deadline;  // never later than the store's
    Duration heartbeat_limit{};
    std::optional<Heartbeat> heartbeat;  // not sent yet
    LeaseTime send_at;                   // when the heartbeat is due
    LeaseTime last_sent;                 // the last heartbeat, or the start
  };
  void schedule(LeaseTime when);  // with mutex_ held
  void renew(LeaseTime planned);
  [[nodiscard]] std::vector<ActivityRenewal> take_due(LeaseTime now);

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  const Duration lease_;
  LeaseEvents& events_;
  const Log& log_;

  // Guarded by mutex_.
  std::mutex mutex_;
  std::unordered_map<ActivityKey, KeptLease> kept_;
  // The next round; a job for another time does nothing.
  std::optional<LeaseTime> planned_;
  bool stopped_ = false;
};

}  // namespace duramen::inline v0::runtime
