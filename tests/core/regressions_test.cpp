// Each of these once went wrong.
#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Task<std::string> one_step(Context& ctx) { co_return co_await ctx.schedule_activity("A", ""); }
Task<std::string> other_step(Context& ctx) { co_return co_await ctx.schedule_activity("Other", ""); }
Task<std::string> call(Context& ctx, std::string name) { co_return co_await ctx.schedule_activity(name, ""); }

// 1. A loser is dropped when the select resolves and again when the select's object dies.
TEST(Regression, ALosingTimerIsDroppedOnce) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_timer(5s));
    co_return co_await ctx.schedule_activity("B", "");
  }};
  instance.start();
  instance.complete("A", "");
  EXPECT_THAT(instance.timers_dropped(), ElementsAre("5000ms"));  // is twice in the list
}
TEST(Regression, ALoserIsCancelledOnceEvenIfTheSelectLivesOn) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto race = ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_activity("B", "")).start();
    co_await ctx.schedule_activity("C", "");
    co_await race;
    co_return co_await ctx.schedule_activity("D", "");
  }};
  instance.start();
  instance.complete("B", "b");  // A cancelled: select_loser
  instance.complete("A", "late");
  instance.complete("C", "c");  // A cancelled again: dropped_future, even after its completion
  EXPECT_THAT(instance.last_turn(), ElementsAre("C completed", "D scheduled"));
  EXPECT_EQ(instance.events<event::ActivityCancelRequested>().size(), 1u);
}

// 2. The code ends where history still waits: no mismatch, and the instance stays in Running permanently.
TEST(Regression, AReturnWhereHistoryWaitsForATimerIsNondeterminism) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_timer(1s);
    co_return "slept";
  }};
  instance.start();
  instance.deploy([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1s).start();
    co_return "did not sleep";
  });
  instance.fire("1000ms");
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism)
      << "status " << to_string(instance.status());
}
TEST(Regression, AThrowWhereHistoryWaitsIsNondeterminism) {
  Instance instance{one_step};
  instance.start();
  instance.deploy([](Context& ctx) -> Task<std::string> {
    ctx.schedule_activity("A", "").detach();
    throw std::runtime_error("new check");
  });
  instance.complete("A", "");
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism)
      << "status " << to_string(instance.status());
}

// 3. A finished history is replayed and judged: a late message gives it a second end.
TEST(Regression, AFinishedInstanceStaysFinishedWhenTheCodeChanges) {
  Instance instance{one_step};
  instance.start();
  instance.complete("A", "a");
  instance.deploy(other_step);
  instance.complete("A", "again");
  EXPECT_THAT(instance.last_turn(), IsEmpty());
  EXPECT_EQ(instance.status(), Status::completed);
}
TEST(Regression, AFinishedInstanceStaysFinishedWhenTheCodeNowWaits) {
  Instance instance{one_step};
  instance.start();
  instance.complete("A", "a");
  instance.deploy([](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_activity("A", "");
    co_return co_await ctx.schedule_activity("B", "");
  });
  instance.cancel("late");
  instance.complete("A", "again");
  EXPECT_EQ(instance.status(), Status::completed);
}
TEST(Regression, AnEndThatTheEngineImposedIsTheEnd) {
  Instance instance{one_step, Mode::fresh};
  instance.start();
  instance.complete(EventId{9});
  const std::size_t size = instance.history().size();
  instance.complete("A", "late");
  EXPECT_EQ(instance.history().size(), size) << testing::PrintToString(instance.story());
}
TEST(Regression, AnEndByALimitIsTheEnd) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      auto b = ctx.schedule_activity("B", "").start();
                      co_return co_await ctx.schedule_activity("A", "");
                    },
                    Mode::fresh,
                    {.max_actions_per_turn = 1}};
  instance.start();
  instance.cancel("late");  // front message: decided without code, ignored
  instance.complete(EventId{2});
  EXPECT_EQ(instance.history().size(), 2u) << testing::PrintToString(instance.story());
}

// 4. Without a start, any message but a start makes a history that does not begin with one.
TEST(Regression, ACancelBeforeTheStartIsIgnored) {
  Instance instance{one_step, Mode::fresh};
  EXPECT_EQ(instance.cancel("early").ignored_messages, 1u);
  EXPECT_THAT(instance.story(), IsEmpty());
}
TEST(Regression, ACompletionBeforeTheStartIsIgnored) {
  Instance instance{one_step, Mode::fresh};
  EXPECT_EQ(instance.complete(EventId{2}).ignored_messages, 1u);
  EXPECT_THAT(instance.story(), IsEmpty());
}

