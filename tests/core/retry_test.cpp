// Trying again, limits in time, and racing without taking.

#include "core/harness.hpp"
#include <duramen/limits.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Failure hiccup(std::string type = "Hiccup") {
  Failure failure = Failure::application(std::move(type), "try again");
  failure.retryable = true;
  return failure;
}

auto retrying(RetryPolicy policy) {
  return [policy](Context& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_activity("A", "in").with_retry(policy);
  };
}

/// The pauses after each of `count` failures.
std::vector<std::string> pauses(Backoff backoff, std::uint32_t count) {
  Instance instance{retrying(RetryPolicy().attempts(count + 1).backoff(backoff))};
  instance.start();
  std::vector<std::string> found;
  for (std::uint32_t i = 0; i < count; ++i) {
    instance.fail(instance.id_of("A"), hiccup());
    for (const std::string& delay : instance.timers_waiting()) {
      found.push_back(delay);
      instance.fire(delay);
    }
  }
  instance.complete("A", "at last");
  EXPECT_EQ(instance.output(), "at last");
  EXPECT_THAT(instance.events<event::ActivityScheduled>(), SizeIs(count + 1));
  return found;
}

TEST(Retry, EachBackoffHasItsPauses) {
  EXPECT_THAT(pauses(Backoff::none(), 3), IsEmpty());
  EXPECT_THAT(pauses(Backoff::fixed(50ms), 3), ElementsAre("50ms", "50ms", "50ms"));
  EXPECT_THAT(pauses(Backoff::linear(10ms, 25ms), 3), ElementsAre("10ms", "20ms", "25ms"));
  EXPECT_THAT(pauses(Backoff::exponential(10ms, 3.0, 200ms), 4),
              ElementsAre("10ms", "30ms", "90ms", "200ms"));
  EXPECT_THAT(pauses(Backoff(), 3), ElementsAre("100ms", "200ms", "400ms"));
}

TEST(Retry, EveryAttemptIsAnActivityOfItsOwnInHistory) {
  Instance instance{retrying(RetryPolicy().attempts(2).backoff(Backoff::fixed(1s)))};
  instance.start();
  instance.fail(EventId{2}, hiccup());
  instance.fire("1000ms");
  instance.complete("A", "a");
  EXPECT_THAT(instance.story(),
              ElementsAre("started", "A scheduled", "A failed", "timer 1000ms created", "timer 1000ms fired",
                          "A scheduled", "A completed", "completed: a"));
}

/// The end of one attempt as a store delivers it.
MessageBody failed_attempt(EventId activity, std::uint32_t attempt, std::optional<Payload> heartbeat) {
  return message::ActivityFailed{ExecutionId{1}, activity, hiccup(),
                                 AttemptInfo{from_unix_ms(5), attempt, NodeId{"n1"}}, std::move(heartbeat)};
}

event::ActivityScheduled scheduled(const Instance& instance, EventId id) {
  return std::get<event::ActivityScheduled>(instance.history().at(id.value - 1).body);
}

TEST(Retry, EveryFurtherAttemptNamesTheFirstOneAndTheNumberOfAttempts) {
  Instance instance{retrying(RetryPolicy().attempts(4).backoff(Backoff::none()))};
  instance.start();
  const EventId first = instance.id_of("A");
  EXPECT_EQ(scheduled(instance, first).retry_of, EventId{});
  // A store handed it out three times before it failed.
  instance.deliver({failed_attempt(first, 3, std::nullopt)});
  const EventId second = instance.id_of("A");
  EXPECT_EQ(scheduled(instance, second).retry_of, first);
  EXPECT_EQ(scheduled(instance, second).attempts_before, 3u);
  ASSERT_THAT(instance.turn().activities, SizeIs(1));
  EXPECT_EQ(instance.turn().activities[0].retry_of, first);
  EXPECT_EQ(instance.turn().activities[0].attempts_before, 3u);
  // A failure that names no attempt counts as one.
  instance.fail(second, hiccup());
  const EventId third = instance.id_of("A");
  EXPECT_EQ(scheduled(instance, third).retry_of, first);
  EXPECT_EQ(scheduled(instance, third).attempts_before, 4u);
  instance.complete("A", "a");
}

