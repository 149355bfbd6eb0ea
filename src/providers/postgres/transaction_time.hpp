// Times in the form that statements take.
#pragma once

#include <duramen/time.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace duramen::inline v0::postgres::detail {

/// The time of a call. Absent: the server reads its own clock after it has taken the locks of the call.
struct TransactionTime {
  std::optional<std::int64_t> now;        ///< wall clock
  std::optional<std::int64_t> lease_now;  ///< clock of leases
};

/// Delays, leases and limits in whole milliseconds, cut to about thirty thousand years, so that sums never
/// overflow.
[[nodiscard]] inline std::int64_t whole(Duration duration) noexcept {
  constexpr std::int64_t longest_ms = 1'000'000'000'000'000;
  return std::clamp<std::int64_t>(duration.count(), 0, longest_ms);
}

/// The same for a limit; absent without one.
[[nodiscard]] inline std::optional<std::int64_t> limit_or_null(Duration limit) noexcept {
  return limit.count() <= 0 ? std::nullopt : std::optional(whole(limit));
}

}  // namespace duramen::inline v0::postgres::detail
