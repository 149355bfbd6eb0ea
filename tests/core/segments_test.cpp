// History is a sequence of segments: one inbound event and all that it caused. It can be cut between any two
// of them.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Task<std::string> fan_out(Context& ctx) {
  auto a = ctx.schedule_activity("A", "").start();
  auto b = ctx.schedule_activity("B", "").start();
  auto first = co_await a;
  auto third = co_await ctx.select2(ctx.schedule_activity("C", ""), std::move(b));
  co_return first + (third.is_first() ? third.first() : third.second());
}

TEST(Segments, EachMessageOfABatchBeginsOne) {
  Instance instance{fan_out};
  instance.start();
  EXPECT_THAT(instance.turn().segments, ElementsAre(0u));
  instance.deliver({instance.completion("A", "a"), instance.completion("B", "b")});
  EXPECT_THAT(instance.last_turn(), ElementsAre("A completed", "C scheduled", "B completed",
                                                "C cancelled: select_loser", "completed: ab"));
  EXPECT_THAT(instance.turn().segments, ElementsAre(0u, 2u));
}

TEST(Segments, AnActionDroppedByALaterSegmentOfTheSameTurnNeverLeaves) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1s).start();
    co_await ctx.schedule_activity("A", "");
    co_await ctx.select3(ctx.schedule_activity("B", ""), std::move(timer), ctx.schedule_timer(1h));
    co_return co_await ctx.schedule_activity("C", "");
  }};
  instance.start();
  instance.advance(1s);
  instance.deliver({instance.completion("A", ""), instance.firing("1000ms")});
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("A completed", "B scheduled", "timer 3600000ms created", "timer 1000ms fired",
                          "C scheduled", "B cancelled: select_loser"));
  EXPECT_THAT(instance.sent(), ElementsAre("C"));
  EXPECT_THAT(instance.stopped(), IsEmpty());
  EXPECT_THAT(instance.turn().messages, IsEmpty());
  EXPECT_THAT(instance.timers_dropped(), IsEmpty());
}

TEST(Segments, AnIgnoredMessageBeginsNone) {
  Instance instance{fan_out};
  instance.start();
  instance.deliver({instance.started(), instance.completion("B", "b"), instance.completion("B", "b")});
  EXPECT_THAT(instance.turn().segments, ElementsAre(0u));
  EXPECT_THAT(instance.last_turn(), ElementsAre("B completed"));
}

TEST(Segments, ABatchGivesTheHistoryThatSingleTurnsGive) {
  Instance one_by_one{fan_out};
  one_by_one.start();
  one_by_one.complete("B", "b");
  one_by_one.complete("A", "a");

  Instance batch{fan_out};
  batch.start();
  batch.deliver({batch.completion("B", "b"), batch.completion("A", "a")});
  EXPECT_EQ(batch.history(), one_by_one.history());

  const std::vector<MessageBody> messages = {batch.started(), batch.completion("B", "b"),
                                             batch.completion("A", "a")};
  Instance all_at_once{fan_out};
  all_at_once.deliver(messages);
  EXPECT_EQ(all_at_once.history(), one_by_one.history());
}

TEST(Segments, AKeptExecutionAcceptsTurnsCommittedByOthers) {
  Instance elsewhere{fan_out};
  elsewhere.start();
  core::Execution kept{{"instance", Incarnation{1}, ExecutionId{1}}, handler_of(fan_out)};
  const std::vector<Event> first_turn = elsewhere.history();
  EXPECT_THAT(kept.run_turn({first_turn, {}, elsewhere.now()}).events, IsEmpty());
  EXPECT_EQ(kept.last_event_id(), EventId{3});

  const std::vector<Event> second_turn = elsewhere.complete("A", "a").events;
  const std::vector<MessageBody> messages = {elsewhere.completion("C", "c")};
  const auto here = kept.run_turn({second_turn, messages, elsewhere.now()});
  EXPECT_EQ(here.replayed_events, second_turn.size());
  EXPECT_EQ(here.events, elsewhere.deliver(messages).events);
}

TEST(Segments, ATurnWithNothingNewDecidesNothing) {
  Instance instance{fan_out};
  instance.start();
  instance.deliver({});
  EXPECT_THAT(instance.turn().events, IsEmpty());
  EXPECT_THAT(instance.turn().segments, IsEmpty());
  EXPECT_THAT(instance.sent(), IsEmpty());
  EXPECT_TRUE(instance.running());
}

TEST(Segments, TheCostOfATurnOnAKeptExecutionDoesNotGrowWithHistory) {
  Instance instance{[](Context& ctx) -> Task<void> {
                      for (int i = 0; i < 20; ++i) co_await ctx.schedule_activity("Step", "");
                    },
                    Mode::resident};
  instance.start();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(instance.complete("Step", "").replayed_events, 0u);
  EXPECT_EQ(instance.status(), Status::completed);
}

}  // namespace
}  // namespace duramen::core_test
