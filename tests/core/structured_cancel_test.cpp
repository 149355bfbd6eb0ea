// Graceful cancellation inside combinators: which Tasks it reaches, in which order, and what a shield
// protects.

#include "core/harness.hpp"
#include "core/world.hpp"
#include <duramen/limits.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Task<std::string> call(Context& ctx, std::string name) { co_return co_await ctx.schedule_activity(name, ""); }

/// Waits for "name"; when that is cancelled, runs "undo name" inside a shield.
Task<std::string> step(Context& ctx, std::string name) {
  auto done = co_await attempt(call(ctx, name));
  if (!done) co_await ctx.shield(1h, call(ctx, "undo " + name));
  co_return done ? *done : "undone " + name;
}

/// The same, and the cancellation goes on.
Task<std::string> strict_step(Context& ctx, std::string name) {
  auto done = co_await attempt(call(ctx, name));
  if (done) co_return *done;
  co_await ctx.shield(1h, call(ctx, "undo " + name));
  throw CancelledError(done.error());
}

// -- a shield inside a combinator -----------------------------------------------------------------

TEST(StructuredCancel, CompensationInsideATimeLimitRuns) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    ctx.set_custom_status(co_await ctx.with_timeout(10s, step(ctx, "book")));
    co_return "";
  })};
  instance.start();
  instance.cancel("enough");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: enough", "undo book scheduled", "timer 3600000ms created",
                          "book cancelled: orchestration_terminal_cancelled"));
  EXPECT_THAT(instance.timers_dropped(), ElementsAre("10000ms"));
  EXPECT_EQ(instance.status(), Status::cancelling);
  instance.complete("undo book", "");
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"undone book"});
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(StructuredCancel, CompensationThatRunsWhenTheCancelComesGoesOn) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    co_await ctx.with_timeout(10s, ctx.shield(1h, call(ctx, "undo")));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.last_turn(), ElementsAre("cancel requested: enough"));
  EXPECT_EQ(instance.status(), Status::cancelling);
  instance.complete("undo", "");
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(StructuredCancel, AJoinWaitsForTheCompensationOfEveryBranch) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto [a, b] = co_await ctx.join2(step(ctx, "a"), step(ctx, "b"));
    ctx.set_custom_status(a + ", " + b);
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("undo a", "undo b"));
  instance.complete("undo b", "");
  EXPECT_EQ(instance.status(), Status::cancelling);
  instance.complete("undo a", "");
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"undone a, undone b"});
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(StructuredCancel, AJoinWithACancelledBranchIsCancelledAfterAllCompensation) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto all = co_await ctx.join3(strict_step(ctx, "a"), step(ctx, "b"), ctx.schedule_activity("leaf", ""))
                   .as_result();
    ctx.set_custom_status(all.error().describe());
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("undo a", "undo b"));
  instance.complete("undo a", "");
  instance.complete("undo b", "");
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"cancelled: enough"});
}

TEST(StructuredCancel, AFailedCompensationInAJoinIsTheResult) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    co_await ctx.join2(strict_step(ctx, "a"), step(ctx, "b"));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  instance.fail("undo b", "cannot undo");
  EXPECT_EQ(instance.status(), Status::cancelling);
  instance.complete("undo a", "");
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().message, "cannot undo");
}

TEST(StructuredCancel, ABranchThatIsOnlyCancelledDoesNotWinARace) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto won = co_await ctx.select3(call(ctx, "plain"), step(ctx, "a"), ctx.schedule_timer(1s));
    ctx.set_custom_status(std::to_string(won.index()) + won.second());
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_EQ(instance.status(), Status::cancelling);
  EXPECT_THAT(instance.worker_queue(), ElementsAre("undo a"));
  instance.complete("undo a", "");
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"1undone a"});
}

