// Units of time. Durable time is whole milliseconds; a duration that is finer rounds up, so nothing fires
// early.
#pragma once

#include <chrono>
#include <cstdint>

namespace duramen::inline v0 {

using Duration = std::chrono::milliseconds;

/// Wall-clock time, UTC: when a timer is due, when an event was recorded. What history and people see.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;

/// Time that only moves forward and counts while the machine sleeps: what leases are measured in. A jump of
/// the wall clock frees or freezes no lease.
struct LeaseClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<LeaseClock, Duration>;
  static constexpr bool is_steady = true;
};
using LeaseTime = LeaseClock::time_point;

/// A duration in whole milliseconds, never shorter than what was asked for.
template <class Rep, class Period>
[[nodiscard]] constexpr Duration round_up(std::chrono::duration<Rep, Period> d) {
  // What is too long for a Duration is as long as one can be: hours::max() is no reason to overflow.
  using Wide = std::chrono::duration<long double, Duration::period>;
  if (Wide(d) >= Wide(Duration::max())) return Duration::max();
  if (Wide(d) <= Wide(Duration::min())) return Duration::min();
  return std::chrono::ceil<Duration>(d);
}

/// Milliseconds since 1970, the form in which times are stored and exchanged.
[[nodiscard]] constexpr std::int64_t to_unix_ms(TimePoint t) noexcept { return t.time_since_epoch().count(); }
[[nodiscard]] constexpr TimePoint from_unix_ms(std::int64_t ms) noexcept { return TimePoint{Duration{ms}}; }

/// Where the time comes from. Everything below the public API takes its time from one of these, so that tests
/// can own it. Must be callable from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall time, and the time that leases are measured in.
  [[nodiscard]] virtual TimePoint now() const = 0;
  [[nodiscard]] virtual LeaseTime lease_now() const = 0;
  /// False for a clock that a test moves: whoever waits for a moment must look again and again.
  [[nodiscard]] virtual bool moves_by_itself() const { return true; }
};

/// The machine's clocks: CLOCK_REALTIME and CLOCK_BOOTTIME.
[[nodiscard]] const Clock& system_clock() noexcept;

}  // namespace duramen::inline v0
