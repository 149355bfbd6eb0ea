// Cancelling from outside: executions, children, repeated requests, and unaffected work.
#include "e2e/scenario.hpp"

namespace duramen::test {
namespace {

class Cancels : public Scenario {
 protected:
  Cancels() {
    add("sleeper",
        [](OrchestrationContext& ctx) -> Task<int> { co_return co_await ctx.schedule_wait<int>("never"); });
    add("sleeping_child", [](OrchestrationContext& ctx, int) -> Task<int> {
      co_return co_await ctx.schedule_wait<int>("never");
    });
    add("parent", [](OrchestrationContext& ctx, int children) -> Task<std::string> {
      std::vector<DurableFuture<int>> all;
      for (int i = 0; i < children; ++i) {
        all.push_back(ctx.schedule_sub_orchestration<int>("sleeping_child", i,
                                                          ChildOptions().id("child-" + std::to_string(i))));
      }
      auto result = co_await attempt(ctx.join(std::move(all)));
      co_return result ? "worked"
                       : std::string(to_string(result.error().kind)) + ": " + result.error().message;
    });
  }
  bool exists(const InstanceId& id) { return world.client.get_instance(id).has_value(); }
};

TEST_F(Cancels, AParentTakesAllItsChildrenWithIt) {
  world.run();
  world.client.start("p", "parent", 5).value();
  for (int i = 0; i < 5; ++i) until_event("child-" + std::to_string(i), "ExternalSubscribed");
  world.client.cancel("p", "enough").value();
  EXPECT_EQ(world.client.wait("p", forever).value().status, Status::cancelled);
  for (int i = 0; i < 5; ++i) {
    const InstanceId child("child-" + std::to_string(i));
    EXPECT_EQ(world.client.wait(child, forever).value().status, Status::cancelled);
    EXPECT_EQ(world.events(child, "OrchestrationCancelRequested"), 1u);
  }
  EXPECT_EQ(world.events("p", "SubOrchestrationCancelRequested"), 5u);
  world.expect_nothing_left();
}

TEST_F(Cancels, AChildCancelledByItselfFailsInItsParentAsCancelled) {
  world.run();
  world.client.start("p", "parent", 1).value();
  until_event("child-0", "ExternalSubscribed");
  world.client.cancel("child-0", "only you").value();
  EXPECT_EQ(world.client.wait("p", forever).value().output_as<std::string>(), "cancelled: only you");
}

TEST_F(Cancels, TheExecutionThatRunsNowIsTheOneThatIsCancelled) {
  add("again", [](OrchestrationContext& ctx, int round) -> Task<int> {
    if (round < 3) co_return co_await ctx.continue_as_new(round + 1);
    co_return co_await ctx.schedule_wait<int>("never");
  });
  world.run();
  world.client.start("a", "again", 1).value();
  until_event("a", "ExternalSubscribed");
  world.client.cancel("a", "enough").value();
  EXPECT_EQ(world.client.wait("a", forever).value().status, Status::cancelled);
  const auto executions = world.client.list_executions("a").value();
  ASSERT_EQ(executions.size(), 3u);
  EXPECT_EQ(executions.at(0).status, Status::continued_as_new);
  EXPECT_EQ(executions.at(1).status, Status::continued_as_new);
  EXPECT_EQ(executions.at(2).status, Status::cancelled);
}

TEST_F(Cancels, SeveralRequestsAreOne) {
  {
    // No turn runs while the requests come in: they are one batch.
    world.run();
    world.client.start("s", "sleeper").value();
    until_event("s", "ExternalSubscribed");
    world.runtimes.clear();
  }
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.client.cancel("s", "reason " + std::to_string(i)).value());
  world.run();
  EXPECT_EQ(world.end_of("s").failure->message, "reason 0");
  EXPECT_EQ(world.events("s", "OrchestrationCancelRequested"), 1u);
  EXPECT_FALSE(world.client.cancel("s", "too late").value());
  EXPECT_EQ(world.events("s", "OrchestrationCancelRequested"), 1u);
}

TEST_F(Cancels, AfterTheEndNothingChanges) {
  add("quick", [](OrchestrationContext&) -> Task<int> { co_return 1; });
  world.run();
  EXPECT_EQ(finish("q", "quick").output_as<int>(), 1);
  const auto before = world.client.read_history("q").value().size();
  EXPECT_FALSE(world.client.cancel("q", "too late").value());
  EXPECT_EQ(world.status("q"), Status::completed);
  EXPECT_EQ(world.client.read_history("q").value().size(), before);
}

TEST_F(Cancels, AnUnknownInstanceIsNotFound) {
  add("quick", [](OrchestrationContext&, int value) -> Task<int> { co_return value; });
  world.run();
  for (int i = 0; i < 10; ++i) {
    const std::string nobody = "nobody-" + std::to_string(i);
    EXPECT_EQ(world.client.cancel(nobody, "x").error().code, ErrorCode::not_found);
    EXPECT_EQ(world.client.raise_event(nobody, "go", 1).value(), EnqueueOutcome::parked);
    EXPECT_EQ(world.client.enqueue_event(nobody, "queue", 1).value(), EnqueueOutcome::parked);
    EXPECT_EQ(finish("q" + std::to_string(i), "quick", i).output_as<int>(), i);
  }
  EXPECT_EQ(world.client.queue_depths().value().parked, 20u);
}

TEST_F(Cancels, BeforeTheFirstTurnCancelTheInstance) {
  world.client.start("s", "sleeper").value();
  world.client.cancel("s", "never mind").value();
  world.run();
  EXPECT_EQ(world.end_of("s").status, Status::cancelled);
  world.expect_nothing_left();
}

TEST_F(Cancels, AnOrchestrationThatEndsBeforeItsActivityIsLeftAsItEnded) {
  add("hasty", [](OrchestrationContext& ctx, bool fails) -> Task<int> {
    ctx.schedule_activity<int>("Wait", 1).detach();
    co_await ctx.schedule_activity<int>("Double", 1);
    if (fails) throw std::runtime_error("on purpose");
    co_return 1;
  });
  world.run();
  EXPECT_EQ(finish("a", "hasty", false).status, Status::completed);
  EXPECT_EQ(finish("b", "hasty", true).status, Status::failed);
  world.until([&] { return waiters.begun() == waiters.stops().size(); });
  for (const char* id : {"a", "b"}) EXPECT_EQ(world.events(id, "ActivityCompleted"), 1u);
  world.expect_nothing_left();
}

TEST_F(Cancels, ChildrenThatLeaveScopeOrLoseARaceAreCancelledWithTheirExplicitId) {
  add("drops", [](OrchestrationContext& ctx) -> Task<int> {
    const auto child = [&ctx](const char* id) {
      return ctx.schedule_sub_orchestration<int>("sleeping_child", 1, ChildOptions().id(id));
    };
    co_await ctx.select2(child("loser"), ctx.schedule_timer(1s));
    {
      auto scoped = child("scoped").start();
      co_await ctx.schedule_timer(1s);
    }
    auto kept = child("kept").start();
    co_await ctx.schedule_timer(1s);
    kept = child("replaced");  // assigning over it drops it
    co_await ctx.schedule_timer(1s);
    co_return 1;
  });
  world.run();
  EXPECT_EQ(finish_later("d", "drops", std::monostate{}).output_as<int>(), 1);
  for (const char* id : {"loser", "scoped", "kept"})
    EXPECT_EQ(world.end_of(id).status, Status::cancelled) << id;
  EXPECT_FALSE(exists("replaced"));
  EXPECT_EQ(world.reasons("d"), (std::vector{CancelReason::select_loser, CancelReason::dropped_future,
                                             CancelReason::dropped_future}));
}

TEST_F(Cancels, TerminateEndsAGracefulOneAtOnceAndWithoutCleaningUp) {
  std::atomic<int> cleaned{0};
  world.registry.add("Clean", [&](ActivityContext&, int value) {
    ++cleaned;
    return value;
  });
  add(
      "careful",
      [](OrchestrationContext& ctx) -> Task<int> {
        const auto clean = [](OrchestrationContext& c) -> Task<int> {
          co_return co_await c.schedule_activity<int>("Clean", 1);
        };
        auto waited = co_await ctx.schedule_wait<int>("never").as_result();
        if (!waited) co_await ctx.shield(1min, clean(ctx));
        co_return 1;
      },
      OrchestrationOptions().graceful());
  world.run();
  for (const char* id : {"graceful", "terminated"}) {
    world.client.start(id, "careful").value();
    until_event(id, "ExternalSubscribed");
  }
  world.client.cancel("terminated", "now", CancelMode::terminate).value();
  EXPECT_EQ(world.client.wait("terminated", forever).value().status, Status::cancelled);
  EXPECT_EQ(cleaned, 0);
  world.client.cancel("graceful", "tidy up").value();
  EXPECT_EQ(world.client.wait("graceful", forever).value().status, Status::cancelled);
  EXPECT_EQ(cleaned, 1);
}

TEST_F(Cancels, AForcedDeleteCancelsRunningActivitiesWithItsReason) {
  add("wait", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Wait", 1);
  });
  world.run();
  world.client.start("w", "wait").value();
  world.until([&] { return waiters.begun() == 1; });
  world.client.delete_instance("w", DeleteMode::force).value();
  world.until([&] { return waiters.stops().size() == 1; });
  EXPECT_EQ(waiters.stops().front().reason, CancelReason::instance_deleted);
  EXPECT_EQ(world.client.get_instance("w").error().code, ErrorCode::not_found);
  world.expect_nothing_left();
}

