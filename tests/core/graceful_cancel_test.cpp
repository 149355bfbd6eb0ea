// Graceful cancellation: the current await throws, and the code may clean up.

#include "core/harness.hpp"
#include "core/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Task<std::string> call(Context& ctx, std::string name) { co_return co_await ctx.schedule_activity(name, ""); }

/// Books; if that does not work out, undoes it.
Task<std::string> saga(Context& ctx) {
  auto booked = co_await attempt(call(ctx, "Book"));
  if (!booked) co_await ctx.shield(10s, call(ctx, "Undo"));
  co_return booked ? *booked : "undone";
}

TEST(GracefulCancel, TheAwaitThrowsAndItsFutureIsCancelled) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    try {
      co_return co_await ctx.schedule_activity("Book", "");
    } catch (const CancelledError& error) {
      ctx.set_custom_status("told: " + error.failure().message);
      throw;
    }
  })};
  instance.start();
  instance.cancel("enough");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: enough", "custom status: told: enough",
                          "Book cancelled: orchestration_terminal_cancelled", "failed: cancelled: enough"));
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(GracefulCancel, AnOrchestrationNotRegisteredAsGracefulEndsAtOnce) {
  Instance instance{saga};
  instance.start();
  instance.cancel();
  EXPECT_EQ(instance.status(), Status::cancelled);
  EXPECT_THAT(instance.sent(), IsEmpty());
}

TEST(GracefulCancel, ShieldedCompensationRunsAndThenItIsCancelled) {
  Instance instance{graceful(saga)};
  instance.start();
  instance.cancel("enough");
  EXPECT_EQ(instance.status(), Status::cancelling);
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: enough", "Undo scheduled", "timer 10000ms created",
                          "Book cancelled: orchestration_terminal_cancelled"));
  instance.complete("Undo", "");
  EXPECT_EQ(instance.status(), Status::cancelled);
  EXPECT_EQ(instance.failure(), Failure::cancelled("enough"));
}

TEST(GracefulCancel, ASecondRequestIsTheSameRequest) {
  Instance instance{graceful(saga)};
  instance.start();
  instance.cancel("enough");
  EXPECT_EQ(instance.cancel("really enough").ignored_messages, 1u);
  EXPECT_THAT(instance.last_turn(), IsEmpty());
  instance.complete("Undo", "");
  EXPECT_EQ(instance.failure(), Failure::cancelled("enough"));
}

TEST(GracefulCancel, TerminateEndsItAtOnceEvenWhileItCleansUp) {
  Instance instance{graceful(saga)};
  instance.start();
  instance.cancel("enough");
  instance.cancel("now", CancelMode::terminate);
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: now", "Undo cancelled: orchestration_terminal_cancelled",
                          "failed: cancelled: now"));
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(GracefulCancel, TerminateNeedsNoCleaningUp) {
  Instance instance{graceful(saga)};
  instance.start();
  instance.cancel("now", CancelMode::terminate);
  EXPECT_EQ(instance.status(), Status::cancelled);
  EXPECT_THAT(instance.sent(), IsEmpty());
}

TEST(GracefulCancel, CompensationThatFailsIsAFailure) {
  Instance instance{graceful(saga)};
  instance.start();
  instance.cancel();
  instance.fail("Undo", "cannot undo");
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().message, "cannot undo");
}

TEST(GracefulCancel, CompensationHasADeadline) {
  Instance instance{graceful(saga)};
  instance.start();
  instance.cancel();
  instance.fire("10000ms");
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().kind, FailureKind::timeout);
  EXPECT_THAT(instance.story(), testing::Contains("Undo cancelled: timeout"));
}

TEST(GracefulCancel, UnshieldedCodeStartsNothingNew) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto a = co_await attempt(call(ctx, "A"));
    auto b = co_await attempt(call(ctx, "B"));
    if (a || b) co_return "done";
    co_return co_await ctx.continue_as_new("never");
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: enough", "A cancelled: orchestration_terminal_cancelled",
                          "failed: cancelled: enough"));
}

