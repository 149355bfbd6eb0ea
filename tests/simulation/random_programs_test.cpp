// Random programs on nodes that crash, stall and lose answers. To repeat a seed:
//   DURAMEN_SIMULATION_SEED=1234 ctest -R RandomPrograms --output-on-failure
// To run more of them: DURAMEN_SIMULATION_COUNT=100000 ctest -R RandomPrograms.
#include "simulation/random_programs.hpp"

#include "simulation/workloads.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace duramen::simulation_test {
namespace {

constexpr std::size_t blocks = 8;

std::size_t seeds_per_block() {
  const char* wanted = std::getenv("DURAMEN_SIMULATION_COUNT");
  const std::size_t all = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 2000;
  return std::max<std::size_t>(all / blocks, 1);
}

class RandomPrograms : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RandomPrograms, KeepEveryPromiseInEveryStorm) {
  const std::size_t count = seeds_per_block();
  std::size_t crashes = 0;
  for (const std::uint64_t seed : testing::simulation_seeds(1 + GetParam() * count, count)) {
    testing::SimulationReport report;
    ASSERT_EQ(simulate_programs(stormy(seed), &report), "") << "seed " << seed;
    crashes += report.crashes;
  }
  if (testing::simulation_seeds(0, 2).size() > 1)
    EXPECT_GT(crashes, count / 10) << "the storm is only a breeze";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, ::testing::Range<std::size_t>(0, blocks));

TEST(RandomProgramsOf, OneSeedAreTheSame) {
  testing::SimulationReport first;
  testing::SimulationReport second;
  EXPECT_EQ(simulate_programs(stormy(77), &first), "");
  EXPECT_EQ(simulate_programs(stormy(77), &second), "");
  EXPECT_EQ(first.fingerprint, second.fingerprint);
}

}  // namespace
}  // namespace duramen::simulation_test
