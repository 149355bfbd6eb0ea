#include "base/time_text.hpp"

#include <gtest/gtest.h>

namespace duramen::base {
namespace {

using namespace std::chrono_literals;

TEST(TimeText, TimesOutsideOfFourDigitYearsAreShownAsTheNearest) {
  EXPECT_EQ(to_iso8601(latest_timer), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(to_iso8601(latest_timer + Duration{1}), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(to_iso8601(TimePoint::max()), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(to_iso8601(TimePoint::min()), "0000-01-01T00:00:00.000Z");
}

TEST(TimeText, AMomentIsIso8601InUtcWithMilliseconds) {
  EXPECT_EQ(to_iso8601(from_unix_ms(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_iso8601(from_unix_ms(1'794'785'937'123)), "2026-11-15T23:38:57.123Z");
  EXPECT_EQ(to_iso8601(from_unix_ms(951'782'400'007)), "2000-02-29T00:00:00.007Z");
  EXPECT_EQ(to_iso8601(from_unix_ms(-1)), "1969-12-31T23:59:59.999Z");
}

TEST(TimeText, ALengthIsItsTwoLargestUnits) {
  EXPECT_EQ(in_words(-5ms), "0 ms");
  EXPECT_EQ(in_words(40ms), "40 ms");
  EXPECT_EQ(in_words(1250ms), "1.250 s");
  EXPECT_EQ(in_words(60s), "1 min");
  EXPECT_EQ(in_words(725s), "12 min 5 s");
  EXPECT_EQ(in_words(26h), "1 d 2 h");
  EXPECT_EQ(in_words(24h), "1 d");
  EXPECT_EQ(in_words(3h + 59min + 59s), "3 h 59 min");
}

}  // namespace
}  // namespace duramen::base
