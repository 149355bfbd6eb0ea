// Routing of work to nodes: sessions, tags, versions, engine versions, nodes without the code, poison.
#include "e2e/scenario.hpp"

#include <map>
#include <set>

namespace duramen::test {
namespace {

class Routing : public Scenario {
 protected:
  Routing() {
    world.registry.add("Where", [](ActivityContext& ctx, int) { return ctx.node().value; });
    add("on_session", [](OrchestrationContext& ctx, std::string session) -> Task<std::vector<std::string>> {
      std::set<std::string> nodes;
      for (int i = 0; i < 4; ++i) {
        nodes.insert(co_await ctx.schedule_activity<std::string>("Where", i).on_session(session));
      }
      co_return std::vector<std::string>(nodes.begin(), nodes.end());
    });
    add("tagged", [](OrchestrationContext& ctx, std::string tag) -> Task<std::string> {
      co_return co_await ctx.schedule_activity<std::string>("Where", 1).with_tag(tag);
    });
  }
  Runtime& node(const char* name, RuntimeOptions options = {}) {
    options.node = name;
    return world.run(std::move(options));
  }
  static RuntimeOptions takes(TagFilter tags) {
    RuntimeOptions options;
    options.tags = std::move(tags);
    return options;
  }
};

// -- sessions ------------------------------------------

TEST_F(Routing, EverySessionStaysOnOneNodeNextToWorkWithoutSession) {
  add("mixed", [](OrchestrationContext& ctx, std::string session) -> Task<std::size_t> {
    std::vector<DurableFuture<std::string>> all;
    for (int i = 0; i < 6; ++i) {
      auto call = ctx.schedule_activity<std::string>("Where", i);
      if (i % 2 == 0) call = std::move(call).on_session(session);
      all.push_back(std::move(call));
    }
    auto nodes = co_await ctx.join(std::move(all));
    co_return std::set<std::string>{nodes.at(0), nodes.at(2), nodes.at(4)}.size();
  });
  node("a");
  node("b");
  for (int i = 0; i < 10; ++i) {
    world.client.start("m" + std::to_string(i), "mixed", "s" + std::to_string(i)).value();
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(world.client.wait("m" + std::to_string(i), forever).value().output_as<std::size_t>(), 1u);
  }
}

TEST_F(Routing, ASessionGoesOnOverContinueAsNewAndIsSeenByItsActivities) {
  Signal<std::string> seen;
  world.registry.add("See", [&](ActivityContext& ctx, int) {
    seen.set(ctx.session_id().value_or("none") + " " + ctx.tag().value_or("none"));
    return ctx.node().value;
  });
  add("roll",
      [](OrchestrationContext& ctx, std::vector<std::string> nodes) -> Task<std::vector<std::string>> {
        nodes.push_back(co_await ctx.schedule_activity<std::string>("See", 1).on_session("long"));
        if (nodes.size() < 4) co_return co_await ctx.continue_as_new(nodes);
        co_return nodes;
      });
  node("a");
  node("b");
  const auto nodes = finish("r", "roll", std::vector<std::string>{}).output_as<std::vector<std::string>>();
  EXPECT_EQ(std::set(nodes.begin(), nodes.end()).size(), 1u);
  EXPECT_EQ(seen.wait(), "long none");
}

TEST_F(Routing, ASessionOfADeadNodeMovesWhenItsLeaseHasEndedAndNotBefore) {
  RuntimeOptions options;
  options.session_lease = 30s;
  // A node that claimed the session and died.
  Registry turns_only;
  turns_only.add(
      "on_session", [](OrchestrationContext& ctx, std::string session) -> Task<std::vector<std::string>> {
        std::set<std::string> nodes;
        for (int i = 0; i < 4; ++i) {
          nodes.insert(co_await ctx.schedule_activity<std::string>("Where", i).on_session(session));
        }
        co_return std::vector<std::string>(nodes.begin(), nodes.end());
      });
  Runtime turns(world.store, turns_only, RuntimeOptions{.log = world.log.sink()});
  world.client.start("s", "on_session", std::string("s")).value();
  ActivityFetch fetch;
  fetch.node = "dead";
  fetch.lease = 1s;
  fetch.sessions = SessionClaim{"dead", 30s, {}, 10};
  world.until([&] { return !world.provider.fetch_activities(fetch).value().items.empty(); });
  // The activity's lease has ended, the session's has not.
  world.clock.advance(2s);
  fetch.node = "b";
  fetch.sessions = SessionClaim{"b", 30s, {}, 10};
  EXPECT_TRUE(world.provider.fetch_activities(fetch).value().items.empty());
  node("b", options);
  EXPECT_EQ(world.end_of("s").output_as<std::vector<std::string>>(), std::vector<std::string>{"b"});
}

TEST_F(Routing, ARestartedNodeOfTheSameOwnerHasItsSessionsAtOnce) {
  RuntimeOptions options;
  options.session_owner = "machine-1";
  add("twice", [](OrchestrationContext& ctx) -> Task<std::string> {
    const auto first = co_await ctx.schedule_activity<std::string>("Where", 1).on_session("s");
    co_await ctx.schedule_wait<int>("go");
    co_return first + co_await ctx.schedule_activity<std::string>("Where", 2).on_session("s");
  });
  node("a", options);
  world.client.start("t", "twice").value();
  until_event("t", "ExternalSubscribed");
  // The node dies: its owner keeps the session.
  ActivityFetch other;
  other.node = "b";
  other.lease = 1s;
  other.sessions = SessionClaim{"machine-2", 30s, {}, 10};
  EXPECT_TRUE(world.provider.fetch_activities(other).value().items.empty());
  node("a-again", options);
  world.client.raise_event("t", "go", 1).value();
  const auto nodes = world.client.wait("t", forever).value().output_as<std::string>();
  EXPECT_TRUE(nodes == "aa" || nodes == "aa-again") << nodes;
}

TEST_F(Routing, ANodeHoldsNoMoreSessionsThanItMayAndTakesTheNextWhenOneIsFree) {
  std::mutex mutex;
  std::set<std::string> active;
  std::size_t most = 0;
  Signal<bool> let_go;
  world.registry.add("Hold", [&](ActivityContext& ctx, int) {
    {
      std::lock_guard lock(mutex);
      active.insert(*ctx.session_id());
      most = std::max(most, active.size());
    }
    (void)let_go.wait();
    std::lock_guard lock(mutex);
    active.erase(*ctx.session_id());
    return 1;
  });
  add("hold", [](OrchestrationContext& ctx, std::string session) -> Task<int> {
    // Two activities of one session at once share its place.
    auto both = co_await ctx.join2(ctx.schedule_activity<int>("Hold", 1).on_session(session),
                                   ctx.schedule_activity<int>("Hold", 2).on_session(session));
    co_return std::get<0>(both) + std::get<1>(both);
  });
  add("free", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Double", value);
  });
  RuntimeOptions options;
  options.max_sessions = 2;
  options.activity_threads = 8;
  node("a", options);
  for (int i = 0; i < 4; ++i)
    world.client.start("h" + std::to_string(i), "hold", "s" + std::to_string(i)).value();
  world.until([&] {
    std::lock_guard lock(mutex);
    return active.size() == 2;
  });
  EXPECT_EQ(finish("f", "free", 4).output_as<int>(), 8);  // work without session is not held up
  let_go.set(true);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(world.end_of("h" + std::to_string(i)).output_as<int>(), 2);
  EXPECT_EQ(most, 2u);
}

// -- tags ------------------------------------------

TEST_F(Routing, TaggedWorkGoesToNodesThatTakeItAndIsRecorded) {
  node("plain");
  node("gpu", takes(TagFilter::only({"gpu"})));
  node("both", takes(TagFilter::only({"cpu", "disk"})));
  EXPECT_EQ(finish("1", "tagged", "gpu").output_as<std::string>(), "gpu");
  EXPECT_EQ(finish("2", "tagged", "cpu").output_as<std::string>(), "both");
  EXPECT_EQ(finish("3", "tagged", "disk").output_as<std::string>(), "both");
  add("plain", [](OrchestrationContext& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Where", 1);
  });
  for (const Event& event : world.client.read_history("1").value()) {
    if (const auto* scheduled = std::get_if<event::ActivityScheduled>(&event.body))
      EXPECT_EQ(scheduled->tag, "gpu");
  }
}

TEST_F(Routing, UntakenWorkLosesToATimerAndIsCancelledOrFailsByItsOwnLimit) {
  add("starved", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto race = co_await ctx.select2(ctx.schedule_activity<std::string>("Where", 1).with_tag("nobody"),
                                     ctx.schedule_timer(30s));
    auto limited = co_await ctx.schedule_activity<std::string>("Where", 1)
                       .with_tag("nobody")
                       .schedule_to_start(30s)
                       .as_result();
    co_return std::string(race.is_second() ? "timer" : "ran") + (limited ? " ran" : " failed");
  });
  node("plain");
  EXPECT_EQ(finish_later("s", "starved", std::monostate{}).output_as<std::string>(), "timer failed");
  EXPECT_EQ(world.reasons("s"), std::vector(1, CancelReason::select_loser));
  world.expect_nothing_left();
}

