// Children, events, queues, further executions, visible state and graceful cancellation, from start to end
// through the public door.
#include "runtime/clocked_world.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace duramen::test {
namespace {

constexpr Activity<int(int)> Double{"Double"};
constexpr Orchestration<int(int)> Child{"child"};

class Features : public ::testing::Test {
 protected:
  void SetUp() override {
    world.registry.add(Double, [](ActivityContext&, int value) { return value * 2; });
    world.registry.add(Child, [](OrchestrationContext& ctx, int value) -> Task<int> {
      co_return co_await ctx.schedule_activity(Double, value);
    });
    world.registry.add("sleeper",
                       [](OrchestrationContext& ctx) -> Task<void> { co_await ctx.schedule_timer(24h); });
    world.registry.add("parent_of_sleeper", [](OrchestrationContext& ctx) -> Task<void> {
      co_await ctx.schedule_sub_orchestration<void>("sleeper", std::monostate{},
                                                    ChildOptions().id("grandchild"));
    });
  }
  World world;
};

TEST_F(Features, AParentGetsTheResultsOfItsChildren) {
  world.registry.add("parent", [](OrchestrationContext& ctx, int count) -> Task<int> {
    std::vector<DurableFuture<int>> children;
    for (int i = 1; i <= count; ++i) children.push_back(ctx.schedule_sub_orchestration(Child, i));
    auto values = co_await ctx.join(std::move(children));
    int sum = 0;
    for (int value : values) sum += value;
    co_return sum;
  });
  world.run();
  EXPECT_EQ(world.finish("p", "parent", 20).output_as<int>(), 420);
  EXPECT_EQ(world.client.get_instance("p::sub::1.2").value().status, Status::completed);
}

TEST_F(Features, AChildWhoseIdIsTakenFailsInItsParent) {
  world.registry.add("parent", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto result = co_await ctx.schedule_sub_orchestration(Child, 1, ChildOptions().id("taken")).as_result();
    co_return result ? "ran" : result.error().type;
  });
  world.run();
  world.finish("taken", "child", 7);
  EXPECT_EQ(world.finish("p", "parent", std::monostate{}).output_as<std::string>(), "AlreadyExists");
}

TEST_F(Features, ALostRaceCancelsAChildAndEverythingBelowIt) {
  world.registry.add("race", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto child = ctx.schedule_sub_orchestration<void>("parent_of_sleeper", std::monostate{},
                                                      ChildOptions().id("child"));
    auto winner = co_await ctx.select2(std::move(child), ctx.schedule_wait("go on"));
    co_return winner.is_second() ? "event" : "child";
  });
  world.run();
  world.client.start("r", "race").value();
  // The grandchild must exist before its grandparent drops the child.
  while (!world.client.get_instance("grandchild")) std::this_thread::yield();
  world.client.raise_event("r", "go on", "now").value();
  EXPECT_EQ(world.client.wait("r", forever).value().output_as<std::string>(), "event");
  EXPECT_EQ(world.client.wait("child", forever).value().status, Status::cancelled);
  EXPECT_EQ(world.client.wait("grandchild", forever).value().status, Status::cancelled);
}

TEST_F(Features, AnEventSentBeforeTheInstanceExistsIsThereWhenItStarts) {
  world.registry.add("wait", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto first = co_await ctx.schedule_wait("note");
    auto second = co_await ctx.dequeue_event("queue");
    co_return first + " " + second;
  });
  world.run();
  EXPECT_EQ(world.client.raise_event("w", "note", "early").value(), EnqueueOutcome::parked);
  EXPECT_EQ(world.client.enqueue_event("w", "queue", "bird").value(), EnqueueOutcome::parked);
  EXPECT_EQ(world.finish("w", "wait", std::monostate{}).output_as<std::string>(), "early bird");
  EXPECT_EQ(world.client.raise_event("w", "note", "late").value(), EnqueueOutcome::finished);
}

TEST_F(Features, AnActorThatContinuesAsNewLosesNoMessage) {
  world.registry.add("actor", [](OrchestrationContext& ctx, int sum) -> Task<int> {
    for (int taken = 0; taken < 10; ++taken) {
      auto value = co_await ctx.dequeue_event<int>("numbers");
      if (value == 0) co_return sum;
      sum += value;
    }
    co_return co_await ctx.continue_as_new(sum);
  });
  world.run();
  world.client.start("a", "actor", 0).value();
  for (int i = 1; i <= 95; ++i) world.client.enqueue_event("a", "numbers", i).value();
  world.client.enqueue_event("a", "numbers", 0).value();
  EXPECT_EQ(world.client.wait("a", forever).value().output_as<int>(), 95 * 96 / 2);
  EXPECT_EQ(world.client.get_instance("a").value().execution, ExecutionId{10});
}

TEST_F(Features, CustomStatusAndKeyValuesAreSeenByClientsAndByTheNextExecution) {
  world.registry.add("keeper", [](OrchestrationContext& ctx, int round) -> Task<int> {
    const int count = ctx.get_kv_value<int>("count").value_or(0) + 1;
    ctx.set_kv_value("count", count);
    ctx.set_custom_status("round " + std::to_string(round));
    co_await ctx.schedule_timer(1ms);
    if (round < 3) co_return co_await ctx.continue_as_new(round + 1);
    co_return count;
  });
  world.run();
  EXPECT_EQ(world.finish("k", "keeper", 1).output_as<int>(), 3);
  EXPECT_EQ(world.client.get_instance("k").value().custom_status, "round 3");
  EXPECT_EQ(world.client.get_key_values("k").value().at("count").value.data, "3");
}

