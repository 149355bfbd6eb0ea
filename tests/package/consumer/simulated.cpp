// The testing library from an installed package.
#include <duramen/testing/manual_clock.hpp>
#include <duramen/testing/simulation.hpp>

#include <iostream>

namespace dm = duramen;
using namespace std::chrono_literals;

dm::Task<int> nap(dm::OrchestrationContext& ctx) {
  co_await ctx.schedule_timer(24h);
  co_return 42;
}

int main() {
  dm::Registry registry;
  registry.add("nap", nap);
  dm::testing::Simulation simulation(registry, {.seed = 7, .nodes = 2, .crash_rate = 0.05});
  simulation.start("nap-1", "nap");
  const dm::testing::SimulationReport report = simulation.run();
  std::cout << report.describe() << "\n"
            << simulation.instance("nap-1")->output_as<int>() << " after "
            << std::chrono::floor<std::chrono::hours>(report.virtual_time).count() << " hours\n";
  return report.ok() ? 0 : 1;
}
