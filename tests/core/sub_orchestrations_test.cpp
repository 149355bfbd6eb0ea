// Children: how they are named, started, answered and cancelled.

#include "core/harness.hpp"
#include "core/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const InstanceId first_child = "instance::sub::1.2";

/// Drops its child when the timer fires.
Task<std::string> drops_child(Context& ctx) {
  std::optional child = ctx.schedule_sub_orchestration("greet", "ann").start();
  co_await ctx.schedule_timer(1s);
  child.reset();
  co_return co_await ctx.schedule_activity("B", "");
}

Task<std::string> awaits_child(Context& ctx) {
  co_return co_await ctx.schedule_sub_orchestration("greet", "ann");
}

// -- starting and answering ---------------------------------------------------------------------------------

TEST(SubOrchestrations, AChildIsNamedAfterItsParentsExecutionAndEvent) {
  Instance instance{awaits_child};
  instance.start();
  const auto starts = instance.messages<message::StartOrchestration>();
  ASSERT_THAT(starts, SizeIs(1));
  EXPECT_EQ(starts[0].first, first_child);
  EXPECT_EQ(starts[0].second.orchestration, "greet");
  EXPECT_EQ(starts[0].second.input, Payload::text("ann"));
  EXPECT_EQ(starts[0].second.parent, instance.link_to("greet"));
  instance.complete_child("greet", std::string("hello ann"));
  EXPECT_EQ(instance.output(), "hello ann");
}

TEST(SubOrchestrations, IdAndVersionCanBeChosen) {
  static constexpr Orchestration<int(int)> twice{"twice"};
  Instance instance{[](Context& ctx) -> Task<int> {
    co_return co_await ctx.schedule_sub_orchestration(twice, 21, ChildOptions().id("mine").version("2.0.0"));
  }};
  instance.start();
  const auto starts = instance.messages<message::StartOrchestration>();
  ASSERT_THAT(starts, SizeIs(1));
  EXPECT_EQ(starts[0].first, InstanceId("mine"));
  EXPECT_EQ(starts[0].second.version, "2.0.0");
  instance.complete_child("twice", 42);
  EXPECT_EQ(instance.output<int>(), 42);
}

TEST(SubOrchestrations, AFailureOfAChildKeepsItsStructure) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    try {
      co_return co_await ctx.schedule_sub_orchestration("greet", "");
    } catch (const SubOrchestrationError& error) {
      co_return error.failure().type + "/" + error.failure().details;
    }
  }};
  instance.start();
  Failure failure = Failure::application("Shy", "says nothing");
  failure.details = "{}";
  instance.fail_child("greet", failure);
  EXPECT_EQ(instance.output(), "Shy/{}");
}

TEST(SubOrchestrations, AnAnswerToAnotherExecutionOrIncarnationIsIgnored) {
  Instance instance{awaits_child};
  instance.start();
  ParentLink link = instance.link_to("greet");
  link.execution = ExecutionId{2};
  EXPECT_EQ(instance.deliver({message::SubOrchestrationCompleted{link, Payload::text("x")}}).ignored_messages,
            1u);
  link = instance.link_to("greet");
  link.incarnation = Incarnation{9};
  EXPECT_EQ(instance.deliver({message::SubOrchestrationFailed{link, {}}}).ignored_messages, 1u);
  link = instance.link_to("greet");
  link.instance = "somebody else";
  EXPECT_EQ(instance.deliver({message::SubOrchestrationFailed{link, {}}}).ignored_messages, 1u);
  EXPECT_TRUE(instance.running());
  instance.complete_child("greet", std::string("right"));
  EXPECT_EQ(instance.output(), "right");
}

// The reference compares a repeated answer only with answers of its own kind: a failure after a completion
// fails the parent with "completion without open schedule".
TEST(SubOrchestrations, ASecondAnswerOfEitherKindIsIgnored) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_sub_orchestration("greet", "");
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.complete_child("greet", std::string("once"));
  EXPECT_EQ(instance.fail_child("greet", Failure::application("Late", "")).ignored_messages, 1u);
  EXPECT_EQ(instance.complete_child("greet", std::string("again")).ignored_messages, 1u);
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "a");
}

// -- not wanted any more ------------------------------------------------------------------------------------

TEST(SubOrchestrations, non_awaited_sub_orchestration) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto never = ctx.schedule_sub_orchestration("greet", "");
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "A scheduled"));
  instance.complete("A", "a");
  EXPECT_THAT(instance.events<event::SubOrchestrationScheduled>(), IsEmpty());
}

TEST(SubOrchestrations, sub_orch_drop_before_poll) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::optional child = ctx.schedule_sub_orchestration("greet", "");
    child.reset();
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "A scheduled"));
  EXPECT_THAT(instance.turn().messages, IsEmpty());
}

TEST(SubOrchestrations, sub_orch_drop_after_poll) {
  Instance instance{drops_child};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "B scheduled", "child greet cancelled: dropped_future"));
}

