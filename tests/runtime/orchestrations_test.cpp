// Orchestrations and activities through the public door: registry, runtime, client.
#include "runtime/world.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

namespace duramen::test {
namespace {

constexpr Activity<std::string(std::string)> Greet{"Greet"};
constexpr Activity<int(int)> Increment{"Increment"};
constexpr Activity<int()> Answer{"Answer"};

Task<std::string> greet_by_handle(OrchestrationContext& ctx, std::string name) {
  co_return co_await ctx.schedule_activity(Greet, name);
}
Task<std::string> greet_by_name(OrchestrationContext& ctx, std::string name) {
  co_return co_await ctx.schedule_activity("Greet", name);
}
Task<int> count_to(OrchestrationContext& ctx, int target) {
  int value = 0;
  while (value < target) value = co_await ctx.schedule_activity(Increment, value);
  co_return value;
}
Task<int> sum_up(OrchestrationContext& ctx, int count) {
  std::vector<DurableFuture<int>> parts;
  for (int i = 0; i < count; ++i) parts.push_back(ctx.schedule_activity(Increment, i));
  auto values = co_await ctx.join(std::move(parts));
  int sum = 0;
  for (int value : values) sum += value;
  co_return sum;
}

class Orchestrations : public ::testing::Test {
 protected:
  void SetUp() override {
    world.registry.add(Greet, [](ActivityContext&, std::string name) { return "hello " + name; })
        .add(Increment, [](ActivityContext&, int value) { return value + 1; })
        .add(Answer, [](ActivityContext&) { return 42; })
        .add("greet_by_handle", greet_by_handle)
        .add("greet_by_name", greet_by_name)
        .add("count_to", count_to)
        .add("sum_up", sum_up);
  }
  World world;
};

TEST_F(Orchestrations, AnActivityIsReachedByItsHandleAndByItsName) {
  world.run();
  EXPECT_EQ(world.finish("a", "greet_by_handle", "Ada").output_as<std::string>(), "hello Ada");
  EXPECT_EQ(world.finish("b", "greet_by_name", "Ben").output_as<std::string>(), "hello Ben");
}

TEST_F(Orchestrations, AChainRunsEachStepOnce) {
  world.run();
  EXPECT_EQ(world.finish("chain", "count_to", 100).output_as<int>(), 100);
  EXPECT_EQ(event_types(world.client, "chain").size(), 1u + 2u * 100u + 1u);
}

TEST_F(Orchestrations, AJoinOfAThousandKeepsArgumentOrder) {
  world.run();
  EXPECT_EQ(world.finish("fan", "sum_up", 1000).output_as<int>(), 500'500);
}

TEST_F(Orchestrations, MoreActivitiesThanPlacesAllRun) {
  RuntimeOptions options;
  options.max_activities = 3;
  world.run(options);
  EXPECT_EQ(world.finish("fan", "sum_up", 200).output_as<int>(), 20'100);
}

TEST_F(Orchestrations, InstancesStartedBeforeTheRuntimeRunOnceItStarts) {
  world.client.start("early", "greet_by_handle", "Eve").value();
  EXPECT_EQ(world.client.get_instance("early").value().status, Status::pending);
  world.run();
  EXPECT_EQ(world.client.wait("early", forever).value().output_as<std::string>(), "hello Eve");
}

TEST_F(Orchestrations, TwoRuntimesShareOneStore) {
  world.run();
  world.run();
  for (int i = 0; i < 50; ++i) world.client.start("i" + std::to_string(i), "count_to", 5).value();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(world.client.wait("i" + std::to_string(i), forever).value().output_as<int>(), 5);
  }
}

TEST_F(Orchestrations, NothingIsLeftBehindWhenInstancesHaveEnded) {
  world.run();
  for (int i = 0; i < 20; ++i) world.finish("i" + std::to_string(i), "sum_up", 5);
  const testing::Snapshot left = world.provider->snapshot();
  EXPECT_EQ(left.worker_rows, 0u);
  EXPECT_EQ(left.queued_messages, 0u);
}

TEST_F(Orchestrations, ATimerFiresByItself) {
  world.registry.add("nap", [](OrchestrationContext& ctx) -> Task<std::string> {
    co_await ctx.schedule_timer(20ms);
    co_return "rested";
  });
  world.run();
  EXPECT_EQ(world.finish("nap", "nap", std::monostate{}).output_as<std::string>(), "rested");
}

TEST_F(Orchestrations, AnExceptionOfAnActivityIsCaughtWithItsStructure) {
  world.registry.add("Fail", [](ActivityContext&, int) -> int {
    throw ApplicationError("CardDeclined", "no funds", false);
  });
  world.registry.add("careful", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto result = co_await ctx.schedule_activity<int>("Fail", 1).as_result();
    const Failure& failure = result.error();
    co_return failure.type + ": " + failure.message + (failure.retryable ? " (retryable)" : "");
  });
  world.run();
  EXPECT_EQ(world.finish("c", "careful", std::monostate{}).output_as<std::string>(),
            "CardDeclined: no funds");
}

TEST_F(Orchestrations, AnUncaughtExceptionFailsTheOrchestration) {
  world.registry.add("Fail", [](ActivityContext&, int) -> int { throw std::runtime_error("boom"); });
  world.registry.add("careless", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Fail", 1);
  });
  world.run();
  const InstanceState state = world.finish("c", "careless", std::monostate{});
  EXPECT_EQ(state.status, Status::failed);
  ASSERT_TRUE(state.failure.has_value());
  EXPECT_EQ(state.failure->message, "boom");
  EXPECT_EQ(state.failure->type, "std::runtime_error");
}

TEST_F(Orchestrations, ACoroutineActivitySleepsAndReturns) {
  world.registry.add("Rest", [](ActivityContext& ctx, int value) -> ActivityTask<int> {
    const bool rested = co_await ctx.sleep(5ms);
    co_return rested ? value * 2 : -1;
  });
  world.registry.add("use", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Rest", value);
  });
  world.run();
  EXPECT_EQ(world.finish("r", "use", 21).output_as<int>(), 42);
}

