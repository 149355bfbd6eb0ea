// Cancellation of activities from end to end: a real runtime on a real store.
#include "e2e/store_world.hpp"
#include <duramen/testing/faulty_provider.hpp>

#include <atomic>
#include <set>
#include <thread>

namespace duramen::test {
namespace {

class ActivityCancellation : public ::testing::Test {
 protected:
  ActivityCancellation() {
    waiters.add_to(world.registry, "Wait");
    world.registry.add("Quick", [](ActivityContext&, int value) { return value; });
    world.registry.add("wait", [](OrchestrationContext& ctx, int activities) -> Task<int> {
      std::vector<DurableFuture<int>> all;
      for (int i = 0; i < activities; ++i) all.push_back(ctx.schedule_activity<int>("Wait", i));
      co_await ctx.join(std::move(all));
      co_return activities;
    });
    world.registry.add("race", [](OrchestrationContext& ctx) -> Task<std::string> {
      auto winner = co_await ctx.select2(ctx.schedule_activity<int>("Wait", 1), ctx.schedule_timer(1s));
      co_return winner.index() == 1 ? "timer" : "activity";
    });
  }
  void begin(const InstanceId& id, std::size_t activities) {
    world.client.start(id, "wait", static_cast<int>(activities)).value();
    const std::size_t want = activities;
    world.until([&] { return waiters.begun() >= want; });
  }
  void expect_stops(std::size_t count, CancelReason reason) {
    world.until([&] { return waiters.stops().size() >= count; });
    EXPECT_EQ(waiters.stops().size(), count);
    for (const Waiters::Stop& stop : waiters.stops()) {
      EXPECT_EQ(stop.cause, StopCause::cancelled);
      EXPECT_EQ(stop.reason, reason);
    }
  }
  Waiters waiters;
  StoreWorld world;
};

TEST_F(ActivityCancellation, activity_receives_cancellation_token) {
  Signal<bool> possible;
  Signal<bool> requested_at_first;
  world.registry.add("Look", [&](ActivityContext& ctx, int value) {
    possible.set(ctx.stop_token().stop_possible());
    requested_at_first.set(ctx.is_cancelled());
    return value;
  });
  world.registry.add("look", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Look", 1);
  });
  world.run();
  world.client.start("i", "look").value();
  EXPECT_EQ(world.end_of("i").status, Status::completed);
  EXPECT_EQ(possible.wait(), true);
  EXPECT_EQ(requested_at_first.wait(), false);
}

TEST_F(ActivityCancellation, cancellation_token_triggered_on_orchestration_cancel) {
  world.run();
  begin("i", 1);
  world.client.cancel("i", "user request").value();
  EXPECT_EQ(world.end_of("i").status, Status::cancelled);
  expect_stops(1, CancelReason::orchestration_terminal_cancelled);
}

TEST_F(ActivityCancellation, cancellation_token_triggered_on_orchestration_complete) {
  world.registry.add("leave", [](OrchestrationContext& ctx) -> Task<int> {
    ctx.schedule_activity<int>("Wait", 1).detach();
    co_return co_await ctx.schedule_wait<int>("go");
  });
  world.run();
  world.client.start("i", "leave").value();
  world.until([&] { return waiters.begun() == 1; });
  world.client.raise_event("i", "go", 5).value();
  EXPECT_EQ(world.end_of("i").output_as<int>(), 5);
  expect_stops(1, CancelReason::orchestration_terminal_completed);
}

TEST_F(ActivityCancellation, cancellation_token_triggered_on_continue_as_new) {
  world.registry.add("again", [](OrchestrationContext& ctx, int round) -> Task<int> {
    if (round == 2) co_return round;
    ctx.schedule_activity<int>("Wait", 1).detach();
    co_await ctx.schedule_wait<int>("go");
    co_return co_await ctx.continue_as_new(2);
  });
  world.run();
  world.client.start("i", "again", 1).value();
  world.until([&] { return waiters.begun() == 1; });
  world.client.raise_event("i", "go", 5).value();
  EXPECT_EQ(world.end_of("i").output_as<int>(), 2);
  expect_stops(1, CancelReason::orchestration_terminal_continued_as_new);
}

TEST_F(ActivityCancellation, continue_as_new_cancels_previous_execution_activities) {
  world.registry.add("again", [](OrchestrationContext& ctx, int round) -> Task<int> {
    if (round == 2) {
      co_await ctx.schedule_activity<int>("Quick", 1);
      co_return round;
    }
    for (int i = 0; i < 3; ++i) ctx.schedule_activity<int>("Wait", i).detach();
    co_await ctx.schedule_wait<int>("go");
    co_return co_await ctx.continue_as_new(2);
  });
  world.run();
  world.client.start("i", "again", 1).value();
  world.until([&] { return waiters.begun() == 3; });
  world.client.raise_event("i", "go", 5).value();
  EXPECT_EQ(world.end_of("i").output_as<int>(), 2);
  expect_stops(3, CancelReason::orchestration_terminal_continued_as_new);
  world.expect_nothing_left();
}

TEST_F(ActivityCancellation, activity_completes_within_grace_period) {
  RuntimeOptions options;
  options.cancel_grace = 10s;
  options.max_activities = 1;
  world.registry.add("Tidy", [this](ActivityContext& ctx, int value) -> ActivityTask<int> {
    waiters.began();
    co_await ctx.cancelled();
    world.clock.advance(2s);  // its clean-up takes this long
    waiters.stopped({"", ctx.stop_cause(), ctx.cancel_reason()});
    co_return value;
  });
  world.registry.add("tidy", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Tidy", 1);
  });
  world.registry.add("quick", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Quick", 3);
  });
  Runtime& runtime = world.run(options);
  world.client.start("i", "tidy").value();
  world.until([&] { return waiters.begun() == 1; });
  world.client.cancel("i", "enough").value();
  EXPECT_EQ(world.client.wait("i", forever).value().status, Status::cancelled);
  world.until([&] { return waiters.stops().size() == 1; });
  // There is one place: the activity ends before another begins. Only then may its grace period pass.
  world.client.start("next", "quick").value();
  EXPECT_EQ(world.client.wait("next", forever).value().output_as<int>(), 3);
  world.clock.advance(10s);
  world.client.start("last", "quick").value();
  EXPECT_EQ(world.client.wait("last", forever).value().output_as<int>(), 3);
  runtime.shutdown();
  EXPECT_EQ(world.log.count(LogLevel::warning), 0u);
  EXPECT_EQ(world.events("i", "ActivityCompleted"), 0u);
  world.expect_nothing_left();
}

