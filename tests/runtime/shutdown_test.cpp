// A runtime that stops loses nothing and keeps nobody waiting.
#include "runtime/world.hpp"

#include <atomic>

namespace duramen::test {
namespace {

TEST(Shutdown, LetsARunningActivityEndAndStoresItsResult) {
  World world;
  Signal<bool> begun;
  Signal<bool> go_on;
  world.registry.add("Work", [&](ActivityContext&, int value) {
    begun.set(true);
    (void)go_on.wait();
    return value + 1;
  });
  world.registry.add("use", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Work", value);
  });
  Runtime& runtime = world.run();
  world.client.start("w", "use", 1).value();
  ASSERT_TRUE(begun.wait());
  go_on.set(true);
  runtime.shutdown(forever);
  EXPECT_EQ(world.client.get_instance("w").value().status, Status::completed);
}

TEST(Shutdown, TellsActivitiesAfterTheDeadlineAndGivesTheirLeasesBackUncounted) {
  World world;
  Signal<bool> begun;
  Signal<StopCause> cause;
  std::atomic<std::uint32_t> second_attempt{0};
  std::atomic<bool> first_time{true};
  world.registry.add("Work", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    if (first_time.exchange(false)) {
      begun.set(true);
      co_await ctx.cancelled();
      cause.set(ctx.stop_cause());
      throw std::runtime_error("interrupted");
    }
    second_attempt = ctx.attempt();
    co_return value + 1;
  });
  world.registry.add("use", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Work", value);
  });
  Runtime& first = world.run();
  world.client.start("w", "use", 1).value();
  ASSERT_TRUE(begun.wait());
  first.shutdown(Duration{0});
  EXPECT_EQ(cause.wait(), StopCause::shutdown);
  EXPECT_EQ(world.client.get_instance("w").value().status, Status::running);

  world.run();
  EXPECT_EQ(world.client.wait("w", forever).value().output_as<int>(), 2);
  EXPECT_EQ(second_attempt, 1u);
}

TEST(Shutdown, OfAnIdleRuntimeIsImmediateAndMayBeRepeated) {
  World world;
  world.registry.add("Work", [](ActivityContext&, int value) { return value; });
  Runtime& runtime = world.run();
  runtime.shutdown();
  runtime.shutdown();
}

TEST(Shutdown, AStartAfterItIsKeptForTheNextRuntime) {
  World world;
  world.registry.add("echo", [](OrchestrationContext&, int value) -> Task<int> { co_return value; });
  world.run().shutdown();
  world.client.start("e", "echo", 5).value();
  EXPECT_EQ(world.client.get_instance("e").value().status, Status::pending);
  world.run();
  EXPECT_EQ(world.client.wait("e", forever).value().output_as<int>(), 5);
}

}  // namespace
}  // namespace duramen::test