TEST_F(Routing, ATagOfTheLongestLengthWorksAndGoesAlongOverContinueAsNew) {
  const std::string longest(TagFilter::max_tag_bytes, 't');
  add("rounds", [](OrchestrationContext& ctx, std::vector<std::string> input) -> Task<std::string> {
    const auto where = co_await ctx.schedule_activity<std::string>("Where", 1).with_tag(input.at(0));
    if (input.size() == 1) {
      input.push_back(where);
      co_return co_await ctx.continue_as_new(input);
    }
    co_return input.at(1) + " " + where;
  });
  node("plain");
  node("long", takes(TagFilter::only({longest})));
  EXPECT_EQ(finish("r", "rounds", std::vector<std::string>{longest}).output_as<std::string>(), "long long");
}

// -- versions ------------------------------------------

TEST_F(Routing, AStartAChildADetachedStartAndAContinuationChooseTheirVersion) {
  const auto says = [](const char* version) {
    return [version](OrchestrationContext& ctx, int) -> Task<std::string> {
      if (ctx.orchestration_version() != version) throw std::runtime_error("not what it is registered as");
      co_return version;
    };
  };
  for (const char* version : {"2.0.0", "1.0.0", "10.1.0"}) add("it", says(version), version);
  add("caller", [](OrchestrationContext& ctx) -> Task<std::string> {
    ctx.schedule_orchestration("it", "free-latest", 1);
    ctx.schedule_orchestration("it", "free-old", 1, "1.0.0");
    const auto latest = co_await ctx.schedule_sub_orchestration<std::string>("it", 1);
    const auto old =
        co_await ctx.schedule_sub_orchestration<std::string>("it", 1, ChildOptions().version("1.0.0"));
    co_return latest + " " + old;
  });
  add(
      "grow",
      [](OrchestrationContext& ctx, int) -> Task<std::string> {
        co_return co_await ctx.continue_as_new(1, "2.0.0");
      },
      "1.0.0");
  add(
      "grow",
      [](OrchestrationContext& ctx, int) -> Task<std::string> { co_return ctx.orchestration_version(); },
      "2.0.0");
  world.run();
  EXPECT_EQ(finish("latest", "it", 1).output_as<std::string>(), "10.1.0");
  world.client.start("old", "it", 1, StartOptions{.version = "1.0.0"}).value();
  EXPECT_EQ(world.client.wait("old", forever).value().output_as<std::string>(), "1.0.0");
  EXPECT_EQ(finish("caller", "caller").output_as<std::string>(), "10.1.0 1.0.0");
  EXPECT_EQ(world.client.wait("free-latest", forever).value().output_as<std::string>(), "10.1.0");
  EXPECT_EQ(world.client.wait("free-old", forever).value().output_as<std::string>(), "1.0.0");
  world.client.start("grow", "grow", 1, StartOptions{.version = "1.0.0"}).value();
  EXPECT_EQ(world.client.wait("grow", forever).value().output_as<std::string>(), "2.0.0");
}

