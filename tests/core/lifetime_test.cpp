// Frames end before their code: what destructors may do, and what outlives what.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

int destroyed = 0;

Task<std::string> call(Context& ctx, std::string name) {
  auto result = co_await ctx.schedule_activity(name, "");
  co_return result;
}

/// Asks the context for everything it can give, at its end.
class Meddler {
 public:
  explicit Meddler(Context& ctx) : ctx_(ctx) {}
  Meddler(const Meddler&) = delete;
  Meddler& operator=(const Meddler&) = delete;
  ~Meddler() {
    ++destroyed;
    ctx_.schedule_activity("Meddled", "").detach();
    {
      auto dropped = ctx_.schedule_activity("Dropped", "").start();
    }
    {
      auto race = ctx_.select2(call(ctx_, "Raced"), ctx_.schedule_timer(1s)).start();
    }
    {
      auto all = ctx_.join2(call(ctx_, "Joined"), ctx_.schedule_activity("Too", "")).start();
    }
  }

 private:
  Context& ctx_;
};

Task<std::string> meddles(Context& ctx) {
  Meddler meddler{ctx};
  co_return co_await ctx.schedule_activity("A", "");
}

TEST(Teardown, DestructorsRunButDecideNothing) {
  destroyed = 0;
  {
    Instance instance{meddles};
    instance.start();
    instance.cancel("stop");
    EXPECT_THAT(instance.story(),
                ElementsAre("started", "A scheduled", "cancel requested: stop",
                            "A cancelled: orchestration_terminal_cancelled", "failed: cancelled: stop"));
  }
  EXPECT_GT(destroyed, 0);
}

TEST(Teardown, OfAKeptExecutionLeavesTheHistoryAsItIs) {
  Instance instance{meddles, Mode::fresh};
  instance.start();
  instance.advance(1s);
  EXPECT_THAT(instance.story(), ElementsAre("started", "A scheduled"));
}

TEST(Teardown, AfterAMismatchDecidesNothing) {
  Instance instance{
      [](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_activity("Old", ""); }};
  instance.start();
  instance.deploy(meddles);
  instance.complete("Old", "");
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("Old cancelled: orchestration_terminal_failed", testing::StartsWith("failed: ")));
}

TEST(Teardown, AfterALimitDecidesNothing) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      Meddler meddler{ctx};
                      auto a = ctx.schedule_activity("A", "").start();
                      auto b = ctx.schedule_activity("B", "").start();
                      co_return co_await a;
                    },
                    Mode::every_way,
                    {.max_actions_per_turn = 1}};
  instance.start();
  EXPECT_EQ(instance.failure().kind, FailureKind::limit);
  EXPECT_EQ(instance.story().size(), 2u);
}

TEST(Teardown, ADestructorInCodeThatRunsIsCode) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    {
      Meddler meddler{ctx};
    }
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  EXPECT_THAT(instance.sent(), ElementsAre("Meddled", "A"));
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "a");
}

TEST(Teardown, OfANestedRaceFreesEveryFrame) {
  // Run under a leak checker, this is the test.
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto inner = ctx.select2(call(ctx, "A"), ctx.join2(call(ctx, "B"), call(ctx, "C")));
    auto winner = co_await ctx.select3(std::move(inner), call(ctx, "D"), ctx.schedule_timer(1h));
    co_return std::to_string(winner.index());
  }};
  instance.start();
  instance.complete("B", "b");
  EXPECT_THAT(instance.worker_queue(), ElementsAre("A", "C", "D"));
}

// -- what outlives what -------------------------------------------------------------------------------------

TEST(HandlerLifetime, TheCodeLivesUntilItsLastFrameHasEnded) {
  std::weak_ptr<int> captured;
  {
    auto value = std::make_shared<int>(7);
    captured = value;
    Instance instance{[value](Context& ctx) -> Task<std::string> {
      auto a = co_await ctx.schedule_activity("A", "");
      co_return a + std::to_string(*value);
    }};
    value.reset();
    instance.start();
    EXPECT_FALSE(captured.expired());
    instance.complete("A", "a");
    EXPECT_EQ(instance.output(), "a7");
  }
  EXPECT_TRUE(captured.expired());
}

TEST(HandlerLifetime, AFramesCaptureSurvivesTheHandlerInItsExecution) {
  auto value = std::make_shared<std::string>("a string too long for a small string buffer");
  auto handler = handler_of([value](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_activity("A", "");
    co_return *value;
  });
  core::Execution execution{{"instance", Incarnation{1}, ExecutionId{1}}, std::move(handler)};
  const MessageBody start = message::StartOrchestration{"subject", Payload::none(), {}, {}};
  ASSERT_EQ(execution.run_turn({{}, {&start, 1}, {}}).activities.size(), 1u);
  const MessageBody done = message::ActivityCompleted{ExecutionId{1}, EventId{2}, Payload::text("")};
  EXPECT_EQ(execution.run_turn({{}, {&done, 1}, {}}).output, Payload::text(*value));
}

TEST(HandlerLifetime, InputsAreOwnedByTheFrame) {
  Instance instance{[](Context& ctx, std::vector<std::string> words) -> Task<std::string> {
    std::string sentence;
    for (const std::string& word : words) sentence += co_await ctx.schedule_activity("Say", word);
    co_return sentence;
  }};
  instance.start(std::vector<std::string>{"a word too long for a small string buffer", "b"});
  instance.complete("Say", "1");
  instance.complete("Say", "2");
  EXPECT_EQ(instance.output(), "12");
}

}  // namespace
}  // namespace duramen::core_test