TEST_F(ActivityCancellation, activity_exceeds_grace_period) {
  RuntimeOptions options;
  options.cancel_grace = 2s;
  options.activity_threads = 1;
  Signal<bool> let_go;
  world.registry.add("DeafThread", [&](ActivityContext&, int value) {
    waiters.began();
    (void)let_go.wait();
    return value;
  });
  struct Witness {
    std::atomic<bool>& gone;
    ~Witness() { gone = true; }
  };
  std::atomic<bool> gone{false};
  world.registry.add("DeafCoroutine", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    const Witness witness{gone};
    waiters.began();
    while (true) co_await ctx.sleep(1h);
    co_return value;
  });
  world.registry.add("both", [](OrchestrationContext& ctx) -> Task<int> {
    auto one = ctx.schedule_activity<int>("DeafThread", 1);
    auto two = ctx.schedule_activity<int>("DeafCoroutine", 1);
    co_await ctx.join2(std::move(one), std::move(two));
    co_return 0;
  });
  world.registry.add("quick", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Quick", 3);
  });
  Runtime& runtime = world.run(options);
  world.client.start("i", "both").value();
  world.until([&] { return waiters.begun() == 2; });
  world.client.cancel("i", "enough").value();
  world.end_of("i");
  world.until_later([&] { return runtime.abandoned_activities() == 1 && gone; });
  EXPECT_EQ(world.log.count(LogLevel::warning), 2u);  // one each, with the reason
  // The slot is free: the next one runs although the only thread is lost.
  world.client.start("next", "quick").value();
  EXPECT_EQ(world.end_of("next").output_as<int>(), 3);
  let_go.set(true);
  world.until([&] { return runtime.abandoned_activities() == 0; });
  EXPECT_EQ(world.events("i", "ActivityCompleted"), 0u);
  world.expect_nothing_left();
}

