// Tasks, futures and combinators put together, moved around, failed and abandoned.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Task<std::string> call(Context& ctx, std::string name) {
  auto result = co_await ctx.schedule_activity(name, "");
  co_return result;
}
Task<std::string> call_twice(Context& ctx, std::string name) {
  auto first = co_await call(ctx, name + "1");
  auto second = co_await call(ctx, name + "2");
  co_return first + second;
}

// -- nesting ------------------------------------------------------------------------------------------------

Task<std::string> select_in_join_in_select(Context& ctx) {
  auto fastest = ctx.select2(call(ctx, "A"), call_twice(ctx, "B"));
  auto both = ctx.join2(std::move(fastest), ctx.schedule_activity("C", ""));
  auto winner = co_await ctx.select2(std::move(both), ctx.schedule_timer(1s));
  if (winner.is_second()) co_return "timer";
  auto& [either, c] = winner.first();
  co_return (either.is_first() ? either.first() : either.second()) + c;
}

TEST(Composition, ASelectInAJoinInASelectResolvesFromTheInside) {
  Instance instance{select_in_join_in_select};
  instance.start();
  EXPECT_THAT(instance.story(),
              ElementsAre("started", "A scheduled", "B1 scheduled", "C scheduled", "timer 1000ms created"));
  instance.complete("B1", "1");
  EXPECT_THAT(instance.last_turn(), ElementsAre("B1 completed", "B2 scheduled"));
  instance.complete("B2", "2");
  EXPECT_THAT(instance.last_turn(), ElementsAre("B2 completed", "A cancelled: select_loser"));
  instance.complete("C", "c");
  EXPECT_THAT(instance.last_turn(), ElementsAre("C completed", "completed: 12c"));
}

TEST(Composition, ASelectInAJoinInASelectIsCancelledAsAWhole) {
  Instance instance{select_in_join_in_select};
  instance.start();
  instance.complete("B1", "1");
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "A cancelled: select_loser", "C cancelled: select_loser",
                          "B2 cancelled: select_loser", "completed: timer"));
}

TEST(Composition, BothEndsOfATieInOneBatchFollowTheQueue) {
  Instance instance{select_in_join_in_select};
  instance.start();
  instance.deliver({instance.completion("C", "c"), instance.completion("A", "a"), instance.firing("1000ms")});
  EXPECT_EQ(instance.output(), "ac");
}

Task<std::string> descend(Context& ctx, int levels) {
  if (levels == 0) co_return co_await call(ctx, "Bottom");
  co_return co_await descend(ctx, levels - 1) + ".";
}

TEST(Composition, TasksNestDeeply) {
  Instance instance{[](Context& ctx) -> Task<std::string> { co_return co_await descend(ctx, 200); }};
  instance.start();
  instance.complete("Bottom", "");
  EXPECT_EQ(instance.output(), std::string(200, '.'));
}

Task<int> one(Context&) { co_return 1; }

TEST(Composition, TasksThatNeverWaitDoNotGrowTheStack) {
  Instance instance{[](Context& ctx) -> Task<int> {
    int sum = 0;
    for (int i = 0; i < 20'000; ++i) sum += co_await one(ctx);
    co_return sum;
  }};
  instance.start();
  EXPECT_EQ(instance.output<int>(), 20'000);
}

// -- failures -----------------------------------------------------------------------------------------------

TEST(Composition, AnExceptionCrossesSeveralTasks) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    try {
      co_await descend(ctx, 5);
    } catch (const ActivityError& e) {
      co_return "caught " + e.failure().message;
    }
    co_return "no failure";
  }};
  instance.start();
  instance.fail("Bottom", "deep");
  EXPECT_EQ(instance.output(), "caught deep");
}

Task<std::string> throws_a_number(Context& ctx) {
  co_await ctx.schedule_activity("A", "");
  throw 42;
}

TEST(Composition, ANonStdExceptionCrossesTasks) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    int thrown = 0;
    try {
      co_await throws_a_number(ctx);
    } catch (int number) {
      thrown = number;
    }
    co_return std::to_string(thrown);
  }};
  instance.start();
  instance.complete("A", "");
  EXPECT_EQ(instance.output(), "42");
}

TEST(Composition, CodeGoesOnAfterACatch) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    for (int i = 0; i < 3; ++i) {
      try {
        co_return co_await ctx.schedule_activity("Try" + std::to_string(i), "");
      } catch (const ActivityError&) {
      }
    }
    co_return "gave up";
  }};
  instance.start();
  instance.fail("Try0");
  instance.fail("Try1");
  instance.complete("Try2", "third time");
  EXPECT_EQ(instance.output(), "third time");
}

Task<void> book(Context& ctx) {
  co_await ctx.schedule_activity("Hotel", "");
  co_await ctx.schedule_activity("Flight", "");
}

Task<std::string> trip(Context& ctx) {
  auto booked = co_await attempt(book(ctx));
  if (booked) co_return "booked";
  co_await ctx.schedule_activity("CancelHotel", booked.error().message);
  co_return "undone";
}

TEST(Composition, AttemptMakesAFailureAValueSoThatCleanUpCanWait) {
  Instance instance{trip};
  instance.start();
  instance.complete("Hotel", "");
  instance.fail("Flight", "full");
  EXPECT_THAT(instance.last_turn(), ElementsAre("Flight failed", "CancelHotel scheduled"));
  EXPECT_EQ(instance.turn().activities.front().input, Payload::text("full"));
  instance.complete("CancelHotel", "");
  EXPECT_EQ(instance.output(), "undone");
}

