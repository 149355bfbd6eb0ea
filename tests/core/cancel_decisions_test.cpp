// Cancellation decisions stand in history, and replay holds the code to them.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

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

/// Drops A when the timer fires.
Task<std::string> drops_a(Context& ctx) {
  std::optional a = ctx.schedule_activity("A", "").start();
  co_await ctx.schedule_timer(1s);
  a.reset();
  co_return co_await ctx.schedule_activity("B", "");
}

/// The same, but keeps A.
Task<std::string> keeps_a(Context& ctx) {
  std::optional a = ctx.schedule_activity("A", "").start();
  co_await ctx.schedule_timer(1s);
  auto b = co_await ctx.schedule_activity("B", "");
  co_return b + co_await std::move(*a);
}

// -- decisions in history -----------------------------------------------------------------------------------

TEST(CancelDecisions, dropped_activity_emits_cancel_requested) {
  Instance instance{drops_a};
  instance.start();
  instance.fire("1000ms");
  const auto requests = instance.events<event::ActivityCancelRequested>();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests.front().source, instance.id_of("A"));
  EXPECT_EQ(std::get<event::ActivityCancelRequested>(requests.front().body).reason,
            CancelReason::dropped_future);
  EXPECT_THAT(instance.stopped(), ElementsAre("A"));
}

TEST(CancelDecisions, completion_after_cancel_request_is_tolerated) {
  Instance instance{drops_a};
  instance.start();
  instance.fire("1000ms");
  instance.complete("A", "too late");
  // Recorded in history, but not delivered; the code does not wake.
  EXPECT_THAT(instance.last_turn(), ElementsAre("A completed"));
  EXPECT_TRUE(instance.running());
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "b");
}

TEST(CancelDecisions, ALateCompletionIsTakenOnce) {
  Instance instance{drops_a};
  instance.start();
  instance.fire("1000ms");
  instance.fail("A", "too late");
  EXPECT_THAT(instance.last_turn(), ElementsAre("A failed"));
  EXPECT_EQ(instance.complete("A", "again").ignored_messages, 1u);
  EXPECT_THAT(instance.last_turn(), IsEmpty());
}

TEST(CancelDecisions, changed_cancellation_decisions_are_nondeterminism) {
  const auto race = [](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_activity("B", ""));
    co_return co_await ctx.schedule_activity("C", winner.is_first() ? winner.first() : winner.second());
  };
  Instance instance{race};
  instance.start();
  instance.complete("A", "a");
  EXPECT_THAT(instance.last_turn(), ElementsAre("A completed", "C scheduled", "B cancelled: select_loser"));

  // Now both are awaited, one after the other: B is no longer a loser.
  instance.deploy([](Context& ctx) -> Task<std::string> {
    auto a = ctx.schedule_activity("A", "").start();
    auto b = ctx.schedule_activity("B", "").start();
    auto first = co_await a;
    auto c = co_await ctx.schedule_activity("C", first);
    co_return c + co_await b;
  });
  instance.complete("C", "c");
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
  EXPECT_THAT(instance.failure().message, HasSubstr("recorded: event 3 dropped (ActivityCancelRequested)"));
  EXPECT_THAT(instance.failure().message, HasSubstr("now:      it is still wanted"));
  EXPECT_THAT(instance.failure().message, HasSubstr("cancel_decisions_test.cpp:"));
}

TEST(CancelDecisions, removed_drop_is_nondeterminism) {
  Instance instance{drops_a};
  instance.start();
  instance.fire("1000ms");
  instance.deploy(keeps_a);
  instance.complete("B", "b");
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
  EXPECT_THAT(instance.failure().message, HasSubstr("recorded: event 2 dropped (ActivityCancelRequested)"));
}

TEST(CancelDecisions, added_drop_is_nondeterminism) {
  Instance instance{keeps_a};
  instance.start();
  instance.fire("1000ms");
  instance.deploy(drops_a);
  instance.complete("B", "b");
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
  EXPECT_THAT(instance.failure().message, HasSubstr("recorded: event 2 still wanted"));
  EXPECT_THAT(instance.failure().message, HasSubstr("now:      it is dropped (dropped_future)"));
  // Nothing is left behind: A was still running.
  EXPECT_THAT(instance.stopped(), testing::Contains("A"));
}

TEST(CancelDecisions, TheReasonOfADropIsNotCompared) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_timer(1s));
    co_return co_await ctx.schedule_activity("B", "");
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "B scheduled", "A cancelled: select_loser"));
  instance.deploy(drops_a);
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "b");
}