TEST_F(ActivityCancellation, activity_completes_or_fails_after_cancellation_always_drops_message) {
  for (const std::string how : {"return", "throw", "die"}) {
    world.registry.add("End-" + how, [this, how](ActivityContext& ctx, int value) -> ActivityTask<int> {
      waiters.began();
      co_await ctx.cancelled();
      waiters.stopped({how, ctx.stop_cause(), ctx.cancel_reason()});
      if (how == "throw") throw std::runtime_error("too late");
      if (how == "die") co_await ctx.sleep(1h);
      co_return value;
    });
  }
  world.registry.add("all", [](OrchestrationContext& ctx) -> Task<int> {
    auto a = ctx.schedule_activity<int>("End-return", 1);
    auto b = ctx.schedule_activity<int>("End-throw", 1);
    auto c = ctx.schedule_activity<int>("End-die", 1);
    co_await ctx.join3(std::move(a), std::move(b), std::move(c));
    co_return 0;
  });
  Runtime& runtime = world.run();
  world.client.start("i", "all").value();
  world.until([&] { return waiters.begun() == 3; });
  world.client.cancel("i", "enough").value();
  world.end_of("i");
  world.until([&] { return waiters.stops().size() == 3; });
  world.until_later([&] { return world.log.count(LogLevel::warning) == 1; });  // the one that sleeps on
  runtime.shutdown();
  EXPECT_EQ(world.events("i", "ActivityCompleted"), 0u);
  EXPECT_EQ(world.events("i", "ActivityFailed"), 0u);
  EXPECT_EQ(world.events("i", "ActivityCancelRequested"), 3u);
  world.expect_nothing_left();
}

TEST_F(ActivityCancellation, activity_completes_before_cancellation_check) {
  // Queue order decides. First: the completion comes before the cancel. It is processed, then the cancel ends
  // the instance.
  world.registry.add("two steps", [](OrchestrationContext& ctx) -> Task<int> {
    co_await ctx.schedule_wait<int>("first");
    co_await ctx.schedule_wait<int>("never");
    co_return 1;
  });
  // Second: the instance has already completed, and the cancel changes nothing.
  world.registry.add("one step", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_wait<int>("first");
  });
  world.client.start("i", "two steps").value();
  world.client.start("j", "one step").value();
  world.run();
  // A cancel that arrives before the first turn ends the instance whatever stands before it.
  for (const char* id : {"i", "j"}) {
    world.until([&] { return world.client.get_instance(id).value().status == Status::running; });
  }
  world.client.raise_event("i", "first", 1).value();
  world.client.cancel("i", "enough").value();
  world.client.raise_event("j", "first", 7).value();
  world.client.cancel("j", "enough").value();
  EXPECT_EQ(world.end_of("i").status, Status::cancelled);
  EXPECT_EQ(world.events("i", "ExternalEvent"), 1u);
  EXPECT_EQ(world.end_of("j").output_as<int>(), 7);
}

