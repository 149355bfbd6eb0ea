// Keeps the leases of running activities alive, in one store call per interval for the whole node, and ends
// each one on time.
//
//   lease loop:  a timer for the next renewal, a timer for the earliest deadline; never a store call
//   lane leases: the renewals, one at a time
//
// So neither a busy loop nor a store that hangs delays the end of a lease. A failing store does not end a
// lease: it is held until its own deadline, counted from when the last successful renewal was sent. After
// that it is lost, whatever the store would answer. Heartbeats travel with renewals, and so does the news
// that an activity has begun: from then on its time limits count, here and in the store.
#pragma once

#include "runtime/log.hpp"
#include <duramen/env.hpp>
#include <duramen/provider.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace duramen::inline v0::detail {
class ActivityState;
}

namespace duramen::inline v0::runtime {

/// The state of a lease, by the holder's own clock.
enum class Standing : std::uint8_t {
  held,
  /// Its deadline has passed, and this was not reported yet.
  over,
  not_kept,  ///< released, or reported as gone
};

/// True if less than a third is left of a lease that was asked for at `sent`: too little to begin work.
[[nodiscard]] inline bool too_late(LeaseTime sent, Duration lease, LeaseTime now) {
  return sent + lease - now < lease / 3;
}

/// Called on the lease loop or on the lane `leases`: must not block.
class LeaseEvents {
 public:
  /// The lease is lost, or its activity was cancelled.
  virtual void lease_gone(const std::shared_ptr<detail::ActivityState>& holder, const RenewResult& why) = 0;
  /// A time limit of the running activity has passed. Its lease is still kept.
  virtual void limit_passed(const std::shared_ptr<detail::ActivityState>& holder, TimeoutKind which) = 0;

 protected:
  ~LeaseEvents() = default;
};

class LeaseKeeper {
 public:
  LeaseKeeper(Env& env, Provider& provider, Duration lease, LeaseEvents& events, const Log& log);

  /// Renews until stop(). Called once.
  void start();
  void stop();

  /// `holder`: the activity that runs under the lease. `since`: when the call that returned the lease was
  /// sent. Any thread.
  void keep(const ActivityLease& lease, const std::shared_ptr<detail::ActivityState>& holder, LeaseTime since,
            const ActivityOptions& limits = {});
  /// The code of the activity begins: its time limits count from now. Any thread.
  void begun(const ActivityLease& lease);
  /// Any thread.
  [[nodiscard]] Standing standing(const ActivityLease& lease);
  /// Forgets the lease. Returns the heartbeat that was not sent yet.
  std::optional<Heartbeat> release(const ActivityLease& lease);
  /// The activity reported that it is alive. Any thread.
  void beat(const ActivityLease& lease, std::optional<Payload> details);

 private:
  struct KeptLease {
    LeaseToken token;
    std::weak_ptr<detail::ActivityState> holder;
    LeaseTime deadline;  // never later than the store's
    ActivityOptions limits;
    std::optional<Heartbeat> heartbeat;  // not sent yet
    LeaseTime send_at;                   // when the heartbeat is due
    LeaseTime last_sent;                 // the last heartbeat, or the start
    bool begun = false;
    bool begin_reported = false;
    LeaseTime close_by = LeaseTime::max();  // until it is reported
    LeaseTime beat_by = LeaseTime::max();   // until it is reported
    [[nodiscard]] LeaseTime first_end() const { return std::min({deadline, close_by, beat_by}); }
  };
  struct Gone {
    std::shared_ptr<detail::ActivityState> holder;
    RenewResult why;
  };
  struct Overdue {
    std::shared_ptr<detail::ActivityState> holder;
    TimeoutKind which;
  };
  using Kept = std::unordered_map<ActivityKey, KeptLease>;

  // With mutex_ held.
  void plan_renewal(LeaseTime when);
  void plan_end(LeaseTime when);
  void count_from(KeptLease& kept, LeaseTime when);
  [[nodiscard]] std::vector<ActivityRenewal> take_due(LeaseTime now);
  [[nodiscard]] Kept::iterator find(const ActivityLease& lease);
  [[nodiscard]] static std::optional<TimeoutKind> take_passed_limit(KeptLease& kept, LeaseTime now);

  // On the lease loop.
  void renew(LeaseTime planned);
  void end_overdue(LeaseTime planned);
  // On the lane `leases`.
  void call_renew(std::vector<ActivityRenewal> due);
  [[nodiscard]] std::vector<Gone> answered(std::vector<ActivityRenewal>& due, LeaseTime sent,
                                           const Result<std::vector<RenewResult>>& results);
  void report(const std::vector<Gone>& gone);

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  const Duration lease_;
  LeaseEvents& events_;
  const Log& log_;

  // Guarded by mutex_.
  std::mutex mutex_;
  Kept kept_;
  // The next round; a job for another time does nothing.
  std::optional<LeaseTime> planned_;
  bool calling_ = false;  // a round is under way
  // When the deadlines are read, not later than the earliest one; a job for another time does nothing.
  std::optional<LeaseTime> end_planned_;
  bool stopped_ = false;
};

}  // namespace duramen::inline v0::runtime