TEST_F(Routing, AnInstanceKeepsTheVersionItBeganWithThoughOnlyACompletionArrives) {
  const auto body = [](const char* says) {
    return [says](OrchestrationContext& ctx, int input) -> Task<std::string> {
      co_await ctx.schedule_wait<int>("go");
      co_return std::string(says) + std::to_string(input);
    };
  };
  add("it", body("old "), "1.0.0");
  world.run();
  world.client.start("i", "it", 7).value();
  until_event("i", "ExternalSubscribed");
  world.runtimes.clear();
  add("it", body("new "), "2.0.0");
  world.client.raise_event("i", "go", 1).value();
  world.run();
  EXPECT_EQ(world.end_of("i").output_as<std::string>(), "old 7");
  world.client.start("j", "it", 8).value();
  world.client.raise_event("j", "go", 1).value();
  EXPECT_EQ(world.client.wait("j", forever).value().output_as<std::string>(), "new 8");
}

TEST_F(Routing, AnExecutionOfAnEngineThatThisNodeDoesNotKnowIsLeftAlone) {
  add("it", [](OrchestrationContext& ctx) -> Task<int> { co_return co_await ctx.schedule_wait<int>("go"); });
  world.run();
  world.client.start("i", "it").value();
  until_event("i", "ExternalSubscribed");
  world.runtimes.clear();
  world.client.raise_event("i", "go", 3).value();
  TurnFetch newer;
  newer.node = "stranger";
  newer.lease = 10s;
  newer.min_engine_version = engine_version + 1;
  newer.max_engine_version = engine_version + 5;
  EXPECT_TRUE(world.provider.fetch_turns(newer).value().items.empty());
  // The node does not touch it: a node that can run it finds it unchanged.
  EXPECT_EQ(world.provider.list_pending_work("i").value().attempt, 0u);
  world.run();
  EXPECT_EQ(world.end_of("i").output_as<int>(), 3);
}

