// Every workload under seeded scheduling, crashes, faults, stalls and clock jumps. To repeat a seed:
//   DURAMEN_SIMULATION_SEED=1234 ctest -R RandomFaults.*select --output-on-failure
#include "simulation/workloads.hpp"

#include <gtest/gtest.h>

namespace duramen::simulation_test {

namespace {

constexpr std::size_t blocks = 4;
constexpr std::size_t seeds_per_block = 260;

using Block = std::tuple<Workload, std::size_t>;
class RandomFaults : public ::testing::TestWithParam<Block> {};

TEST_P(RandomFaults, BreakNoPromise) {
  const auto& [workload, block] = GetParam();
  std::size_t crashes = 0;
  std::size_t faults = 0;
  for (const std::uint64_t seed : testing::simulation_seeds(1 + block * seeds_per_block, seeds_per_block)) {
    const Outcome outcome = simulate(workload, stormy(seed));
    ASSERT_EQ(outcome.problem, "") << "nodes: " << stormy(seed).nodes;
    crashes += outcome.report.crashes;
    faults += outcome.report.faults;
  }
  if (testing::simulation_seeds(0, 2).size() == 1) return;
  EXPECT_GT(crashes, seeds_per_block / 4) << "the storm is only a breeze";
  EXPECT_GT(faults, seeds_per_block / 4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFaults,
                         ::testing::Combine(::testing::ValuesIn(workloads()),
                                            ::testing::Range<std::size_t>(0, blocks)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace duramen::simulation_test
