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
  EXPECT_THAT(instance.story(), ElementsAre("started", "failed: cancelled: no such code"));
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

TEST(Cancel, InOneBatchWithTheStartRunsNoCodeEvenIfItIsGraceful) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    ADD_FAILURE() << "the code must not run";
    co_return co_await ctx.schedule_activity("A", "");
  };
  Instance instance{graceful(code)};
  instance.deliver(
      {instance.started(), Instance::raising("go", "1"), instance.cancelling("changed my mind")});
  EXPECT_THAT(instance.story(), ElementsAre("started", "failed: cancelled: changed my mind"));
  const auto& started = std::get<event::OrchestrationStarted>(instance.history().front().body);
  ASSERT_TRUE(started.cancel.has_value());
  EXPECT_EQ(started.cancel->reason, "changed my mind");
  EXPECT_THAT(instance.turn().taken, ElementsAre(0u, 1u, 2u));
}

TEST(Cancel, TheStrongestOneInABatchBecomesPartOfTheBeginning) {
  Instance instance{two_steps};
  instance.deliver(
      {instance.started(), instance.cancelling("please"), instance.cancelling("now", CancelMode::terminate)});
  EXPECT_EQ(instance.failure().message, "now");
}

TEST(Cancel, OfAParentThatDidNotStartItIsNoPartOfTheBeginning) {
  Instance instance{two_steps};
  const ParentLink other{"other", Incarnation{3}, ExecutionId{1}, EventId{2}};
  instance.deliver({instance.started(),
                    message::CancelInstance{"not yours", CancelMode::graceful, CancelOrigin::parent, other}});
  EXPECT_TRUE(instance.running());
  EXPECT_EQ(instance.turn().ignored_messages, 1u);
}

TEST(Cancel, NeedsNoCodeWhereverItStandsInTheBatch) {
  Instance instance{two_steps};
  instance.start();
  instance.undeploy();
  instance.deliver(
      {Instance::raising("go", "1"), instance.completion("A", "a"), instance.cancelling("stop")});
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("event go: 1", "A completed", "cancel requested: stop",
                          "Side cancelled: orchestration_terminal_cancelled", "failed: cancelled: stop"));
}

// -- executions that continue as new without waiting
// ---------------------------------------------------------

Task<std::string> spins(Context& ctx) { co_return co_await ctx.continue_as_new(""); }

// Such a turn ended before the cancel: the message was stored as an event to which no code had reacted.
TEST(Cancel, NeedsNoCodeBehindALargeMessage) {
  Instance instance{
      handler_of([](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_wait("go"); }),
      Mode::fresh};
  instance.start();
  instance.undeploy();
  const std::string large(std::size_t{9} << 20u, 'x');
  instance.deliver(
      {Instance::raising("go", large), Instance::raising("go", large), instance.cancelling("enough")});
  EXPECT_EQ(instance.status(), Status::cancelled);
}

TEST(CancelAcrossContinueAsNew, EndsALoopThatNeverWaits) {
  for (const bool cleans_up : {false, true}) {
    Instance first{cleans_up ? graceful(spins) : handler_of(spins)};
    first.start();
    const message::ContinueAsNew next = first.next_execution();
    Instance second{cleans_up ? graceful(spins) : handler_of(spins),
                    Mode::every_way,
                    {},
                    {"instance", Incarnation{1}, ExecutionId{2}}};
    second.deliver({next, second.cancelling("enough")});
    EXPECT_THAT(second.story(), ElementsAre("started", "failed: cancelled: enough"));
    EXPECT_EQ(second.status(), Status::cancelled);
  }
}

TEST(CancelAcrossContinueAsNew, AGracefulExecutionCleansUp) {
  const auto code = [](Context& ctx, std::string input) -> Task<std::string> {
    if (input.empty()) co_return co_await ctx.continue_as_new("x");
    std::string why;
    try {
      co_await ctx.schedule_activity("Work", "");
    } catch (const CancelledError& error) {
      why = error.what();
    }
    const auto undo = [](Context& c) -> Task<std::string> {
      co_return co_await c.schedule_activity("Undo", "");
    };
    co_await ctx.shield(1h, undo(ctx));
    co_return why;
  };
  Instance second{graceful(code), Mode::every_way, {}, {"instance", Incarnation{1}, ExecutionId{2}}};
  message::ContinueAsNew next;
  next.orchestration = "subject";
  next.input = Payload::text("x");
  second.deliver({next, second.cancelling("enough")});
  EXPECT_THAT(second.story(), ElementsAre("started", "Undo scheduled", "timer 3600000ms created"));
  EXPECT_EQ(second.status(), Status::cancelling);
  second.complete("Undo", "");
  EXPECT_EQ(second.status(), Status::cancelled);
  EXPECT_EQ(second.failure(), Failure::cancelled("enough"));
}

TEST(CancelAcrossContinueAsNew, TerminateEndsAGracefulExecutionBeforeItsCodeRuns) {
  Instance second{graceful([](Context& ctx) -> Task<std::string> {
                    ADD_FAILURE() << "the code must not run";
                    co_return co_await ctx.schedule_activity("A", "");
                  }),
                  Mode::every_way,
                  {},
                  {"instance", Incarnation{1}, ExecutionId{2}}};
  message::ContinueAsNew next;
  next.orchestration = "subject";
  second.deliver({next, second.cancelling("now", CancelMode::terminate)});
  EXPECT_THAT(second.story(), ElementsAre("started", "failed: cancelled: now"));
}