TEST_F(ActivityCancellation, terminal_or_missing_activity_is_never_started) {
  std::atomic<int> started{0};
  Registry turns;
  turns.add("schedule", [](OrchestrationContext& ctx, std::string tag) -> Task<int> {
    auto call = ctx.schedule_activity<int>("Late", 1);
    if (!tag.empty()) call = std::move(call).with_tag(tag);
    co_return co_await std::move(call);
  });
  {
    // No node runs activities: the rows wait.
    Runtime only_turns(world.store, turns, RuntimeOptions{.log = world.log.sink()});
    for (const auto& [id, tag] : {std::pair{"cancelled", ""}, {"deleted", ""}, {"tagged", "gpu"}}) {
      world.client.start(id, "schedule", std::string(tag)).value();
    }
    world.until([&] { return world.provider.get_queue_depths().value().worker_due == 3; });
    world.client.cancel("cancelled", "enough").value();
    world.end_of("cancelled");
    world.client.cancel("tagged", "enough").value();
    world.end_of("tagged");
    const InstanceId deleted = "deleted";
    EXPECT_EQ(world.provider.delete_instances({&deleted, 1}, DeleteMode::force).value().at(0).outcome,
              DeleteOutcome::deleted);
  }
  world.registry.add("Late", [&](ActivityContext&, int value) {
    ++started;
    return value;
  });
  RuntimeOptions every_tag;
  every_tag.tags = TagFilter::any();
  world.run(every_tag);
  world.registry.add("after", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Quick", 1);
  });
  world.run();
  world.client.start("after", "after").value();
  world.end_of("after");
  EXPECT_EQ(started, 0);
  world.expect_nothing_left();
}

TEST_F(ActivityCancellation, multiple_activities_cancelled_together) {
  world.run();
  begin("i", 3);
  world.client.cancel("i", "enough").value();
  world.end_of("i");
  expect_stops(3, CancelReason::orchestration_terminal_cancelled);
}

TEST_F(ActivityCancellation, cancel_instance_cancels_outstanding_activities) {
  world.run();
  begin("i", 2);
  world.client.cancel("i", "user request").value();
  const InstanceState state = world.end_of("i");
  EXPECT_EQ(state.status, Status::cancelled);
  EXPECT_EQ(state.failure->message, "user request");
  expect_stops(2, CancelReason::orchestration_terminal_cancelled);
  EXPECT_EQ(world.reasons("i"), std::vector(2, CancelReason::orchestration_terminal_cancelled));
  world.expect_nothing_left();
}

TEST_F(ActivityCancellation, orchestration_failure_cancels_activities) {
  world.registry.add("fail", [](OrchestrationContext& ctx) -> Task<int> {
    ctx.schedule_activity<int>("Wait", 1).detach();
    co_await ctx.schedule_wait<int>("go");
    throw std::runtime_error("no more");
  });
  world.run();
  world.client.start("i", "fail").value();
  world.until([&] { return waiters.begun() == 1; });
  world.client.raise_event("i", "go", 1).value();
  EXPECT_EQ(world.end_of("i").status, Status::failed);
  expect_stops(1, CancelReason::orchestration_terminal_failed);
}

TEST_F(ActivityCancellation, select_timeout_cancels_losing_activity) {
  world.run();
  world.client.start("i", "race").value();
  world.until([&] { return waiters.begun() == 1; });
  EXPECT_EQ(world.end_of("i").output_as<std::string>(), "timer");
  expect_stops(1, CancelReason::select_loser);
}

TEST_F(ActivityCancellation, select_loser_activity_gets_cancel_signal) {
  world.registry.add("two", [](OrchestrationContext& ctx) -> Task<int> {
    auto winner =
        co_await ctx.select2(ctx.schedule_activity<int>("Wait", 1), ctx.schedule_activity<int>("Quick", 4));
    co_await ctx.schedule_wait<int>("go");  // the loser need not wait for the end
    co_return winner.second();
  });
  world.run();
  world.client.start("i", "two").value();
  expect_stops(1, CancelReason::select_loser);
  EXPECT_EQ(world.status("i"), Status::running);
  world.client.raise_event("i", "go", 1).value();
  EXPECT_EQ(world.end_of("i").output_as<int>(), 4);
}

