#include <duramen/time.hpp>

#include <gtest/gtest.h>

namespace duramen {
namespace {

using namespace std::chrono_literals;

TEST(SystemClock, AgreesWithTheWallClock) {
  const auto before = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  const TimePoint now = system_clock().now();
  const auto after = std::chrono::ceil<Duration>(std::chrono::system_clock::now());
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(SystemClock, LeaseTimeNeverGoesBack) {
  LeaseTime last = system_clock().lease_now();
  for (int i = 0; i < 1000; ++i) {
    const LeaseTime now = system_clock().lease_now();
    ASSERT_LE(last, now);
    last = now;
  }
}

TEST(Time, FinerDurationsRoundUp) {
  EXPECT_EQ(round_up(1us), 1ms);
  EXPECT_EQ(round_up(2ms), 2ms);
  EXPECT_EQ(round_up(2ms + 1ns), 3ms);
  EXPECT_EQ(round_up(1h), 3'600'000ms);
}

TEST(Time, UnixMillisecondsComeBackAsTheyWere) {
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1767225600000}}) {
    EXPECT_EQ(to_unix_ms(from_unix_ms(ms)), ms);
  }
}

}  // namespace
}  // namespace duramen
