// Messages to an instance, and the handling of those that fit nothing.

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

Task<std::string> two_steps(Context& ctx) {
  auto timer = ctx.schedule_timer(1h).start();
  auto a = co_await ctx.schedule_activity("A", "");
  co_return a + co_await ctx.schedule_activity("B", "");
}

TEST(CompletionMessages, ASecondCompletionIsIgnored) {
  Instance instance{two_steps};
  instance.start();
  instance.complete("A", "a");
  EXPECT_EQ(instance.complete("A", "again").ignored_messages, 1u);
  EXPECT_THAT(instance.last_turn(), IsEmpty());
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "ab");
}

TEST(CompletionMessages, TheFirstOfTwoCompletionsInOneBatchCounts) {
  Instance instance{two_steps};
  instance.start();
  instance.deliver({instance.failing("A", "broken"), instance.completion("A", "a")});
  EXPECT_THAT(instance.last_turn(), ElementsAre("A failed", "failed: broken"));
  EXPECT_EQ(instance.turn().ignored_messages, 1u);
}

TEST(CompletionMessages, ACompletionOfAnotherExecutionIsIgnored) {
  Instance instance{two_steps};
  instance.start();
  instance.deliver({message::ActivityCompleted{ExecutionId{2}, instance.id_of("A"), Payload::text("")},
                    message::ActivityFailed{ExecutionId{2}, instance.id_of("A"), {}},
                    message::TimerFired{ExecutionId{2}, instance.timer_id("3600000ms"), {}},
                    message::ActivityCompleted{ExecutionId{2}, EventId{99}, Payload::text("")}});
  EXPECT_EQ(instance.turn().ignored_messages, 4u);
  EXPECT_THAT(instance.last_turn(), IsEmpty());
  EXPECT_TRUE(instance.running());
}

TEST(CompletionMessages, ACompletionOfSomethingUnknownFailsTheInstance) {
  Instance instance{two_steps};
  instance.start();
  instance.complete(EventId{9});
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
  EXPECT_THAT(instance.failure().message, HasSubstr("ActivityCompleted arrived for event 9"));
  EXPECT_THAT(instance.stopped(), ElementsAre("A")) << "what was open is cancelled";
  ASSERT_EQ(instance.events<event::ActivityCancelRequested>().size(), 1u);
  EXPECT_EQ(
      std::get<event::ActivityCancelRequested>(instance.events<event::ActivityCancelRequested>().front().body)
          .reason,
      CancelReason::orchestration_terminal_failed);
}

TEST(CompletionMessages, AnActivitysCompletionForATimerFailsTheInstance) {
  Instance instance{two_steps};
  instance.start();
  instance.complete(instance.timer_id("3600000ms"));
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
  EXPECT_THAT(instance.failure().message, HasSubstr("ActivityCompleted arrived for event 2"));
}

TEST(CompletionMessages, ATimerThatFiresForAnActivityFailsTheInstance) {
  Instance instance{two_steps};
  instance.start();
  instance.deliver({message::TimerFired{ExecutionId{1}, instance.id_of("A"), {}}});
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
  EXPECT_THAT(instance.failure().message, HasSubstr("TimerFired arrived for event 3"));
}

TEST(CompletionMessages, MessagesBeforeAWrongOneInTheBatchStand) {
  Instance instance{two_steps};
  instance.start();
  instance.deliver({instance.completion("A", "a"),
                    message::ActivityCompleted{ExecutionId{1}, EventId{99}, {}},
                    instance.completion("A", "never read")});
  EXPECT_THAT(instance.last_turn(),
              testing::ElementsAre("A completed", "B scheduled", "B cancelled: orchestration_terminal_failed",
                                   HasSubstr("failed: nondeterminism")));
  EXPECT_THAT(instance.turn().segments, ElementsAre(0u, 2u));
  EXPECT_THAT(instance.sent(), IsEmpty());
  EXPECT_THAT(instance.stopped(), IsEmpty()) << "B never had a row";
}

TEST(CompletionMessages, ATimerThatFiresTwiceFiresOnce) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_timer(1s);
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_EQ(instance.fire("1000ms").ignored_messages, 1u);
  EXPECT_THAT(instance.last_turn(), IsEmpty());
}

TEST(CompletionMessages, ASecondStartIsIgnored) {
  Instance instance{two_steps};
  instance.deliver({instance.started(), instance.started()});
  EXPECT_EQ(instance.turn().ignored_messages, 1u);
  EXPECT_EQ(instance.start().ignored_messages, 1u);
  EXPECT_EQ(instance.events<event::OrchestrationStarted>().size(), 1u);
}

