// Time limits of activities, signs of life, and activities that do not stop.
#include "runtime/clocked_world.hpp"
#include <duramen/testing/manual_clock.hpp>

#include <atomic>
#include <mutex>
#include <thread>

namespace duramen::test {
namespace {

class Limits : public ::testing::Test {
 protected:
  ClockedWorld world;
};

TEST_F(Limits, AnActivityThatNoWorkerTakesFailsWithTheReason) {
  world.registry.add("call", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto call = ctx.schedule_activity<int>("Nowhere", 1).schedule_to_start(5s).as_result();
    auto result = co_await std::move(call);
    co_return result ? "worked"
                     : std::string(to_string(*result.error().timeout)) + ": " + result.error().message;
  });
  world.run();
  world.client.start("c", "call").value();
  const auto state = world.wait("c", [&] { world.clock.advance(1s); });
  EXPECT_EQ(state.output_as<std::string>(),
            "schedule_to_start: activity 'Nowhere' was taken by no worker within 5000 ms: is a worker "
            "running that has "
            "it registered?");
}

TEST_F(Limits, AnActivityThatTakesTooLongFailsAndIsAskedToStop) {
  Signal<bool> begun;
  Signal<std::optional<CancelReason>> told;
  world.registry.add("Slow", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    begun.set(true);
    co_await ctx.cancelled();
    told.set(ctx.cancel_reason());
    co_return value;
  });
  world.registry.add("call", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto result = co_await ctx.schedule_activity<int>("Slow", 1).start_to_close(5s).as_result();
    if (result) co_return "worked";
    co_return result.error().timeout ? std::string(to_string(*result.error().timeout))
                                     : result.error().message;
  });
  RuntimeOptions options;
  options.activity_lease = 1h;  // the limit passes first, even if the clock is faster than the runtime
  options.session_idle = 1h;
  world.run(options);
  world.client.start("c", "call").value();
  ASSERT_TRUE(begun.wait());
  const auto state = world.wait("c", [&] { world.clock.advance(1s); });
  EXPECT_EQ(state.output_as<std::string>(), "start_to_close");
  EXPECT_EQ(told.wait(), std::optional(CancelReason::timeout));
}

TEST_F(Limits, AnActivityWithoutHeartbeatsFails) {
  world.registry.add("Silent", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    co_await ctx.cancelled();
    co_return value;
  });
  world.registry.add("call", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto result = co_await ctx.schedule_activity<int>("Silent", 1).heartbeat(5s).as_result();
    co_return result ? "worked" : std::string(to_string(*result.error().timeout));
  });
  world.run();
  world.client.start("c", "call").value();
  const auto state = world.wait("c", [&] { world.clock.advance(1s); });
  EXPECT_EQ(state.output_as<std::string>(), "heartbeat");
}

TEST_F(Limits, AnActivityWithHeartbeatsMayTakeLong) {
  world.registry.add("Steady", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    for (int i = 0; i < 10; ++i) {
      ctx.heartbeat(i);
      if (!co_await ctx.sleep(10s)) throw std::runtime_error("asked to stop");
    }
    co_return value;
  });
  world.registry.add("call", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Steady", 7).heartbeat(60s);
  });
  world.run();
  world.client.start("c", "call").value();
  // Slowly: the store must receive a heartbeat before the next limit passes.
  const auto state = world.wait("c", [&] { world.clock.advance(200ms); });
  EXPECT_EQ(state.output_as<int>(), 7);
}