// -- missing code ------------------------------------------

TEST_F(Routing, CodeThatIsDeployedLaterIsWaitedForWithoutPoison) {
  RuntimeOptions strict;
  strict.max_attempts = 2;
  Registry some;
  some.add("other", [](OrchestrationContext&) -> Task<int> { co_return 1; });
  some.add(
      "it",
      [](OrchestrationContext& ctx, int) -> Task<int> {
        co_return co_await ctx.continue_as_new(1, "9.0.0");  // a version that no node has
      },
      "1.0.0");
  strict.log = world.log.sink();
  Runtime first(world.store, some, strict);
  world.client.start("missing name", "later", 1).value();
  world.client.start("missing version", "it", 1).value();
  world.until([&] { return world.status("missing version") == Status::continued_as_new; });
  // No node is offered what it cannot run, so nothing is tried and nothing is logged.
  for (int i = 0; i < 10; ++i) world.clock.advance(1min);
  EXPECT_EQ(world.status("missing name"), Status::pending);
  EXPECT_EQ(world.status("missing version"), Status::continued_as_new);
  EXPECT_EQ(world.log.count(LogLevel::warning), 0u);
  add("later", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Double", value);
  });
  add("it", [](OrchestrationContext&, int) -> Task<int> { co_return 9; }, "9.0.0");
  world.run(strict);
  EXPECT_EQ(world.end_of("missing name").output_as<int>(), 2);
  EXPECT_EQ(world.end_of("missing version").output_as<int>(), 9);
}

TEST_F(Routing, AnActivityThatOnlyOneNodeHasRunsThere) {
  Registry turns;
  turns.add("call", [](OrchestrationContext& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Special", 1);
  });
  Runtime one(world.store, turns, RuntimeOptions{.node = "one", .log = world.log.sink()});
  Runtime two(world.store, turns, RuntimeOptions{.node = "two", .log = world.log.sink()});
  world.client.start("c", "call").value();
  world.until([&] { return world.client.queue_depths().value().worker_due == 1; });
  Registry special;
  special.add("Special", [](ActivityContext& ctx, int) { return ctx.node().value; });
  Runtime three(world.store, special, RuntimeOptions{.node = "three", .log = world.log.sink()});
  EXPECT_EQ(world.end_of("c").output_as<std::string>(), "three");
}

// -- poison ------------------------------------------

class Poison : public Routing {
 protected:
  /// A node that runs turns and has no code for activities.
  std::unique_ptr<Runtime> turns_only(RuntimeOptions options = {}) {
    Registry turns;
    for (const char* name : {"leaf", "middle", "root"}) {
      const bool is_leaf = std::string_view(name) == "leaf";
      const std::string below = std::string_view(name) == "root" ? "middle" : "leaf";
      turns.add(name, [is_leaf, below](OrchestrationContext& ctx, int value) -> Task<int> {
        if (!is_leaf) co_return co_await ctx.schedule_sub_orchestration<int>(below, value);
        std::vector<DurableFuture<int>> all;
        for (int i = 0; i < value; ++i) all.push_back(ctx.schedule_activity<int>("Double", i));
        int sum = 0;
        for (const int part : co_await ctx.join(std::move(all))) sum += part;
        co_return sum;
      });
    }
    if (!options.log) options.log = world.log.sink();
    return std::make_unique<Runtime>(world.store, turns, std::move(options));
  }
};

