#include "base/check.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace duramen {
namespace {

TEST(Check, DoesNothingWhenTheConditionHolds) {
  int evaluated = 0;
  DURAMEN_CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(Check, TakesAConditionWithCommas) { DURAMEN_CHECK(std::pair<int, int>{1, 2}.second == 2); }

TEST(CheckDeathTest, NamesTheFileAndTheConditionAndAborts) {
  const int leases = 2;
  EXPECT_DEATH(DURAMEN_CHECK(leases == 1), "check_test.cpp:[0-9]+: check failed: leases == 1");
}

}  // namespace
}  // namespace duramen