// Coroutines that ignore the stop request: each occupies its own slot for the grace period, and no other.
TEST_F(Cancels, ActivitiesThatIgnoreTheSignalCostOnlyTheirOwnSlot) {
  constexpr int stubborn = 4;
  std::atomic<int> begun{0};
  Signal<bool> let_go;
  world.registry.add("Ignore", [&](ActivityContext&, int value) {
    ++begun;
    (void)let_go.wait();
    return value;
  });
  add("ignore", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Ignore", 1);
  });
  add("quick", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Double", value);
  });
  RuntimeOptions options;
  options.max_activities = stubborn + 1;
  options.activity_threads = stubborn + 1;
  Runtime& runtime = world.run(options);
  for (int i = 0; i < stubborn; ++i) world.client.start("d" + std::to_string(i), "ignore").value();
  world.until([&] { return begun == stubborn; });
  for (int i = 0; i < stubborn; ++i) world.client.cancel("d" + std::to_string(i), "enough").value();
  for (int i = 0; i < stubborn; ++i)
    EXPECT_EQ(world.end_of("d" + std::to_string(i)).status, Status::cancelled);
  // One slot is left, and it is enough.
  for (int i = 0; i < 10; ++i) EXPECT_EQ(finish("q" + std::to_string(i), "quick", i).output_as<int>(), 2 * i);
  // After the grace period they are counted, and all slots are free again.
  world.until_later([&] { return runtime.abandoned_activities() == stubborn; });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(finish("r" + std::to_string(i), "quick", i).output_as<int>(), 2 * i);
  let_go.set(true);
  world.until([&] { return runtime.abandoned_activities() == 0; });
  world.expect_nothing_left();
}

}  // namespace
}  // namespace duramen::test