TEST_F(Orchestrations, AnInstanceEvictedFromMemoryContinuesFromItsHistory) {
  RuntimeOptions options;
  options.max_resident_instances = 1;
  world.run(options);
  for (int i = 0; i < 10; ++i) world.client.start("i" + std::to_string(i), "count_to", 20).value();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(world.client.wait("i" + std::to_string(i), forever).value().output_as<int>(), 20);
  }
}

TEST_F(Orchestrations, WithoutResidentInstancesEveryTurnReplays) {
  constexpr int steps = 5;
  std::atomic<int> runs = 0;
  world.registry.add("counted", [&runs](OrchestrationContext& ctx) -> Task<int> {
    ++runs;
    int value = 0;
    while (value < steps) value = co_await ctx.schedule_activity(Increment, value);
    co_return value;
  });
  RuntimeOptions options;
  options.max_resident_instances = 0;
  world.run(options);
  EXPECT_EQ(world.finish("c", "counted", std::monostate{}).output_as<int>(), steps);
  EXPECT_GE(runs, 1 + steps);
}

TEST_F(Orchestrations, AResultThatIsTooLargeIsAFailureWithTheReason) {
  world.registry.add("Huge", [](ActivityContext&) { return std::string(default_payload_limit + 1, 'x'); });
  world.registry.add("use", [](OrchestrationContext& ctx) -> Task<std::string> {
    constexpr Activity<std::string()> Huge{"Huge"};
    auto result = co_await ctx.schedule_activity(Huge).as_result();
    co_return std::string(to_string(result.error().kind));
  });
  world.run();
  EXPECT_EQ(world.finish("h", "use", std::monostate{}).output_as<std::string>(), "limit");
}

TEST_F(Orchestrations, CodeThatIsNotRegisteredHereWaitsForANodeThatHasIt) {
  Registry other = world.registry;
  world.run();
  world.client.start("later", "unheard_of", 1).value();
  other.add("unheard_of", [](OrchestrationContext&, int value) -> Task<int> { co_return value + 1; });
  Runtime second{world.store, other};
  EXPECT_EQ(world.client.wait("later", forever).value().output_as<int>(), 2);
}

}  // namespace
}  // namespace duramen::test