TEST(Retry, AFurtherAttemptReceivesTheLastDetailsOfTheStep) {
  Instance instance{retrying(RetryPolicy().attempts(3).backoff(Backoff::none()))};
  instance.start();
  instance.deliver({failed_attempt(instance.id_of("A"), 1, Payload::json("41"))});
  EXPECT_EQ(scheduled(instance, instance.id_of("A")).heartbeat, Payload::json("41"));
  EXPECT_EQ(instance.turn().activities.at(0).heartbeat, Payload::json("41"));
  instance.deliver({failed_attempt(instance.id_of("A"), 2, Payload::json("42"))});
  EXPECT_EQ(scheduled(instance, instance.id_of("A")).heartbeat, Payload::json("42"));
  instance.complete("A", "a");
}

TEST(Retry, AFailedTryWithoutDetailsLeavesNone) {
  const Payload large = Payload::text(std::string(max_retry_details_bytes + 1, 'x'));
  for (const std::optional<Payload>& last : {std::optional<Payload>(), std::optional(large)}) {
    Instance instance{retrying(RetryPolicy().attempts(3).backoff(Backoff::none()))};
    instance.start();
    instance.deliver({failed_attempt(instance.id_of("A"), 1, Payload::json("41"))});
    instance.deliver({failed_attempt(instance.id_of("A"), 2, last)});
    EXPECT_EQ(scheduled(instance, instance.id_of("A")).heartbeat, std::nullopt);
    instance.complete("A", "a");
  }
}

TEST(Retry, ATryThatIsGivenUpLeavesTheDetailsThatItReceived) {
  Instance instance{retrying(RetryPolicy().attempts(3).attempt_timeout(5s).backoff(Backoff::none()))};
  instance.start();
  instance.deliver({failed_attempt(instance.id_of("A"), 1, Payload::json("41"))});
  instance.fire("5000ms");
  EXPECT_EQ(scheduled(instance, instance.id_of("A")).heartbeat, Payload::json("41"));
  EXPECT_EQ(scheduled(instance, instance.id_of("A")).attempts_before, 2u);
  instance.complete("A", "a");
}

TEST(Retry, ATryThatNoWorkerTookIsNoAttempt) {
  Instance instance{retrying(RetryPolicy().attempts(3).backoff(Backoff::none()))};
  instance.start();
  instance.deliver({failed_attempt(instance.id_of("A"), 1, std::nullopt)});
  Failure missed = hiccup("Timeout");
  missed.kind = FailureKind::timeout;
  missed.timeout = TimeoutKind::schedule_to_start;
  instance.fail(instance.id_of("A"), missed);
  EXPECT_EQ(scheduled(instance, instance.id_of("A")).attempts_before, 1u);
  instance.complete("A", "a");
}

TEST(Retry, DetailsThatAreTooLargeAreDroppedWithAWarning) {
  Instance instance{retrying(RetryPolicy().attempts(2).backoff(Backoff::none()))};
  instance.start();
  const Payload large = Payload::text(std::string(max_retry_details_bytes + 1, 'x'));
  instance.deliver({failed_attempt(instance.id_of("A"), 1, large)});
  EXPECT_THAT(instance.turn().warnings, ElementsAre(testing::HasSubstr("heartbeat details")));
  EXPECT_EQ(scheduled(instance, instance.id_of("A")).heartbeat, std::nullopt);
  instance.complete("A", "a");
}

TEST(Retry, TheRecordOfARetryIsNotComparedOnReplay) {
  Instance instance{retrying(RetryPolicy().attempts(2).backoff(Backoff::none()))};
  instance.start();
  instance.deliver({failed_attempt(instance.id_of("A"), 1, Payload::json("41"))});
  std::vector<Event> history = instance.history();
  auto& second = std::get<event::ActivityScheduled>(history.back().body);
  second.retry_of = {};
  second.attempts_before = 0;
  second.heartbeat.reset();
  instance.forge(std::move(history));
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "a");
}

