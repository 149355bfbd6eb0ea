// The client on a store, without and with a runtime.
#include "client/wait_registry.hpp"
#include "runtime/world.hpp"

#include <atomic>

namespace duramen::test {
namespace {

class Clients : public ::testing::Test {
 protected:
  void SetUp() override {
    world.registry.add("echo",
                       [](OrchestrationContext&, std::string text) -> Task<std::string> { co_return text; });
    world.registry.add("sleep",
                       [](OrchestrationContext& ctx) -> Task<void> { co_await ctx.schedule_timer(24h); });
  }
  World world;
};

TEST_F(Clients, StartingTheSameAgainIsARepeatAndNotAnError) {
  EXPECT_EQ(world.client.start("a", "echo", "x").value(), StartOutcome::created);
  EXPECT_EQ(world.client.start("a", "echo", "x").value(), StartOutcome::exists);
  world.run();
  world.client.wait("a", forever).value();
  EXPECT_EQ(world.client.start("a", "echo", "x").value(), StartOutcome::exists);
}

TEST_F(Clients, AnIdWithAnotherInputIsRefused) {
  for (const bool with_runtime : {false, true}) {
    if (with_runtime) world.run();
    const std::string id = with_runtime ? "b" : "a";
    world.client.start(id, "echo", "x").value();
    const auto refused = world.client.start(id, "echo", "y");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  }
}

TEST_F(Clients, AnEndedInstanceIsReplacedOnlyWhenAsked) {
  world.run();
  world.finish("a", "echo", "first");
  StartOptions replace;
  replace.reuse = IdReuse::replace_when_final;
  EXPECT_EQ(world.client.start("a", "echo", "second", replace).value(), StartOutcome::created);
  EXPECT_EQ(world.client.wait("a", forever).value().output_as<std::string>(), "second");
}

TEST_F(Clients, WaitingForAnUnknownInstanceIsNotFound) {
  const auto state = world.client.wait("nobody", forever);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, ErrorCode::not_found);
}

TEST_F(Clients, WaitingNoLongerThanAskedIsATimeout) {
  world.run();
  world.client.start("s", "sleep").value();
  const auto state = world.client.wait("s", Duration{20});
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, ErrorCode::timed_out);
  EXPECT_TRUE(state.error().retryable);
}

