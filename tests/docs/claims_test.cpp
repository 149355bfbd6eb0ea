// What the pages claim and no other test shows.
#include <duramen/duramen.hpp>
#include <duramen/testing/simulation.hpp>

#include <gtest/gtest.h>

namespace duramen {
namespace {

using namespace std::chrono_literals;

inline constexpr Activity<std::string()> Forever{"Forever"};

ActivityTask<std::string> forever(ActivityContext& ctx) {
  co_await ctx.cancelled();
  co_return "stopped";
}

// docs/guides/cancellable-activities.md, "Futures that are leaked on purpose".
TEST(Pages, AFutureThatIsLeakedIsCancelledWithItsOrchestration) {
  static std::vector<DurableFuture<std::string>*> leaked;  // reachable, so that no leak checker complains
  Registry registry;
  registry.add(Forever, forever);
  registry.add("leaks", [](OrchestrationContext& ctx) -> Task<int> {
    leaked.push_back(new DurableFuture<std::string>(ctx.schedule_activity(Forever).start()));
    co_await ctx.schedule_timer(1h);
    co_return 1;
  });
  testing::Simulation simulation(registry);
  simulation.start("one", "leaks");
  const testing::SimulationReport report = simulation.run();
  EXPECT_TRUE(report.ok()) << report.describe();
  const auto attempts = simulation.attempts();
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].reason, CancelReason::orchestration_terminal_completed);
  // Not before: the timer counts from when the activity was scheduled, a little earlier than it began.
  EXPECT_GE(*attempts[0].stopped - attempts[0].began, 59min);
}

// The same page: detach() is the way to say so on purpose.
TEST(Pages, ADetachedActivityEndsWithItsOrchestration) {
  Registry registry;
  registry.add(Forever, forever);
  registry.add("detaches", [](OrchestrationContext& ctx) -> Task<int> {
    ctx.schedule_activity(Forever).detach();
    co_await ctx.schedule_timer(1h);
    co_return 1;
  });
  testing::Simulation simulation(registry);
  simulation.start("one", "detaches");
  EXPECT_TRUE(simulation.run().ok());
  const auto attempts = simulation.attempts();
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].reason, CancelReason::orchestration_terminal_completed);
}

}  // namespace
}  // namespace duramen
