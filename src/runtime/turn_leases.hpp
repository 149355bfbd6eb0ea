// Keeps the leases of fetched instances: from the fetch, over the turn, to the answer of its commit.
//
// Like LeaseKeeper, it plans on the lease loop and calls the store on the lane `leases`. So instances stay
// this node's while the loop is blocked or a commit waits in the store. But not without end: once a turn has
// run for longer than max_turn_time, nothing is renewed, and the instances whose turns have not begun are
// released uncounted. Other nodes can run them.
#pragma once

#include "runtime/log.hpp"
#include "runtime/watchdog.hpp"
#include <duramen/env.hpp>
#include <duramen/provider.hpp>

#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace duramen::inline v0::runtime {

class TurnLeases {
 public:
  struct Options {
    Duration lease{};
    Duration max_turn_time{};
  };
  /// `watchdog` knows the turn that runs.
  TurnLeases(Env& env, Provider& provider, Options options, Watchdog& watchdog, const Log& log);

  void stop();

  /// Keeps the leases of a fetch that was sent at `sent`. Any thread.
  void keep(std::span<const LeasedInstance> fetched, LeaseTime sent);
  /// True if the lease is kept, and not over by this node's clock. Any thread.
  [[nodiscard]] bool holds(LeaseToken lease);
  /// The turn begins. From now on the attempt counts, whatever happens.
  void begin(LeaseToken lease);
  /// The commit was answered, or the lease released.
  void forget(LeaseToken lease);

 private:
  struct KeptLease {
    Incarnation incarnation;
    LeaseTime deadline;  // never later than the store's
    bool begun = false;
  };
  /// The work of the lane in one round.
  struct Round {
    std::vector<TurnLease> renewed;
    std::vector<TurnRelease> released;
  };

  // With mutex_ held.
  void plan(LeaseTime when);
  void plan_next(LeaseTime not_before);
  [[nodiscard]] std::vector<TurnLease> take_due(LeaseTime now);
  [[nodiscard]] std::vector<TurnRelease> take_unbegun();

  // On the lease loop.
  void renew();
  void report_blocked(const Watchdog::Turn& turn, std::size_t released);
  // On the lane `leases`.
  void call_store(const Round& round);
  void answered(const std::vector<TurnLease>& due, LeaseTime sent, const Result<std::vector<bool>>& results);

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  const Options options_;
  Watchdog& watchdog_;
  const Log& log_;

  // The lease loop's.
  std::optional<LeaseTime> reported_;  // when the turn began that was reported last

  // Guarded by mutex_.
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, KeptLease> kept_;  // by lease token
  bool planned_ = false;                               // a round is planned or under way
  bool stopped_ = false;
};

}  // namespace duramen::inline v0::runtime