TEST(GracefulCancel, ShieldedWorkIsLeftAlone) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto committed = co_await ctx.shield(10s, call(ctx, "Commit"));
    co_return committed + co_await ctx.schedule_activity("Next", "");
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.last_turn(), ElementsAre("cancel requested: enough"));
  EXPECT_EQ(instance.status(), Status::cancelling);
  instance.complete("Commit", "c");
  EXPECT_THAT(instance.last_turn(), ElementsAre("Commit completed", "failed: cancelled: enough"));
}

TEST(GracefulCancel, ARaceIsLeftWithAllItsBranches) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto won = co_await ctx.select3(call(ctx, "A"), ctx.schedule_wait("go"), ctx.schedule_timer(1s));
    co_return "won";
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(
      instance.last_turn(),
      ElementsAre("cancel requested: enough", "A cancelled: orchestration_terminal_cancelled",
                  "wait go cancelled: orchestration_terminal_cancelled", "failed: cancelled: enough"));
}

TEST(GracefulCancel, CompensationCanWaitAndRaceAndRetry) {
  const auto undo = [](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_wait("confirmed"), ctx.schedule_timer(1s));
    if (winner.is_first()) co_return winner.first();
    co_return co_await ctx.schedule_activity("Undo", "")
        .with_retry(RetryPolicy().backoff(Backoff::fixed(2s)));
  };
  Instance instance{graceful([undo](Context& ctx) -> Task<std::string> {
    auto booked = co_await attempt(call(ctx, "Book"));
    if (!booked) ctx.set_custom_status(co_await ctx.shield(1h, undo(ctx)));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  instance.fire("1000ms");
  Failure failure = Failure::application("Busy", "");
  failure.retryable = true;
  instance.fail(instance.id_of("Undo"), failure);
  instance.fire("2000ms");
  instance.complete("Undo", "undone");
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"undone"});
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(GracefulCancel, InOneBatchWithTheStartThereIsNothingToCleanUp) {
  Instance instance{graceful(saga)};
  instance.deliver({instance.started(), instance.cancelling("enough")});
  EXPECT_THAT(instance.story(), ElementsAre("started", "failed: cancelled: enough"));
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(GracefulCancel, AChildCleansUpWhenItsParentDropsIt) {
  World world;
  world.add("saga", saga, OrchestrationOptions().graceful());
  world.add("top", [](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.schedule_sub_orchestration("saga", ""), ctx.schedule_timer(1s));
    co_return "over";
  });
  world.start("root", "top");
  world.act("root", [](Instance& i) { i.fire("1000ms"); });
  EXPECT_EQ(world.at("root").output(), "over");
  EXPECT_EQ(world.at("root::sub::1.2").status(), Status::cancelling);
  EXPECT_THAT(world.at("root::sub::1.2").story(), testing::Contains("Book cancelled: parent_cancelled"));
  world.act("root::sub::1.2", [](Instance& i) { i.complete("Undo", ""); });
  EXPECT_EQ(world.at("root::sub::1.2").status(), Status::cancelled);
}

TEST(GracefulCancel, ItGoesDownToChildrenAsTheParentUnwinds) {
  World world;
  world.add("works",
            [](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_activity("Work", ""); });
  world.add(
      "top",
      [](Context& ctx) -> Task<std::string> {
        auto done = co_await attempt([](Context& c) -> Task<std::string> {
          co_return co_await c.schedule_sub_orchestration("works", "");
        }(ctx));
        co_await ctx.shield(10s, call(ctx, "Undo"));
        co_return "";
      },
      OrchestrationOptions().graceful());
  world.start("root", "top");
  world.cancel("root");
  EXPECT_EQ(world.at("root").status(), Status::cancelling);
  EXPECT_EQ(world.at("root::sub::1.2").status(), Status::cancelled);
  world.act("root", [](Instance& i) { i.complete("Undo", ""); });
  EXPECT_EQ(world.at("root").status(), Status::cancelled);
}

// -- failures as values: the cancellation is one of them ------------------------------------------

TEST(GracefulCancel, AttemptOfAFutureGivesItAsAValue) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto booked = co_await attempt(ctx.schedule_activity("Book", ""));
    if (!booked) ctx.set_custom_status(booked.error().describe());
    if (!booked) co_await ctx.shield(10s, call(ctx, "Undo"));
    co_return "";
  })};
  instance.start();
  instance.cancel("enough");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: enough", "custom status: cancelled: enough", "Undo scheduled",
                          "timer 10000ms created", "Book cancelled: orchestration_terminal_cancelled"));
  instance.complete("Undo", "");
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(GracefulCancel, AsResultGivesItAsAValueAndStartsNothing) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto timer = co_await ctx.schedule_timer(1s).as_result();
    auto next = co_await ctx.schedule_activity("Next", "").as_result();
    ctx.set_custom_status(timer.error().message + ", " + next.error().message);
    co_return "";
  })};
  instance.start();
  instance.cancel("enough");
  EXPECT_THAT(instance.last_turn(), ElementsAre("cancel requested: enough", "custom status: enough, enough",
                                                "failed: cancelled: enough"));
  EXPECT_THAT(instance.timers_dropped(), ElementsAre("1000ms"));
}

