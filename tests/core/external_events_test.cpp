// External events and queues: arrivals are kept, in order, until they are consumed.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// -- arrivals and waits -------------------------------------------------------------------------------------

// The reference loses an event that is raised before its wait is bound.
TEST(ExternalEvents, AnEventThatArrivesBeforeItsWaitIsKept) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_activity("A", "");
    co_return co_await ctx.schedule_wait("go");
  }};
  instance.start();
  instance.raise("go", "early");
  EXPECT_THAT(instance.last_turn(), ElementsAre("event go: early"));
  instance.complete("A", "");
  EXPECT_EQ(instance.output(), "early");
}

TEST(ExternalEvents, AnEventInTheBatchOfTheStartIsKept) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_activity("A", "");
    co_return co_await ctx.schedule_wait("go");
  }};
  instance.deliver({instance.started(), Instance::raising("go", "early")});
  instance.complete("A", "");
  EXPECT_EQ(instance.output(), "early");
}

TEST(ExternalEvents, AnEventBeforeTheStartIsIgnored) {
  Instance instance{[](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_wait("go"); }};
  EXPECT_EQ(instance.deliver({Instance::raising("go", "too early"), instance.started()}).ignored_messages,
            1u);
  instance.raise("go", "now");
  EXPECT_EQ(instance.output(), "now");
}

TEST(ExternalEvents, WaitsAreServedInTheOrderInWhichTheyWereOpened) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto first = ctx.schedule_wait("go").start();
    auto second = ctx.schedule_wait("go").start();
    auto b = co_await second;
    co_return co_await first + b;
  }};
  instance.start();
  instance.raise("go", "1");
  EXPECT_TRUE(instance.running());
  instance.raise("go", "2");
  EXPECT_EQ(instance.output(), "12");
}

TEST(ExternalEvents, KeptEventsAreTakenInTheOrderOfTheirArrival) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_activity("A", "");
    auto a = co_await ctx.schedule_wait("go");
    auto b = co_await ctx.schedule_wait("go");
    co_return a + b;
  }};
  instance.start();
  instance.deliver({Instance::raising("go", "1"), Instance::raising("go", "2")});
  instance.complete("A", "");
  EXPECT_EQ(instance.output(), "12");
}

TEST(ExternalEvents, SameNameAndDataTwiceAreTwoArrivals) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto a = co_await ctx.schedule_wait("go");
    co_return a + co_await ctx.schedule_wait("go");
  }};
  instance.start();
  instance.raise("go", "x");
  instance.raise("go", "x");
  EXPECT_EQ(instance.output(), "xx");
}

TEST(ExternalEvents, AnEventAndAQueueOfOneNameAreApart) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto message = co_await ctx.dequeue_event("name");
    co_return message + co_await ctx.schedule_wait("name");
  }};
  instance.start();
  instance.raise("name", "event");
  EXPECT_TRUE(instance.running());
  instance.enqueue("name", "message ");
  EXPECT_EQ(instance.output(), "message event");
}

TEST(ExternalEvents, AnEventOfAnotherTypeFailsThatWaitOnly) {
  Instance instance{[](Context& ctx) -> Task<int> {
    auto bad = co_await ctx.schedule_wait<int>("number").as_result();
    co_return bad ? -1 : co_await ctx.schedule_wait<int>("number");
  }};
  instance.start();
  instance.raise("number", "not a number");
  EXPECT_TRUE(instance.running());
  instance.deliver({message::ExternalRaised{"number", encode_payload(7)}});
  EXPECT_EQ(instance.output<int>(), 7);
}

TEST(ExternalEvents, AMessageOfAnotherTypeFailsThatDequeueOnly) {
  Instance instance{[](Context& ctx) -> Task<int> {
    auto bad = co_await ctx.dequeue_event<int>("numbers").as_result();
    co_return bad ? -1 : co_await ctx.dequeue_event<int>("numbers");
  }};
  instance.start();
  instance.enqueue("numbers", "not a number");
  EXPECT_TRUE(instance.running());
  instance.deliver({message::QueueMessage{"numbers", encode_payload(7)}});
  EXPECT_EQ(instance.output<int>(), 7);
}

// -- dropped waits ------------------------------------------------------------------------------------------

TEST(ExternalEvents, explicit_drop_external_wait) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::optional wait = ctx.schedule_wait("go").start();
    co_await ctx.schedule_timer(1s);
    wait.reset();
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "A scheduled", "wait go cancelled: dropped_future"));
  EXPECT_THAT(instance.turn().messages, IsEmpty());
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "a");
}

TEST(ExternalEvents, ADroppedWaitTakesNothing) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.schedule_wait("go"), ctx.schedule_timer(1s));
    co_await ctx.schedule_activity("A", "");
    co_return co_await ctx.schedule_wait("go");
  }};
  instance.start();
  instance.fire("1000ms");
  instance.raise("go", "late");
  instance.complete("A", "");
  EXPECT_EQ(instance.output(), "late");
}