// -- outcomes of a drop
// --------------------------------------------------------------------------------------

TEST(CancelDecisions, drop_before_any_poll) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    {
      auto never_polled = ctx.schedule_activity("A", "");
    }
    {
      auto never_run = call(ctx, "B");
    }
    co_return "done";
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "completed: done"));
}

TEST(CancelDecisions, drop_between_action_emit_and_completion) {
  Instance instance{drops_a};
  instance.start();
  EXPECT_THAT(instance.sent(), ElementsAre("A"));
  instance.fire("1000ms");
  EXPECT_THAT(instance.story(),
              ElementsAre("started", "A scheduled", "timer 1000ms created", "timer 1000ms fired",
                          "B scheduled", "A cancelled: dropped_future"));
  EXPECT_THAT(instance.worker_queue(), ElementsAre("B"));
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "b");
}

TEST(CancelDecisions, replay_with_cancelled_token) {
  Instance instance{drops_a, Mode::fresh};
  instance.start();
  instance.fire("1000ms");
  const auto& turn = instance.complete("B", "b");
  EXPECT_EQ(turn.replayed_events, 6u);
  EXPECT_THAT(instance.last_turn(), ElementsAre("B completed", "completed: b"));
  EXPECT_THAT(instance.stopped(), IsEmpty()) << "what was cancelled before is not cancelled again";
}

TEST(CancelDecisions, replay_select_loser_same_outcome) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      auto winner =
                          co_await ctx.select2(ctx.schedule_timer(1s), ctx.schedule_activity("A", ""));
                      auto next = co_await ctx.schedule_activity("B", "");
                      co_return (winner.is_first() ? "timer " : "activity ") + next;
                    },
                    Mode::fresh};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "B scheduled", "A cancelled: select_loser"));
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "timer b");
  EXPECT_EQ(instance.events<event::ActivityCancelRequested>().size(), 1u);
}

TEST(CancelDecisions, replay_cancelled_token_no_action) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      {
                        auto never_polled = ctx.schedule_activity("A", "");
                      }
                      co_return co_await ctx.schedule_activity("B", "");
                    },
                    Mode::fresh};
  instance.start();
  instance.complete("B", "b");
  EXPECT_THAT(instance.story(), ElementsAre("started", "B scheduled", "B completed", "completed: b"));
}

TEST(CancelDecisions, replay_with_cancelled_activity_completion) {
  Instance instance{drops_a, Mode::fresh};
  instance.start();
  instance.fire("1000ms");
  instance.complete("A", "too late");
  instance.complete("B", "b");
  EXPECT_THAT(instance.last_turn(), ElementsAre("B completed", "completed: b"));
}

TEST(CancelDecisions, cancel_already_completed_no_op) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::optional a = ctx.schedule_activity("A", "").start();
    co_await ctx.schedule_timer(1s);
    a.reset();
    co_return "done";
  }};
  instance.start();
  instance.complete("A", "in time");
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 1000ms fired", "completed: done"));
  EXPECT_THAT(instance.stopped(), IsEmpty());
}

TEST(CancelDecisions, cancel_timer_no_provider_call) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    {
      auto timer = ctx.schedule_timer(1h).start();
    }
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  // Created and dropped in one turn: no row was ever made, so none is deleted.
  EXPECT_THAT(instance.story(), ElementsAre("started", "timer 3600000ms created", "A scheduled"));
  EXPECT_THAT(instance.turn().messages, IsEmpty());
  EXPECT_THAT(instance.timers_dropped(), IsEmpty());
  EXPECT_THAT(instance.stopped(), IsEmpty());
}

TEST(CancelDecisions, double_drop_idempotent) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto a = ctx.schedule_activity("A", "").start();
    co_await ctx.schedule_timer(1s);
    {
      auto taken = std::move(a);
      {
        auto taken_again = std::move(taken);
      }
    }
    co_return co_await ctx.schedule_activity("B", "");
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "B scheduled", "A cancelled: dropped_future"));
  EXPECT_THAT(instance.stopped(), ElementsAre("A"));
}

TEST(CancelDecisions, AFiredMessageOfADroppedTimerIsNoEvent) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_timer(1s));
    co_return co_await ctx.schedule_activity("B", "");
  }};
  instance.start();
  instance.complete("A", "");
  EXPECT_EQ(instance.fire("1000ms").ignored_messages, 1u);
  EXPECT_THAT(instance.last_turn(), IsEmpty());
}

}  // namespace
}  // namespace duramen::core_test
