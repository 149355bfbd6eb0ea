// Thousands of invented orchestrations, each run in every way that must come to the same.
//
//   DURAMEN_PROPERTY_SEED=17     runs only that program
//   DURAMEN_PROPERTY_COUNT=9999  runs 9999 programs in each case, for a long run

#include "core/property/drive.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace duramen::core_test::property {
namespace {

#ifdef DURAMEN_PROPERTY_FEWER
constexpr std::uint64_t programs_in_a_case = 300;
#else
constexpr std::uint64_t programs_in_a_case = 1300;
#endif
constexpr std::uint64_t cases = 8;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::stoull(text) : otherwise;
}

class RandomPrograms : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomPrograms, DoTheSameInEveryMode) {
  const std::uint64_t count = number_from("DURAMEN_PROPERTY_COUNT", programs_in_a_case);
  std::uint64_t first = GetParam() * count;
  std::uint64_t last = first + count;
  if (std::getenv("DURAMEN_PROPERTY_SEED") != nullptr) {
    if (GetParam() != 0) GTEST_SKIP() << "one seed is asked for";
    first = number_from("DURAMEN_PROPERTY_SEED", 0);
    last = first + 1;
  }
  Report all;
  std::size_t findings = 0;
  for (std::uint64_t seed = first; seed < last && findings < 3; ++seed) {
    const Report report = check_seed(seed);
    if (report.finding) {
      ++findings;
      ADD_FAILURE() << describe(seed, report);
    }
    all.turns += report.turns;
    all.events += report.events;
    all.executions += report.executions;
    all.changes_reported += report.changes_reported;
    all.cancelled += report.cancelled;
  }
  RecordProperty("turns", std::to_string(all.turns));
  RecordProperty("events", std::to_string(all.events));
  if (last - first < 100) return;
  // The programs would prove little if they did little.
  EXPECT_GT(all.turns, 3 * (last - first));
  EXPECT_GT(all.events, 12 * (last - first));
  EXPECT_GT(all.executions, last - first);
  EXPECT_GT(all.changes_reported, (last - first) / 4);
  EXPECT_GT(all.cancelled, (last - first) / 20);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range<std::uint64_t>(0, cases));

}  // namespace
}  // namespace duramen::core_test::property
