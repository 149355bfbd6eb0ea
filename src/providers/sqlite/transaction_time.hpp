// The time of a transaction, in the form that rows contain.
#pragma once

#include <duramen/time.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace duramen::inline v0::sqlite::detail {

/// Read once per transaction, after it got the write lock.
struct TransactionTime {
  std::int64_t now = 0;  ///< wall clock, milliseconds since 1970
  /// (boot number << 48) + lease clock in milliseconds.
  std::int64_t lease_now = 0;

  static constexpr int boot_shift = 48;
  static constexpr int fence_shift = 32;
  /// Delays and limits are cut to about thirty thousand years, so that sums of times never overflow.
  static constexpr std::int64_t longest_ms = 1'000'000'000'000'000;

  [[nodiscard]] static TransactionTime of(const Clock& clock, std::int64_t boot) {
    return {to_unix_ms(clock.now()), (boot << boot_shift) + clock.lease_now().time_since_epoch().count()};
  }

  /// The row form of a lease that starts now. However long, it ends with this boot.
  [[nodiscard]] std::int64_t lease_end(Duration lease) const noexcept {
    const std::int64_t left = last_of_boot() - lease_now;
    return lease_now + std::clamp<std::int64_t>(lease.count(), 0, left);
  }
  /// The wall-clock time after `delay`, in row form.
  [[nodiscard]] std::int64_t later(Duration delay) const noexcept {
    return now + std::clamp<std::int64_t>(delay.count(), 0, longest_ms);
  }
  /// The end of a lease on the wall clock.
  [[nodiscard]] TimePoint wall_time(std::int64_t stored_lease) const noexcept {
    return from_unix_ms(now + std::clamp<std::int64_t>(stored_lease - lease_now, 0, longest_ms));
  }
  /// The fence of a lease: larger than that of the lease before it on the same row. A power loss can undo a
  /// lease, so the fences of a boot are larger than all fences of earlier boots.
  [[nodiscard]] std::int64_t next_fence(std::int64_t last) const noexcept {
    const std::int64_t boot = lease_now >> boot_shift;
    return std::max(last, (boot - 1) << fence_shift) + 1;
  }
  /// The form that callers use; only for leases of this boot.
  [[nodiscard]] static LeaseTime lease_time(std::int64_t stored) noexcept {
    return LeaseTime{Duration{stored & ((std::int64_t{1} << boot_shift) - 1)}};
  }

 private:
  [[nodiscard]] std::int64_t last_of_boot() const noexcept {
    return (((lease_now >> boot_shift) + 1) << boot_shift) - 1;
  }
};

/// The earlier of two times; an empty one never comes.
[[nodiscard]] inline std::optional<TimePoint> earlier(std::optional<TimePoint> a,
                                                      std::optional<TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace duramen::inline v0::sqlite::detail
