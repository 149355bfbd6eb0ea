// Threads of a lane that are stuck in user code, and the threads that replace them.
#pragma once

#include "runtime/log.hpp"
#include <duramen/env.hpp>

#include <atomic>
#include <string>

namespace duramen::inline v0::runtime {

/// Any thread.
class LaneThreads {
 public:
  /// `threads`: their name in the log.
  LaneThreads(Env& env, Lane lane, std::string threads, const Log& log)
      : env_(env), lane_(lane), threads_(std::move(threads)), log_(log) {}

  void lost() {
    const bool refused = !env_.thread_lost(lane_);
    // Logged once, until a thread is granted again: there may be many refusals in a row.
    if (!refused_.exchange(refused) && refused) {
      log_(LogLevel::warning,
           "the system refuses another thread for " + threads_ +
               "; work continues with fewer: raise the process's limit of threads or memory");
    }
  }
  void found() { env_.thread_found(lane_); }

 private:
  Env& env_;
  const Lane lane_;
  const std::string threads_;
  const Log& log_;
  std::atomic<bool> refused_{false};
};

}  // namespace duramen::inline v0::runtime