TEST(CompletionMessages, AfterTheEndEverythingIsIgnored) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto slow = ctx.schedule_activity("Slow", "").start();
    auto timer = ctx.schedule_timer(1s).start();
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.complete("A", "a");
  EXPECT_EQ(instance.status(), Status::completed);
  instance.deliver({instance.completion("Slow", "late"), instance.failing("A", "again"),
                    instance.firing("1000ms"), instance.started(), instance.cancelling("late"),
                    message::ActivityCompleted{ExecutionId{1}, EventId{99}, {}}});
  EXPECT_EQ(instance.turn().ignored_messages, 6u);
  EXPECT_THAT(instance.last_turn(), IsEmpty());
  EXPECT_FALSE(instance.turn().cancel_rest.has_value());
}

TEST(CompletionMessages, MessagesAfterTheEndInOneBatchAreIgnored) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_activity("B", ""));
    co_return winner.is_first() ? "A" : "B";
  }};
  instance.start();
  instance.deliver({instance.completion("B", ""), instance.completion("A", "")});
  EXPECT_THAT(instance.last_turn(), ElementsAre("B completed", "A cancelled: select_loser", "completed: B"));
  EXPECT_EQ(instance.turn().ignored_messages, 1u);
}

// In the reference a second failure, or a failure after a completion, of an earlier turn passes and kills the
// instance.
TEST(CompletionMessages, ASecondAnswerOfEitherKindIsIgnored) {
  for (const bool failed_first : {false, true}) {
    for (const bool failed_then : {false, true}) {
      Instance instance{[](Context& ctx) -> Task<std::string> {
        auto a = co_await ctx.schedule_activity("A", "").as_result();
        co_return co_await ctx.schedule_activity("B", "");
      }};
      instance.start();
      const auto answer = [&](bool fails) {
        return fails ? instance.failing("A", "no") : instance.completion("A", "a");
      };
      instance.deliver({answer(failed_first)});
      EXPECT_EQ(instance.deliver({answer(failed_then)}).ignored_messages, 1u);
      EXPECT_TRUE(instance.running());
      instance.complete("B", "b");
      EXPECT_EQ(instance.output(), "b");
    }
  }
}

TEST(CompletionMessages, ATimerThatFiresForNothingFailsTheInstance) {
  Instance instance{two_steps};
  instance.start();
  instance.deliver({message::TimerFired{ExecutionId{1}, EventId{9}, {}}});
  EXPECT_EQ(instance.failure().type, "UnmatchedCompletion");
  EXPECT_THAT(instance.failure().message, testing::HasSubstr("TimerFired arrived for event 9"));
}

TEST(CompletionMessages, AChildsAnswerToNothingFailsTheInstance) {
  Instance instance{two_steps};
  instance.start();
  const ParentLink link{"instance", Incarnation{1}, ExecutionId{1}, EventId{9}};
  instance.deliver({message::SubOrchestrationFailed{link, Failure::application("E", "")}});
  EXPECT_EQ(instance.failure().type, "UnmatchedCompletion");
  EXPECT_THAT(instance.failure().message, testing::HasSubstr("SubOrchestrationFailed arrived for event 9"));
}

// In the reference failures of these kinds end the orchestration before its code sees them.
TEST(CompletionMessages, AFailureOfAnyKindReachesTheCode) {
  for (const FailureKind kind : {FailureKind::timeout, FailureKind::poison, FailureKind::infrastructure,
                                 FailureKind::nondeterminism, FailureKind::limit, FailureKind::cancelled}) {
    Instance instance{[](Context& ctx) -> Task<std::string> {
      auto activity = co_await ctx.schedule_activity("A", "").as_result();
      auto child = co_await ctx.schedule_sub_orchestration("C", "").as_result();
      co_return std::string(to_string(activity.error().kind)) + " " +
          std::string(to_string(child.error().kind));
    }};
    Failure failure = Failure::application("T", "m");
    failure.kind = kind;
    instance.start();
    instance.fail(instance.id_of("A"), failure);
    instance.fail_child("C", failure);
    EXPECT_EQ(instance.output(), std::string(to_string(kind)) + " " + std::string(to_string(kind)));
  }
}

// In the reference a second start decides which code runs the turn.
TEST(CompletionMessages, ASecondStartNamesNoOtherCode) {
  Instance instance{two_steps};
  instance.start();
  instance.deliver(
      {message::StartOrchestration{"another", Payload::none(), "9.9.9", {}}, instance.completion("A", "a")});
  EXPECT_EQ(instance.turn().ignored_messages, 1u);
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "ab");
}

}  // namespace
}  // namespace duramen::core_test