TEST_F(ActivityCancellation, select_loser_activity_has_cancel_event_in_history) {
  world.run();
  world.client.start("i", "race").value();
  world.end_of("i");
  EventId scheduled;
  bool found = false;
  for (const Event& event : world.client.read_history("i").value()) {
    if (event_type(event) == "ActivityScheduled") scheduled = event.id;
    if (const auto* cancel = std::get_if<event::ActivityCancelRequested>(&event.body)) {
      found = true;
      EXPECT_EQ(cancel->reason, CancelReason::select_loser);
      EXPECT_EQ(event.source, scheduled);
    }
  }
  EXPECT_TRUE(found);
}

TEST_F(ActivityCancellation, retry_timeout_cancels_timed_out_attempt) {
  world.registry.add("retry", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto result = co_await ctx.schedule_activity<int>("Wait", 1)
                      .with_retry(RetryPolicy().attempts(2).attempt_timeout(1s).backoff(Backoff::fixed(1s)))
                      .as_result();
    co_return result ? "worked" : std::string(to_string(result.error().kind));
  });
  world.run();
  world.client.start("i", "retry").value();
  EXPECT_EQ(world.end_of("i").output_as<std::string>(), "timeout");
  expect_stops(2, CancelReason::timeout);
}

TEST_F(ActivityCancellation, abandoned_future_early_return) {
  world.registry.add("leave", [](OrchestrationContext& ctx) -> Task<int> {
    auto slow = ctx.schedule_activity<int>("Wait", 1).start();
    if (co_await ctx.schedule_wait<bool>("enough")) co_return 1;
    co_return co_await std::move(slow);
  });
  Runtime& runtime = world.run();
  world.client.start("i", "leave").value();
  world.until([&] { return waiters.begun() == 1; });
  world.client.raise_event("i", "enough", true).value();
  EXPECT_EQ(world.end_of("i").output_as<int>(), 1);
  expect_stops(1, CancelReason::dropped_future);
  runtime.shutdown();
  world.expect_nothing_left();
}

TEST_F(ActivityCancellation, non_awaited_future_no_orphan_activity) {
  world.registry.add("ignore", [](OrchestrationContext& ctx) -> Task<int> {
    {
      auto never = ctx.schedule_activity<int>("Wait", 1);
    }
    co_return co_await ctx.schedule_activity<int>("Quick", 2);
  });
  world.run();
  world.client.start("i", "ignore").value();
  EXPECT_EQ(world.end_of("i").output_as<int>(), 2);
  EXPECT_EQ(waiters.begun(), 0u);
  EXPECT_EQ(world.events("i", "ActivityScheduled"), 1u);
}

TEST_F(ActivityCancellation, rapid_select_drops_no_leak) {
  static constexpr int rounds = 100;
  world.registry.add("churn", [](OrchestrationContext& ctx) -> Task<int> {
    for (int i = 0; i < rounds; ++i) {
      co_await ctx.select2(ctx.schedule_activity<int>("Wait", i), ctx.schedule_activity<int>("Quick", i));
    }
    co_return rounds;
  });
  Runtime& runtime = world.run();
  world.client.start("i", "churn").value();
  EXPECT_EQ(world.end_of("i").output_as<int>(), rounds);
  world.until([&] { return waiters.begun() == waiters.stops().size(); });
  runtime.shutdown();
  world.expect_nothing_left();
  EXPECT_EQ(world.events("i", "ActivityCancelRequested"), static_cast<std::size_t>(rounds));
}

// -- leases ---------------------------------------------------------------------------------------

