#include <duramen/time.hpp>

#include <ctime>

namespace duramen::inline v0 {
namespace {

Duration read_clock(clockid_t id) noexcept {
  timespec now{};
  clock_gettime(id, &now);  // cannot fail for the two clocks used here
  return std::chrono::floor<Duration>(std::chrono::seconds{now.tv_sec} +
                                      std::chrono::nanoseconds{now.tv_nsec});
}

class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return TimePoint{read_clock(CLOCK_REALTIME)}; }
  [[nodiscard]] LeaseTime lease_now() const override { return LeaseTime{read_clock(CLOCK_BOOTTIME)}; }
};

}  // namespace

const Clock& system_clock() noexcept {
  static const SystemClock clock;
  return clock;
}

}  // namespace duramen::inline v0
