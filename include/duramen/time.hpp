// Units of time. Durable time is whole milliseconds; a finer duration is rounded up, so that nothing fires
// early.
#pragma once

#include <chrono>
#include <cstdint>

namespace duramen::inline v0 {

using Duration = std::chrono::milliseconds;

/// Wall-clock time, UTC: when a timer is due, when an event was recorded. Used in history and shown to
/// people.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;

/// Time that only moves forward and counts while the machine sleeps; used for leases. A jump of the wall
/// clock neither ends nor extends a lease.
struct LeaseClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<LeaseClock, Duration>;
  static constexpr bool is_steady = true;
};
using LeaseTime = LeaseClock::time_point;

/// A duration in whole milliseconds, never shorter than the given one.
template <class Rep, class Period>
[[nodiscard]] constexpr Duration round_up(std::chrono::duration<Rep, Period> d) {
  // Clamps longer values to the longest Duration, so that hours::max() does not overflow.
  using Wide = std::chrono::duration<long double, Duration::period>;
  if (Wide(d) >= Wide(Duration::max())) return Duration::max();
  if (Wide(d) <= Wide(Duration::min())) return Duration::min();
  return std::chrono::ceil<Duration>(d);
}

/// The last millisecond of the year 9999. No timer is due later, so that every time has four digits of a
/// year.
inline constexpr TimePoint latest_timer =
    std::chrono::sys_days{std::chrono::year{10000} / 1 / 1} - std::chrono::milliseconds{1};

/// Milliseconds since 1970, the stored and exchanged form of times.
[[nodiscard]] constexpr std::int64_t to_unix_ms(TimePoint t) noexcept { return t.time_since_epoch().count(); }
[[nodiscard]] constexpr TimePoint from_unix_ms(std::int64_t ms) noexcept { return TimePoint{Duration{ms}}; }

/// A source of time. All internal code takes its time from a Clock, so that tests can control it. Must be
/// callable from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall time, and the time used for leases.
  [[nodiscard]] virtual TimePoint now() const = 0;
  [[nodiscard]] virtual LeaseTime lease_now() const = 0;
  /// False for a clock that a test moves: code that waits for a point in time must then poll the clock.
  [[nodiscard]] virtual bool moves_by_itself() const { return true; }
};

/// The machine's clocks: CLOCK_REALTIME and CLOCK_BOOTTIME.
[[nodiscard]] const Clock& system_clock() noexcept;

}  // namespace duramen::inline v0
