// An activity that is no longer wanted is asked to stop, with the reason, and its result is dropped.
#include "runtime/world.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace duramen::test {
namespace {

/// The state that an activity saw when it was asked to stop.
struct Seen {
  StopCause cause;
  std::optional<CancelReason> reason;
};

/// Blocks until the token fires, as a function activity with its own waiting would.
void block_until_stopped(const std::stop_token& token) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait(lock, token, [] { return false; });
}

class Cancellation : public ::testing::Test {
 protected:
  void SetUp() override {
    world.registry.add("BlockingFunction", [this](ActivityContext& ctx, int value) {
      begun.set(true);
      block_until_stopped(ctx.stop_token());
      seen.set({ctx.stop_cause(), ctx.cancel_reason()});
      return value;
    });
    world.registry.add("WaitingCoroutine", [this](ActivityContext& ctx, int value) -> ActivityTask<int> {
      begun.set(true);
      co_await ctx.cancelled();
      seen.set({ctx.stop_cause(), ctx.cancel_reason()});
      co_return value;
    });
    world.registry.add("Quick", [](ActivityContext&, int value) { return value; });
    // An activity that is cancelled before it has begun never runs: tests of running ones wait for that.
    world.registry.add("OnceTheOtherHasBegun", [this](ActivityContext&, int value) {
      (void)begun.wait();
      return value;
    });
    world.registry.add("wait_for", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>(activity, 1);
    });
    world.registry.add("race_with_timer",
                       [](OrchestrationContext& ctx, std::string activity) -> Task<std::string> {
                         auto slow = ctx.schedule_activity<int>(activity, 1).start();
                         co_await ctx.schedule_activity<int>("OnceTheOtherHasBegun", 3);
                         auto winner = co_await ctx.select2(std::move(slow), ctx.schedule_timer(10ms));
                         // The orchestration continues after the race: the loser must not have to wait for
                         // its end.
                         auto last = co_await ctx.schedule_activity<int>("Quick", 7);
                         co_return (winner.index() == 1 ? "timer " : "activity ") + std::to_string(last);
                       });
    world.registry.add("return_early", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
      auto slow = ctx.schedule_activity<int>(activity, 1).start();
      co_return co_await ctx.schedule_activity<int>("OnceTheOtherHasBegun", 3);
    });
    world.registry.add("fail_early", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
      ctx.schedule_activity<int>(activity, 1).detach();
      co_await ctx.schedule_activity<int>("OnceTheOtherHasBegun", 3);
      throw std::runtime_error("no more");
    });
  }
  World world;
  Signal<bool> begun;
  Signal<Seen> seen;
};

class CancellationOf : public Cancellation, public ::testing::WithParamInterface<std::string> {};

TEST(LongPauses, TheLongestPossiblePauseLastsUntilAStop) {
  World world;
  std::atomic<int> begun{0};
  Signal<bool> function;
  Signal<bool> coroutine;
  world.registry.add("Function", [&](ActivityContext& ctx, int value) {
    ++begun;
    function.set(ctx.wait_for(std::chrono::hours::max()));
    return value;
  });
  world.registry.add("Coroutine", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    ++begun;
    const bool rested = co_await ctx.sleep(std::chrono::hours::max());
    coroutine.set(rested);
    co_return value;
  });
  world.registry.add("both", [](OrchestrationContext& ctx, int value) -> Task<int> {
    std::vector<DurableFuture<int>> both;
    both.push_back(ctx.schedule_activity<int>("Function", value).start_to_close(std::chrono::hours::max()));
    both.push_back(ctx.schedule_activity<int>("Coroutine", value));
    auto values = co_await ctx.join(std::move(both));
    co_return values.front();
  });
  world.run();
  world.client.start("b", "both", 1).value();
  for (int i = 0; i < 60'000 && begun < 2; ++i) std::this_thread::sleep_for(1ms);
  world.client.cancel("b", "enough").value();
  EXPECT_EQ(function.wait(), false);
  EXPECT_EQ(coroutine.wait(), false);
}

TEST_P(CancellationOf, ALostRaceStopsTheActivityAndTheOrchestrationContinues) {
  world.run();
  EXPECT_EQ(world.finish("race", "race_with_timer", GetParam()).output_as<std::string>(), "timer 7");
  const auto stop = seen.wait();
  ASSERT_TRUE(stop.has_value());
  EXPECT_EQ(stop->cause, StopCause::cancelled);
  EXPECT_EQ(stop->reason, CancelReason::select_loser);
  EXPECT_EQ(
      event_types(world.client, "race"),
      (std::vector<std::string>{"OrchestrationStarted", "ActivityScheduled", "ActivityScheduled",
                                "ActivityCompleted", "TimerCreated", "TimerFired", "ActivityScheduled",
                                "ActivityCancelRequested", "ActivityCompleted", "OrchestrationCompleted"}));
}

TEST_P(CancellationOf, ACancelledInstanceStopsItsActivityWithTheReason) {
  world.run();
  world.client.start("c", "wait_for", GetParam()).value();
  ASSERT_TRUE(begun.wait());
  EXPECT_TRUE(world.client.cancel("c", "customer left").value());
  const InstanceState state = world.client.wait("c", forever).value();
  EXPECT_EQ(state.status, Status::cancelled);
  EXPECT_EQ(state.failure->message, "customer left");
  const auto stop = seen.wait();
  ASSERT_TRUE(stop.has_value());
  EXPECT_EQ(stop->reason, CancelReason::orchestration_terminal_cancelled);
}

