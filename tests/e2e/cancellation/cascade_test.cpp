// Cancellation of sub-orchestrations from end to end, to every depth.
#include "e2e/store_world.hpp"

namespace duramen::test {
namespace {

class Cascade : public ::testing::Test {
 protected:
  Cascade() {
    waiters.add_to(world.registry, "Wait");
    world.registry.add("work", [](OrchestrationContext& ctx, int) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>("Wait", 1);
    });
    world.registry.add("middle", [](OrchestrationContext& ctx, int) -> Task<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("work", 1, ChildOptions().id("grandchild"));
    });
    // Runs a child until an event asks to drop it, then continues.
    world.registry.add("parent", [](OrchestrationContext& ctx, std::string child) -> Task<std::string> {
      {
        auto running = ctx.schedule_sub_orchestration<int>(child, 1, ChildOptions().id("child")).start();
        co_await ctx.schedule_wait<int>("drop");
      }
      co_await ctx.schedule_wait<int>("end");
      co_return "went on";
    });
    world.registry.add("race", [](OrchestrationContext& ctx, std::string child) -> Task<std::string> {
      auto winner = co_await ctx.select2(
          ctx.schedule_sub_orchestration<int>(child, 1, ChildOptions().id("child")), ctx.schedule_timer(5s));
      co_return winner.index() == 1 ? "timer" : "child";
    });
  }
  void begin(const char* orchestration, const char* child) {
    world.run();
    world.client.start("p", orchestration, child).value();
    world.until([&] { return waiters.begun() == 1; });
  }
  void expect_cancelled(const InstanceId& instance) {
    EXPECT_EQ(world.end_of(instance).status, Status::cancelled) << instance.value;
  }
  void expect_activity_stopped() {
    world.until([&] { return waiters.stops().size() == 1; });
    EXPECT_EQ(waiters.stops().front().cause, StopCause::cancelled);
    EXPECT_EQ(waiters.stops().front().reason, CancelReason::parent_cancelled);
  }
  Waiters waiters;
  StoreWorld world;
};

TEST_F(Cascade, dropped_sub_orch_future_cancels_child) {
  begin("parent", "work");
  world.client.raise_event("p", "drop", 1).value();
  expect_cancelled("child");
  EXPECT_EQ(world.status("p"), Status::running);
  world.client.raise_event("p", "end", 1).value();
  EXPECT_EQ(world.end_of("p").output_as<std::string>(), "went on");
}

TEST_F(Cascade, sub_orchestration_drop_recorded_and_child_cancelled) {
  begin("parent", "work");
  world.client.raise_event("p", "drop", 1).value();
  expect_cancelled("child");
  EXPECT_EQ(world.reasons("p"), std::vector{CancelReason::dropped_future});
  EXPECT_EQ(world.events("child", "OrchestrationCancelRequested"), 1u);
}

TEST_F(Cascade, dropped_sub_orch_cascades_to_grandchildren) {
  begin("parent", "middle");
  world.client.raise_event("p", "drop", 1).value();
  expect_cancelled("child");
  expect_cancelled("grandchild");
  expect_activity_stopped();
  world.client.raise_event("p", "end", 1).value();
  EXPECT_EQ(world.end_of("p").status, Status::completed);
  world.expect_nothing_left();
}

TEST_F(Cascade, select_loser_sub_orchestration_cancelled) {
  begin("race", "work");
  EXPECT_EQ(world.end_of("p").output_as<std::string>(), "timer");
  expect_cancelled("child");
  EXPECT_EQ(world.reasons("p"), std::vector{CancelReason::select_loser});
  world.expect_nothing_left();
}

TEST_F(Cascade, sub_orch_cancel_stops_child_activities) {
  begin("parent", "work");
  world.client.cancel("p", "enough").value();
  expect_cancelled("p");
  expect_cancelled("child");
  expect_activity_stopped();
  world.expect_nothing_left();
}

TEST_F(Cascade, AParentThatFailsOrCompletesTakesItsChildrenWithIt) {
  world.registry.add("leave", [](OrchestrationContext& ctx, bool fail) -> Task<int> {
    ctx.schedule_sub_orchestration<int>("middle", 1, ChildOptions().id("child")).detach();
    co_await ctx.schedule_wait<int>("go");
    if (fail) throw std::runtime_error("no more");
    co_return 1;
  });
  world.run();
  world.client.start("p", "leave", true).value();
  world.until([&] { return waiters.begun() == 1; });
  world.client.raise_event("p", "go", 1).value();
  EXPECT_EQ(world.end_of("p").status, Status::failed);
  expect_cancelled("child");
  expect_cancelled("grandchild");
  expect_activity_stopped();
  world.expect_nothing_left();
}

}  // namespace
}  // namespace duramen::test