TEST(StructuredCancel, ARaceWhoseBranchesAreAllCancelledIsCancelled) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(strict_step(ctx, "a"), strict_step(ctx, "b"));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  instance.complete("undo a", "");
  EXPECT_EQ(instance.status(), Status::cancelling);
  instance.complete("undo b", "");
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(StructuredCancel, NestedCombinatorsWaitForTheTasksInThem) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    std::vector<DurableFuture<std::string>> inner;
    inner.push_back(ctx.with_timeout(1min, strict_step(ctx, "a")));
    inner.push_back(ctx.schedule_activity("leaf", ""));
    co_await ctx.with_timeout(2min, ctx.select(std::move(inner)));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("undo a"));
  EXPECT_THAT(instance.timers_dropped(), ElementsAre("60000ms", "120000ms"));
  instance.complete("undo a", "");
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(StructuredCancel, CombinedCompensationRunsAlsoWithoutAShieldAroundIt) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto booked = co_await attempt(call(ctx, "book"));
    co_await ctx.join2(ctx.shield(1h, call(ctx, "undo a")), ctx.shield(1h, call(ctx, "undo b")));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("undo a", "undo b"));
  instance.complete("undo a", "");
  instance.complete("undo b", "");
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(StructuredCancel, ACombinatorThatBeginsTooLateStartsItsTasksAndNotItsLeaves) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto booked = co_await attempt(call(ctx, "book"));
    auto both =
        co_await ctx.join2(ctx.schedule_activity("leaf", ""), ctx.shield(1h, call(ctx, "undo"))).as_result();
    ctx.set_custom_status(both ? "both" : both.error().describe());
    auto retried = co_await ctx.schedule_activity("late", "").with_retry(RetryPolicy()).as_result();
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("undo"));
  instance.complete("undo", "");
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"cancelled: enough"});
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(StructuredCancel, AResultThatWasThereBeforeTheCancelIsKept) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto [a, b] = co_await ctx.join2(ctx.schedule_activity("leaf", ""), step(ctx, "b"));
    ctx.set_custom_status(a + ", " + b);
    co_return "";
  })};
  instance.start();
  instance.complete("leaf", "leaf");
  instance.cancel();
  instance.complete("undo b", "");
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"leaf, undone b"});
}

// -- the order ------------------------------------------------------------------------------------

TEST(StructuredCancel, ATaskUnwindsAfterTheTasksThatItStarted) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto inner = ctx.with_timeout(1min, step(ctx, "inner")).start();
    co_return co_await ctx.schedule_activity("outer", "");
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("undo inner"));
  instance.complete("undo inner", "");
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(StructuredCancel, ReachesTasksThatWereOnlyStarted) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto inner = ctx.with_timeout(1min, step(ctx, "inner")).start();
    auto outer = co_await attempt(call(ctx, "outer"));
    ctx.set_custom_status(co_await std::move(inner));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("undo inner"));
  instance.complete("undo inner", "");
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"undone inner"});
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(StructuredCancel, TasksOfOneLevelContinueInTheOrderInWhichTheyBegan) {
  const auto noisy = [](Context& ctx, std::string name) -> Task<std::string> {
    auto done = co_await attempt(call(ctx, name));
    ctx.set_custom_status(name);
    co_return "";
  };
  Instance instance{graceful([noisy](Context& ctx) -> Task<std::string> {
    co_await ctx.join3(noisy(ctx, "a"), noisy(ctx, "b"), noisy(ctx, "c"));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: enough", "custom status: a", "custom status: b",
                          "custom status: c", "a cancelled: orchestration_terminal_cancelled",
                          "b cancelled: orchestration_terminal_cancelled",
                          "c cancelled: orchestration_terminal_cancelled", "failed: cancelled: enough"));
}

// -- a loser inside a shield ----------------------------------------------------------------------

/// Runs "first" inside a shield, then "second" outside of it.
Task<std::string> half_shielded(Context& ctx) {
  co_await ctx.shield(1h, call(ctx, "first"));
  ctx.set_custom_status("after the shield");
  co_return co_await ctx.schedule_activity("second", "");
}

TEST(StructuredCancel, ALoserInsideAShieldRunsToTheEndOfTheShieldAndNoFurther) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto won = co_await ctx.select3(half_shielded(ctx), ctx.schedule_wait("go"), call(ctx, "plain"));
    co_return won.is_second() ? "second" : "other";
  }};
  instance.start();
  instance.raise("go", "");
  EXPECT_THAT(instance.last_turn(), ElementsAre("event go: ", "plain cancelled: select_loser"));
  EXPECT_TRUE(instance.running());
  instance.complete("first", "");
  EXPECT_THAT(instance.story(), Not(Contains("custom status: after the shield")));
  EXPECT_EQ(instance.output(), "second");
}

TEST(StructuredCancel, ATimeLimitInsideAShieldHolds) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto inside = [](Context& c) -> Task<std::string> {
      auto limited = co_await c.with_timeout(1s, call(c, "slow")).as_result();
      co_return limited ? "in time" : "too late";
    };
    co_return co_await ctx.shield(1h, inside(ctx));
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_EQ(instance.output(), "too late");
}

TEST(StructuredCancel, TheLimitOfAShieldEndsTheShieldsInIt) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto inside = [](Context& c) -> Task<std::string> { co_return co_await c.shield(1h, call(c, "deep")); };
    auto done = co_await attempt(ctx.shield(1s, inside(ctx)));
    co_return done ? "done" : done.error().type;
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.story(), Contains("deep cancelled: timeout"));
  EXPECT_EQ(instance.output(), "Timeout");
}

