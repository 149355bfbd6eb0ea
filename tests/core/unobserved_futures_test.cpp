// Futures without a waiter: never polled they leave no trace, polled and dropped they are cancelled.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// -- token lifecycle ----------------------------------------------------------------------------------------

TEST(UnobservedFutures, token_cancelled_before_binding) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    {
      auto never_polled = ctx.schedule_activity("A", "");
    }
    co_await ctx.schedule_timer(1s);
    co_return "done";
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "timer 1000ms created"));
  EXPECT_THAT(instance.sent(), IsEmpty());
  EXPECT_THAT(instance.stopped(), IsEmpty());
}

TEST(UnobservedFutures, token_cancelled_after_binding) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto polled = ctx.schedule_activity("A", "");
    polled.start();
    co_await ctx.schedule_activity("B", "");
    {
      auto dropped = std::move(polled);
    }
    co_await ctx.schedule_activity("C", "");
    co_return "done";
  }};
  instance.start();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("A", "B"));
  instance.complete("B", "");
  EXPECT_THAT(instance.last_turn(), ElementsAre("B completed", "C scheduled", "A cancelled: dropped_future"));
  EXPECT_THAT(instance.stopped(), ElementsAre("A"));
  EXPECT_THAT(instance.worker_queue(), ElementsAre("C"));
}

TEST(UnobservedFutures, token_not_cancelled_on_completion) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto result = co_await ctx.schedule_activity("A", "");
    co_return result;
  }};
  instance.start();
  instance.complete("A", "fine");
  EXPECT_THAT(instance.story(), ElementsAre("started", "A scheduled", "A completed", "completed: fine"));
  EXPECT_THAT(instance.stopped(), IsEmpty());
}

TEST(UnobservedFutures, multiple_tokens_partial_cancel) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto a = ctx.schedule_activity("A", "").start();
    auto b = ctx.schedule_activity("B", "").start();
    auto c = ctx.schedule_activity("C", "").start();
    co_await ctx.schedule_timer(1s);
    {
      auto first = std::move(c);
      auto second = std::move(a);
    }
    co_return co_await b;
  }};
  instance.start();
  instance.fire("1000ms");
  // A set, sorted by schedule id, in any order of the drops.
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 1000ms fired", "A cancelled: dropped_future",
                                                "C cancelled: dropped_future"));
  EXPECT_THAT(instance.stopped(), ElementsAre("A", "C"));
  EXPECT_THAT(instance.worker_queue(), ElementsAre("B"));
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "b");
}

// -- select losers ------------------------------------------------------------------------------------------

Task<std::string> activity_or_timer(Context& ctx) {
  auto winner = co_await ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_timer(5s));
  if (winner.is_second()) co_return "timer";
  co_return winner.first();
}

TEST(UnobservedFutures, select2_timer_wins_activity_cancelled) {
  Instance instance{activity_or_timer};
  instance.start();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("A"));
  instance.fire("5000ms");
  EXPECT_THAT(instance.story(),
              ElementsAre("started", "A scheduled", "timer 5000ms created", "timer 5000ms fired",
                          "A cancelled: select_loser", "completed: timer"));
  EXPECT_THAT(instance.stopped(), ElementsAre("A"));
  EXPECT_THAT(instance.worker_queue(), IsEmpty());
}

TEST(UnobservedFutures, select2_activity_wins_timer_not_cancelled) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_timer(5s));
    co_await ctx.schedule_activity("B", "");
    co_return winner.first();
  }};
  instance.start();
  EXPECT_THAT(instance.timers_waiting(), ElementsAre("5000ms"));
  instance.complete("A", "quick");
  // No event and no cancellation for a timer; its row goes with the commit.
  EXPECT_THAT(instance.last_turn(), ElementsAre("A completed", "B scheduled"));
  EXPECT_THAT(instance.stopped(), IsEmpty());
  EXPECT_THAT(instance.timers_waiting(), IsEmpty());
  instance.complete("B", "");
  EXPECT_EQ(instance.output(), "quick");
}

TEST(UnobservedFutures, select3_one_winner_two_losers) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select3(ctx.schedule_activity("A", ""), ctx.schedule_activity("B", ""),
                                       ctx.schedule_activity("C", ""));
    co_return winner.second();
  }};
  instance.start();
  instance.complete("B", "b");
  EXPECT_THAT(instance.last_turn(), ElementsAre("B completed", "A cancelled: select_loser",
                                                "C cancelled: select_loser", "completed: b"));
  EXPECT_THAT(instance.stopped(), ElementsAre("A", "C"));
}

Task<std::string> call(Context& ctx, std::string name) {
  auto result = co_await ctx.schedule_activity(name, "");
  co_return result;
}

TEST(UnobservedFutures, select2_nested_in_async_block) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(call(ctx, "A"), call(ctx, "B"));
    co_await ctx.schedule_timer(1s);
    co_return winner.is_first() ? winner.first() : winner.second();
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "A scheduled", "B scheduled"));
  instance.complete("B", "b");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("B completed", "timer 1000ms created", "A cancelled: select_loser"));
  EXPECT_THAT(instance.stopped(), ElementsAre("A"));
  instance.fire("1000ms");
  EXPECT_EQ(instance.output(), "b");
}

// -- never awaited ------------------------------------------------------------------------------------------