TEST_F(Features, AnActivityIsRetriedUntilItSucceeds) {
  std::atomic<int> calls{0};
  world.registry.add("Flaky", [&](ActivityContext&, int value) {
    if (++calls < 3) throw std::runtime_error("not yet");
    return value;
  });
  world.registry.add("stubborn", [](OrchestrationContext& ctx) -> Task<int> {
    auto policy = RetryPolicy().attempts(5).backoff(Backoff::fixed(1ms));
    auto activity = ctx.schedule_activity<int>("Flaky", 9).with_retry(policy);
    co_return co_await std::move(activity);
  });
  world.run();
  EXPECT_EQ(world.finish("s", "stubborn", std::monostate{}).output_as<int>(), 9);
  EXPECT_EQ(calls, 3);
}

TEST_F(Features, AnAttemptThatTakesTooLongIsStoppedWithReasonTimeout) {
  Signal<bool> begun;
  Signal<std::optional<CancelReason>> reason;
  std::atomic<int> calls{0};
  ClockedWorld clocked;  // the second attempt has all the time in the world
  clocked.registry.add("SlowOnce", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    if (++calls == 1) {
      begun.set(true);
      co_await ctx.cancelled();
      reason.set(ctx.cancel_reason());
    }
    co_return value;
  });
  clocked.registry.add("impatient", [](OrchestrationContext& ctx) -> Task<int> {
    auto policy = RetryPolicy().backoff(Backoff::none()).attempt_timeout(10ms);
    auto activity = ctx.schedule_activity<int>("SlowOnce", 4).with_retry(policy);
    co_return co_await std::move(activity);
  });
  clocked.run();
  clocked.client.start("i", "impatient").value();
  ASSERT_TRUE(begun.wait());
  clocked.clock.advance(10ms);
  EXPECT_EQ(clocked.client.wait("i", forever).value().output_as<int>(), 4);
  EXPECT_EQ(reason.wait(), std::optional(CancelReason::timeout));
  EXPECT_EQ(calls, 2);
}

TEST_F(Features, AGracefulOrchestrationCleansUpBeforeItIsCancelled) {
  Signal<bool> begun;
  Signal<int> undone;
  world.registry.add("Book", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    begun.set(true);
    co_await ctx.cancelled();
    co_return value;
  });
  world.registry.add("Undo", [&](ActivityContext&, int value) {
    undone.set(value);
    return value;
  });
  world.registry.add(
      "trip",
      [](OrchestrationContext& ctx, int id) -> Task<int> {
        const auto book = [](OrchestrationContext& c, int i) -> Task<int> {
          co_return co_await c.schedule_activity<int>("Book", i);
        };
        const auto undo = [](OrchestrationContext& c, int i) -> Task<int> {
          co_return co_await c.schedule_activity<int>("Undo", i);
        };
        auto booked = co_await attempt(book(ctx, id));
        if (!booked) co_await ctx.shield(1min, undo(ctx, id));
        co_return id;
      },
      OrchestrationOptions().graceful());
  world.run();
  world.client.start("t", "trip", 5).value();
  ASSERT_TRUE(begun.wait());
  world.client.cancel("t", "stay at home").value();
  const InstanceState state = world.client.wait("t", forever).value();
  EXPECT_EQ(state.status, Status::cancelled);
  EXPECT_EQ(state.failure->message, "stay at home");
  EXPECT_EQ(undone.wait(), 5);
}

TEST_F(Features, ADetachedInstanceOutlivesItsStarter) {
  world.registry.add("starter", [](OrchestrationContext& ctx) -> Task<void> {
    ctx.schedule_orchestration("child", "on-its-own", 21);
    co_return;
  });
  world.run();
  world.finish("s", "starter", std::monostate{});
  EXPECT_EQ(world.client.wait("on-its-own", forever).value().output_as<int>(), 42);
}

TEST_F(Features, ATraceIsLoggedOnceThoughTheCodeIsReplayed) {
  std::mutex mutex;
  std::vector<std::string> lines;
  RuntimeOptions options;
  options.max_resident_instances = 1;  // every turn of the two replays
  options.log = [&](const LogRecord& record) {
    if (record.source != LogSource::orchestration) return;
    std::lock_guard lock(mutex);
    lines.push_back(record.fields.front().value + ": " + std::string(record.message));
  };
  world.registry.add("talker", [](OrchestrationContext& ctx, std::string id) -> Task<void> {
    for (int i = 0; i < 5; ++i) {
      ctx.trace_info(id + std::to_string(i));
      co_await ctx.schedule_activity(Double, i);
    }
  });
  world.run(options);
  world.client.start("a", "talker", "x").value();
  world.client.start("b", "talker", "y").value();
  world.client.wait("a", forever).value();
  world.client.wait("b", forever).value();
  std::lock_guard lock(mutex);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<std::string>{"a: x0", "a: x1", "a: x2", "a: x3", "a: x4", "b: y0", "b: y1",
                                             "b: y2", "b: y3", "b: y4"}));
}

}  // namespace
}  // namespace duramen::test
