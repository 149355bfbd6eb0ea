// A tree that is cancelled while it grows, with nodes that die and calls that fail.
#include <duramen/orchestration.hpp>
#include <duramen/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace duramen::simulation_test {

using namespace std::chrono_literals;
using testing::Simulation;

namespace {

constexpr int max_level = 5;

/// Starts two children of itself, which do the same; the last ones wait without end. Every second level is
/// graceful.
Task<int> grow(OrchestrationContext& ctx, int level) {
  if (level == max_level) co_return co_await ctx.schedule_wait<int>("never");
  co_await ctx.schedule_timer(1s);
  const char* const next = level % 2 == 0 ? "grow gracefully" : "grow";
  auto left = ctx.schedule_sub_orchestration<int>(next, level + 1).start();
  auto right = ctx.schedule_sub_orchestration<int>(next, level + 1).start();
  co_return co_await std::move(left) + co_await std::move(right);
}

/// The number of instances below and including this one. All of them were cancelled with the words of the
/// client.
std::size_t count_cancelled(const Simulation& simulation, const InstanceId& id) {
  const auto info = simulation.instance(id);
  if (!info) return 0;  // scheduled and dropped by one turn
  EXPECT_EQ(info->status, Status::cancelled) << id.value;
  EXPECT_EQ(info->failure->message, "enough") << id.value;
  std::size_t count = 1;
  for (const Event& event : simulation.history(id)) {
    const auto* child = std::get_if<event::SubOrchestrationScheduled>(&event.body);
    if (child != nullptr) count += count_cancelled(simulation, child->instance);
  }
  return count;
}

TEST(SimulatedTrees, AreCancelledToTheLastInstanceInEveryStorm) {
  std::size_t largest = 0;
  for (const std::uint64_t seed : testing::simulation_seeds(1, 12)) {
    Registry registry;
    registry.add("grow", grow);
    registry.add("grow gracefully", grow, OrchestrationOptions().graceful());
    testing::SimulationOptions options;
    options.seed = seed;
    options.crash_rate = 0.01;
    options.fault_rate = 0.01;
    options.stall_rate = 0.001;
    Simulation simulation(std::move(registry), options);
    simulation.start("root", "grow", 0);
    simulation.cancel("root", "enough", 1s * static_cast<int>(seed % 6) + 500ms,
                      seed % 3 == 0 ? CancelMode::terminate : CancelMode::graceful);
    const auto report = simulation.run();
    EXPECT_TRUE(report.ok()) << report.describe();
    largest = std::max(largest, count_cancelled(simulation, "root"));
  }
  EXPECT_GT(largest, 15u);
}

}  // namespace
}  // namespace duramen::simulation_test