TEST(SubOrchestrations, dropped_sub_orchestration_emits_cancel_requested) {
  Instance instance{drops_child};
  instance.start();
  instance.fire("1000ms");
  const auto requests = instance.events<event::SubOrchestrationCancelRequested>();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].source, instance.id_of("child greet"));
  const auto cancels = instance.messages<message::CancelInstance>();
  ASSERT_THAT(cancels, SizeIs(1));
  EXPECT_EQ(cancels[0].first, first_child);
  EXPECT_EQ(cancels[0].second.reason, "dropped_future");
  EXPECT_EQ(cancels[0].second.origin, CancelOrigin::parent);
  EXPECT_EQ(cancels[0].second.parent, instance.link_to("greet"));
  // The child's answer is recorded in history, but wakes no code.
  instance.fail_child("greet", Failure::cancelled("dropped_future"));
  EXPECT_THAT(instance.last_turn(), ElementsAre("child greet failed"));
  EXPECT_THAT(instance.turn().messages, IsEmpty());
}

TEST(SubOrchestrations, explicit_drop_sub_orchestration) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::optional child = ctx.schedule_sub_orchestration("greet", "").start();
    child.reset();
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  // Scheduled and dropped in one turn: both are in history, nothing leaves.
  EXPECT_THAT(instance.story(), ElementsAre("started", "child greet scheduled", "A scheduled",
                                            "child greet cancelled: dropped_future"));
  EXPECT_THAT(instance.turn().messages, IsEmpty());
}

// The reference sends a cancel to a child that was never started; the orphan message blocks the head of its
// queue.
TEST(SubOrchestrations, AChildScheduledInTheLastTurnIsNeitherStartedNorCancelled) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_activity("A", "");
    auto child = ctx.schedule_sub_orchestration("greet", "").start();
    co_return "done";
  }};
  instance.start();
  instance.complete("A", "");
  EXPECT_THAT(instance.last_turn(), ElementsAre("A completed", "child greet scheduled",
                                                "child greet cancelled: dropped_future", "completed: done"));
  EXPECT_THAT(instance.turn().messages, IsEmpty());
}

TEST(SubOrchestrations, sub_orch_select_loser) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.schedule_sub_orchestration("greet", ""), ctx.schedule_timer(1s));
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "A scheduled", "child greet cancelled: select_loser"));
  ASSERT_THAT(instance.messages<message::CancelInstance>(), SizeIs(1));
  EXPECT_EQ(instance.messages<message::CancelInstance>()[0].second.reason, "select_loser");
}

TEST(SubOrchestrations, sub_orch_cancel_already_completed) {
  Instance instance{drops_child};
  instance.start();
  instance.complete_child("greet", std::string("done before"));
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 1000ms fired", "B scheduled"));
  EXPECT_THAT(instance.turn().messages, IsEmpty());
}

TEST(SubOrchestrations, sub_orch_cancel_already_failed) {
  Instance instance{drops_child};
  instance.start();
  instance.fail_child("greet", Failure::application("Shy", ""));
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 1000ms fired", "B scheduled"));
  EXPECT_THAT(instance.turn().messages, IsEmpty());
}

TEST(SubOrchestrations, sub_orch_multiple_children_selective_cancel) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto a = ctx.schedule_sub_orchestration("a", "").start();
    std::optional b = ctx.schedule_sub_orchestration("b", "").start();
    auto c = ctx.schedule_sub_orchestration("c", "").start();
    co_await ctx.schedule_timer(1s);
    b.reset();
    auto first = co_await a;
    co_return first + co_await c;
  }};
  instance.start();
  instance.fire("1000ms");
  ASSERT_THAT(instance.messages<message::CancelInstance>(), SizeIs(1));
  EXPECT_EQ(instance.messages<message::CancelInstance>()[0].first, InstanceId("instance::sub::1.3"));
  instance.complete_child("c", std::string("c"));
  instance.complete_child("a", std::string("a"));
  EXPECT_EQ(instance.output(), "ac");
}

TEST(SubOrchestrations, ADetachedChildIsNotDroppedButEndsWithItsParent) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.schedule_sub_orchestration("greet", "").detach();
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  EXPECT_THAT(instance.messages<message::StartOrchestration>(), SizeIs(1));
  instance.complete("A", "a");
  EXPECT_THAT(instance.last_turn(), Contains("child greet cancelled: orchestration_terminal_completed"));
  EXPECT_THAT(instance.messages<message::CancelInstance>(), SizeIs(1));
}

