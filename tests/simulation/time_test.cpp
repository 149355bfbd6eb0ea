// Virtual time: a month passes at once, and an instance that never ends is reported as waiting.
#include "simulation/workloads.hpp"
#include <duramen/orchestration.hpp>

#include <gtest/gtest.h>

namespace duramen::simulation_test {

using namespace std::chrono_literals;
using testing::Simulation;

namespace {

Task<std::string> trial(OrchestrationContext& ctx) {
  co_await ctx.schedule_timer(std::chrono::days{30});
  co_return "reminded";
}

Registry trial_registry() {
  Registry registry;
  registry.add("trial", trial);
  return registry;
}

/// Nodes that poll a few times a day: a month in steps of seconds would take too long.
testing::SimulationOptions relaxed(std::uint64_t seed) {
  testing::SimulationOptions options;
  options.seed = seed;
  options.runtime.activity_lease = 1h;
  options.runtime.poll_interval = 2h;
  return options;
}

TEST(SimulatedTime, AMonthPassesAtOnce) {
  testing::SimulationOptions options = relaxed(1);
  options.crash_rate = 0.01;
  Simulation simulation(trial_registry(), options);
  simulation.start("trial-1", "trial");
  const auto report = simulation.run();
  EXPECT_TRUE(report.ok()) << report.describe();
  EXPECT_GE(report.virtual_time, std::chrono::days{30});
  EXPECT_LT(report.virtual_time, std::chrono::days{31});
  EXPECT_EQ(simulation.instance("trial-1")->output, Payload::text("reminded"));
}

TEST(SimulatedTime, ADeadlineBeforeTheTimerLeavesAnInstanceThatWaits) {
  testing::SimulationOptions options = relaxed(2);
  options.deadline = std::chrono::days{7};
  Simulation simulation(trial_registry(), options);
  simulation.start("trial-1", "trial");
  const auto report = simulation.run();
  EXPECT_TRUE(report.ok()) << report.describe();
  EXPECT_EQ(simulation.instance("trial-1")->status, Status::running);
}

TEST(SimulatedTime, AnInstanceThatNoNodeCanRunWaitsForNothing) {
  testing::SimulationOptions options = relaxed(3);
  options.deadline = std::chrono::days{1};
  Simulation simulation(trial_registry(), options);
  simulation.start("trial-1", "not registered");
  const auto report = simulation.run();
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.describe().find("waits for nothing"), std::string::npos) << report.describe();
  EXPECT_NE(report.describe().find("DURAMEN_SIMULATION_SEED=3"), std::string::npos);
}

}  // namespace
}  // namespace duramen::simulation_test