// 5. Ids are only checked at the beginning of a segment.
TEST(Regression, AGapInsideASegmentIsNamed) {
  std::vector<Event> history;
  {
    Instance instance{one_step};
    instance.start();
    history = instance.history();
  }
  history.back().id = EventId{5};
  Instance instance{one_step, Mode::fresh};
  instance.forge(history);
  instance.complete(EventId{5}, Payload::text("a"));
  EXPECT_EQ(instance.failure().type, "CorruptHistory");
}

// 6. An endless sleep overflows: signed overflow (UBSan), and the timer is due in the past.
TEST(Regression, ATimerOfTheLongestDurationIsDueInTheFuture) {
  Instance instance{[](Context& ctx) -> Task<void> { co_await ctx.schedule_timer(Duration::max()); },
                    Mode::fresh};
  instance.start();
  EXPECT_GT(instance.turn().messages.front().visible_at, instance.now());
}

// 7. as_result() twice (attempt(attempt(f))) calls a null function pointer.
TEST(Regression, AsResultTwiceWorks) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      auto r = co_await attempt(ctx.schedule_activity("A", "").as_result());
                      co_return *r;
                    },
                    Mode::fresh};
  instance.start();
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "a");
}

// 8. Awaiting a Task twice crashes; a future in the same place throws std::logic_error.
TEST(Regression, AwaitingATaskTwiceIsAnErrorTheCodeSees) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      auto task = call(ctx, "A");
                      co_await task;
                      try {
                        co_await task;
                      } catch (const std::logic_error&) {
                        co_return "told";
                      }
                      co_return "awaited twice";
                    },
                    Mode::fresh};
  instance.start();
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "told");
}

// 9. The message about an added drop has no source line (the leaf's is gone by then).
TEST(Regression, AnAddedDropNamesTheLineOfTheSchedule) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto a = ctx.schedule_activity("A", "").start();
    co_return co_await ctx.schedule_activity("B", "") + co_await a;
  }};
  instance.start();
  instance.deploy([](Context& ctx) -> Task<std::string> {
    {
      auto a = ctx.schedule_activity("A", "").start();
    }
    co_return co_await ctx.schedule_activity("B", "");
  });
  instance.complete("B", "");
  EXPECT_THAT(instance.failure().message, HasSubstr("regressions_test.cpp:"));
}

// 10. An execution that is kept after the engine ended it writes a second end with the next message.
TEST(Regression, AKeptExecutionIsEndedByTheEngineOnce) {
  Instance instance{one_step, Mode::resident};
  instance.start();
  instance.complete(EventId{9});
  const std::size_t size = instance.history().size();
  EXPECT_EQ(instance.complete("A", "late").ignored_messages, 1u);
  EXPECT_EQ(instance.history().size(), size) << testing::PrintToString(instance.story());
}

// 11. A turn that only ignores messages calls an execution running that has ended: a commit would store that.
TEST(Regression, ATurnAfterTheEndStillReportsTheEnd) {
  for (const Mode mode : {Mode::resident, Mode::fresh}) {
    Instance completed{one_step, mode};
    completed.start();
    completed.complete("A", "a");
    EXPECT_EQ(completed.cancel("late").status, Status::completed);
    EXPECT_EQ(completed.turn().output, Payload::text("a"));
    EXPECT_THAT(completed.turn().messages, IsEmpty());

    Instance failed{one_step, mode};
    failed.start();
    failed.fail("A", "no");
    EXPECT_EQ(failed.cancel("late").status, Status::failed);
    EXPECT_EQ(failed.turn().failure->message, "no");

    Instance cancelled{graceful(one_step), mode};
    cancelled.start();
    cancelled.cancel("enough");
    EXPECT_EQ(cancelled.complete("A", "late").status, Status::cancelled);
    EXPECT_EQ(cancelled.turn().failure, Failure::cancelled("enough"));

    Instance continued{
        [](Context& ctx) -> Task<std::string> { co_return co_await ctx.continue_as_new("next"); }, mode};
    continued.start();
    EXPECT_EQ(continued.cancel("late").status, Status::continued_as_new);
    EXPECT_THAT(continued.turn().messages, IsEmpty());
  }
}

}  // namespace
}  // namespace duramen::core_test