TEST(Retry, TheFenceOfALaterActivityStartsAboveThatOfAnEarlierOne) {
  Instance instance{retrying(RetryPolicy().attempts(2).backoff(Backoff::none()))};
  const std::uint64_t first = instance.start().activities.at(0).fence_base;
  const std::uint64_t second = instance.fail(instance.id_of("A"), hiccup()).activities.at(0).fence_base;
  EXPECT_GT(first, 0u);
  EXPECT_GT(second, first);
  instance.complete("A", "a");
}

TEST(Retry, TheCodeReceivesTheLastFailure) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    try {
      co_return co_await ctx.schedule_activity("A", "").with_retry(
          RetryPolicy().attempts(2).backoff(Backoff::none()));
    } catch (const ActivityError& error) {
      co_return error.failure().type + std::to_string(error.failure().attempt);
    }
  }};
  instance.start();
  instance.fail(instance.id_of("A"), hiccup("First"));
  instance.fail(instance.id_of("A"), hiccup("Second"));
  EXPECT_EQ(instance.output(), "Second2");
}

TEST(Retry, AFailureThatIsNotRetryableStopsIt) {
  Instance instance{retrying(RetryPolicy().attempts(5))};
  instance.start();
  instance.fail("A", "for good");
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().message, "for good");
}

TEST(Retry, AListedTypeStopsIt) {
  Instance instance{retrying(RetryPolicy().attempts(5).backoff(Backoff::none()).give_up_on("CardDeclined"))};
  instance.start();
  instance.fail(instance.id_of("A"), hiccup());
  EXPECT_TRUE(instance.running());
  instance.fail(instance.id_of("A"), hiccup("CardDeclined"));
  EXPECT_EQ(instance.failure().type, "CardDeclined");
}

TEST(Retry, AnAttemptThatTakesTooLongIsCancelledAndTriedAgain) {
  Instance instance{retrying(RetryPolicy().attempts(2).backoff(Backoff::none()).attempt_timeout(5s))};
  instance.start();
  instance.fire("5000ms");
  EXPECT_THAT(instance.last_turn(), ElementsAre("timer 5000ms fired", "A scheduled", "timer 5000ms created",
                                                "A cancelled: timeout"));
  EXPECT_THAT(instance.stopped(), ElementsAre("A"));
  instance.complete("A", "second");
  EXPECT_EQ(instance.output(), "second");
  EXPECT_THAT(instance.timers_waiting(), IsEmpty());
}

TEST(Retry, TheLastAttemptsTimeoutIsAStartToClose) {
  Instance instance{retrying(RetryPolicy().attempts(1).attempt_timeout(5s))};
  instance.start();
  instance.fire("5000ms");
  EXPECT_EQ(instance.failure().kind, FailureKind::timeout);
  EXPECT_EQ(instance.failure().timeout, TimeoutKind::start_to_close);
}

TEST(Retry, TheTotalLimitEndsAttemptsAndPauses) {
  const auto policy = RetryPolicy().attempts(9).backoff(Backoff::fixed(1s)).total_timeout(1500ms);
  Instance in_attempt{retrying(policy)};
  in_attempt.start();
  in_attempt.fail(in_attempt.id_of("A"), hiccup());
  in_attempt.fire("1000ms");
  in_attempt.fire("1500ms");
  EXPECT_THAT(in_attempt.last_turn(), testing::IsSupersetOf({std::string("timer 1500ms fired"),
                                                             std::string("A cancelled: timeout")}));
  EXPECT_EQ(in_attempt.failure().timeout, TimeoutKind::total);

  Instance in_pause{retrying(policy)};
  in_pause.start();
  in_pause.advance(1s);
  in_pause.fail(in_pause.id_of("A"), hiccup());
  in_pause.fire("1500ms");
  EXPECT_EQ(in_pause.failure().timeout, TimeoutKind::total);
  EXPECT_THAT(in_pause.timers_waiting(), IsEmpty());
}

TEST(Retry, ADroppedRetryCancelsTheAttemptUnderWay) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.schedule_activity("A", "").with_retry({}), ctx.schedule_timer(1s));
    co_return co_await ctx.schedule_activity("B", "");
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "B scheduled", "A cancelled: select_loser"));
}