// The reference cancels open children only when the parent was cancelled.
TEST(SubOrchestrations, EveryKindOfEndCancelsOpenChildren) {
  const auto ends = [](Context& ctx) -> Task<std::string> {
    ctx.schedule_sub_orchestration("greet", "").detach();
    auto how = co_await ctx.schedule_activity("How", "");
    if (how == "throw") throw std::runtime_error("as asked");
    if (how == "continue") co_return co_await ctx.continue_as_new("");
    co_return how;
  };
  const auto end_by = [&ends](auto what) {
    Instance instance{ends};
    instance.start();
    what(instance);
    EXPECT_THAT(instance.messages<message::CancelInstance>(), SizeIs(1));
    return instance.messages<message::CancelInstance>().at(0).second.reason;
  };
  EXPECT_EQ(end_by([](Instance& i) { i.complete("How", "return"); }), "orchestration_terminal_completed");
  EXPECT_EQ(end_by([](Instance& i) { i.complete("How", "throw"); }), "orchestration_terminal_failed");
  EXPECT_EQ(end_by([](Instance& i) { i.complete("How", "continue"); }),
            "orchestration_terminal_continued_as_new");
  EXPECT_EQ(end_by([](Instance& i) { i.cancel("enough"); }), "enough");
  EXPECT_EQ(end_by([](Instance& i) { i.complete(EventId{9}); }), "orchestration_terminal_failed");
}

// -- by name alone ------------------------------------------------------------------------------------------

Task<int> without_input(Context& ctx) {
  const int count = co_await ctx.schedule_activity<int>("Count");
  co_return count + co_await ctx.schedule_sub_orchestration<int>("add");
}

TEST(SubOrchestrations, CodeWithoutInputIsScheduledByItsNameAlone) {
  Instance instance{without_input};
  instance.start();
  instance.complete("Count", 2);
  instance.complete_child("add", 40);
  EXPECT_THAT(instance.story(), ElementsAre("started", "Count scheduled", "Count completed", HasSubstr("add"),
                                            HasSubstr("add"), "completed: 42"));
  const auto& scheduled = std::get<event::ActivityScheduled>(instance.history().at(1).body);
  EXPECT_EQ(scheduled.input, Payload::none());
}

// -- depth
// ---------------------------------------------------------------------------------------------------

message::ContinueAsNew at_depth(std::uint32_t depth) {
  message::ContinueAsNew start;
  start.orchestration = "subject";
  start.depth = depth;
  return start;
}

TEST(Depth, AChildIsOneBelowItsParent) {
  Instance instance{awaits_child};
  instance.deliver({at_depth(99)});
  const auto starts = instance.messages<message::StartOrchestration>();
  ASSERT_THAT(starts, SizeIs(1));
  EXPECT_EQ(starts[0].second.depth, 100u);
}

TEST(Depth, OneMoreThanTheLimitThrowsWhereTheCodeCalls) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::string what;
    try {
      co_await ctx.schedule_sub_orchestration("greet", "ann");
    } catch (const LimitError& error) {
      what = error.failure().message;
    }
    co_return what + co_await ctx.schedule_activity("A", "");
  }};
  instance.deliver({at_depth(100)});
  EXPECT_THAT(instance.messages<message::StartOrchestration>(), testing::IsEmpty());
  instance.complete("A", "");
  EXPECT_EQ(instance.output(), "a child of this instance would have 101 ancestors; max_depth allows 100");
}

// The code had caught the LimitError; with a higher limit it scheduled a child where history had none.
TEST(Depth, AnExecutionKeepsTheLimitUnderWhichItBegan) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    bool refused = false;
    try {
      co_await ctx.schedule_sub_orchestration("greet", "ann");
    } catch (const LimitError&) {
      refused = true;
    }
    if (!refused) co_return "";
    co_return co_await ctx.schedule_activity("A", "");
  };
  for (const std::uint32_t later : {0u, 1u, 3u, default_max_depth}) {
    Instance before{handler_of(code), Mode::fresh, {.max_depth = 2}};
    before.deliver({at_depth(2)});
    ASSERT_THAT(before.worker_queue(), testing::ElementsAre("A"));
    Instance after{handler_of(code), Mode::fresh, {.max_depth = later}};
    after.forge(before.history());
    after.complete("A", "as before");
    EXPECT_EQ(after.output(), "as before");
  }
}

TEST(Depth, ALowerLimitIsOnlyForExecutionsThatBeginLater) {
  Instance before{awaits_child, Mode::fresh, {.max_depth = 3}};
  before.deliver({at_depth(2)});
  Instance after{awaits_child, Mode::fresh, {.max_depth = 2}};
  after.forge(before.history());
  after.complete_child("greet", "hello");
  EXPECT_EQ(after.status(), Status::completed);
}

TEST(Depth, StaysTheSameOverContinueAsNew) {
  Instance instance{[](Context& ctx) -> Task<std::string> { co_return co_await ctx.continue_as_new(""); }};
  instance.deliver({at_depth(7)});
  EXPECT_EQ(instance.next_execution().depth, 7u);
}

TEST(Depth, ADetachedStartBeginsAtZero) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.schedule_orchestration("other", "free", "");
    co_return "";
  }};
  instance.deliver({at_depth(100)});
  const auto starts = instance.messages<message::StartOrchestration>();
  ASSERT_THAT(starts, SizeIs(1));
  EXPECT_EQ(starts[0].second.depth, 0u);
}

}  // namespace
}  // namespace duramen::core_test
