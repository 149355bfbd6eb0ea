// The same seed gives the same run, event for event; another seed gives another.
#include "simulation/workloads.hpp"

#include <gtest/gtest.h>

#include <set>

namespace duramen::simulation_test {

namespace {

TEST(Determinism, TheSameSeedGivesTheSameRun) {
  for (const Workload& workload : workloads()) {
    for (const std::uint64_t seed : testing::simulation_seeds(1, 20)) {
      testing::SimulationOptions options = stormy(seed);
      options.trace = true;
      const Outcome first = simulate(workload, options);
      const Outcome second = simulate(workload, options);
      ASSERT_EQ(first.report.trace, second.report.trace) << workload.name << " with seed " << seed;
      EXPECT_EQ(first.report.fingerprint, second.report.fingerprint);
    }
  }
}

TEST(Determinism, AnotherSeedGivesAnotherRun) {
  std::set<std::uint64_t> fingerprints;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    fingerprints.insert(simulate(workload("chain"), {.seed = seed}).report.fingerprint);
  }
  EXPECT_EQ(fingerprints.size(), 50u);
}

}  // namespace
}  // namespace duramen::simulation_test
