// A clock that stands still until a test moves it. A runtime on a store with this clock follows it: its
// timers, leases and time limits pass when the test advances it.
#pragma once

#include <duramen/time.hpp>

#include <mutex>

namespace duramen::inline v0::testing {

/// Starts at a fixed date, so that printed times are the same in every run. Thread-safe.
class ManualClock final : public Clock {
 public:
  ManualClock() = default;
  explicit ManualClock(TimePoint start) : now_(start) {}

  [[nodiscard]] TimePoint now() const override {
    std::lock_guard lock(mutex_);
    return now_;
  }
  [[nodiscard]] LeaseTime lease_now() const override {
    std::lock_guard lock(mutex_);
    return lease_now_;
  }

  [[nodiscard]] bool moves_by_itself() const override { return false; }

  /// Time passes: wall time and lease time move together. Never negative.
  void advance(Duration by) {
    std::lock_guard lock(mutex_);
    now_ += by;
    lease_now_ += by;
  }
  /// Sets the wall clock forward or back. Lease time does not change.
  void jump_wall(Duration by) {
    std::lock_guard lock(mutex_);
    now_ += by;
  }

 private:
  mutable std::mutex mutex_;
  TimePoint now_ = from_unix_ms(1'750'000'000'000);  // 2025-06-15T15:06:40Z
  LeaseTime lease_now_{// Not zero: a lease that ends at zero must count as over.
                       Duration{std::chrono::hours{1}}};
};

}  // namespace duramen::inline v0::testing