TEST_F(Limits, TheNextAttemptReadsTheLastHeartbeat) {
  std::atomic<int> attempts{0};
  Signal<std::optional<int>> first;
  Signal<int> second;
  world.registry.add("Resume", [&](ActivityContext& ctx, int) -> ActivityTask<int> {
    if (++attempts == 1) {
      first.set(ctx.heartbeat_details<int>());
      ctx.heartbeat(41);
      ctx.heartbeat(42);
      co_await ctx.cancelled();
      throw std::runtime_error("interrupted");
    }
    second.set(ctx.heartbeat_details<int>().value_or(-1));
    co_return 1;
  });
  world.registry.add("call", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Resume", 0).heartbeat(60s);
  });
  Runtime& dying = world.run();
  world.client.start("c", "call").value();
  ASSERT_EQ(first.wait(), std::optional<std::optional<int>>(std::optional<int>{}));
  // It is not due yet, but a runtime that stops leaves nothing unsaid.
  dying.shutdown(Duration{0});
  world.run();
  EXPECT_EQ(second.wait(), 42);
}

TEST_F(Limits, AnActivityHandedOutTooOftenFailsAsPoison) {
  RuntimeOptions options;
  options.max_attempts = 2;
  world.registry.add("Work", [](ActivityContext&, int value) { return value; });
  world.registry.add("call", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto result = co_await ctx.schedule_activity<int>("Work", 1).as_result();
    co_return result ? "worked" : std::string(to_string(result.error().kind));
  });
  // Handed out twice to a node that dies each time.
  Registry turns_only;
  turns_only.add("call", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto result = co_await ctx.schedule_activity<int>("Work", 1).as_result();
    co_return result ? "worked" : std::string(to_string(result.error().kind));
  });
  Runtime turns(world.store, turns_only, quiet());
  world.client.start("c", "call").value();
  for (int i = 0; i < 2; ++i) {
    ActivityFetch fetch;
    fetch.node = "doomed";
    fetch.lease = 10s;
    world.until([&] { return !world.provider->fetch_activities(fetch).value().items.empty(); });
    world.clock.advance(11s);
  }
  world.run(options);
  EXPECT_EQ(world.wait("c", [&] { world.clock.advance(1s); }).output_as<std::string>(), "poison");
}

// -- activities that do not stop ------------------------------------------------------------------

class Grace : public Limits {
 protected:
  Grace() {
    options.cancel_grace = 3s;
    options.log = [this](const LogRecord& record) {
      if (record.level != LogLevel::warning) return;
      std::lock_guard lock(mutex);
      warnings.emplace_back(record.message);
    };
    world.registry.add("call", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>(activity, 1);
    });
    world.registry.add("Quick", [](ActivityContext&, int value) { return value; });
  }
  std::size_t warned() {
    std::lock_guard lock(mutex);
    return warnings.size();
  }
  RuntimeOptions options;
  std::mutex mutex;
  std::vector<std::string> warnings;
};

TEST_F(Grace, AFunctionThatIgnoresTheStopFreesItsPlaceAndIsCounted) {
  Signal<bool> begun;
  Signal<bool> go_on;
  world.registry.add("Deaf", [&](ActivityContext&, int value) {
    begun.set(true);
    (void)go_on.wait();
    return value;
  });
  options.activity_threads = 1;
  options.max_activities = 1;
  Runtime& runtime = world.run(options);
  world.client.start("c", "call", "Deaf").value();
  ASSERT_TRUE(begun.wait());
  world.client.cancel("c", "enough").value();
  EXPECT_EQ(world.client.wait("c", forever).value().status, Status::cancelled);
  EXPECT_EQ(runtime.abandoned_activities(), 0u);
  world.until([&] { return runtime.abandoned_activities() == 1; }, [&] { world.clock.advance(1s); });
  EXPECT_EQ(warned(), 1u);
  // Its thread is lost for now, and another does the work.
  EXPECT_EQ(world.finish("d", "call", "Quick").output_as<int>(), 1);
  go_on.set(true);
  world.until([&] { return runtime.abandoned_activities() == 0; });
  EXPECT_EQ(world.finish("e", "call", "Quick").output_as<int>(), 1);
}

