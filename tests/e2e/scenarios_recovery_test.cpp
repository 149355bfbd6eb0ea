// Restarts, crashes, repeated messages, changed code: every instance finishes, once.
#include "e2e/scenario.hpp"
#include <duramen/testing/faulty_provider.hpp>

#include <stop_token>
#include <thread>

namespace duramen::test {
namespace {

using testing::Fault;
using testing::FaultyProvider;

class Recovery : public Scenario {
 protected:
  Recovery() {
    add("steps", [](OrchestrationContext& ctx, int count) -> Task<int> {
      int sum = 0;
      for (int i = 0; i < count; ++i) sum += co_await ctx.schedule_activity<int>("Double", i);
      co_return sum;
    });
    add("event", [](OrchestrationContext& ctx) -> Task<std::string> {
      co_return co_await ctx.schedule_wait<std::string>("go");
    });
    add("timer", [](OrchestrationContext& ctx) -> Task<std::string> {
      co_await ctx.schedule_timer(1h);
      co_return "rested";
    });
    add("family", [](OrchestrationContext& ctx) -> Task<std::string> {
      co_return "child: " +
          co_await ctx.schedule_sub_orchestration<std::string>("event_child", 1, ChildOptions().id("c"));
    });
    add("event_child", [](OrchestrationContext& ctx, int) -> Task<std::string> {
      co_return co_await ctx.schedule_wait<std::string>("go");
    });
  }
  /// A runtime whose process dies at the `nth` call of `operation`, before the call or before its answer.
  void run_until_death(const std::string& operation, std::uint64_t nth, Fault death) {
    auto dying = std::make_shared<FaultyProvider>(world.store.provider(),
                                                  testing::single_fault(operation, nth, death));
    Runtime runtime(Store(dying), world.registry, RuntimeOptions{.log = world.log.sink()});
    world.until_later([&] { return dying->crashed(); });
    // Its remaining calls, which all fail, take time.
    const std::jthread time_passes([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        world.pass(100ms);
        std::this_thread::sleep_for(1ms);
      }
    });
    runtime.shutdown(Duration{0});
  }
};

TEST_F(Recovery, EveryShapeGoesOnAfterARestart) {
  RuntimeOptions options;
  world.run(options);
  world.client.start("event", "event").value();
  world.client.start("timer", "timer").value();
  world.client.start("family", "family").value();
  world.client.start("steps", "steps", 5).value();
  until_event("event", "ExternalSubscribed");
  until_event("timer", "TimerCreated");
  until_event("c", "ExternalSubscribed");
  world.runtimes.clear();  // everything in memory is gone
  world.client.raise_event("event", "go", "event").value();
  world.client.raise_event("c", "go", "event").value();
  world.run();
  EXPECT_EQ(world.client.wait("event", forever).value().output_as<std::string>(), "event");
  EXPECT_EQ(world.client.wait("family", forever).value().output_as<std::string>(), "child: event");
  EXPECT_EQ(world.client.wait("steps", forever).value().output_as<int>(), 20);
  world.clock.advance(1h);
  EXPECT_EQ(world.end_of("timer").output_as<std::string>(), "rested");
}

TEST_F(Recovery, ATimerFiresAfterACrashBeforeOrAfterItWasDue) {
  world.run();
  world.client.start("t", "timer").value();
  until_event("t", "TimerCreated");
  world.runtimes.clear();
  world.clock.advance(30min);
  world.run();  // not due yet
  world.runtimes.clear();
  world.clock.advance(31min);  // due while no node runs
  world.run();
  EXPECT_EQ(world.end_of("t").output_as<std::string>(), "rested");
  EXPECT_EQ(world.events("t", "TimerFired"), 1u);
}

TEST_F(Recovery, ATurnWhoseNodeDiesBeforeOrAfterItsCommitIsStoredOnce) {
  for (const Fault death : {Fault::crash_before, Fault::crash_after}) {
    const InstanceId id(death == Fault::crash_before ? "before" : "after");
    world.client.start(id, "steps", 4).value();
    run_until_death("commit_turns", 3, death);
    world.run();
    EXPECT_EQ(world.end_of(id).output_as<int>(), 12);
    EXPECT_EQ(world.events(id, "ActivityScheduled"), 4u);
    EXPECT_EQ(world.events(id, "ActivityCompleted"), 4u);
    world.runtimes.clear();
  }
}

TEST_F(Recovery, ActivitiesWhoseNodeDiedAreRunAgainAndCompletedOnce) {
  add("fan", [](OrchestrationContext& ctx) -> Task<int> {
    std::vector<DurableFuture<int>> all;
    for (int i = 0; i < 3; ++i) all.push_back(ctx.schedule_activity<int>("Double", i));
    int sum = 0;
    for (const int value : co_await ctx.join(std::move(all))) sum += value;
    co_return sum;
  });
  Registry turns_only;
  turns_only.add("fan", [](OrchestrationContext& ctx) -> Task<int> {
    std::vector<DurableFuture<int>> all;
    for (int i = 0; i < 3; ++i) all.push_back(ctx.schedule_activity<int>("Double", i));
    int sum = 0;
    for (const int value : co_await ctx.join(std::move(all))) sum += value;
    co_return sum;
  });
  {
    Runtime turns(world.store, turns_only, RuntimeOptions{.log = world.log.sink()});
    world.client.start("f", "fan").value();
    die_with_activities(3);
  }
  world.run();
  EXPECT_EQ(world.end_of("f").output_as<int>(), 6);
  EXPECT_EQ(world.events("f", "ActivityCompleted"), 3u);
}

TEST_F(Recovery, AMessageThatWasHandedOutAndNotProcessedIsProcessedOnce) {
  world.run();
  world.client.start("e", "event").value();
  until_event("e", "ExternalSubscribed");
  world.runtimes.clear();
  world.client.raise_event("e", "go", "once").value();
  die_with_turns();
  world.run();
  EXPECT_EQ(world.end_of("e").output_as<std::string>(), "once");
  EXPECT_EQ(world.events("e", "ExternalEvent"), 1u);
}

// -- repeated messages ------------------------------------------

TEST_F(Recovery, CompletionsAndTimersThatComeTwiceCountOnce) {
  add("both", [](OrchestrationContext& ctx) -> Task<int> {
    const int value = co_await ctx.schedule_activity<int>("Double", 4);
    co_await ctx.schedule_timer(1s);
    co_await ctx.schedule_wait<int>("go");
    co_return value;
  });
  world.run();
  world.client.start("b", "both").value();
  world.until_later([&] { return world.events("b", "ExternalSubscribed") == 1; });
  const EventId activity = id_of("b", "ActivityScheduled");
  const EventId timer = id_of("b", "TimerCreated");
  inject("b", message::ActivityCompleted{ExecutionId{1}, activity, Payload::json("99")});
  inject("b", message::ActivityFailed{ExecutionId{1}, activity, Failure::application("Late", "late")});
  inject("b", message::TimerFired{ExecutionId{1}, timer, world.clock.now()});
  // A completion of another execution, earlier or later than this one.
  inject("b", message::ActivityCompleted{ExecutionId{7}, activity, Payload::json("77")});
  world.client.raise_event("b", "go", 1).value();
  EXPECT_EQ(world.client.wait("b", forever).value().output_as<int>(), 8);
  EXPECT_EQ(world.events("b", "ActivityCompleted"), 1u);
  EXPECT_EQ(world.events("b", "ActivityFailed"), 0u);
  EXPECT_EQ(world.events("b", "TimerFired"), 1u);
}

TEST_F(Recovery, AnEventSentTwiceIsTwoEventsUnlessItHasAnId) {
  add("three", [](OrchestrationContext& ctx) -> Task<std::string> {
    std::string all;
    for (int i = 0; i < 3; ++i) all += co_await ctx.schedule_wait<std::string>("go");
    co_return all;
  });
  world.client.start("t", "three").value();
  world.client.raise_event("t", "go", "a").value();
  world.client.raise_event("t", "go", "a").value();
  EXPECT_EQ(world.client.raise_event("t", "go", "b", "id-1").value(), EnqueueOutcome::enqueued);
  EXPECT_EQ(world.client.raise_event("t", "go", "c", "id-1").value(), EnqueueOutcome::duplicate);
  world.run();
  EXPECT_EQ(world.end_of("t").output_as<std::string>(), "aab");
}

TEST_F(Recovery, ACompletionOfNothingOrOfTheWrongKindIsNondeterminism) {
  const auto failing = [&](const InstanceId& id, MessageBody wrong) {
    world.client.start(id, "timer").value();
    until_event(id, "TimerCreated");
    inject(id, std::move(wrong));
    return world.client.wait(id, forever).value().failure->kind;
  };
  world.run();
  const Payload one = Payload::json("1");
  EXPECT_EQ(failing("a", message::ActivityCompleted{ExecutionId{1}, EventId{2}, one}),
            FailureKind::nondeterminism);
  EXPECT_EQ(failing("b", message::ActivityCompleted{ExecutionId{1}, EventId{42}, one}),
            FailureKind::nondeterminism);
  EXPECT_EQ(failing("c", message::TimerFired{ExecutionId{1}, EventId{42}, world.clock.now()}),
            FailureKind::nondeterminism);
}

// -- changed code ------------------------------------------

TEST_F(Recovery, CodeThatWasSwappedUnderARunningInstanceIsNamedAndItsWorkCancelled) {
  add("swap", [](OrchestrationContext& ctx) -> Task<int> {
    auto slow = ctx.schedule_activity<int>("Nowhere", 1).start();  // no node runs it: it stays open
    co_await ctx.schedule_wait<int>("go");
    co_return co_await std::move(slow);
  });
  world.run();
  world.client.start("s", "swap").value();
  until_event("s", "ExternalSubscribed");
  // Another process, with other code under the same name and version.
  Registry swapped;
  swapped.add("swap", [](OrchestrationContext& ctx) -> Task<int> {
    auto slow = ctx.schedule_activity<int>("Double", 1).start();
    co_await ctx.schedule_wait<int>("go");
    co_return co_await std::move(slow);
  });
  world.runtimes.clear();
  Runtime other(world.store, swapped, RuntimeOptions{.log = world.log.sink()});
  world.client.raise_event("s", "go", 1).value();
  const InstanceState state = world.end_of("s");
  EXPECT_EQ(state.failure->kind, FailureKind::nondeterminism);
  EXPECT_NE(state.failure->message.find("Nowhere"), std::string::npos) << state.failure->message;
  EXPECT_NE(state.failure->message.find("Double"), std::string::npos) << state.failure->message;
  EXPECT_EQ(world.reasons("s"), std::vector(1, CancelReason::orchestration_terminal_failed));
  world.expect_nothing_left();
}

TEST_F(Recovery, EqualActivitiesGetTheirOwnResultsAcrossARestart) {
  std::atomic<int> calls{0};
  world.registry.add("Next", [&](ActivityContext&, int) { return ++calls; });
  add("equal", [](OrchestrationContext& ctx) -> Task<std::vector<int>> {
    std::vector<int> values;
    values.push_back(co_await ctx.schedule_activity<int>("Next", 0));
    values.push_back(co_await ctx.schedule_activity<int>("Next", 0));
    co_await ctx.schedule_wait<int>("go");
    values.push_back(co_await ctx.schedule_activity<int>("Next", 0));
    co_return values;
  });
  world.run();
  world.client.start("e", "equal").value();
  until_event("e", "ExternalSubscribed");
  world.runtimes.clear();
  world.client.raise_event("e", "go", 1).value();
  world.run();
  EXPECT_EQ(world.end_of("e").output_as<std::vector<int>>(), (std::vector<int>{1, 2, 3}));
}

// -- races ------------------------------------------

TEST_F(Recovery, TheFirstOfAnEventAndATimerInHistoryWins) {
  add("race", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_wait<std::string>("go"), ctx.schedule_timer(10s));
    co_await ctx.schedule_timer(1min);  // the loser has time to arrive
    co_return winner.is_first() ? winner.first() : "timer";
  });
  world.run();
  world.client.start("event", "race").value();
  until_event("event", "TimerCreated");
  world.client.raise_event("event", "go", "event").value();
  world.until([&] { return world.events("event", "TimerCreated") == 2; });  // before time passes
  world.client.start("timer", "race").value();
  until_event("timer", "TimerCreated");
  world.until_later([&] { return world.events("timer", "TimerFired") >= 1; });
  world.client.raise_event("timer", "go", "too late").value();
  EXPECT_EQ(world.end_of("event").output_as<std::string>(), "event");
  EXPECT_EQ(world.end_of("timer").output_as<std::string>(), "timer");
  EXPECT_EQ(world.events("event", "TimerFired"), 1u);  // only the minute
}

}  // namespace
}  // namespace duramen::test
