// When a transaction happens, in the form in which rows hold times.
#pragma once

#include <duramen/time.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace duramen::inline v0::sqlite::detail {

/// Read once per transaction, after its turn has come.
struct TransactionTime {
  std::int64_t now = 0;        ///< wall clock, milliseconds since 1970
  std::int64_t lease_now = 0;  ///< (boot number << 48) + lease clock in milliseconds

  static constexpr int boot_shift = 48;
  static constexpr int fence_shift = 32;
  /// Delays and limits are cut to some thirty thousand years, so that sums of times never overflow.
  static constexpr std::int64_t longest_ms = 1'000'000'000'000'000;

  [[nodiscard]] static TransactionTime of(const Clock& clock, std::int64_t boot) {
    return {to_unix_ms(clock.now()), (boot << boot_shift) + clock.lease_now().time_since_epoch().count()};
  }

  /// The row form of a lease that starts now. However long, it ends with this boot.
  [[nodiscard]] std::int64_t lease_end(Duration lease) const noexcept {
    const std::int64_t left = last_of_boot() - lease_now;
    return lease_now + std::clamp<std::int64_t>(lease.count(), 0, left);
  }
  /// Wall-clock time that far from now, in row form.
  [[nodiscard]] std::int64_t later(Duration delay) const noexcept {
    return now + std::clamp<std::int64_t>(delay.count(), 0, longest_ms);
  }
  /// When a lease ends, by the wall clock of now.
  [[nodiscard]] TimePoint wall_time(std::int64_t stored_lease) const noexcept {
    return from_unix_ms(now + std::clamp<std::int64_t>(stored_lease - lease_now, 0, longest_ms));
  }
  /// The number of a lease, larger than the one before it on the same row. A lease may be forgotten when the
  /// machine loses power, so that numbers of a boot are larger than all of earlier boots.
  [[nodiscard]] std::int64_t next_fence(std::int64_t last) const noexcept {
    const std::int64_t boot = lease_now >> boot_shift;
    return std::max(last, (boot - 1) << fence_shift) + 1;
  }
  /// Back to what callers understand; only for leases of this boot.
  [[nodiscard]] static LeaseTime lease_time(std::int64_t stored) noexcept {
    return LeaseTime{Duration{stored & ((std::int64_t{1} << boot_shift) - 1)}};
  }

 private:
  [[nodiscard]] std::int64_t last_of_boot() const noexcept {
    return (((lease_now >> boot_shift) + 1) << boot_shift) - 1;
  }
};

/// The earlier of two moments, either of which may not come.
[[nodiscard]] inline std::optional<TimePoint> earlier(std::optional<TimePoint> a,
                                                      std::optional<TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace duramen::inline v0::sqlite::detail
