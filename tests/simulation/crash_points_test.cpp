// A node dies before and after every single change of the store, one run each, until there is no further
// change.
#include "simulation/workloads.hpp"

#include <gtest/gtest.h>

namespace duramen::simulation_test {

namespace {

using Case = std::tuple<Workload, std::size_t>;
class CrashPoints : public ::testing::TestWithParam<Case> {};

TEST_P(CrashPoints, LoseNothing) {
  const auto& [workload, nodes] = GetParam();
  for (const std::uint64_t seed : testing::simulation_seeds(1, 2)) {
    for (const bool after : {false, true}) {
      std::uint64_t boundary = 1;
      for (;; ++boundary) {
        testing::SimulationOptions options;
        options.seed = seed;
        options.nodes = nodes;
        options.crash_at = testing::CrashPoint{boundary, after};
        const Outcome outcome = simulate(workload, options);
        ASSERT_EQ(outcome.problem, "")
            << "a crash " << (after ? "after" : "before") << " change " << boundary;
        if (outcome.report.crashes == 0) break;
      }
      EXPECT_GT(boundary, 4) << "too few changes to mean anything";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Enumerated, CrashPoints,
                         ::testing::Combine(::testing::ValuesIn(workloads()),
                                            ::testing::Values<std::size_t>(1, 2)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_on_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace duramen::simulation_test
