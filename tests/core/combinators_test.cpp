// select, join and timers: which branch wins, which loses, and when.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <variant>
#include <vector>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Task<std::string> call(Context& ctx, std::string name) {
  auto result = co_await ctx.schedule_activity(name, "");
  co_return result;
}

Task<std::string> at_once(Context&, std::string result) { co_return result; }

// -- select -------------------------------------------------------------------------------------------------

Task<std::string> late_select(Context& ctx) {
  auto a = ctx.schedule_activity("A", "").start();
  auto b = ctx.schedule_activity("B", "").start();
  co_await ctx.schedule_timer(1s);
  auto winner = co_await ctx.select2(std::move(a), std::move(b));
  co_return winner.is_first() ? winner.first() : winner.second();
}

TEST(Select, HistoryOrderDecidesBetweenFuturesThatAreCompleteAlready) {
  Instance instance{late_select};
  instance.start();
  instance.complete("B", "b");
  instance.complete("A", "a");
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 1000ms fired", "completed: b"));
}

TEST(Select, TheReversedHistoryOrderDecides) {
  Instance instance{late_select};
  instance.start();
  instance.complete("A", "a");
  instance.complete("B", "b");
  instance.fire("1000ms");
  EXPECT_EQ(instance.output(), "a");
}

TEST(Select, ACompleteBranchWinsAndALaterOneIsNeverPolled) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto a = ctx.schedule_activity("A", "").start();
    co_await ctx.schedule_timer(1s);
    auto winner = co_await ctx.select2(std::move(a), ctx.schedule_activity("B", ""));
    co_return winner.first();
  }};
  instance.start();
  instance.complete("A", "a");
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 1000ms fired", "completed: a"));
}

TEST(Select, BranchesArePolledInArgumentOrder) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto c = ctx.schedule_activity("C", "");
    auto b = ctx.schedule_activity("B", "");
    auto a = call(ctx, "A");
    co_await ctx.select3(std::move(a), std::move(b), std::move(c));
    co_return "done";
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "A scheduled", "B scheduled", "C scheduled"));
}

TEST(Select, ATaskThatReturnsWithoutWaitingWinsAtOnce) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select3(call(ctx, "A"), at_once(ctx, "now"), call(ctx, "B"));
    co_return winner.second();
  }};
  instance.start();
  // A was polled before it and loses; B is never polled.
  EXPECT_THAT(instance.story(),
              ElementsAre("started", "A scheduled", "A cancelled: select_loser", "completed: now"));
  EXPECT_THAT(instance.sent(), IsEmpty());
}

TEST(Select, LosersAreCancelledWhenItResolvesNotWhenItDies) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto race = ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_activity("B", "")).start();
    co_await ctx.schedule_activity("C", "");
    auto winner = co_await race;
    co_return winner.is_first() ? winner.first() : winner.second();
  }};
  instance.start();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("A", "B", "C"));
  instance.complete("B", "b");
  EXPECT_THAT(instance.last_turn(), ElementsAre("B completed", "A cancelled: select_loser"));
  EXPECT_THAT(instance.worker_queue(), ElementsAre("C"));
}

TEST(Select, ABranchThatFailsWinsAndThrows) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    try {
      co_await ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_activity("B", ""));
    } catch (const ActivityError& e) {
      co_return e.failure().message;
    }
    co_return "no failure";
  }};
  instance.start();
  instance.fail("A", "broken");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("A failed", "B cancelled: select_loser", "completed: broken"));
}

TEST(Select, ALosersFailureIsIgnored) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_activity("B", ""));
    co_return winner.first() + co_await ctx.schedule_activity("C", "");
  }};
  instance.start();
  instance.complete("A", "a");
  instance.fail("B", "too late");
  instance.complete("C", "c");
  EXPECT_EQ(instance.output(), "ac");
}

TEST(Select, ALosingSelectCancelsAllItsBranches) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto inner = ctx.select2(ctx.schedule_activity("A", ""), call(ctx, "B"));
    auto winner = co_await ctx.select2(std::move(inner), ctx.schedule_timer(1s));
    co_return winner.is_first() ? "inner" : "timer";
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 1000ms fired", "A cancelled: select_loser",
                                                "B cancelled: select_loser", "completed: timer"));
}

TEST(Select, ALoserThatWasNeverPolledTakesItsStartedFuturesWithIt) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto started = ctx.schedule_activity("A", "").start();
    auto waits_for_a = ctx.join2(std::move(started), ctx.schedule_activity("B", ""));
    auto winner = co_await ctx.select2(at_once(ctx, "now"), std::move(waits_for_a));
    co_return winner.first();
  }};
  instance.start();
  EXPECT_THAT(instance.story(),
              ElementsAre("started", "A scheduled", "A cancelled: select_loser", "completed: now"));
}

TEST(Select, AskingForALoserThrows) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_timer(1s), ctx.schedule_activity("A", ""));
    try {
      co_return winner.second();
    } catch (const std::bad_variant_access&) {
      co_return "not that one";
    }
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_EQ(instance.output(), "not that one");
}

// -- join ---------------------------------------------------------------------------------------------------

TEST(Join, KeepsArgumentOrderForAnyOrderOfCompletion) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::vector<DurableFuture<std::string>> futures;
    for (const char* name : {"A", "B", "C"}) futures.push_back(ctx.schedule_activity(name, ""));
    auto results = co_await ctx.join(std::move(futures));
    co_return results[0] + results[1] + results[2];
  }};
  instance.start();
  instance.complete("C", "c");
  instance.complete("A", "a");
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "abc");
}

TEST(Join, WithoutBranchesIsCompleteAtOnce) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto results = co_await ctx.join(std::vector<DurableFuture<int>>{});
    co_return std::to_string(results.size());
  }};
  instance.start();
  EXPECT_EQ(instance.output(), "0");
}