TEST(UnobservedFutures, non_awaited_future_never_emits_action) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto never_polled = ctx.schedule_activity("A", "");
    co_return "done";
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "completed: done"));
}

TEST(UnobservedFutures, non_awaited_future_in_branch) {
  Instance instance{[](Context& ctx, bool branch) -> Task<std::string> {
    if (branch) {
      auto forgotten = ctx.schedule_activity("A", "");
    }
    co_return co_await ctx.schedule_activity("B", "");
  }};
  instance.start(true);
  EXPECT_THAT(instance.story(), ElementsAre("started", "B scheduled"));
  EXPECT_THAT(instance.worker_queue(), ElementsAre("B"));
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "b");
}

TEST(UnobservedFutures, multiple_non_awaited_futures) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto a = ctx.schedule_activity("A", "");
    auto b = ctx.schedule_activity("B", "");
    auto c = ctx.schedule_timer(1s);
    auto all = ctx.select2(std::move(b), std::move(c));
    co_return "done";
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "completed: done"));
  EXPECT_THAT(instance.turn().messages, IsEmpty());
}

// -- abandoned ----------------------------------------------------------------------------------------------

TEST(UnobservedFutures, abandoned_after_first_poll) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    {
      auto abandoned = ctx.schedule_activity("A", "").start();
    }
    co_await ctx.schedule_timer(1s);
    co_return "done";
  }};
  instance.start();
  // Scheduled and dropped in one turn: both are in history, nothing leaves.
  EXPECT_THAT(instance.story(),
              ElementsAre("started", "A scheduled", "timer 1000ms created", "A cancelled: dropped_future"));
  EXPECT_THAT(instance.sent(), IsEmpty());
  EXPECT_THAT(instance.stopped(), IsEmpty());
}

TEST(UnobservedFutures, abandoned_mid_orchestration) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto slow = ctx.schedule_activity("Slow", "").start();
    auto answer = co_await ctx.schedule_activity("Ask", "");
    if (answer == "skip") co_return "skipped";
    co_return co_await slow;
  }};
  instance.start();
  instance.complete("Ask", "skip");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("Ask completed", "Slow cancelled: dropped_future", "completed: skipped"));
  EXPECT_THAT(instance.stopped(), ElementsAre("Slow"));
}

TEST(UnobservedFutures, abandoned_in_loop_iteration) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    for (int i = 0; i < 3; ++i) {
      auto attempt = ctx.schedule_activity("Try" + std::to_string(i), "").start();
      co_await ctx.schedule_timer(std::chrono::seconds(i + 1));
      if (attempt.is_done()) co_return co_await attempt;
    }
    co_return "gave up";
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 1000ms fired", "Try1 scheduled",
                                                "timer 2000ms created", "Try0 cancelled: dropped_future"));
  EXPECT_THAT(instance.worker_queue(), ElementsAre("Try1"));
  instance.complete("Try1", "second");
  EXPECT_THAT(instance.last_turn(), ElementsAre("Try1 completed"));
  instance.fire("2000ms");
  EXPECT_EQ(instance.output(), "second");
}

// -- explicit drops -----------------------------------------------------------------------------------------

TEST(UnobservedFutures, explicit_drop_before_poll) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::optional future = ctx.schedule_activity("A", "");
    future.reset();
    co_return "done";
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "completed: done"));
}

TEST(UnobservedFutures, explicit_drop_after_poll) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::optional future = ctx.schedule_activity("A", "").start();
    co_await ctx.schedule_timer(1s);
    future.reset();
    co_await ctx.schedule_timer(2s);
    co_return "done";
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "timer 2000ms created", "A cancelled: dropped_future"));
  ASSERT_EQ(instance.events<event::ActivityCancelRequested>().size(), 1u);
  EXPECT_EQ(instance.events<event::ActivityCancelRequested>().front().source, instance.id_of("A"));
  EXPECT_THAT(instance.stopped(), ElementsAre("A"));
}

TEST(UnobservedFutures, explicit_drop_activity_in_vec) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::vector<DurableFuture<std::string>> futures;
    for (const char* name : {"A", "B", "C", "D"}) futures.push_back(ctx.schedule_activity(name, "").start());
    co_await ctx.schedule_timer(1s);
    futures.erase(futures.begin() + 1, futures.begin() + 3);
    auto kept = co_await ctx.join(std::move(futures));
    co_return kept.at(0) + kept.at(1);
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 1000ms fired", "B cancelled: dropped_future",
                                                "C cancelled: dropped_future"));
  EXPECT_THAT(instance.worker_queue(), ElementsAre("A", "D"));
  instance.complete("D", "d");
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "ad");
}

TEST(UnobservedFutures, explicit_drop_timer) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::optional timer = ctx.schedule_timer(1h).start();
    co_await ctx.schedule_activity("A", "");
    timer.reset();
    co_return co_await ctx.schedule_activity("B", "");
  }};
  instance.start();
  EXPECT_THAT(instance.timers_waiting(), ElementsAre("3600000ms"));
  instance.complete("A", "");
  EXPECT_THAT(instance.last_turn(), ElementsAre("A completed", "B scheduled"));
  EXPECT_THAT(instance.timers_dropped(), ElementsAre("3600000ms"));
  EXPECT_THAT(instance.timers_waiting(), IsEmpty());
}

}  // namespace
}  // namespace duramen::core_test
