// Continue-as-new: what ends, what is carried forward, and what is not overridden.

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
using testing::SizeIs;

Task<std::string> continues(Context& ctx) {
  co_await ctx.schedule_activity("A", "");
  co_return co_await ctx.continue_as_new("next");
}

/// "kind name data", in order.
std::vector<std::string> carried(const Instance& instance) {
  std::vector<std::string> words;
  for (const CarriedEvent& event : instance.next_execution().carry_forward) {
    words.push_back((event.kind == CarriedEvent::Kind::queue ? "queue " : "event ") + event.name + " " +
                    event.data.data);
  }
  return words;
}

TEST(ContinueAsNew, EndsTheExecutionAndBeginsTheNext) {
  Instance instance{continues};
  instance.start();
  instance.complete("A", "");
  EXPECT_THAT(instance.last_turn(), ElementsAre("A completed", "continued: next"));
  EXPECT_EQ(instance.status(), Status::continued_as_new);
  const message::ContinueAsNew next = instance.next_execution();
  EXPECT_EQ(next.orchestration, "subject");
  EXPECT_EQ(next.input, Payload::text("next"));
  EXPECT_EQ(next.version, std::nullopt);
}

TEST(ContinueAsNew, TheNextExecutionStartsAFreshHistory) {
  World world;
  world.add("counts", [](Context& ctx, std::string input) -> Task<std::string> {
    co_await ctx.schedule_activity("Step", "");
    if (input.size() < 2) co_return co_await ctx.continue_as_new(input + "x");
    co_return std::to_string(ctx.execution_id().value) + input;
  });
  world.start("one", "counts");
  for (int i = 0; i < 3; ++i) world.act("one", [](Instance& instance) { instance.complete("Step", ""); });
  EXPECT_EQ(world.at("one").output(), "3xx");
  EXPECT_EQ(world.at("one").history().front().id, EventId{1});
  EXPECT_THAT(world.at("one").story(),
              ElementsAre("started", "Step scheduled", "Step completed", "completed: 3xx"));
}

TEST(ContinueAsNew, ACompletionForTheExecutionBeforeIsIgnored) {
  World world;
  world.add("subject", [](Context& ctx, std::string input) -> Task<std::string> {
    auto a = ctx.schedule_activity("A", "").start();
    if (input.empty()) {
      co_await ctx.schedule_activity("B", "");
      co_return co_await ctx.continue_as_new("x");
    }
    co_return co_await a;
  });
  world.start("one", "subject");
  const MessageBody late = world.at("one").completion("A", "of execution 1");
  world.act("one", [](Instance& i) { i.complete("B", ""); });
  world.post("one", late);
  EXPECT_TRUE(world.at("one").running());
  world.act("one", [](Instance& i) { i.complete("A", "of execution 2"); });
  EXPECT_EQ(world.at("one").output(), "of execution 2");
}

TEST(ContinueAsNew, AVersionIsPassedOn) {
  World world;
  world.add(
      "subject",
      [](Context& ctx) -> Task<std::string> { co_return co_await ctx.continue_as_new("", "2.0.0"); },
      "1.0.0");
  world.add(
      "subject",
      [](Context& ctx) -> Task<std::string> {
        co_await ctx.schedule_timer(1s);
        co_return ctx.orchestration_version();
      },
      "2.0.0");
  world.post("one", message::StartOrchestration{"subject", Payload::none(), "1.0.0", {}});
  world.act("one", [](Instance& i) { i.fire("1000ms"); });
  EXPECT_EQ(world.at("one").output(), "2.0.0");
}

// In the reference the call alone ends the execution, awaited or not.
TEST(ContinueAsNew, DoesNothingUntilItIsAwaited) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto never = ctx.continue_as_new("next");
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "a");
}

TEST(ContinueAsNew, OverridesNothingThatReturnedBefore) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto next = [](Context& c) -> Task<std::string> {
      co_await c.schedule_activity("B", "");
      co_return co_await c.continue_as_new("next");
    };
    auto winner = co_await ctx.select2(ctx.schedule_activity("A", ""), next(ctx));
    co_return winner.first();
  }};
  instance.start();
  instance.deliver({instance.completion("A", "returned"), instance.completion("B", "")});
  EXPECT_EQ(instance.output(), "returned");
  EXPECT_THAT(instance.messages<message::ContinueAsNew>(), IsEmpty());
}

