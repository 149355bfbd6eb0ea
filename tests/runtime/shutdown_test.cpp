// A runtime that stops loses nothing and blocks no caller.
#include "runtime/world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

namespace duramen::test {
namespace {

TEST(Shutdown, WaitsForARunningActivityAndStoresItsResult) {
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

TEST(Shutdown, WithAnEndlessDeadlineStopsNoActivity) {
  World world;
  Signal<bool> begun;
  world.registry.add("Work", [&](ActivityContext& ctx, int) {
    begun.set(true);
    return ctx.wait_for(50ms);
  });
  world.registry.add("use", [](OrchestrationContext& ctx, int value) -> Task<bool> {
    co_return co_await ctx.schedule_activity<bool>("Work", value);
  });
  Runtime& runtime = world.run();
  world.client.start("w", "use", 1).value();
  ASSERT_TRUE(begun.wait());
  runtime.shutdown(Duration::max());
  const InstanceInfo info = world.client.get_instance("w").value();
  ASSERT_EQ(info.status, Status::completed);
  EXPECT_EQ(info.output->data, "true");
}

TEST(Shutdown, DoesNotBlockACallOfAbandonedActivities) {
  World world;
  Signal<bool> begun;
  Signal<bool> stopping;
  Signal<bool> go_on;
  world.registry.add("Work", [&](ActivityContext& ctx, int value) {
    begun.set(true);
    (void)ctx.wait_for(forever);
    stopping.set(true);
    (void)go_on.wait();
    return value;
  });
  world.registry.add("use", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Work", value);
  });
  Runtime& runtime = world.run();
  world.client.start("w", "use", 1).value();
  ASSERT_TRUE(begun.wait());
  std::thread shutdown([&] { runtime.shutdown(Duration{0}); });
  EXPECT_TRUE(stopping.wait());
  Signal<bool> answered;
  std::thread asks([&] {
    (void)runtime.abandoned_activities();
    answered.set(true);
  });
  for (int i = 0; i < 2000 && !answered.is_set(); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(answered.is_set());
  go_on.set(true);
  shutdown.join();
  asks.join();
}

TEST(Shutdown, StopsActivitiesAtTheDeadlineAndReleasesThemUncounted) {
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

// -- after the deadline ---------------------------------------------------------------------------

/// Holds up the first batch of several commits that schedules activities.
class HoldsUpCommits final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  Signal<bool> storing;
  Signal<bool> go_on;

  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    // More than one, or it might be the loop that stores it.
    const bool schedules = std::any_of(commits.begin(), commits.end(), [](const TurnCommit& commit) {
      return !commit.new_activities.empty();
    });
    if (commits.size() > 1 && schedules) {
      storing.set(true);
      (void)go_on.wait();
    }
    return ForwardingProvider::commit_turns(commits, preempt);
  }
};

TEST(Shutdown, AnActivityWhoseCommitReturnsAfterTheDeadlineIsReleasedUncounted) {
  const auto provider =
      std::make_shared<HoldsUpCommits>(std::make_shared<testing::MemoryProvider>(system_clock()));
  const Store store{provider};
  Client client{store};
  Registry registry;
  Signal<bool> waits;
  Signal<bool> entered;
  Signal<bool> leave;
  std::atomic<bool> stopping{false};
  std::atomic<bool> begun_too_late{false};
  Signal<std::uint32_t> attempt;
  registry.add("Wait", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    if (stopping) co_return value;
    waits.set(true);
    co_await ctx.cancelled();
    provider->go_on.set(true);  // the deadline has passed
    co_return value;
  });
  registry.add("Work", [&](ActivityContext& ctx, int value) {
    if (stopping) {
      attempt.set(ctx.attempt());
    } else {
      begun_too_late = true;
      ctx.wait_for(2s);
    }
    return value;
  });
  registry.add("call", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>(activity, 1);
  });
  registry.add("slow", [&](OrchestrationContext&, int) -> Task<int> {
    entered.set(true);
    (void)leave.wait();
    co_return 0;
  });
  RuntimeOptions options;
  options.log = [](const LogRecord&) {};
  Runtime runtime(store, registry, options);
  client.start("waits", "call", "Wait").value();
  ASSERT_TRUE(waits.wait());
  // Starts that come while the loop is busy end up in one batch.
  const auto start = [&](const char* instance, const char* orchestration, const Payload& input) {
    StartRequest request;
    request.instance = instance;
    request.start.orchestration = orchestration;
    request.start.input = input;
    client.start_async(std::move(request), [](const Result<StartOutcome>&) {});
  };
  start("slow", "slow", encode_payload<int>(0));
  ASSERT_TRUE(entered.wait());
  start("late", "call", encode_payload<std::string>("Work"));
  leave.set(true);
  ASSERT_TRUE(provider->storing.wait());
  runtime.shutdown(Duration{0});
  ASSERT_FALSE(begun_too_late);
  stopping = true;
  const Runtime next(store, registry, options);
  EXPECT_EQ(client.wait("late", forever).value().status, Status::completed);
  EXPECT_EQ(attempt.wait(), 1u);
}

class ShutdownOf : public ::testing::TestWithParam<bool> {};

TEST_P(ShutdownOf, AResultAfterTheStopIsDroppedAndTheActivityRunsAgain) {
  World world;
  Signal<bool> begun;
  std::atomic<int> attempts{0};
  const bool coroutine = GetParam();
  if (coroutine) {
    world.registry.add("Sum", [&](ActivityContext& ctx, int) -> ActivityTask<std::string> {
      if (++attempts > 1) co_return "all";
      begun.set(true);
      co_await ctx.cancelled();
      co_return "a part";
    });
  } else {
    world.registry.add("Sum", [&](ActivityContext& ctx, int) -> std::string {
      if (++attempts > 1) return "all";
      begun.set(true);
      while (ctx.wait_for(1h)) {
      }
      return "a part";
    });
  }
  world.registry.add("use", [](OrchestrationContext& ctx, int value) -> Task<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Sum", value);
  });
  Runtime& first = world.run();
  world.client.start("w", "use", 1).value();
  ASSERT_TRUE(begun.wait());
  first.shutdown(Duration{0});
  EXPECT_EQ(world.client.get_instance("w").value().status, Status::running);
  world.run();
  EXPECT_EQ(world.client.wait("w", forever).value().output_as<std::string>(), "all");
  EXPECT_EQ(attempts, 2);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, ShutdownOf, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Coroutine" : "Function"; });

TEST(Shutdown, AResultBeforeTheStopIsStored) {
  World world;
  Signal<bool> first_begun;
  Signal<bool> go_on;
  Signal<bool> second_begun;
  world.registry.add("First", [&](ActivityContext&, int value) -> ActivityTask<int> {
    first_begun.set(true);
    (void)go_on.wait();
    co_return value + 1;
  });
  // Comes between the end of the first one and the job that takes its result.
  world.registry.add("Second", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    second_begun.set(true);
    while (!ctx.is_cancelled()) std::this_thread::yield();
    co_return value;
  });
  world.registry.add("call", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>(activity, 1);
  });
  Runtime& runtime = world.run();
  world.client.start("first", "call", "First").value();
  ASSERT_TRUE(first_begun.wait());
  world.client.start("second", "call", "Second").value();
  go_on.set(true);
  ASSERT_TRUE(second_begun.wait());
  runtime.shutdown(Duration{0});
  EXPECT_EQ(world.client.get_instance("first").value().status, Status::completed);
  EXPECT_EQ(world.client.get_instance("second").value().status, Status::running);
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
