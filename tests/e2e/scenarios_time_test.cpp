// Timers and retries under a clock that the test moves.
#include "e2e/scenario.hpp"

namespace duramen::test {
namespace {

using Times = Scenario;

// -- timers ------------------------------------------

TEST_F(Times, TimersFireWhenTheyAreDueAndNotBefore) {
  add("timer", [](OrchestrationContext& ctx, int seconds) -> Task<int> {
    co_await ctx.schedule_timer(std::chrono::seconds{seconds});
    co_return seconds;
  });
  world.run();
  const TimePoint began = world.clock.now();
  world.client.start("t", "timer", 3600).value();
  until_event("t", "TimerCreated");
  world.clock.advance(3000s);
  // A turn of another instance runs; no turn of this one does.
  EXPECT_EQ(finish_later("zero", "timer", 0).output_as<int>(), 0);
  EXPECT_EQ(world.events("t", "TimerFired"), 0u);
  world.clock.advance(500s);
  EXPECT_EQ(world.end_of("t").output_as<int>(), 3600);
  EXPECT_GE(world.clock.now() - began, 3600s);
}

TEST_F(Times, SeveralTimersFireInTheOrderOfTheirTimesNextToAnActivity) {
  add("timers", [](OrchestrationContext& ctx) -> Task<std::string> {
    const auto after = [](OrchestrationContext& c, int seconds, std::string* order) -> Task<void> {
      co_await c.schedule_timer(std::chrono::seconds{seconds});
      *order += std::to_string(seconds) + " ";
    };
    std::string order;
    std::vector<Task<void>> all;
    for (const int seconds : {30, 10, 20}) all.push_back(after(ctx, seconds, &order));
    co_await ctx.join2(ctx.join(std::move(all)), ctx.schedule_activity<int>("Double", 1));
    co_return order;
  });
  world.run();
  EXPECT_EQ(finish_later("t", "timers", std::monostate{}).output_as<std::string>(), "10 20 30 ");
}

TEST_F(Times, ATimerCountsFromItsOwnScheduling) {
  add("two", [](OrchestrationContext& ctx) -> Task<void> {
    co_await ctx.schedule_timer(10s);
    co_await ctx.schedule_timer(10s);
  });
  world.run();
  world.client.start("t", "two").value();
  until_event("t", "TimerCreated");
  // The first is late; the second must still wait its full time.
  world.clock.advance(1h);
  world.until_later([&] { return world.events("t", "TimerCreated") == 2; });
  TimePoint first;
  TimePoint second;
  for (const Event& event : world.client.read_history("t").value()) {
    if (const auto* timer = std::get_if<event::TimerCreated>(&event.body)) {
      if (first == TimePoint{}) first = timer->fire_at;
      second = timer->fire_at;
    }
  }
  EXPECT_GE(second - first, 1h - 10s);
  world.end_of("t");
}

TEST_F(Times, ADroppedTimerLeavesNothingToFire) {
  add("drop", [](OrchestrationContext& ctx) -> Task<int> {
    {
      auto never = ctx.schedule_timer(1h).start();
    }
    auto lost = co_await ctx.select2(ctx.schedule_activity<int>("Double", 2), ctx.schedule_timer(2h));
    co_await ctx.schedule_wait<int>("go");
    co_return lost.first();
  });
  world.run();
  world.client.start("d", "drop").value();
  until_event("d", "ExternalSubscribed");
  EXPECT_EQ(world.client.queue_depths().value().orchestrator_later, 0u);
  world.clock.advance(3h);
  world.client.raise_event("d", "go", 1).value();
  EXPECT_EQ(world.client.wait("d", forever).value().output_as<int>(), 4);
  EXPECT_EQ(world.events("d", "TimerFired"), 0u);
}

// -- retries ------------------------------------------

class Retries : public Scenario {
 protected:
  Retries() {
    // Fails until its `works`-th call.
    world.registry.add("Flaky", [this](ActivityContext& ctx, int works) {
      sessions.push_back(ctx.session_id().value_or(""));
      if (++calls < works) throw std::runtime_error("call " + std::to_string(calls));
      return calls.load();
    });
    add("retry", [](OrchestrationContext& ctx, std::vector<int> plan) -> Task<std::string> {
      auto policy = RetryPolicy().attempts(static_cast<std::uint32_t>(plan.at(0)));
      policy.backoff(plan.at(2) > 0 ? Backoff::fixed(std::chrono::seconds{plan.at(2)}) : Backoff::none());
      auto call = ctx.schedule_activity<int>("Flaky", plan.at(1));
      if (plan.size() > 3) call = std::move(call).on_session("s");
      auto result = co_await std::move(call).with_retry(policy).as_result();
      co_return result ? std::to_string(*result) : result.error().message;
    });
  }
  std::string run(const InstanceId& id, int attempts, int works, int pause) {
    calls = 0;
    return finish_later(id, "retry", std::vector<int>{attempts, works, pause}).output_as<std::string>();
  }
  std::atomic<int> calls{0};
  std::vector<std::string> sessions;
};

TEST_F(Retries, EachAttemptIsAnActivityAndEachPauseATimer) {
  world.run();
  EXPECT_EQ(run("first", 3, 1, 1), "1");
  EXPECT_EQ(world.events("first", "TimerCreated"), 0u);
  EXPECT_EQ(run("third", 5, 3, 1), "3");
  EXPECT_EQ(world.events("third", "ActivityScheduled"), 3u);
  EXPECT_EQ(world.events("third", "TimerCreated"), 2u);
  EXPECT_EQ(run("never", 3, 99, 1), "call 3");
  EXPECT_EQ(world.events("never", "ActivityScheduled"), 3u);
  EXPECT_EQ(run("at once", 3, 3, 0), "3");
  EXPECT_EQ(world.events("at once", "TimerCreated"), 0u);
  EXPECT_EQ(run("only one", 1, 2, 1), "call 1");
  EXPECT_EQ(run("many", 50, 40, 0), "40");
}

TEST_F(Retries, TheyStayOnTheirSession) {
  world.run();
  EXPECT_EQ(finish_later("s", "retry", std::vector<int>{3, 3, 1, 1}).output_as<std::string>(), "3");
  EXPECT_EQ(sessions, (std::vector<std::string>(3, "s")));
}

TEST_F(Retries, AttemptsThatTakeTooLongAreStoppedAndASuccessBeforeTheLimitIsOne) {
  add("limited", [](OrchestrationContext& ctx, std::string which) -> Task<std::string> {
    const auto policy = RetryPolicy().attempts(2).attempt_timeout(10s).backoff(Backoff::none());
    auto result = co_await ctx.schedule_activity<int>(which, 1).with_retry(policy).as_result();
    co_return result ? "worked" : std::string(to_string(result.error().kind));
  });
  add("in total", [](OrchestrationContext& ctx) -> Task<std::string> {
    const auto policy = RetryPolicy().attempts(100).total_timeout(10s).backoff(Backoff::fixed(3s));
    auto result =
        co_await ctx.schedule_activity<int>("Fail", std::string("no")).with_retry(policy).as_result();
    co_return result ? "worked" : std::string(to_string(*result.error().timeout));
  });
  world.run();
  EXPECT_EQ(finish("quick", "limited", "Double").output_as<std::string>(), "worked");
  EXPECT_EQ(finish_later("slow", "limited", std::string("Wait")).output_as<std::string>(), "timeout");
  world.until([&] { return waiters.stops().size() == 2; });
  for (const auto& stop : waiters.stops()) EXPECT_EQ(stop.reason, CancelReason::timeout);
  EXPECT_EQ(finish_later("total", "in total", std::monostate{}).output_as<std::string>(), "total");
}

TEST_F(Retries, ARetryLeftBehindByContinueAsNewHasNoEffect) {
  add("leave", [](OrchestrationContext& ctx, int round) -> Task<int> {
    if (round == 2) co_return co_await ctx.schedule_activity<int>("Double", 2);
    auto policy = RetryPolicy().attempts(5).attempt_timeout(1h);
    auto slow = ctx.schedule_activity<int>("Wait", 1).with_retry(policy).start();
    co_await ctx.schedule_timer(1s);
    co_return co_await ctx.continue_as_new(2);
  });
  world.run();
  EXPECT_EQ(finish_later("l", "leave", 1).output_as<int>(), 4);
  world.until([&] { return waiters.begun() == waiters.stops().size(); });
  world.expect_nothing_left();
}

TEST_F(Retries, ManyAtOnceDoNotMix) {
  std::atomic<int> failures{0};
  std::mutex mutex;
  std::map<std::string, int> seen;
  world.registry.add("Odd", [&](ActivityContext& ctx, int value) {
    // By its key: every second attempt of each activity works.
    std::lock_guard lock(mutex);
    if (++seen[ctx.instance_id().value] < 2) {
      ++failures;
      throw std::runtime_error("first");
    }
    return value;
  });
  add("one", [](OrchestrationContext& ctx, int value) -> Task<int> {
    const auto policy = RetryPolicy().attempts(2).backoff(Backoff::fixed(1s));
    co_return co_await ctx.schedule_activity<int>("Odd", value).with_retry(policy);
  });
  world.run();
  for (int i = 0; i < 10; ++i) world.client.start("i" + std::to_string(i), "one", i).value();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(world.end_of("i" + std::to_string(i)).output_as<int>(), i);
  EXPECT_EQ(failures, 10);
}

}  // namespace
}  // namespace duramen::test