/// Renewals fail when the test asks for it.
class FailingRenewals final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    ++calls;
    if (fails) return Error{ErrorCode::unavailable, "renew_activities", "the disk is on fire", true};
    return ForwardingProvider::renew_activities(leases, extend);
  }
  static inline std::atomic<bool> fails{false};
  static inline std::atomic<int> calls{0};
};

class Renewal : public ::testing::Test {
 protected:
  Renewal()
      : world([](std::shared_ptr<Provider> inner) {
          return std::make_shared<FailingRenewals>(std::move(inner));
        }) {
    FailingRenewals::fails = false;
    FailingRenewals::calls = 0;
    options.activity_lease = 30s;
    options.cancel_grace = 2s;
    waiters.add_to(world.registry, "Wait");
    world.registry.add("wait", [](OrchestrationContext& ctx) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>("Wait", 1);
    });
  }
  Waiters waiters;
  RuntimeOptions options;
  StoreWorld world;
};

TEST_F(Renewal, renew_retryable_errors_do_not_cancel) {
  world.run(options);
  world.client.start("i", "wait").value();
  world.until([&] { return waiters.begun() == 1; });
  FailingRenewals::fails = true;
  // Several failed rounds, all well before the lease's end: the first after a third of it, then every second.
  const auto next_round = [&](Duration after) {
    const int before = FailingRenewals::calls;
    world.clock.advance(after);
    world.until([&] { return FailingRenewals::calls > before; }, [&] { world.pass(5ms); });
  };
  next_round(10s);
  for (int i = 0; i < 3; ++i) next_round(900ms);
  EXPECT_TRUE(waiters.stops().empty());
  FailingRenewals::fails = false;
  next_round(900ms);
  // Renewed: past the first lease's end it still runs.
  next_round(10s);
  next_round(10s);
  EXPECT_TRUE(waiters.stops().empty());
  EXPECT_EQ(world.status("i"), Status::running);
}

TEST_F(Renewal, renew_non_retryable_error_cancels_and_aborts) {
  world.registry.add("Ignore", [this](ActivityContext& ctx, int) -> ActivityTask<int> {
    if (ctx.attempt() > 1) co_return 42;
    waiters.began();
    co_await ctx.cancelled();
    waiters.stopped({"", ctx.stop_cause(), ctx.cancel_reason()});
    while (true) co_await ctx.sleep(1h);
  });
  world.registry.add("ignore", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Ignore", 1);
  });
  world.run(options);
  world.client.start("i", "ignore").value();
  world.until([&] { return waiters.begun() == 1; });
  FailingRenewals::fails = true;  // for longer than the lease: it is lost
  world.until_later([&] { return waiters.stops().size() == 1; });
  EXPECT_EQ(waiters.stops().front().cause, StopCause::lease_lost);
  EXPECT_FALSE(waiters.stops().front().reason.has_value());
  FailingRenewals::fails = false;
  // Aborted after the grace period, and run again: exactly one completion.
  EXPECT_EQ(world.end_of("i").output_as<int>(), 42);
  EXPECT_EQ(world.events("i", "ActivityCompleted"), 1u);
  world.expect_nothing_left();
}

// -- child work of activities ---------------------------------------------------------------------

TEST_F(ActivityCancellation, activity_spawns_child_tasks_with_cancellation) {
  std::atomic<int> helpers_stopped{0};
  world.registry.add("Parallel", [&](ActivityContext& ctx, int value) {
    waiters.began();
    std::vector<std::jthread> helpers;
    for (int i = 0; i < 3; ++i) {
      helpers.emplace_back([&, token = ctx.stop_token()] {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        wake.wait(lock, token, [] { return false; });
        ++helpers_stopped;
      });
    }
    helpers.clear();  // joins
    waiters.stopped({"", ctx.stop_cause(), ctx.cancel_reason()});
    return value;
  });
  world.registry.add("parallel", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Parallel", 1);
  });
  world.run();
  world.client.start("i", "parallel").value();
  world.until([&] { return waiters.begun() == 1; });
  world.client.cancel("i", "enough").value();
  world.end_of("i");
  expect_stops(1, CancelReason::orchestration_terminal_cancelled);
  EXPECT_EQ(helpers_stopped, 3);
}