TEST(Retry, OptionsSetBeforeGoWithEveryAttempt) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_activity("A", "").with_tag("gpu").with_retry(
        RetryPolicy().backoff(Backoff::none()));
  }};
  instance.start();
  instance.fail(instance.id_of("A"), hiccup());
  ASSERT_THAT(instance.turn().activities, SizeIs(1));
  EXPECT_EQ(instance.turn().activities[0].tag, "gpu");
}

TEST(Retry, ZeroAttemptsAreRefused) { EXPECT_THROW(RetryPolicy().attempts(0), std::invalid_argument); }

// -- limits in time -----------------------------------------------------------------------------------------

TEST(Timeouts, ASlowActivityIsCancelledWithReasonTimeout) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto result = co_await attempt(ctx.with_timeout(1s, ctx.schedule_sub_orchestration("slow", "")));
    co_return result ? *result : std::string(to_string(result.error().kind));
  }};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.last_turn(),
              ElementsAre("timer 1000ms fired", "child slow cancelled: timeout", "completed: timeout"));
}

TEST(Timeouts, AnEndInTimeDropsTheTimer) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto a = co_await ctx.with_timeout(1s, ctx.schedule_activity("A", ""));
    co_return a + co_await ctx.schedule_activity("B", "");
  }};
  instance.start();
  instance.complete("A", "a");
  EXPECT_THAT(instance.timers_dropped(), ElementsAre("1000ms"));
  instance.complete("B", "b");
  EXPECT_EQ(instance.output(), "ab");
}

// -- racing without taking ----------------------------------------------------------------------------------

Task<std::string> races_a_reference(Context& ctx) {
  auto slow = ctx.schedule_activity("Slow", "").start();
  auto winner = co_await ctx.select2(duramen::ref(slow), ctx.schedule_timer(1s));
  std::string late = winner.is_second() ? "late " : "";
  co_return late + co_await slow;
}

TEST(References, ALoserThroughAReferenceGoesOn) {
  Instance instance{races_a_reference};
  instance.start();
  instance.fire("1000ms");
  EXPECT_THAT(instance.worker_queue(), ElementsAre("Slow"));
  instance.complete("Slow", "slow");
  EXPECT_EQ(instance.output(), "late slow");
}

TEST(References, AWinnerThroughAReferenceCanStillBeRead) {
  Instance instance{races_a_reference};
  instance.start();
  instance.complete("Slow", "slow");
  EXPECT_EQ(instance.output(), "slow");
}

TEST(References, AReferenceStartsItsFuture) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto lazy = ctx.schedule_activity("Lazy", "");
    co_await duramen::ref(lazy);
    co_return co_await lazy;
  }};
  instance.start();
  EXPECT_THAT(instance.sent(), ElementsAre("Lazy"));
  instance.complete("Lazy", "done");
  EXPECT_EQ(instance.output(), "done");
}

// -- lists --------------------------------------------------------------------------------------------------

Task<std::string> call(Context& ctx, std::string name) { co_return co_await ctx.schedule_activity(name, ""); }

TEST(Lists, TheFirstOfManyWinsAndTheOthersAreCancelled) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::vector<Task<std::string>> calls;
    for (const char* name : {"A", "B", "C"}) calls.push_back(call(ctx, name));
    auto [index, value] = co_await ctx.select(std::move(calls));
    co_return std::to_string(index) + value;
  }};
  instance.start();
  instance.complete("B", "b");
  EXPECT_THAT(instance.last_turn(), ElementsAre("B completed", "A cancelled: select_loser",
                                                "C cancelled: select_loser", "completed: 1b"));
}

TEST(Lists, AJoinOfTasksKeepsTheirOrder) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    std::vector<Task<std::string>> calls;
    for (const char* name : {"A", "B", "C"}) calls.push_back(call(ctx, name));
    auto values = co_await ctx.join(std::move(calls));
    co_return values[0] + values[1] + values[2];
  }};
  instance.start();
  for (const char* name : {"C", "A", "B"}) instance.complete(name, name);
  EXPECT_EQ(instance.output(), "ABC");
}

}  // namespace
}  // namespace duramen::core_test