TEST_F(Grace, TooManyAbandonedActivitiesStopNewOnes) {
  std::atomic<int> begun{0};
  Signal<bool> go_on;
  world.registry.add("Deaf", [&](ActivityContext&, int value) {
    ++begun;
    (void)go_on.wait();
    return value;
  });
  options.max_abandoned = 2;
  Runtime& runtime = world.run(options);
  for (const char* id : {"a", "b"}) world.client.start(id, "call", "Deaf").value();
  world.until([&] { return begun == 2; });
  for (const char* id : {"a", "b"}) world.client.cancel(id, "enough").value();
  world.until([&] { return runtime.abandoned_activities() == 2; }, [&] { world.clock.advance(1s); });
  world.client.start("c", "call", "Quick").value();
  world.until([&] { return world.client.get_instance("c").value().status == Status::running; });
  EXPECT_EQ(world.provider->snapshot().worker_rows, 1u);
  go_on.set(true);
  EXPECT_EQ(world.wait("c", [&] { world.clock.advance(1s); }).output_as<int>(), 1);
}

TEST_F(Grace, ACoroutineThatStillSleepsIsDestroyed) {
  struct Witness {
    Signal<bool>* gone;
    ~Witness() { gone->set(true); }
  };
  Signal<bool> begun;
  Signal<bool> gone;
  std::atomic<int> cut_short{0};
  world.registry.add("Stubborn", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    const Witness witness{&gone};
    begun.set(true);
    while (true) {
      if (!co_await ctx.sleep(1h)) ++cut_short;
    }
    co_return value;
  });
  Runtime& runtime = world.run(options);
  world.client.start("c", "call", "Stubborn").value();
  ASSERT_TRUE(begun.wait());
  world.client.cancel("c", "enough").value();
  world.until(
      [&] { return cut_short == 1; });  // before the clock moves: the grace period is not to end unnoticed
  world.until([&] { return gone.is_set(); }, [&] { world.clock.advance(1s); });
  EXPECT_EQ(cut_short, 1);
  EXPECT_EQ(warned(), 1u);
  EXPECT_EQ(runtime.abandoned_activities(), 0u);
}

TEST_F(Grace, ASleepAfterCancelledRunsInFullEvenIfTheStopCameFirst) {
  Signal<bool> begun;
  Signal<bool> rested;
  options.cancel_grace = 1h;  // the clock is moved while it goes to sleep
  world.registry.add("Late", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    begun.set(true);
    while (!ctx.is_cancelled()) std::this_thread::yield();  // busy with something else when the stop comes
    co_await ctx.cancelled();
    rested.set(co_await ctx.sleep(1s));
    co_return value;
  });
  Runtime& runtime = world.run(options);
  world.client.start("c", "call", "Late").value();
  ASSERT_TRUE(begun.wait());
  world.client.cancel("c", "enough").value();
  world.until([&] { return rested.is_set(); }, [&] { world.clock.advance(20ms); });
  EXPECT_EQ(rested.wait(), true);
  runtime.shutdown();
}

TEST_F(Grace, AnActivityThatStopsInTimeCausesNoWarning) {
  Signal<bool> begun;
  Signal<bool> tidy;
  world.registry.add("Polite", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    begun.set(true);
    co_await ctx.cancelled();
    world.clock.advance(2s);  // that is how long it takes to tidy up
    tidy.set(true);
    co_return value;
  });
  options.max_activities = 1;
  Runtime& runtime = world.run(options);
  world.client.start("c", "call", "Polite").value();
  ASSERT_TRUE(begun.wait());
  world.client.cancel("c", "enough").value();
  EXPECT_EQ(world.client.wait("c", forever).value().status, Status::cancelled);
  ASSERT_TRUE(tidy.wait());
  // There is one place, so it has ended before another begins; only then may its grace period pass.
  EXPECT_EQ(world.finish("d", "call", "Quick").output_as<int>(), 1);
  world.clock.advance(10s);
  EXPECT_EQ(world.finish("e", "call", "Quick").output_as<int>(), 1);
  runtime.shutdown();
  EXPECT_EQ(warned(), 0u);
}

}  // namespace
}  // namespace duramen::test
