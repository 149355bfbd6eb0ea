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
  static constexpr int fence_shift = 32;  ///< of the base in a fence
  static constexpr int boot_shift_in_fence = 16;
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
  /// A moment of lease time that has not passed, on the wall clock.
  [[nodiscard]] TimePoint wall_time(std::int64_t stored) const noexcept {
    return from_unix_ms(now + std::clamp<std::int64_t>(stored - lease_now, 0, longest_ms));
  }
  /// The same for any moment; now, if it belongs to an earlier boot.
  [[nodiscard]] TimePoint past_or_future(std::int64_t stored) const noexcept {
    if (is_of_earlier_boot(stored)) return from_unix_ms(now);
    return from_unix_ms(now + std::min(stored - lease_now, longest_ms));
  }
  [[nodiscard]] bool is_of_earlier_boot(std::int64_t stored) const noexcept {
    return stored < first_of_boot();
  }
  [[nodiscard]] std::int64_t first_of_boot() const noexcept {
    return (lease_now >> boot_shift) << boot_shift;
  }
  /// The number of a lease on a row: larger than that of the lease before it. A power loss can undo a lease,
  /// so the numbers of a boot are larger than all numbers of earlier boots.
  [[nodiscard]] std::int64_t next_lease(std::int64_t last) const noexcept {
    return std::max(last, (lease_now >> boot_shift) << boot_shift_in_fence) + 1;
  }
  /// The fence of a lease: larger than those of all leases on activities with a smaller base.
  [[nodiscard]] static std::uint64_t fence(std::uint64_t base, std::int64_t lease) noexcept {
    return (base << static_cast<unsigned>(fence_shift)) + static_cast<std::uint64_t>(lease);
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
