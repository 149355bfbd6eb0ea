// Cancelling an instance: decided from its history, without its code.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Task<std::string> two_steps(Context& ctx) {
  auto side = ctx.schedule_activity("Side", "").start();
  auto timer = ctx.schedule_timer(1h).start();
  auto a = co_await ctx.schedule_activity("A", "");
  co_return a + co_await ctx.schedule_activity("B", "");
}

TEST(Cancel, InTheMiddleEndsTheInstanceAndEverythingItHasOpen) {
  Instance instance{two_steps};
  instance.start();
  instance.complete("A", "a");
  instance.cancel("user request");
  EXPECT_THAT(
      instance.last_turn(),
      ElementsAre("cancel requested: user request", "Side cancelled: orchestration_terminal_cancelled",
                  "B cancelled: orchestration_terminal_cancelled", "failed: cancelled: user request"));
  EXPECT_EQ(instance.status(), Status::cancelled);
  EXPECT_EQ(instance.failure(), Failure::cancelled("user request"));
  EXPECT_THAT(instance.stopped(), ElementsAre("Side", "B"));
  EXPECT_EQ(instance.turn().cancel_rest, CancelReason::orchestration_terminal_cancelled);
  EXPECT_THAT(instance.timers_waiting(), IsEmpty());
}

TEST(Cancel, InOneBatchWithTheStartSendsNothing) {
  Instance instance{two_steps};
  instance.deliver({instance.started(), instance.cancelling("changed my mind")});
  EXPECT_EQ(instance.status(), Status::cancelled);
  EXPECT_THAT(instance.sent(), IsEmpty());
  EXPECT_THAT(instance.stopped(), IsEmpty());
  EXPECT_THAT(instance.turn().messages, IsEmpty());
  EXPECT_THAT(instance.story().back(), "failed: cancelled: changed my mind");
}

TEST(Cancel, BeforeAnyCodeIsKnownEndsTheInstance) {
  Instance instance{std::shared_ptr<const OrchestrationHandler>{}, Mode::every_way};
  instance.deliver({instance.started(), instance.cancelling("no such code")});
  EXPECT_THAT(instance.story(),
              ElementsAre("started", "cancel requested: no such code", "failed: cancelled: no such code"));
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(Cancel, NeedsNoCode) {
  Instance instance{two_steps};
  instance.start();
  instance.complete("A", "a");
  instance.undeploy();
  instance.cancel("no code any more");
  EXPECT_THAT(
      instance.last_turn(),
      ElementsAre("cancel requested: no code any more", "Side cancelled: orchestration_terminal_cancelled",
                  "B cancelled: orchestration_terminal_cancelled", "failed: cancelled: no code any more"));
}

TEST(Cancel, IsDecidedWithoutTheCodeEvenIfTheCodeWouldMismatch) {
  Instance instance{two_steps};
  instance.start();
  instance.complete("A", "a");
  instance.deploy([](Context& ctx) -> Task<std::string> {
    ADD_FAILURE() << "the code must not run";
    co_return co_await ctx.schedule_activity("Other", "");
  });
  instance.cancel("stop");
  EXPECT_EQ(instance.status(), Status::cancelled);
  EXPECT_THAT(instance.stopped(), ElementsAre("Side", "B"));
}

TEST(Cancel, AfterTheEndIsIgnored) {
  Instance instance{[](Context&) -> Task<int> { co_return 1; }};
  instance.start();
  EXPECT_EQ(instance.cancel().ignored_messages, 1u);
  EXPECT_THAT(instance.last_turn(), IsEmpty());
  EXPECT_EQ(instance.status(), Status::completed);
}

TEST(Cancel, ASecondOneIsIgnored) {
  Instance instance{two_steps};
  instance.start();
  instance.deliver({instance.cancelling("first"), instance.cancelling("second")});
  EXPECT_EQ(instance.turn().ignored_messages, 1u);
  EXPECT_EQ(instance.cancel("third").ignored_messages, 1u);
  EXPECT_EQ(instance.failure().message, "first");
}

TEST(Cancel, AfterAReturnInOneBatchComesTooLate) {
  Instance instance{two_steps};
  instance.start();
  instance.complete("A", "a");
  instance.deliver({instance.completion("B", "b"), instance.cancelling("too late")});
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("B completed", "Side cancelled: dropped_future", "completed: ab"));
  EXPECT_EQ(instance.status(), Status::completed);
  EXPECT_EQ(instance.turn().ignored_messages, 1u);
}

TEST(Cancel, BeforeACompletionInOneBatchWins) {
  Instance instance{two_steps};
  instance.start();
  instance.complete("A", "a");
  instance.deliver({instance.cancelling("in time"), instance.completion("B", "b")});
  EXPECT_EQ(instance.status(), Status::cancelled);
  EXPECT_TRUE(instance.events<event::ActivityCompleted>().size() == 1u) << "B's is acknowledged away";
  EXPECT_EQ(instance.turn().ignored_messages, 1u);
}

TEST(Cancel, AfterACompletionThatDoesNotEndItLetsTheCodeReactFirst) {
  Instance instance{two_steps};
  instance.start();
  instance.deliver({instance.completion("A", "a"), instance.cancelling("stop")});
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("A completed", "B scheduled", "cancel requested: stop",
                          "Side cancelled: orchestration_terminal_cancelled",
                          "B cancelled: orchestration_terminal_cancelled", "failed: cancelled: stop"));
  EXPECT_THAT(instance.sent(), IsEmpty());
  EXPECT_THAT(instance.stopped(), ElementsAre("Side")) << "B never had a row";
}

TEST(Cancel, NotifiesTheActivitiesThatTheParentAskedForIt) {
  Instance instance{two_steps};
  instance.start();
  instance.deliver(
      {message::CancelInstance{"the parent ended", CancelMode::graceful, CancelOrigin::parent, {}}});
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: the parent ended", "Side cancelled: parent_cancelled",
                          "A cancelled: parent_cancelled", "failed: cancelled: the parent ended"));
  EXPECT_EQ(instance.turn().cancel_rest, CancelReason::parent_cancelled);
}

TEST(Cancel, DoesNotCancelAgainWhatTheCodeDropped) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.schedule_activity("A", ""), ctx.schedule_timer(1s));
    co_return co_await ctx.schedule_activity("B", "");
  }};
  instance.start();
  instance.fire("1000ms");
  instance.cancel("stop");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: stop", "B cancelled: orchestration_terminal_cancelled",
                          "failed: cancelled: stop"));
}

TEST(Cancel, IsNotSeenByTheCodeOfAnOrchestrationThatIsNotGraceful) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    try {
      co_await ctx.schedule_activity("A", "");
    } catch (...) {
      ADD_FAILURE() << "a frame that ends is destroyed, not thrown through";
    }
    co_return "went on";
  }};
  instance.start();
  instance.cancel("stop");
  EXPECT_EQ(instance.status(), Status::cancelled);
}

}  // namespace
}  // namespace duramen::core_test