TEST(GracefulCancel, OfARetryThatIsStartedTooLateIsTheCancellationItself) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto first = co_await attempt(ctx.schedule_activity("A", ""));
    auto late = ctx.schedule_activity("B", "").with_retry(RetryPolicy().total_timeout(1h)).start();
    auto seen = co_await ctx.shield(1s, [](DurableFuture<std::string> future) -> Task<std::string> {
      try {
        co_return co_await std::move(future);
      } catch (const CancelledError& error) {
        co_return "told: " + error.failure().message;
      }
    }(std::move(late)));
    ctx.set_custom_status(seen);
    co_return "";
  })};
  instance.start();
  instance.cancel("enough");
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"told: enough"});
}

// -- shielded code drops its own futures ----------------------------------------------------------

TEST(GracefulCancel, AContinueAsNewInsideAShieldEndsIt) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto booked = co_await attempt(call(ctx, "Book"));
    co_return co_await ctx.shield(10s, [](Context& inner) -> Task<std::string> {
      co_await inner.schedule_activity("Undo", "");
      co_return co_await inner.continue_as_new("");
    }(ctx));
  })};
  instance.start();
  instance.cancel("enough");
  instance.complete("Undo", "");
  EXPECT_EQ(instance.status(), Status::cancelled);
  EXPECT_EQ(instance.failure().message, "enough");
  EXPECT_THAT(instance.messages<message::ContinueAsNew>(), IsEmpty());
}

TEST(GracefulCancel, ADropInsideAShieldIsADroppedFuture) {
  const auto undo = [](Context& ctx) -> Task<std::string> {
    {
      auto probe = ctx.schedule_activity("Probe", "").start();
    }
    auto slow = ctx.schedule_activity("Slow", "").start();
    auto undone = co_await ctx.schedule_activity("Undo", "");
    co_return undone;
  };
  Instance instance{graceful([undo](Context& ctx) -> Task<std::string> {
    auto booked = co_await attempt(call(ctx, "Book"));
    co_await ctx.shield(1h, undo(ctx));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.last_turn(), testing::Contains("Probe cancelled: dropped_future"));
  EXPECT_THAT(instance.last_turn(), testing::Contains("Book cancelled: orchestration_terminal_cancelled"));
  instance.complete("Undo", "");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("Undo completed", "Slow cancelled: dropped_future", "failed: cancelled: enough"));
}

}  // namespace
}  // namespace duramen::core_test