TEST(Composition, AttemptOfASuccessHoldsItsValue) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto task = co_await attempt(call(ctx, "A"));
    auto future = co_await attempt(ctx.schedule_activity("B", ""));
    auto nothing = co_await attempt(ctx.schedule_timer(1s));
    co_return *task + *future + (nothing ? "!" : "?");
  }};
  instance.start();
  instance.complete("A", "a");
  instance.complete("B", "b");
  instance.fire("1000ms");
  EXPECT_EQ(instance.output(), "ab!");
}

TEST(Composition, AsResultHoldsADecodeError) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto number = co_await ctx.schedule_activity<int>("A", "").as_result();
    co_return number ? "decoded" : number.error().type;
  }};
  instance.start();
  instance.complete("A", "seven");
  EXPECT_EQ(instance.output(), "DecodeError");
}

// -- start, detach, moves -----------------------------------------------------------------------------------

TEST(Composition, StartSchedulesBeforeTheNextStatement) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto later = ctx.schedule_activity("B", "");
    auto first = ctx.schedule_activity("A", "").start();
    later.start().start();
    EXPECT_FALSE(later.is_done());
    auto b = co_await later;
    co_return co_await first + b;
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "A scheduled", "B scheduled"));
  instance.complete("A", "a");
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "ab");
}

TEST(Composition, ADetachedActivitySurvivesTheDropAndEndsWithTheOrchestration) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.schedule_activity("Background", "").detach();
    co_await ctx.schedule_timer(1s);
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.worker_queue(), ElementsAre("Background", "A"));
  instance.complete("A", "a");
  EXPECT_THAT(
      instance.last_turn(),
      ElementsAre("A completed", "Background cancelled: orchestration_terminal_completed", "completed: a"));
  EXPECT_THAT(instance.stopped(), ElementsAre("Background"));
}

TEST(Composition, ADetachedResultIsRecordedAndWakesNoCode) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.schedule_activity("Background", "").detach();
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.complete("Background", "");
  EXPECT_THAT(instance.last_turn(), ElementsAre("Background completed"));
  instance.complete("A", "a");
  EXPECT_THAT(instance.last_turn(), ElementsAre("A completed", "completed: a"));
}

TEST(Composition, ACombinationCannotBeDetached) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    try {
      ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_timer(1s)).detach();
    } catch (const std::logic_error& e) {
      co_return e.what();
    }
    co_return "detached";
  }};
  instance.start();
  EXPECT_THAT(instance.output(), HasSubstr("not a combination"));
}

TEST(Composition, AFutureMayBeMovedWhileItIsOpen) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto original = ctx.schedule_activity("A", "").start();
    auto boxed = std::make_unique<DurableFuture<std::string>>(std::move(original));
    co_await ctx.schedule_timer(1s);
    std::optional<DurableFuture<std::string>> elsewhere = std::move(*boxed);
    boxed.reset();
    co_return co_await std::move(*elsewhere);
  }};
  instance.start();
  instance.fire("1000ms");
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "a");
}

TEST(Composition, AssigningOverAStartedFutureDropsIt) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto future = ctx.schedule_activity("A", "").start();
    co_await ctx.schedule_timer(1s);
    future = ctx.schedule_activity("B", "");
    co_return co_await future;
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "B scheduled", "A cancelled: dropped_future"));
}

TEST(Composition, AFutureGivenToATaskBelongsToIt) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    const auto wait = [](DurableFuture<std::string> future) -> Task<std::string> {
      co_return co_await future;
    };
    auto winner = co_await ctx.select2(wait(ctx.schedule_activity("A", "").start()), ctx.schedule_timer(1s));
    co_return winner.is_first() ? winner.first() : "timer";
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "A cancelled: select_loser", "completed: timer"));
}

TEST(Composition, AwaitingAFutureTwiceIsAnErrorTheCodeSees) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto future = ctx.schedule_activity("A", "");
    co_await future;
    try {
      co_await future;
    } catch (const std::logic_error& e) {
      co_return e.what();
    }
    co_return "awaited twice";
  }};
  instance.start();
  instance.complete("A", "");
  EXPECT_THAT(instance.output(), HasSubstr("moved from, awaited or detached before"));
}

TEST(Composition, ATaskRunsOnlyWhenItIsAwaited) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto later = call(ctx, "Later");
    auto first = co_await call(ctx, "First");
    co_return first + co_await later;
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "First scheduled"));
  instance.complete("First", "1");
  EXPECT_THAT(instance.last_turn(), ElementsAre("First completed", "Later scheduled"));
}

TEST(Composition, AnEarlyReturnDropsEverythingTheFramesHold) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::vector<DurableFuture<std::string>> futures;
    futures.push_back(ctx.schedule_activity("A", "").start());
    auto pair = std::pair{ctx.schedule_activity("B", "").start(), ctx.schedule_activity("Never", "")};
    auto race = ctx.select2(call(ctx, "C"), ctx.schedule_timer(1h)).start();
    co_await ctx.schedule_timer(1s);
    co_return "early";
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "A cancelled: dropped_future", "B cancelled: dropped_future",
                          "C cancelled: dropped_future", "completed: early"));
  EXPECT_THAT(instance.timers_waiting(), IsEmpty());
}

TEST(Composition, AThrowDropsEverythingTheFramesHold) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto held = ctx.schedule_activity("A", "").start();
    ctx.schedule_activity("Background", "").detach();
    co_await ctx.schedule_timer(1s);
    throw std::runtime_error("early");
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "A cancelled: dropped_future",
                          "Background cancelled: orchestration_terminal_failed", "failed: early"));
}

}  // namespace
}  // namespace duramen::core_test
