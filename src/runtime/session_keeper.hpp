// Keeps this node's sessions its own while they are used.
//
// A fetch of a session's activities claims the session; this renewal keeps it. It runs only while the node
// has sessions, on the lane `leases`, like the renewal of activity leases.
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

  /// An activity of a session was fetched. Any thread.
  void claimed();
  /// Releases all sessions, so that other nodes can claim them at once. On the store's lane.
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