TEST(ContinueAsNew, RunningWorkIsCancelled) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.schedule_activity("Slow", "").detach();
    ctx.schedule_timer(5s).detach();
    co_await ctx.schedule_activity("A", "");
    co_return co_await ctx.continue_as_new("");
  }};
  instance.start();
  instance.complete("A", "");
  EXPECT_THAT(
      instance.last_turn(),
      ElementsAre("A completed", "Slow cancelled: orchestration_terminal_continued_as_new", "continued: "));
  EXPECT_THAT(instance.timers_waiting(), IsEmpty());
}

// -- unconsumed events --------------------------------------------------------------------------------------

// The reference carries queue messages only, the first 20 of them.
TEST(ContinueAsNew, UnclaimedEventsGoAlongInTheOrderOfArrival) {
  Instance instance{continues};
  instance.start();
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    const std::string data = std::to_string(i);
    if (i % 2 == 0) {
      instance.enqueue("jobs", data);
      expected.push_back("queue jobs " + data);
    } else {
      instance.raise(i % 3 == 0 ? "x" : "y", data);
      expected.push_back((i % 3 == 0 ? "event x " : "event y ") + data);
    }
  }
  instance.complete("A", "");
  EXPECT_EQ(carried(instance), expected);
}

TEST(ContinueAsNew, TakenEventsStayBehind) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.dequeue_event("jobs");
    co_return co_await ctx.continue_as_new("");
  }};
  instance.deliver({instance.started(), Instance::enqueuing("other", "kept")});
  instance.enqueue("jobs", "taken");
  EXPECT_THAT(carried(instance), ElementsAre("queue other kept"));
}

TEST(ContinueAsNew, CarriedEventsAreThereFirst) {
  World world;
  world.add("subject", [](Context& ctx, std::string input) -> Task<std::string> {
    if (input.empty()) {
      co_await ctx.schedule_activity("A", "");
      co_return co_await ctx.continue_as_new("x");
    }
    auto first = co_await ctx.dequeue_event("jobs");
    auto second = co_await ctx.dequeue_event("jobs");
    co_return first + second + co_await ctx.schedule_wait("go");
  });
  world.start("one", "subject");
  world.post("one", Instance::enqueuing("jobs", "1"));
  world.post("one", Instance::raising("go", "3"));
  world.act("one", [](Instance& i) { i.complete("A", ""); });
  EXPECT_TRUE(world.at("one").running());
  world.post("one", Instance::enqueuing("jobs", "2"));
  EXPECT_EQ(world.at("one").output(), "123");
}

TEST(ContinueAsNew, UntakenEventsAreCarriedAgain) {
  World world;
  world.add("subject", [](Context& ctx, std::string input) -> Task<std::string> {
    co_await ctx.schedule_activity("A", "");
    if (input.size() < 2) co_return co_await ctx.continue_as_new(input + "x");
    co_return co_await ctx.schedule_wait("go");
  });
  world.start("one", "subject");
  world.post("one", Instance::raising("go", "old"));
  for (int i = 0; i < 3; ++i) world.act("one", [](Instance& instance) { instance.complete("A", ""); });
  EXPECT_EQ(world.at("one").output(), "old");
}

// In the reference the dropped dequeue counts as open until its cancellation is in history, and swallows the
// message.
TEST(ContinueAsNew, ADequeueThatWasDroppedInTheLastBatchTakesNothing) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.dequeue_event("jobs"), ctx.schedule_timer(1s));
    co_await ctx.schedule_activity("A", "");
    co_return co_await ctx.continue_as_new("");
  }};
  instance.start();
  const MessageBody done = message::ActivityCompleted{ExecutionId{1}, EventId{5}, Payload::text("")};
  instance.advance(1s);
  instance.deliver({instance.firing("1000ms"), Instance::enqueuing("jobs", "late"), done});
  EXPECT_THAT(carried(instance), ElementsAre("queue jobs late"));
}

