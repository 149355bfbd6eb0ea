// The longest duration that a wait uses: Duration::max() and hours::max() must not overflow when a time is
// added to them, or when a system call counts in nanoseconds.
#pragma once

#include <duramen/detail/mutant.hpp>
#include <duramen/time.hpp>

#include <algorithm>

namespace duramen::base {

/// An upper bound for every wait. In nanoseconds it fits an integer, even when it is added to the time of
/// day.
inline constexpr Duration longest_wait = std::chrono::hours{24 * 365 * 100};

[[nodiscard]] inline Duration no_longer(Duration wait) {
  return detail::mutant("long_waits_overflow") ? wait : std::min(wait, longest_wait);
}

}  // namespace duramen::base