// -- children
// ------------------------------------------------------------------------------------------------

TEST(CancelOfChildren, HasTheWordsAndTheModeOfTheParentsOwn) {
  for (const CancelMode mode : {CancelMode::graceful, CancelMode::terminate}) {
    Instance instance{[](Context& ctx) -> Task<std::string> {
      co_return co_await ctx.schedule_sub_orchestration("child", "");
    }};
    instance.start();
    instance.cancel("the order was withdrawn", mode);
    const auto cancels = instance.messages<message::CancelInstance>();
    ASSERT_THAT(cancels, testing::SizeIs(1));
    EXPECT_EQ(cancels[0].second.reason, "the order was withdrawn");
    EXPECT_EQ(cancels[0].second.mode, mode);
    EXPECT_EQ(cancels[0].second.origin, CancelOrigin::parent);
  }
}

/// A child that is left behind, and cleaning up that takes a while.
Task<std::string> leaves_a_child(Context& ctx) {
  co_await ctx.select2(ctx.schedule_sub_orchestration("loser", ""), ctx.schedule_timer(1s));
  const auto undo = [](Context& c) -> Task<std::string> {
    co_return co_await c.schedule_activity("Undo", "");
  };
  try {
    co_await ctx.schedule_sub_orchestration("child", "");
  } catch (const CancelledError&) {
  }
  co_await ctx.shield(1h, undo(ctx));
  co_return "";
}

TEST(CancelOfChildren, TerminateReachesThoseThatCleanUp) {
  Instance instance{graceful(leaves_a_child)};
  instance.start();
  instance.fire("1000ms");
  instance.cancel("enough");
  ASSERT_EQ(instance.status(), Status::cancelling);
  instance.cancel("now", CancelMode::terminate);
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: now", "Undo cancelled: orchestration_terminal_cancelled",
                          "failed: cancelled: now"));
  const auto cancels = instance.messages<message::CancelInstance>();
  ASSERT_THAT(cancels, testing::SizeIs(2));
  EXPECT_EQ(cancels[0].second.parent, instance.link_to("loser"));
  EXPECT_EQ(cancels[1].second.parent, instance.link_to("child"));
  for (const auto& [target, cancel] : cancels) {
    EXPECT_EQ(cancel.reason, "now");
    EXPECT_EQ(cancel.mode, CancelMode::terminate);
    EXPECT_EQ(cancel.origin, CancelOrigin::parent);
  }
}

TEST(CancelOfChildren, TerminateSparesThoseThatHaveEnded) {
  Instance instance{graceful(leaves_a_child)};
  instance.start();
  instance.fire("1000ms");
  instance.cancel("enough");
  instance.fail_child("loser", Failure::cancelled("enough"));
  instance.fail_child("child", Failure::cancelled("enough"));
  instance.cancel("now", CancelMode::terminate);
  EXPECT_THAT(instance.messages<message::CancelInstance>(), testing::IsEmpty());
}

TEST(CancelOfChildren, NamesTheRequesterOfTheParentsOwn) {
  for (const bool cleans_up : {false, true}) {
    const auto code = [](Context& ctx) -> Task<std::string> {
      co_return co_await ctx.schedule_sub_orchestration("child", "");
    };
    Instance instance{cleans_up ? graceful(code) : handler_of(code)};
    instance.start();
    message::CancelInstance request{"enough"};
    request.requested_by = "ann";
    instance.deliver({request});
    const auto cancels = instance.messages<message::CancelInstance>();
    ASSERT_THAT(cancels, testing::SizeIs(1));
    EXPECT_EQ(cancels[0].second.requested_by, "ann");
    EXPECT_EQ(std::get<event::SubOrchestrationCancelRequested>(
                  instance.events<event::SubOrchestrationCancelRequested>().at(0).body)
                  .requested_by,
              "ann");
  }
}

TEST(CancelOfChildren, TerminateOfThoseThatCleanUpNamesItsRequester) {
  Instance instance{graceful(leaves_a_child)};
  instance.start();
  instance.fire("1000ms");
  instance.cancel("enough");
  message::CancelInstance request{"now", CancelMode::terminate};
  request.requested_by = "ann";
  instance.deliver({request});
  const auto cancels = instance.messages<message::CancelInstance>();
  ASSERT_THAT(cancels, testing::SizeIs(2));
  EXPECT_EQ(cancels[1].second.requested_by, "ann");
}

TEST(CancelOfChildren, NamesTheReasonIfTheParentIsNotCancelled) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.schedule_sub_orchestration("child", ""), ctx.schedule_timer(1s));
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.fire("1000ms");
  const auto cancels = instance.messages<message::CancelInstance>();
  ASSERT_THAT(cancels, testing::SizeIs(1));
  EXPECT_EQ(cancels[0].second.reason, "select_loser");
  EXPECT_EQ(cancels[0].second.mode, CancelMode::graceful);
}

}  // namespace
}  // namespace duramen::core_test
