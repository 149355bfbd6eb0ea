// Orchestrations that are not deterministic. Nothing breaks them during the run: only a replay shows it.
#include "simulation/workloads.hpp"
#include <duramen/orchestration.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace duramen::simulation_test {

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Simulation;
using testing::SimulationReport;

Registry with_activity() {
  Registry registry;
  registry.add("Add", [](ActivityContext&, std::int64_t value) { return value + 1; });
  return registry;
}

SimulationReport run(Registry registry, const testing::SimulationOptions& options = {}) {
  Simulation simulation(std::move(registry), options);
  simulation.start("it", "it");
  return simulation.run();
}

TEST(Nondeterminism, AClockInAnInstanceThatEndedIsFound) {
  Registry registry = with_activity();
  registry.add("it", [](OrchestrationContext& ctx) -> Task<std::int64_t> {
    const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
    co_return co_await ctx.schedule_activity<std::int64_t>("Add", now);
  });
  EXPECT_THAT(run(registry).violations, Contains(HasSubstr("does not replay")));
}

TEST(Nondeterminism, ACounterInAnEarlierExecutionIsFound) {
  std::int64_t runs = 0;
  Registry registry = with_activity();
  registry.add("it", [&runs](OrchestrationContext& ctx, int left) -> Task<int> {
    if (left == 0) co_return 0;
    co_await ctx.schedule_activity<std::int64_t>("Add", ++runs);
    co_return co_await ctx.continue_as_new(left - 1);
  });
  Simulation simulation(registry);
  simulation.start("it", "it", 2);
  const SimulationReport report = simulation.run();
  EXPECT_EQ(simulation.instance("it")->status, Status::completed);
  EXPECT_THAT(report.violations, Contains(HasSubstr("execution 1 (it 1.0.0) does not replay")));
}

TEST(Nondeterminism, AResultThatIsNotTheSameAgainIsFound) {
  int runs = 0;
  Registry registry;
  registry.add("it", [&runs](OrchestrationContext&) -> Task<int> { co_return ++runs; });
  EXPECT_THAT(run(registry).violations, Contains(HasSubstr("was recorded with the result 1")));
}

TEST(Nondeterminism, AFailureThatIsNotTheSameAgainIsFound) {
  int runs = 0;
  Registry registry;
  registry.add("it", [&runs](OrchestrationContext&) -> Task<int> {
    throw std::runtime_error("try " + std::to_string(++runs));
    co_return 0;
  });
  EXPECT_THAT(run(registry).violations,
              Contains(HasSubstr("recorded with the failure std::runtime_error: try 1")));
}

TEST(Nondeterminism, GuidsAndTimesOfTheContextAreDeterministic) {
  Registry registry = with_activity();
  registry.add("it", [](OrchestrationContext& ctx) -> Task<std::string> {
    const std::string guid = co_await ctx.new_guid();
    const TimePoint now = co_await ctx.utc_now();
    co_await ctx.schedule_activity<std::int64_t>("Add", to_unix_ms(now));
    co_return guid + co_await ctx.new_guid();
  });
  for (const std::uint64_t seed : testing::simulation_seeds(1, 20)) {
    testing::SimulationOptions options;
    options.seed = seed;
    options.nodes = 2;
    options.crash_rate = 0.05;
    options.fault_rate = 0.05;
    const SimulationReport report = run(registry, options);
    EXPECT_TRUE(report.ok()) << report.describe();
  }
}

TEST(Nondeterminism, AnInstanceThatFailedOfItIsFound) {
  int runs = 0;
  Registry registry = with_activity();
  // Only the second run differs: the stored history replays.
  registry.add("it", [&runs](OrchestrationContext& ctx) -> Task<std::int64_t> {
    co_return co_await ctx.schedule_activity<std::int64_t>("Add", ++runs == 2 ? 2 : 1);
  });
  testing::SimulationOptions options;
  options.runtime.max_resident_instances = 0;
  EXPECT_THAT(run(registry, options).violations, Contains(HasSubstr("the code of it is not deterministic")));
}

}  // namespace
}  // namespace duramen::simulation_test