TEST(ContinueAsNew, LaterMessagesOfTheSameBatchStayInTheQueue) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto wait = ctx.schedule_wait("go").start();
    auto open = ctx.dequeue_event("jobs").start();
    co_await ctx.schedule_timer(1s);
    co_return co_await ctx.continue_as_new("");
  }};
  instance.start();
  instance.raise("jobs", "an event, not a message");
  instance.advance(1s);
  instance.deliver({instance.firing("1000ms"), Instance::enqueuing("jobs", "1"), Instance::raising("go", "2"),
                    Instance::enqueuing("jobs", "3")});
  EXPECT_THAT(carried(instance), ElementsAre("event jobs an event, not a message"));
  EXPECT_THAT(instance.turn().taken, ElementsAre(0u));
  EXPECT_THAT(instance.left(), ElementsAre(Instance::enqueuing("jobs", "1"), Instance::raising("go", "2"),
                                           Instance::enqueuing("jobs", "3")));
}

TEST(ContinueAsNew, TheNextExecutionTakesTheRestOfTheBatch) {
  World world;
  world.add("subject", [](Context& ctx, std::string input) -> Task<std::string> {
    const std::string job = co_await ctx.dequeue_event("jobs");
    if (input.size() < 3) co_return co_await ctx.continue_as_new(input + job);
    co_return input + job;
  });
  world.start("one", "subject");
  world.act("one", [](Instance& i) {
    i.deliver({Instance::enqueuing("jobs", "a"), Instance::enqueuing("jobs", "b"),
               Instance::enqueuing("jobs", "c"), Instance::enqueuing("jobs", "d")});
  });
  EXPECT_EQ(world.at("one").output(), "abcd");
  EXPECT_EQ(world.executions("one"), 4u);
}

TEST(ContinueAsNew, CarriesEightMebibytesAndPutsTheRestBack) {
  Instance instance{continues, Mode::fresh};
  instance.start();
  const std::string mebibyte(std::size_t{1} << 20u, 'x');
  for (char c = 'a'; c < 'a' + 10; ++c) {
    if (c % 2 == 0)
      instance.enqueue("jobs", c + mebibyte);
    else
      instance.raise("go", c + mebibyte);
  }
  instance.complete("A", "");
  std::string order;
  for (const CarriedEvent& event : instance.next_execution().carry_forward) order += event.data.data.front();
  EXPECT_EQ(order, "abcdefg");
  ASSERT_THAT(instance.turn().put_back, SizeIs(3));
  EXPECT_EQ(instance.turn().put_back[0], Instance::enqueuing("jobs", "h" + mebibyte));
  EXPECT_EQ(instance.turn().put_back[1], Instance::raising("go", "i" + mebibyte));
  EXPECT_EQ(instance.turn().put_back[2], Instance::enqueuing("jobs", "j" + mebibyte));
}

TEST(ContinueAsNew, UnclaimedMailKeepsItsRequesterWhetherItIsCarriedOrPutBack) {
  Instance instance{continues, Mode::fresh};
  instance.start();
  for (int i = 0; i < 3; ++i) {
    const Payload data = Payload::text(std::string(std::size_t{3} << 20u, 'x'));
    instance.deliver({message::QueueMessage{"jobs", data, "Ada"}});
    instance.deliver({message::ExternalRaised{"go", data, "Grace"}});
  }
  instance.complete("A", "");
  std::vector<std::optional<std::string>> carried;
  for (const CarriedEvent& mail : instance.next_execution().carry_forward)
    carried.push_back(mail.requested_by);
  EXPECT_THAT(carried, ElementsAre("Ada", "Grace"));
  ASSERT_THAT(instance.turn().put_back, SizeIs(4));
  EXPECT_EQ(std::get<message::QueueMessage>(instance.turn().put_back[0]).requested_by, "Ada");
  EXPECT_EQ(std::get<message::ExternalRaised>(instance.turn().put_back[1]).requested_by, "Grace");
}