TEST_P(CancellationOf, AnOrchestrationThatReturnsStopsTheActivitiesItDropped) {
  world.run();
  EXPECT_EQ(world.finish("r", "return_early", GetParam()).output_as<int>(), 3);
  EXPECT_EQ(seen.wait()->reason, CancelReason::dropped_future);
}

TEST_P(CancellationOf, AnOrchestrationThatFailsStopsItsRunningActivities) {
  world.run();
  EXPECT_EQ(world.finish("f", "fail_early", GetParam()).status, Status::failed);
  EXPECT_EQ(seen.wait()->reason, CancelReason::orchestration_terminal_failed);
}

TEST_P(CancellationOf, TheResultOfACancelledActivityIsNotRecorded) {
  Runtime& runtime = world.run();
  world.client.start("c", "wait_for", GetParam()).value();
  ASSERT_TRUE(begun.wait());
  world.client.cancel("c", "enough").value();
  world.client.wait("c", forever).value();
  ASSERT_TRUE(seen.wait());
  runtime.shutdown();  // everything that could still be on its way has arrived
  const auto types = event_types(world.client, "c");
  EXPECT_EQ(std::count(types.begin(), types.end(), "ActivityCompleted"), 0);
  EXPECT_EQ(types.back(), "OrchestrationFailed");
  EXPECT_EQ(world.provider->snapshot().worker_rows, 0u);
  EXPECT_EQ(world.provider->snapshot().queued_messages, 0u);
}

TEST_P(CancellationOf, ACancelCrossesFromOneRuntimeToTheActivityOfAnother) {
  // The first runtime runs activities only; the second takes the turns, and so steals the first one's lease.
  Registry activities_only;
  activities_only.add("WaitingCoroutine", [this](ActivityContext& ctx, int value) -> ActivityTask<int> {
    begun.set(true);
    co_await ctx.cancelled();
    seen.set({ctx.stop_cause(), ctx.cancel_reason()});
    co_return value;
  });
  Registry turns_only;
  turns_only.add("wait_for", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>(activity, 1);
  });
  Runtime workers{world.store, activities_only};
  Runtime orchestrators{world.store, turns_only};
  world.client.start("x", "wait_for", "WaitingCoroutine").value();
  ASSERT_TRUE(begun.wait());
  world.client.cancel("x", "moved on").value();
  const auto stop = seen.wait();
  ASSERT_TRUE(stop.has_value());
  EXPECT_EQ(stop->cause, StopCause::cancelled);
  EXPECT_EQ(stop->reason, CancelReason::orchestration_terminal_cancelled);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, CancellationOf, ::testing::Values("BlockingFunction", "WaitingCoroutine"),
                         [](const auto& info) { return info.param; });

TEST_F(Cancellation, CancellingAnEndedInstanceChangesNothing) {
  world.run();
  world.finish("done", "wait_for", "Quick");
  EXPECT_FALSE(world.client.cancel("done", "too late").value());
  EXPECT_EQ(world.client.get_instance("done").value().status, Status::completed);
}

TEST_F(Cancellation, TerminateReachesAChildThatCleansUp) {
  const auto undo = [](OrchestrationContext& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_wait("never");
  };
  const auto cleans_up = [undo](OrchestrationContext& ctx, std::string child) -> Task<std::string> {
    try {
      if (child.empty())
        co_await ctx.schedule_wait("never");
      else
        co_await ctx.schedule_sub_orchestration("cleans_up", "", ChildOptions().id(child));
    } catch (const CancelledError&) {
    }
    co_return co_await ctx.shield(1h, undo(ctx));
  };
  world.registry.add("cleans_up", cleans_up, OrchestrationOptions().graceful());
  world.run();
  world.client.start("parent", "cleans_up", "child").value();
  const auto becomes = [&](const InstanceId& id, Status status) {
    const auto end = std::chrono::steady_clock::now() + forever;
    while (std::chrono::steady_clock::now() < end) {
      const auto state = world.client.get_instance(id);
      if (state && state->status == status) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  };
  ASSERT_TRUE(becomes("child", Status::running));
  world.client.cancel("parent", "enough").value();
  ASSERT_TRUE(becomes("parent", Status::cancelling));
  ASSERT_TRUE(becomes("child", Status::cancelling));
  world.client.cancel("parent", "now", CancelMode::terminate).value();
  EXPECT_TRUE(becomes("parent", Status::cancelled));
  EXPECT_TRUE(becomes("child", Status::cancelled));
}

TEST_F(Cancellation, CancellingAnUnknownInstanceIsNotFound) {
  world.run();
  const auto result = world.client.cancel("nobody", "why not");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::not_found);
}

TEST_F(Cancellation, AStartAndACancelBeforeAnyRuntimeEndAsCancelled) {
  world.client.start("c", "wait_for", "Quick").value();
  world.client.cancel("c", "changed my mind").value();
  world.run();
  EXPECT_EQ(world.client.wait("c", forever).value().status, Status::cancelled);
}

}  // namespace
}  // namespace duramen::test
