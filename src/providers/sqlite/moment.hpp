// When a transaction happens, in the form in which rows hold times.
#pragma once

#include <duramen/time.hpp>

#include <algorithm>
#include <cstdint>

namespace duramen::inline v0::sqlite::detail {

/// Read once per transaction, after its turn has come.
struct Moment {
  std::int64_t now = 0;        ///< wall clock, milliseconds since 1970
  std::int64_t lease_now = 0;  ///< (boot number << 48) + lease clock in milliseconds

  static constexpr int boot_shift = 48;

  [[nodiscard]] static Moment of(const Clock& clock, std::int64_t boot) {
    return {to_unix_ms(clock.now()), (boot << boot_shift) + clock.lease_now().time_since_epoch().count()};
  }

  /// The row form of a lease that starts now.
  [[nodiscard]] std::int64_t lease_end(Duration lease) const noexcept {
    return lease_now + std::max<std::int64_t>(lease.count(), 0);
  }
  /// Back to what callers understand; only for leases of this boot.
  [[nodiscard]] static LeaseTime lease_time(std::int64_t stored) noexcept {
    return LeaseTime{Duration{stored & ((std::int64_t{1} << boot_shift) - 1)}};
  }
};

}  // namespace duramen::inline v0::sqlite::detail