TEST(Join, WaitsForEveryBranchAndThrowsTheFirstFailureInArgumentOrder) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto all = co_await attempt(ctx.join3(call(ctx, "A"), ctx.schedule_activity("B", ""), call(ctx, "C")));
    co_return all ? "fine" : all.error().message;
  }};
  instance.start();
  instance.fail("C", "c broke");
  EXPECT_TRUE(instance.running());
  instance.fail("B", "b broke");
  EXPECT_TRUE(instance.running());
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "b broke");
}

TEST(Join, WithResultsShowsEachFailure) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::vector<DurableFuture<Result<std::string, Failure>>> futures;
    for (const char* name : {"A", "B"}) futures.push_back(ctx.schedule_activity(name, "").as_result());
    auto results = co_await ctx.join(std::move(futures));
    co_return results[0].error().message + " " + *results[1];
  }};
  instance.start();
  instance.complete("B", "fine");
  instance.fail("A", "broken");
  EXPECT_EQ(instance.output(), "broken fine");
}

TEST(Join, TakesTimers) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto both = co_await ctx.join2(ctx.schedule_timer(1s), ctx.schedule_activity("A", ""));
    static_assert(std::is_same_v<decltype(both), std::tuple<std::monostate, std::string>>);
    co_return std::get<1>(both);
  }};
  instance.start();
  instance.complete("A", "a");
  instance.fire("1000ms");
  EXPECT_EQ(instance.output(), "a");
}

TEST(Join, WhenDroppedCancelsItsOpenBranches) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto all = ctx.join3(ctx.schedule_activity("A", ""), ctx.schedule_activity("B", ""), call(ctx, "C"));
    auto winner = co_await ctx.select2(std::move(all), ctx.schedule_timer(1s));
    co_return winner.is_first() ? "all" : "timer";
  }};
  instance.start();
  instance.complete("A", "a");
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 1000ms fired", "B cancelled: select_loser",
                                                "C cancelled: select_loser", "completed: timer"));
}

// -- timers -------------------------------------------------------------------------------------------------

TEST(Timers, RoundUpToWholeMilliseconds) {
  Instance instance{[](Context& ctx) -> Task<void> {
    auto a = ctx.schedule_timer(1500us).start();
    auto b = ctx.schedule_timer(1ns).start();
    auto c = ctx.schedule_timer(std::chrono::duration<double>(0.0101)).start();
    auto d = ctx.schedule_timer(2ms).start();
    co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "timer 2ms created", "timer 1ms created",
                                            "timer 11ms created", "timer 2ms created", "A scheduled"));
}

TEST(Timers, ThatAreDueInThePastAreDueNow) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_timer(-5s);
    co_return "done";
  }};
  instance.start();
  EXPECT_EQ(instance.turn().messages.front().visible_at, instance.now());
  instance.fire("0ms");
  EXPECT_EQ(instance.output(), "done");
}

TEST(Timers, CountFromTheirFirstPoll) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1s);
    co_await ctx.schedule_activity("A", "");
    co_await timer;
    co_return "done";
  }};
  instance.start();
  EXPECT_THAT(instance.timers_waiting(), IsEmpty());
  instance.advance(10min);
  instance.complete("A", "");
  const auto created = instance.events<event::TimerCreated>();
  ASSERT_EQ(created.size(), 1u);
  EXPECT_EQ(std::get<event::TimerCreated>(created.front().body).fire_at, instance.now() + 1s);
}

TEST(Timers, LeaveAsAMessageToTheInstanceItself) {
  Instance instance{[](Context& ctx) -> Task<void> { co_await ctx.schedule_timer(1h); }};
  instance.start();
  ASSERT_EQ(instance.turn().messages.size(), 1u);
  const OutboundMessage& message = instance.turn().messages.front();
  EXPECT_EQ(message.target, InstanceId{"instance"});
  EXPECT_EQ(message.visible_at, instance.now() + 1h);
  EXPECT_EQ(message.body,
            (MessageBody{message::TimerFired{ExecutionId{1}, EventId{2}, instance.now() + 1h}}));
}

TEST(Timers, OfOneInstantFireInTheOrderOfTheQueue) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_timer(1000ms), ctx.schedule_timer(999ms));
    co_return winner.is_first() ? "first" : "second";
  }};
  instance.start();
  instance.deliver({instance.firing("999ms"), instance.firing("1000ms")});
  EXPECT_EQ(instance.output(), "second");
}

TEST(Timers, ThatEndWithTheOrchestrationLeaveNothing) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.schedule_timer(1h).detach();
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  EXPECT_THAT(instance.timers_waiting(), ElementsAre("3600000ms"));
  instance.complete("A", "a");
  EXPECT_THAT(instance.last_turn(), ElementsAre("A completed", "completed: a"));
  EXPECT_EQ(instance.turn().cancel_rest, CancelReason::orchestration_terminal_completed);
}

// In the reference a join of more than thirty never ends.
TEST(Join, OfHundredsEnds) {
  Instance instance{[](Context& ctx) -> Task<int> {
                      std::vector<DurableFuture<std::string>> branches;
                      for (int i = 0; i < 300; ++i)
                        branches.push_back(ctx.schedule_activity("A" + std::to_string(i), ""));
                      auto values = co_await ctx.join(std::move(branches));
                      co_return static_cast<int>(values.size());
                    },
                    Mode::resident};
  instance.start();
  std::vector<MessageBody> answers;
  for (int i = 299; i >= 0; --i) answers.push_back(instance.completion("A" + std::to_string(i), "x"));
  instance.deliver(std::move(answers));
  EXPECT_EQ(instance.output<int>(), 300);
}

}  // namespace
}  // namespace duramen::core_test
