// Logs the instance whose turn takes too long: code that blocks, or computes for seconds, delays every other
// instance.
#pragma once

#include "runtime/log.hpp"
#include <duramen/env.hpp>
#include <duramen/ids.hpp>

#include <mutex>
#include <optional>

namespace duramen::inline v0::runtime {

class Watchdog {
 public:
  struct Turn {
    InstanceId instance;
    LeaseTime began;
    bool named;
  };

  Watchdog(Env& env, Duration limit, const Log& log) : env_(env), limit_(limit), log_(log) {}

  void start() { check_later(); }
  /// Any thread.
  void stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }

  // Around every turn, on the loop.
  void enter(const InstanceId& instance) {
    std::lock_guard lock(mutex_);
    turn_.emplace(Turn{instance, env_.clock().lease_now(), false});
  }
  void leave() {
    std::lock_guard lock(mutex_);
    turn_.reset();
  }

  /// The turn that runs, if there is one. Any thread.
  [[nodiscard]] std::optional<Turn> running() {
    std::lock_guard lock(mutex_);
    return turn_;
  }

 private:
  void check_later();
  void check();

  Env& env_;
  const Duration limit_;
  const Log& log_;

  std::mutex mutex_;
  std::optional<Turn> turn_;  // guarded by mutex_
  bool stopped_ = false;      // guarded by mutex_
};

}  // namespace duramen::inline v0::runtime