TEST_F(ActivityCancellation, activity_spawns_child_tasks_without_cancellation_is_user_error) {
  Signal<bool> let_go;
  std::atomic<bool> helper_ended{false};
  std::thread helper;  // outlives the activity: no stop request
  world.registry.add("Careless", [&](ActivityContext& ctx, int value) {
    helper = std::thread([&] {
      (void)let_go.wait();
      helper_ended = true;
    });
    waiters.began();
    while (ctx.wait_for(1h)) {
    }
    waiters.stopped({"", ctx.stop_cause(), ctx.cancel_reason()});
    return value;
  });
  world.registry.add("careless", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Careless", 1);
  });
  world.run();
  world.client.start("i", "careless").value();
  world.until([&] { return waiters.begun() == 1; });
  world.client.cancel("i", "enough").value();
  EXPECT_EQ(world.end_of("i").status, Status::cancelled);
  expect_stops(1, CancelReason::orchestration_terminal_cancelled);
  // The instance has ended, its stray helper has not.
  EXPECT_FALSE(helper_ended);
  let_go.set(true);
  helper.join();
  world.expect_nothing_left();
}

// -- many -----------------------------------------------------------------------------------------

TEST_F(ActivityCancellation, high_concurrency_cancellation) {
  constexpr std::size_t instances = 100;
  constexpr std::size_t each = 5;
  Runtime& runtime = world.run();
  for (std::size_t i = 0; i < instances; ++i) {
    world.client.start("i" + std::to_string(i), "wait", static_cast<int>(each)).value();
  }
  world.until([&] { return waiters.begun() == instances * each; });
  for (std::size_t i = 0; i < instances; ++i)
    world.client.cancel("i" + std::to_string(i), "all of you").value();
  for (std::size_t i = 0; i < instances; ++i) {
    EXPECT_EQ(world.client.wait("i" + std::to_string(i), forever).value().status, Status::cancelled);
  }
  expect_stops(instances * each, CancelReason::orchestration_terminal_cancelled);
  runtime.shutdown();
  world.expect_nothing_left();
}

TEST_F(ActivityCancellation, cancellation_during_high_load) {
  RuntimeOptions options;
  options.max_activities = 8;  // all of them busy
  world.registry.add("quick", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Quick", value);
  });
  world.run(options);
  world.client.start("busy", "wait", 8).value();
  world.until([&] { return waiters.begun() == 8; });
  for (int i = 0; i < 20; ++i) world.client.start("q" + std::to_string(i), "quick", i).value();
  world.client.cancel("busy", "make room").value();
  EXPECT_EQ(world.client.wait("busy", forever).value().status, Status::cancelled);
  expect_stops(8, CancelReason::orchestration_terminal_cancelled);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(world.end_of("q" + std::to_string(i)).output_as<int>(), i);
}

TEST_F(ActivityCancellation, mass_cancellation_on_orchestration_cancel) {
  constexpr std::size_t many = 500;
  RuntimeOptions options;
  options.max_activities = 100;  // the others wait in the queue
  Runtime& runtime = world.run(options);
  world.client.start("i", "wait", static_cast<int>(many)).value();
  world.until([&] { return waiters.begun() == 100; });
  world.client.cancel("i", "enough").value();
  EXPECT_EQ(world.client.wait("i", forever).value().status, Status::cancelled);
  expect_stops(100, CancelReason::orchestration_terminal_cancelled);
  EXPECT_EQ(waiters.begun(), 100u);  // queued activities never began
  EXPECT_EQ(world.events("i", "ActivityCancelRequested"), many);
  runtime.shutdown();
  world.expect_nothing_left();
}

}  // namespace
}  // namespace duramen::test
