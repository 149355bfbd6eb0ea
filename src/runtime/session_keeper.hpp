// Keeps this node's sessions its own while they are used.
//
// A session is claimed by fetching its work; what keeps it is this renewal, made only while the node has any.
// On the lease executor, like the leases of activities.
#pragma once

#include "runtime/log.hpp"
#include <duramen/env.hpp>
#include <duramen/provider.hpp>

#include <atomic>
#include <string>

namespace duramen::inline v0::runtime {

class SessionKeeper {
 public:
  SessionKeeper(Env& env, Provider& provider, std::string owner, Duration lease, Duration idle,
                const Log& log);

  /// Work of a session was taken. Any thread.
  void claimed();
  /// Gives all sessions back, so that others may go on with them at once. On the store's lane.
  void release();

 private:
  void schedule();
  void renew();

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  const std::string owner_;
  const Duration lease_;
  const Duration idle_;
  const Log& log_;

  std::atomic<bool> keeping_{false};  // a renewal is planned
  std::atomic<bool> ever_{false};
  std::atomic<bool> released_{false};
};

}  // namespace duramen::inline v0::runtime
