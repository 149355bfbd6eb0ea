// A step is an activity with all its retries.
#include "runtime/clocked_world.hpp"
#include "support/signal.hpp"

#include <gmock/gmock.h>

#include <mutex>

namespace duramen::test {
namespace {

using ::testing::ElementsAre;

struct Try {
  std::string step;
  std::string attempt_key;
  std::uint32_t attempt;
  std::optional<int> details;
};

class Steps : public ::testing::Test {
 protected:
  Steps() {
    world.registry.add("Charge", [this](ActivityContext& ctx, int failures) {
      const std::size_t number = note(ctx);
      ctx.heartbeat(static_cast<int>(10 * number));
      if (number <= static_cast<std::size_t>(failures)) throw ApplicationError("Busy", "come back", true);
      return static_cast<int>(number);
    });
    world.registry.add("pay", [](OrchestrationContext& ctx, int failures) -> Task<int> {
      const RetryPolicy policy = RetryPolicy().attempts(5).backoff(Backoff::none());
      co_return co_await ctx.schedule_activity<int>("Charge", failures).with_retry(policy);
    });
  }
  std::size_t note(const ActivityContext& ctx) {
    const std::lock_guard lock(mutex);
    tries.push_back({ctx.idempotency_key(), ctx.attempt_key(), ctx.attempt(), ctx.heartbeat_details<int>()});
    return tries.size();
  }
  template <class Body>
  std::vector<Body> events(const InstanceId& instance) {
    std::vector<Body> found;
    for (const Event& event : world.client.read_history(instance).value()) {
      if (const auto* body = std::get_if<Body>(&event.body)) found.push_back(*body);
    }
    return found;
  }
  ClockedWorld world;
  std::mutex mutex;
  std::vector<Try> tries;
};

TEST_F(Steps, AllTriesOfARetryHaveOneKeyAndEachHasAnAttemptKeyOfItsOwn) {
  world.run();
  EXPECT_EQ(world.finish("p", "pay", 2).output_as<int>(), 3);
  ASSERT_EQ(tries.size(), 3u);
  EXPECT_EQ(tries[0].step, tries[0].attempt_key);
  for (std::size_t i = 1; i < tries.size(); ++i) {
    EXPECT_EQ(tries[i].step, tries[0].step);
    EXPECT_NE(tries[i].attempt_key, tries[i - 1].attempt_key);
  }
}

TEST(StepsOfTwoStores, HaveDifferentKeysThatBeginWithTheIdOfTheStore) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2; ++i) {
    ClockedWorld world;
    Signal<std::string> step;
    Signal<std::string> attempt;
    world.registry.add("Charge", [&](ActivityContext& ctx) {
      step.set(ctx.idempotency_key());
      attempt.set(ctx.attempt_key());
      return 1;
    });
    world.registry.add("pay", [](OrchestrationContext& ctx, int) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>("Charge");
    });
    world.run();
    world.finish("p", "pay", 0);
    EXPECT_EQ(step.wait()->rfind(std::string(world.provider->store_id()) + "-", 0), 0u);
    EXPECT_EQ(attempt.wait(), step.wait());
    keys.push_back(*step.wait());
  }
  EXPECT_NE(keys[0], keys[1]);
}

// It has the number of an instance that was started after the backup.
TEST(StepsAfterARestore, OfAnInstanceWithAnotherIdHaveAnotherKey) {
  std::vector<std::string> keys;
  for (const char* id : {"lost", "new", "lost"}) {
    testing::ManualClock clock;
    const auto provider =
        std::make_shared<testing::MemoryProvider>(clock, testing::MemoryOptions{.store_id = "the same"});
    Registry registry;
    Signal<std::string> step;
    registry.add("Charge", [&](ActivityContext& ctx) {
      step.set(ctx.idempotency_key());
      return 1;
    });
    registry.add("pay", [](OrchestrationContext& ctx) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>("Charge");
    });
    const Store store(provider);
    const Runtime runtime(store, registry, quiet());
    Client client(store);
    client.start(id, "pay").value();
    keys.push_back(*step.wait());
  }
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_EQ(keys[0], keys[2]) << "the same step of the same instance";
}

TEST_F(Steps, AnotherStepHasAnotherKey) {
  world.registry.add("twice", [](OrchestrationContext& ctx) -> Task<void> {
    co_await ctx.schedule_activity<int>("Charge", 0);
    co_await ctx.schedule_activity<int>("Charge", 0);
  });
  world.run();
  world.client.start("p", "twice").value();
  world.client.wait("p", forever).value();
  ASSERT_EQ(tries.size(), 2u);
  EXPECT_NE(tries[0].step, tries[1].step);
}

TEST_F(Steps, TheFenceOfALaterActivityIsGreaterEvenInTheNextExecution) {
  std::vector<std::uint64_t> fences;
  world.registry.add("Write", [&](ActivityContext& ctx) {
    const std::lock_guard lock(mutex);
    fences.push_back(ctx.fencing_token());
    return 1;
  });
  world.registry.add("writes", [](OrchestrationContext& ctx, int executions) -> Task<int> {
    co_await ctx.schedule_activity<int>("Write");
    co_await ctx.schedule_activity<int>("Write");
    if (executions > 1) co_return co_await ctx.continue_as_new(executions - 1);
    co_return 1;
  });
  world.run();
  world.finish("w", "writes", 3);
  ASSERT_EQ(fences.size(), 6u);
  for (std::size_t i = 1; i < fences.size(); ++i) EXPECT_GT(fences[i], fences[i - 1]);
  // An execution has seven events: its start, two activities, their results, and its end.
  EXPECT_THAT((std::vector<std::uint64_t>{fences[0] >> 32u, fences[1] >> 32u, fences[2] >> 32u}),
              ElementsAre(2, 4, 8));
}

TEST_F(Steps, AttemptsAreCountedOverTheTriesOfARetry) {
  world.run();
  world.finish("p", "pay", 2);
  ASSERT_EQ(tries.size(), 3u);
  EXPECT_EQ(tries[0].attempt, 1u);
  EXPECT_EQ(tries[1].attempt, 2u);
  EXPECT_EQ(tries[2].attempt, 3u);
}

TEST_F(Steps, ATryReadsTheDetailsOfTheTryThatFailedBefore) {
  world.run();
  world.finish("p", "pay", 2);
  ASSERT_EQ(tries.size(), 3u);
  EXPECT_EQ(tries[0].details, std::nullopt);
  EXPECT_EQ(tries[1].details, 10);
  EXPECT_EQ(tries[2].details, 20);
}

TEST_F(Steps, HistoryNamesTheAttemptThatEndedAnActivity) {
  RuntimeOptions options;
  options.node = NodeId("worker-7");
  world.run(options);
  const TimePoint began = world.clock.now();
  world.finish("p", "pay", 1);
  EXPECT_THAT(
      events<event::ActivityFailed>("p"),
      ElementsAre(::testing::Field(&event::ActivityFailed::ran, AttemptInfo{began, 1, NodeId("worker-7")})));
  EXPECT_THAT(events<event::ActivityCompleted>("p"),
              ElementsAre(::testing::Field(&event::ActivityCompleted::ran,
                                           AttemptInfo{began, 2, NodeId("worker-7")})));
}

}  // namespace
}  // namespace duramen::test