TEST(ContinueAsNew, TheNextExecutionTakesWhatWasPutBackInOrder) {
  World world;
  world.add("subject", [](Context& ctx, std::string input) -> Task<std::string> {
    if (input.empty()) {
      co_await ctx.schedule_activity("A", "");
      co_return co_await ctx.continue_as_new("x");
    }
    std::string order;
    for (int i = 0; i < 11; ++i) order += (co_await ctx.dequeue_event("jobs")).front();
    co_return order;
  });
  world.start("one", "subject");
  const std::string mebibyte(std::size_t{1} << 20u, 'x');
  for (char c = 'a'; c < 'a' + 10; ++c) world.post("one", Instance::enqueuing("jobs", c + mebibyte));
  world.act("one", [](Instance& i) { i.deliver({i.completion("A", ""), Instance::enqueuing("jobs", "z")}); });
  EXPECT_EQ(world.at("one").output(), "abcdefghijz");
}

TEST(ContinueAsNew, TheEventsOfEarlierExecutionsAreCounted) {
  World world;
  world.add("subject", [](Context& ctx, std::string input) -> Task<std::string> {
    co_await ctx.schedule_activity("A", "");
    if (input.size() < 2) co_return co_await ctx.continue_as_new(input + "x");
    co_return "";
  });
  world.start("one", "subject");
  for (int i = 0; i < 2; ++i) world.act("one", [](Instance& instance) { instance.complete("A", ""); });
  const auto started = world.at("one").events<event::OrchestrationStarted>();
  EXPECT_EQ(std::get<event::OrchestrationStarted>(started.front().body).events_before, 8u);
}

TEST(ContinueAsNew, TheNextExecutionKnowsTheRequesterOfTheStart) {
  Instance instance{[](Context& ctx) -> Task<std::string> { co_return co_await ctx.continue_as_new(""); }};
  message::StartOrchestration start{"subject", Payload::none(), {}, {}};
  start.requested_by = "alice";
  instance.deliver({start});
  EXPECT_EQ(instance.next_execution().requested_by, "alice");
  Instance next{[](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_wait("go"); }};
  next.deliver({instance.next_execution()});
  EXPECT_EQ(std::get<event::OrchestrationStarted>(next.history().front().body).requested_by, "alice");
}

TEST(ContinueAsNew, ACancelBehindItInTheSameBatchReachesTheNextExecution) {
  World world;
  world.add("subject", [](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_activity("A", "");
    co_return co_await ctx.continue_as_new("");
  });
  world.start("one", "subject");
  world.act("one", [](Instance& i) { i.deliver({i.completion("A", ""), i.cancelling("enough")}); });
  EXPECT_EQ(world.executions("one"), 2u);
  EXPECT_EQ(world.at("one").status(), Status::cancelled);
}

// -- detached starts ----------------------------------------------------------------------------------------

// The reference loses them when the turn continues as new or is cancelled.
TEST(DetachedStarts, LeaveInEveryKindOfTurn) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    auto how = co_await ctx.schedule_activity("How", "");
    ctx.schedule_orchestration("other", "free", "input", "1.2.3");
    if (how == "throw") throw std::runtime_error("as asked");
    if (how == "continue") co_return co_await ctx.continue_as_new("");
    if (how == "wait") co_await ctx.schedule_activity("More", "");
    co_return how;
  };
  for (const char* how : {"return", "throw", "continue", "wait"}) {
    SCOPED_TRACE(how);
    Instance instance{code};
    instance.start();
    instance.complete("How", how);
    const auto starts = instance.messages<message::StartOrchestration>();
    ASSERT_THAT(starts, SizeIs(1));
    EXPECT_EQ(starts[0].first, InstanceId("free"));
    EXPECT_EQ(starts[0].second.parent, std::nullopt);
    EXPECT_EQ(starts[0].second.version, "1.2.3");
  }
  Instance cancelled{code};
  cancelled.start();
  cancelled.deliver({cancelled.completion("How", "wait"), cancelled.cancelling("enough")});
  EXPECT_EQ(cancelled.status(), Status::cancelled);
  EXPECT_THAT(cancelled.messages<message::StartOrchestration>(), SizeIs(1));
}

TEST(DetachedStarts, LeaveOnceAndNotOnReplay) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    ctx.schedule_orchestration("other", "free", "");
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  EXPECT_THAT(instance.messages<message::StartOrchestration>(), SizeIs(1));
  instance.complete("A", "a");
  EXPECT_THAT(instance.messages<message::StartOrchestration>(), IsEmpty());
}

}  // namespace
}  // namespace duramen::core_test