TEST(StructuredCancel, AShieldThatWaitsForACancelledTaskReceivesTheCancellation) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto started = ctx.schedule_activity("retried", "").with_retry(RetryPolicy()).start();
    auto waits = [](DurableFuture<std::string> future) -> Task<std::string> {
      auto result = co_await std::move(future).as_result();
      co_return result ? *result : result.error().describe();
    };
    ctx.set_custom_status(co_await ctx.shield(1h, waits(std::move(started))));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_EQ(instance.turn().custom_status, CustomStatusChange{"cancelled: enough"});
}

// -- dropped inside a shield ----------------------------------------------------------------------

TEST(StructuredCancel, ADroppedTaskInsideAShieldEndsItBeforeTheInstanceEnds) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto dropped = ctx.with_timeout(2h, half_shielded(ctx)).start();
    co_return "returned";
  }};
  instance.start();
  EXPECT_TRUE(instance.running());
  EXPECT_THAT(instance.timers_dropped(), IsEmpty());  // created and dropped in one turn
  EXPECT_THAT(instance.timers_waiting(), ElementsAre("3600000ms"));
  instance.complete("first", "");
  EXPECT_EQ(instance.output(), "returned");
  EXPECT_THAT(instance.story(), Not(Contains("custom status: after the shield")));
}

TEST(StructuredCancel, TheEndIsFixedWhenTheCodeEndsAndOnlyTerminateChangesIt) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    auto dropped = ctx.with_timeout(2h, half_shielded(ctx)).start();
    co_return "returned";
  };
  Instance instance{graceful(code)};
  instance.start();
  instance.cancel("too late");
  instance.complete("first", "");
  EXPECT_EQ(instance.status(), Status::completed);
  Instance ended{graceful(code)};
  ended.start();
  ended.cancel("now", CancelMode::terminate);
  EXPECT_EQ(ended.status(), Status::cancelled);
}

Task<std::string> borrowing(Context& ctx, std::string& note) {
  co_await ctx.shield(1h, call(ctx, "first"));
  note = "written";
  co_return note;
}

TEST(StructuredCancel, ADroppedTaskWithReferencesIsDestroyedAndTheLogNamesItsShield) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::string note;
    auto dropped = ctx.with_timeout(2h, borrowing(ctx, note)).start();
    co_return "returned";
  }};
  instance.start();
  EXPECT_EQ(instance.output(), "returned");
  EXPECT_THAT(instance.turn().warnings, ElementsAre(HasSubstr("structured_cancel_test.cpp:")));
}

TEST(StructuredCancel, ATaskThatHoldsATaskWithReferencesCannotOutliveThemEither) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::string note;
    auto dropped = ctx.with_timeout(2h, attempt(borrowing(ctx, note))).start();
    int number = 7;
    auto lambda = [number](Context& c) -> Task<std::string> {
      co_await c.shield(1h, call(c, "second"));
      co_return std::to_string(number);
    };
    auto also_dropped = ctx.with_timeout(3h, lambda(ctx)).start();
    co_return "returned";
  }};
  instance.start();
  EXPECT_EQ(instance.output(), "returned");
  EXPECT_EQ(instance.turn().warnings.size(), 2u);
}

// -- continue as new ------------------------------------------------------------------------------

TEST(StructuredCancel, AContinueAsNewWaitsForTheShieldsOfOtherTasks) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto next = [](Context& c) -> Task<std::string> {
      co_await c.schedule_wait("go");
      co_return co_await c.continue_as_new("next");
    };
    co_await ctx.join2(half_shielded(ctx), next(ctx));
    co_return "";
  }};
  instance.start();
  instance.raise("go", "");
  EXPECT_TRUE(instance.running());
  instance.complete("first", "");
  EXPECT_EQ(instance.status(), Status::continued_as_new);
  EXPECT_THAT(instance.story(), Not(Contains("custom status: after the shield")));
}

TEST(StructuredCancel, ACancelThatComesWhileAContinueAsNewWaitsIsNotLost) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto next = [](Context& c) -> Task<std::string> { co_return co_await c.continue_as_new("next"); };
    co_await ctx.join2(half_shielded(ctx), next(ctx));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_EQ(instance.status(), Status::cancelling);
  instance.complete("first", "");
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(StructuredCancel, AContinueAsNewInOneShieldDoesNotCutAnother) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto next = [](Context& c) -> Task<std::string> { co_return co_await c.continue_as_new("next"); };
    auto booked = co_await attempt(call(ctx, "book"));
    co_await ctx.join2(ctx.shield(1h, call(ctx, "undo")), ctx.shield(1h, next(ctx)));
    co_return "";
  })};
  instance.start();
  instance.cancel();
  EXPECT_EQ(instance.status(), Status::cancelling);
  instance.complete("undo", "");
  EXPECT_EQ(instance.status(), Status::cancelled);
  EXPECT_THAT(instance.messages<message::ContinueAsNew>(), IsEmpty());
}