TEST_F(Clients, BadInputIsRefusedBeforeAnythingIsStored) {
  world.run();
  EXPECT_EQ(world.client.start("", "echo", "x").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(world.client.start("a", "", "x").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(world.client.start("a", "echo", std::string("x\0y", 3)).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(world.client.start("a", "echo", "\xff\xfe").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(world.client.start("a", "echo", std::string(default_payload_limit + 1, 'x')).error().code,
            ErrorCode::limit_exceeded);
  EXPECT_EQ(world.client.start(std::string(5000, 'i'), "echo", "x").error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(world.provider->snapshot().instances, 0u);
}

TEST_F(Clients, TheRequesterIsStoredWithEverythingThatTheClientSends) {
  world.registry.add("listen", [](OrchestrationContext& ctx) -> Task<void> {
    co_await ctx.schedule_wait<std::string>("approved");
    co_await ctx.dequeue_event<std::string>("jobs");
    co_await ctx.schedule_timer(24h);
  });
  world.run();
  Client alice{world.store, {.requested_by = "alice"}};
  alice.start("l", "listen").value();
  alice.raise_event("l", "approved", "yes").value();
  alice.enqueue_event("l", "jobs", "first").value();
  StartRequest for_bob;
  for_bob.instance = "b";
  for_bob.start.orchestration = "sleep";
  for_bob.start.input = Payload::none();
  for_bob.start.requested_by = "bob";
  Signal<bool> started;
  alice.start_async(for_bob, [&](Result<StartOutcome> outcome) { started.set(outcome.has_value()); });
  ASSERT_EQ(started.wait(), true);
  alice.cancel("l", "enough").value();
  world.client.cancel("b", "enough").value();
  world.client.wait("l", forever).value();
  world.client.wait("b", forever).value();

  const auto requesters = [&](const InstanceId& instance) {
    std::vector<std::string> names;
    for (const Event& event : world.client.read_history(instance).value()) {
      std::visit(
          [&](const auto& body) {
            if constexpr (requires { body.requested_by; }) {
              names.push_back(std::string(event_type(event)) + " " + body.requested_by.value_or("-"));
            }
          },
          event.body);
    }
    return names;
  };
  EXPECT_EQ(requesters("l"), (std::vector<std::string>{"OrchestrationStarted alice", "ExternalEvent alice",
                                                       "ExternalEventPersistent alice",
                                                       "OrchestrationCancelRequested alice"}));
  EXPECT_EQ(requesters("b"),
            (std::vector<std::string>{"OrchestrationStarted bob", "OrchestrationCancelRequested -"}));
}

TEST_F(Clients, ARequesterThatCannotBeStoredIsRefused) {
  EXPECT_THROW((Client{world.store, {.requested_by = std::string(max_name_bytes + 1, 'x')}}),
               std::invalid_argument);
  EXPECT_THROW((Client{world.store, {.requested_by = "\xff"}}), std::invalid_argument);
  EXPECT_THROW((Client{world.store, {.requested_by = ""}}), std::invalid_argument);
}

TEST_F(Clients, ManyWaitersAreEachNotifiedOnce) {
  world.run();
  Client other{world.store};
  std::atomic<int> notified{0};
  Signal<bool> all;
  constexpr int waiters = 20;
  const auto count_end = [&](Result<InstanceState> state) {
    EXPECT_EQ(state.value().status, Status::cancelled);
    if (++notified == waiters) all.set(true);
  };
  world.client.start("s", "sleep").value();
  for (int i = 0; i < waiters; ++i) (i % 2 ? world.client : other).wait_async("s", count_end);
  other.cancel("s", "all notified").value();
  EXPECT_TRUE(all.wait());
  EXPECT_EQ(notified, waiters);
}

TEST_F(Clients, RunAsyncReportsTheEndOfItsInstance) {
  world.run();
  Signal<std::string> output;
  StartRequest request;
  request.instance = "r";
  request.start.orchestration = "echo";
  request.start.input = Payload::text("text");
  world.client.run_async(request,
                         [&](Result<InstanceState> state) { output.set(state->output_as<std::string>()); });
  EXPECT_EQ(output.wait(), "text");
}

TEST_F(Clients, RunAsyncReportsTheEndOfAnEndedRepeat) {
  world.run();
  world.finish("r", "echo", "text");
  Signal<std::string> output;
  StartRequest request;
  request.instance = "r";
  request.start.orchestration = "echo";
  request.start.input = Payload::text("text");
  world.client.run_async(request,
                         [&](Result<InstanceState> state) { output.set(state->output_as<std::string>()); });
  EXPECT_EQ(output.wait(), "text");
}

// A read for all waiters, made before a start was durable, once ended the wait for that start as not found.
TEST_F(Clients, AStartOnItsWayIsNotReportedAsNotFound) {
  auto waits = std::make_shared<client::WaitRegistry>(world.store);
  Signal<ErrorCode> ended;
  const auto wait = waits->add_end(
      "on-its-way", [&](Result<InstanceState> state) { ended.set(state.error().code); }, false);
  waits->unknown_instances_changed();
  Signal<bool> looked;
  waits->run_in_background([&] { waits->run_in_background([&] { looked.set(true); }); });
  ASSERT_TRUE(looked.wait());
  EXPECT_FALSE(ended.is_set());

  waits->started(wait, true);
  EXPECT_EQ(ended.wait(), ErrorCode::not_found);
  waits->close();
}

TEST_F(Clients, ADestroyedClientFailsItsWaits) {
  world.run();
  world.client.start("s", "sleep").value();
  Signal<ErrorCode> code;
  {
    Client brief{world.store};
    brief.wait_async("s", [&](Result<InstanceState> state) { code.set(state.error().code); });
  }
  EXPECT_EQ(code.wait(), ErrorCode::shutting_down);
}

inline constexpr Orchestration<std::string(std::string)> Echo{"echo"};
inline constexpr Orchestration<void()> Sleep{"sleep"};
inline constexpr Activity<void()> Block{"Block"};

TEST_F(Clients, AHandleGivesTheTypesOfInputAndResult) {
  world.run();
  EXPECT_EQ(world.client.start("e", Echo, "text").value(), StartOutcome::created);
  const Result<Outcome<std::string>> end = world.client.wait("e", Echo, forever);
  EXPECT_EQ(end.value().value(), "text");

  EXPECT_EQ(world.client.start("s", Sleep).value(), StartOutcome::created);
  world.client.cancel("s", "enough").value();
  const Result<Outcome<void>> cancelled = world.client.wait("s", Sleep, forever);
  EXPECT_EQ(cancelled.value().status(), Status::cancelled);
  EXPECT_THROW((void)cancelled.value().value(), DurableError);
}

TEST_F(Clients, TheVersionAskedForIsTheOneThatRuns) {
  for (const char* version : {"1.0.0", "2.0.0", "1.5.0"}) {
    world.registry.add(
        "versioned",
        [](OrchestrationContext& ctx) -> Task<std::string> { co_return ctx.orchestration_version(); },
        version);
  }
  world.run();
  StartOptions old;
  old.version = "1.5.0";
  world.client.start("old", "versioned", old).value();
  world.client.start("new", "versioned").value();
  EXPECT_EQ(world.client.wait_for<std::string>("old", forever).value().value(), "1.5.0");
  EXPECT_EQ(world.client.wait_for<std::string>("new", forever).value().value(), "2.0.0");
}

TEST_F(Clients, ARunningInstanceExplainsItself) {
  world.registry.add(Block, [](ActivityContext& ctx) { ctx.wait_for(24h); });
  world.registry.add("blocked", [](OrchestrationContext& ctx) -> Task<void> {
    co_await ctx.select2(ctx.schedule_activity(Block), ctx.schedule_wait<int>("go"));
  });
  Runtime& runtime = world.run();
  world.client.start("b", "blocked").value();
  Explanation e = world.client.explain("b").value();
  ASSERT_EQ(e.waits.size(), 2u);
  EXPECT_EQ(e.waits[0].name, "Block");
  EXPECT_EQ(e.waits[0].node, runtime.node());
  EXPECT_EQ(e.waits[1].name, "go");

  world.client.raise_event("b", "go", 1).value();
  world.client.wait("b", forever).value();
  e = world.client.explain("b").value();
  EXPECT_TRUE(e.waits.empty());
  ASSERT_EQ(e.cancelled.size(), 1u);
  EXPECT_EQ(e.cancelled[0].name, "Block");
  EXPECT_EQ(e.cancelled[0].reason, CancelReason::select_loser);
}

TEST_F(Clients, TheHistoryOfAnInstanceCanBeRead) {
  world.run();
  world.finish("h", "echo", "x");
  EXPECT_EQ(event_types(world.client, "h"),
            (std::vector<std::string>{"OrchestrationStarted", "OrchestrationCompleted"}));
  EXPECT_EQ(world.client.read_history("nobody").error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace duramen::test