// In the reference the dropped wait takes the event until its cancellation is in history, and the new wait
// sees it only when something else wakes the orchestration.
TEST(ExternalEvents, AWaitDroppedInTheSameBatchTakesNothing) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.schedule_wait("go"), ctx.schedule_timer(1s));
    co_return co_await ctx.schedule_wait("go");
  }};
  instance.start();
  instance.advance(1s);
  instance.deliver({instance.firing("1000ms"), Instance::raising("go", "right behind")});
  EXPECT_EQ(instance.output(), "right behind");
}

TEST(ExternalEvents, ADroppedDequeueInTheSameBatchTakesNothing) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.dequeue_event("jobs"), ctx.schedule_timer(1s));
    co_return co_await ctx.dequeue_event("jobs");
  }};
  instance.start();
  instance.advance(1s);
  instance.deliver({instance.firing("1000ms"), Instance::enqueuing("jobs", "right behind")});
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "queue jobs opened", "queue jobs cancelled: select_loser",
                          "message jobs: right behind", "completed: right behind"));
}

TEST(ExternalEvents, ALosingBranchThatWasNeverPolledTakesNothing) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_activity("A", "");
    auto winner = co_await ctx.select2(ctx.schedule_wait("one"), ctx.schedule_wait("two"));
    co_return winner.first() + co_await ctx.schedule_wait("two");
  }};
  instance.start();
  instance.raise("two", "2");
  instance.raise("one", "1");
  instance.complete("A", "");
  EXPECT_EQ(instance.output(), "12");
}

TEST(ExternalEvents, OnlyTheDroppedOneOfSeveralWaitsStepsBack) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto first = ctx.schedule_wait("go").start();
    std::optional second = ctx.schedule_wait("go").start();
    auto third = ctx.schedule_wait("go").start();
    co_await ctx.schedule_activity("A", "");
    second.reset();
    auto a = co_await first;
    co_return a + co_await third;
  }};
  instance.start();
  instance.complete("A", "");
  instance.raise("go", "1");
  instance.raise("go", "3");
  EXPECT_EQ(instance.output(), "13");
}

TEST(ExternalEvents, AWaitCannotBeDetachedBecauseItWouldSwallowAnEvent) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::string refused;
    try {
      ctx.schedule_wait("go").detach();
    } catch (const std::logic_error&) {
      refused = "refused ";
    }
    co_return refused + co_await ctx.schedule_wait("go");
  }};
  instance.start();
  instance.raise("go", "taken");
  EXPECT_EQ(instance.output(), "refused taken");
}

TEST(ExternalEvents, WaitsThatAreOpenAtTheEndAreCancelled) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto wait = ctx.schedule_wait("go").start();
    auto queue = ctx.dequeue_event("jobs").start();
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.start();
  instance.cancel();
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: enough", "wait go cancelled: orchestration_terminal_cancelled",
                          "queue jobs cancelled: orchestration_terminal_cancelled",
                          "A cancelled: orchestration_terminal_cancelled", "failed: cancelled: enough"));
}

// An execution without code must find the same open waits in history as the running one.
TEST(ExternalEvents, AWaitThatWasAnsweredIsNotCancelledAtTheEnd) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.schedule_wait("go");
    co_await ctx.dequeue_event("jobs");
    co_return co_await ctx.schedule_activity("A", "");
  }};
  instance.deliver({instance.started(), Instance::enqueuing("jobs", "early")});
  instance.raise("go", "");
  instance.cancel();
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("cancel requested: enough", "A cancelled: orchestration_terminal_cancelled",
                          "failed: cancelled: enough"));
}

// -- queues -------------------------------------------------------------------------------------------------

// The reference spends one of its 100 polls per message and fails the orchestration.
TEST(ExternalEvents, AThousandBufferedMessagesAreDrainedInOneTurn) {
  Instance instance{[](Context& ctx) -> Task<int> {
                      co_await ctx.schedule_activity("A", "");
                      int sum = 0;
                      for (int i = 0; i < 1000; ++i) sum += co_await ctx.dequeue_event<int>("numbers");
                      co_return sum;
                    },
                    Mode::resident};
  instance.start();
  std::vector<MessageBody> messages;
  for (int i = 1; i <= 1000; ++i) messages.push_back(message::QueueMessage{"numbers", encode_payload(i)});
  instance.deliver(std::move(messages));
  instance.complete("A", "");
  EXPECT_EQ(instance.output<int>(), 500'500);
  EXPECT_THAT(instance.events<event::QueueSubscribed>(), SizeIs(1000));
}

TEST(ExternalEvents, EachMessageGoesToOneTaker) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto [a, b] = co_await ctx.join2(ctx.dequeue_event("jobs"), ctx.dequeue_event("jobs"));
    co_return a + b;
  }};
  instance.start();
  instance.enqueue("jobs", "1");
  instance.enqueue("jobs", "2");
  EXPECT_EQ(instance.output(), "12");
}

}  // namespace
}  // namespace duramen::core_test