// -- loops ----------------------------------------------------------------------------------------

TEST(StructuredCancel, ARetryLoopThatIgnoresTheCancellationFailsWithItsLine) {
  int tries = 0;
  const auto stubborn = [&tries](Context& ctx) -> Task<std::string> {
    for (;;) {
      ++tries;
      auto done = co_await ctx.schedule_activity("try", "").as_result();
      if (done) co_return *done;
    }
  };
  Instance instance{graceful(stubborn), Mode::resident};
  instance.start();
  instance.fail("try");
  instance.cancel();
  EXPECT_LT(static_cast<std::size_t>(tries), 2 * max_interrupted_awaits);
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().kind, FailureKind::limit);
  EXPECT_EQ(instance.failure().type, "TooManyInterruptions");
  EXPECT_THAT(instance.failure().message, HasSubstr("structured_cancel_test.cpp:"));
}

TEST(StructuredCancel, ALoopThatSwallowsEveryExceptionFailsAsWell) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    for (;;) {
      try {
        co_return co_await ctx.with_timeout(1min, call(ctx, "try"));
      } catch (...) {
        ctx.trace_info("again");
      }
    }
  };
  Instance instance{graceful(code), Mode::resident};
  instance.start();
  instance.cancel();
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().type, "TooManyInterruptions");
}

TEST(StructuredCancel, ALoopOfActionsIsEndedByTheirLimit) {
  std::size_t calls = 0;
  const auto code = [&calls](Context& ctx) -> Task<std::string> {
    for (;;) {
      ++calls;
      ctx.set_custom_status("x");
    }
    co_return "";
  };
  Instance instance{code, Mode::resident};
  instance.start();
  EXPECT_LT(calls, 100'000u);
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().type, "TooManyActions");
  Instance scheduling{[](Context& ctx) -> Task<std::string> {
    for (;;) ctx.schedule_activity("x", "").detach();
    co_return "";
  }};
  scheduling.start();
  EXPECT_EQ(scheduling.failure().type, "TooManyActions");
}

/// Calls the context whenever it ends.
struct Guard {
  Context& ctx;
  ~Guard() { ctx.reset_custom_status(); }
};

TEST(StructuredCancel, TheLimitOfActionsThrowsInNoDestructor) {
  Instance outside{[](Context& ctx) -> Task<std::string> {
    const Guard guard{ctx};
    for (;;) ctx.set_custom_status("x");
    co_return "";
  }};
  outside.start();
  EXPECT_EQ(outside.failure().type, "TooManyActions");
  Instance inside{[](Context& ctx) -> Task<std::string> {
    for (;;) {
      const Guard guard{ctx};
      ctx.set_custom_status("x");
    }
    co_return "";
  }};
  inside.start();
  EXPECT_EQ(inside.failure().type, "TooManyActions");
}

TEST(StructuredCancel, ALoopOverCombinatorsThatIgnoresTheCancellationFailsAsWell) {
  std::size_t tries = 0;
  Instance instance{graceful([&tries](Context& ctx) -> Task<std::string> {
                      const auto cached = [](Context&) -> Task<int> { co_return 1; };
                      while (++tries < 2 * max_interrupted_awaits) {
                        auto both = co_await ctx.join2(cached(ctx), ctx.schedule_timer(1s)).as_result();
                        if (both) co_return "";
                      }
                      co_return "endless";
                    }),
                    Mode::resident};
  instance.start();
  instance.cancel();
  EXPECT_EQ(instance.status(), Status::failed);
}

TEST(StructuredCancel, AFailedCompensationInAJoinThatWasOnlyStartedIsTheResult) {
  Instance instance{graceful([](Context& ctx) -> Task<std::string> {
    auto both = ctx.join2(strict_step(ctx, "a"), strict_step(ctx, "b")).start();
    (void)co_await ctx.schedule_timer(1h).as_result();
    co_await both;
    co_return "";
  })};
  instance.start();
  instance.cancel();
  instance.complete("undo a", "");
  instance.fail("undo b", "stuck");
  EXPECT_EQ(instance.status(), Status::failed);
}

TEST(StructuredCancel, TwoShieldsThatContinueAsNewDoNotWaitForEachOther) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto next = [](Context& c, std::string name) -> Task<std::string> {
      co_await c.schedule_activity(name, "");
      co_return co_await c.continue_as_new(name);
    };
    co_await ctx.join2(ctx.shield(1h, next(ctx, "a")), ctx.shield(1h, next(ctx, "b")));
    co_return "";
  }};
  instance.start();
  instance.complete("a", "");
  EXPECT_EQ(instance.status(), Status::running);
  instance.complete("b", "");
  EXPECT_EQ(instance.status(), Status::continued_as_new);
}

}  // namespace
}  // namespace duramen::core_test