TEST_F(Poison, AnActivityThatKillsItsNodesFailsEveryAncestorWithTheSameKind) {
  auto turns = turns_only();
  world.client.start("r", "root", 3).value();
  for (int i = 0; i < 4; ++i) die_with_activities(3);  // all three are handed out each time
  RuntimeOptions options;
  options.max_attempts = 4;
  Registry workers;
  workers.add("Double", [this](ActivityContext&, int value) { return ++runs, value; });
  options.log = world.log.sink();
  Runtime worker(world.store, workers, options);
  const InstanceState state = world.end_of("r");
  EXPECT_EQ(state.status, Status::failed);
  EXPECT_EQ(state.failure->kind, FailureKind::poison);
  EXPECT_EQ(runs, 0);
  for (const InstanceInfo& info : world.client.get_instance_tree("r").value()) {
    EXPECT_EQ(info.status, Status::failed) << info.instance.value;
  }
  // It can be deleted like every ended instance.
  EXPECT_EQ(world.client.delete_instance("r").value().instances, 3u);
}

TEST_F(Poison, OnePoisonedActivityAmongManyFailsAlone) {
  add("looks", [](OrchestrationContext& ctx) -> Task<std::string> {
    std::vector<DurableFuture<Result<int, Failure>>> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(ctx.schedule_activity<int>("Double", i).with_tag(i == 1 ? "bad" : "good").as_result());
    }
    std::string text;
    for (const auto& result : co_await ctx.join(std::move(all))) {
      text += result ? "worked " : std::string(to_string(result.error().kind)) + " ";
    }
    co_return text;
  });
  node("turns");  // takes no tags
  world.client.start("l", "looks").value();
  ActivityFetch fetch;
  fetch.node = "doomed";
  fetch.lease = 10s;
  fetch.tags = TagFilter::only({"bad"});
  for (int i = 0; i < 2; ++i) {
    world.until([&] { return !world.provider.fetch_activities(fetch).value().items.empty(); });
    world.clock.advance(11s);
  }
  RuntimeOptions options = takes(TagFilter::any());
  options.max_attempts = 2;
  node("worker", options);
  EXPECT_EQ(world.end_of("l").output_as<std::string>(), "worked poison worked ");
}

TEST_F(Poison, ATurnThatKillsItsNodesEndsTheInstanceAndWhatItHasRunning) {
  add("it", [](OrchestrationContext& ctx) -> Task<int> {
    auto slow = ctx.schedule_activity<int>("Wait", 1).start();
    co_await ctx.schedule_wait<int>("go");
    co_return co_await std::move(slow);
  });
  Registry activities;
  waiters.add_to(activities, "Wait");
  Runtime worker(world.store, activities, RuntimeOptions{.log = world.log.sink()});
  Registry turns;
  turns.add("it", [](OrchestrationContext& ctx) -> Task<int> {
    auto slow = ctx.schedule_activity<int>("Wait", 1).start();
    co_await ctx.schedule_wait<int>("go");
    co_return co_await std::move(slow);
  });
  {
    Runtime first(world.store, turns, RuntimeOptions{.log = world.log.sink()});
    world.client.start("i", "it").value();
    world.until([&] { return waiters.begun() == 1; });
  }
  world.client.raise_event("i", "go", 1).value();
  for (int i = 0; i < 3; ++i) die_with_turns(2s);  // short: the worker's lease must hold
  RuntimeOptions options;
  options.max_attempts = 3;
  options.log = world.log.sink();
  Runtime last(world.store, turns, options);
  const InstanceState state = world.client.wait("i", forever).value();
  EXPECT_EQ(state.failure->kind, FailureKind::poison);
  world.until([&] { return waiters.stops().size() == 1; });
  EXPECT_EQ(waiters.stops().front().cause, StopCause::cancelled);
  world.expect_nothing_left();
}

TEST_F(Poison, AnInstanceWhoseFirstTurnKillsItsNodesHasAHistory) {
  add("it", [](OrchestrationContext&) -> Task<int> { co_return 1; });
  world.client.start("i", "it").value();
  for (int i = 0; i < 3; ++i) die_with_turns();
  RuntimeOptions options;
  options.max_attempts = 3;
  node("a", options);
  const InstanceState state = world.end_of("i");
  EXPECT_EQ(state.failure->kind, FailureKind::poison);
  EXPECT_EQ(state.failure->attempt, 4u);
  EXPECT_EQ(world.events("i", "OrchestrationStarted"), 1u);
  EXPECT_EQ(world.events("i", "OrchestrationFailed"), 1u);
}

}  // namespace
}  // namespace duramen::test
