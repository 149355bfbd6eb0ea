// "As long as possible" is a duration, too: Duration::max() and hours::max() must not overflow where a time
// is added to them, or where a system call counts in nanoseconds.
#pragma once

#include <duramen/detail/mutant.hpp>
#include <duramen/time.hpp>

#include <algorithm>

namespace duramen::base {

/// Nobody waits longer. In nanoseconds it fits an integer, also when it is added to the time of day.
inline constexpr Duration longest_wait = std::chrono::hours{24 * 365 * 100};

[[nodiscard]] inline Duration no_longer(Duration wait) {
  return detail::mutant("long_waits_overflow") ? wait : std::min(wait, longest_wait);
}

}  // namespace duramen::base
