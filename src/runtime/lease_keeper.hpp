// Keeps the leases of running activities alive, in one store call per interval for the whole node.
//
// Runs on its own executor, so that a busy loop or a slow commit never costs a lease. A store that fails for now takes
// nothing away: a lease is held until its own deadline, counted from when the last successful renewal was sent. Past
// that it is lost, whatever the store would say.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include <duramen/env.hpp>
#include <duramen/function.hpp>
#include <duramen/log.hpp>
#include <duramen/provider.hpp>

namespace duramen::inline v0::runtime {

class LeaseKeeper {
 public:
  /// Called on the lease executor for each lease that is gone.
  using OnGone = UniqueFunction<void(const WorkLease& lease, const RenewResult& why)>;

  LeaseKeeper(Env& env, Provider& provider, Duration lease, OnGone on_gone, const LogSink& log);

  /// Renews until stop(). Called once.
  void start();
  void stop();

  /// `since`: when the call that gave the lease was sent. Any thread.
  void keep(const WorkLease& lease, LeaseTime since);
  void release(const WorkLease& lease);

 private:
  struct Kept {
    LeaseToken token;
    LeaseTime deadline;  // ours; never later than the store's
  };
  void schedule(LeaseTime when);
  void renew();

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  const Duration lease_;
  OnGone on_gone_;
  const LogSink& log_;

  // Guarded by mutex_.
  std::mutex mutex_;
  std::unordered_map<ActivityKey, Kept> kept_;
  bool stopped_ = false;
};

}  // namespace duramen::v0::runtime
