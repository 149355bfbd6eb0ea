// Which node runs an activity or a turn: tags, sessions, versions, repeated attempts. And the metrics.
#include "runtime/clocked_world.hpp"
#include <duramen/metrics.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace duramen::test {
namespace {

class Dispatch : public ::testing::Test {
 protected:
  Dispatch() {
    world.registry.add("tagged", [](OrchestrationContext& ctx, std::string tag) -> Task<std::string> {
      co_return co_await ctx.schedule_activity<std::string>("Where", 1).with_tag(tag);
    });
    world.registry.add("Where", [](ActivityContext& ctx, int) { return ctx.node().value; });
  }
  Runtime& node(const char* name, RuntimeOptions options = {}) {
    options.node = name;
    return world.run(std::move(options));
  }
  ClockedWorld world;
};

TEST_F(Dispatch, AnActivityWithATagRunsOnlyOnNodesThatAcceptTheTag) {
  RuntimeOptions gpu;
  gpu.tags = TagFilter::only({"gpu"});
  node("plain");
  node("gpu", gpu);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(world.finish("i" + std::to_string(i), "tagged", "gpu").output_as<std::string>(), "gpu");
  }
}

TEST_F(Dispatch, AnActivityWaitsForANodeThatAcceptsItsTag) {
  node("plain");
  world.client.start("i", "tagged", "gpu").value();
  world.until([&] { return world.provider->snapshot().worker_rows == 1; });
  RuntimeOptions gpu;
  gpu.tags = TagFilter::default_and({"gpu"});
  node("gpu", gpu);
  EXPECT_EQ(world.wait("i", [&] { world.clock.advance(100ms); }).output_as<std::string>(), "gpu");
}

TEST_F(Dispatch, TheActivitiesOfASessionRunOnOneNode) {
  world.registry.add("session", [](OrchestrationContext& ctx, int steps) -> Task<std::string> {
    std::set<std::string> nodes;
    for (int i = 0; i < steps; ++i) {
      nodes.insert(
          co_await ctx.schedule_activity<std::string>("Where", i).on_session("s-" + ctx.instance_id().value));
    }
    std::string all;
    for (const std::string& name : nodes) all += name + " ";
    co_return all;
  });
  node("a");
  node("b");
  for (int i = 0; i < 5; ++i) {
    const std::string nodes = world.finish("i" + std::to_string(i), "session", 10).output_as<std::string>();
    EXPECT_TRUE(nodes == "a " || nodes == "b ") << nodes;
  }
}

TEST_F(Dispatch, ASessionMovesWhenItsNodeIsGone) {
  world.registry.add("session", [](OrchestrationContext& ctx) -> Task<std::string> {
    const auto first = co_await ctx.schedule_activity<std::string>("Where", 1).on_session("s");
    co_await ctx.schedule_wait<int>("go");
    co_return first + " then " + co_await ctx.schedule_activity<std::string>("Where", 2).on_session("s");
  });
  Runtime& first = node("a");
  world.client.start("i", "session").value();
  world.until([&] { return event_types(world.client, "i").back() == "ExternalSubscribed"; });
  first.shutdown();  // gives its sessions back
  node("b");
  world.client.raise_event("i", "go", 1).value();
  EXPECT_EQ(world.client.wait("i", forever).value().output_as<std::string>(), "a then b");
}

TEST_F(Dispatch, ARuntimeHoldsNoMoreSessionsThanItMay) {
  std::mutex mutex;
  std::set<std::string> open;
  std::size_t most = 0;
  Signal<bool> go_on;
  world.registry.add("Hold", [&](ActivityContext& ctx, int value) {
    {
      std::lock_guard lock(mutex);
      open.insert(*ctx.session_id());
      most = std::max(most, open.size());
    }
    (void)go_on.wait();
    std::lock_guard lock(mutex);
    open.erase(*ctx.session_id());
    return value;
  });
  world.registry.add("hold", [](OrchestrationContext& ctx, std::string session) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Hold", 1).on_session(session);
  });
  RuntimeOptions options;
  options.max_sessions = 2;
  options.activity_threads = 8;
  node("a", options);
  for (int i = 0; i < 5; ++i)
    world.client.start("i" + std::to_string(i), "hold", "s" + std::to_string(i)).value();
  world.until([&] {
    std::lock_guard lock(mutex);
    return open.size() == 2;
  });
  go_on.set(true);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(world.wait("i" + std::to_string(i), [&] { world.clock.advance(100ms); }).output_as<int>(), 1);
  }
  EXPECT_EQ(most, 2u);
}

TEST_F(Dispatch, ARuntimeLeavesVersionsItDoesNotHaveToOthers) {
  Registry old_code;
  old_code.add(
      "grow",
      [](OrchestrationContext& ctx) -> Task<std::string> {
        co_await ctx.schedule_wait<int>("go");
        co_return "old";
      },
      "1.0.0");
  Registry new_code;
  new_code.add(
      "grow",
      [](OrchestrationContext& ctx) -> Task<std::string> {
        co_await ctx.schedule_wait<int>("go");
        co_return "new";
      },
      "2.0.0");
  auto old_node = std::make_unique<Runtime>(world.store, old_code, quiet());
  world.client.start("i", "grow").value();
  world.until([&] { return world.client.get_instance("i").value().version == "1.0.0"; });
  old_node.reset();
  Runtime new_node(world.store, new_code, quiet());
  world.client.raise_event("i", "go", 1).value();
  world.client.start("j", "grow").value();
  world.client.raise_event("j", "go", 1).value();
  EXPECT_EQ(world.client.wait("j", forever).value().output_as<std::string>(), "new");
  EXPECT_EQ(world.client.get_instance("i").value().status, Status::running);
  Runtime old_again(world.store, old_code, quiet());
  EXPECT_EQ(world.wait("i", [&] { world.clock.advance(100ms); }).output_as<std::string>(), "old");
}

// -- tried too often ------------------------------------------------------------------------------

TEST_F(Dispatch, ATurnThatIsTriedTooOftenFailsTheInstanceAndNotifiesItsParent) {
  RuntimeOptions options;
  options.max_attempts = 3;
  options.unregistered_pause = 100ms;
  world.registry.add("parent", [](OrchestrationContext& ctx) -> Task<std::string> {
    auto child = co_await ctx.schedule_sub_orchestration<int>("child", 1, ChildOptions().id("c")).as_result();
    co_return child ? "worked" : std::string(to_string(child.error().kind));
  });
  node("a", options);
  world.client.start("p", "parent").value();
  world.until([&] { return world.client.get_instance("c").has_value(); });
  // A process that has the child's code, and dies with every turn.
  for (int i = 0; i < 3; ++i) {
    TurnFetch fetch;
    fetch.node = "doomed";
    fetch.lease = 10s;
    fetch.orchestrations = {{{"child"}}};
    world.until([&] { return !world.provider->fetch_turns(fetch).value().items.empty(); });
    world.clock.advance(11s);
  }
  Registry with_child = world.registry;
  with_child.add("child", [](OrchestrationContext&, int value) -> Task<int> { co_return value; });
  Runtime late(world.store, with_child, quiet(options));
  EXPECT_EQ(world.wait("p", [&] { world.clock.advance(100ms); }).output_as<std::string>(), "poison");
  EXPECT_EQ(world.client.get_instance("c").value().failure->kind, FailureKind::poison);
}

// Its beginning had the newest level and the default limits.
TEST(CondemnedStart, IsWrittenWithTheLimitsOfItsNode) {
  ClockedWorld world;
  world.registry.add("it", [](OrchestrationContext&) -> Task<int> { co_return 1; });
  world.client.start("a", "it").value();
  for (int i = 0; i < 2; ++i) {
    // Handed out to a node that dies each time.
    TurnFetch fetch;
    fetch.node = "doomed";
    fetch.limit = 1;
    fetch.lease = 10s;
    fetch.orchestrations.emplace().push_back({"it", {"1.0.0"}});
    ASSERT_EQ(world.provider->fetch_turns(fetch).value().items.size(), 1u);
    world.clock.advance(11s);
  }
  RuntimeOptions options;
  options.max_attempts = 2;
  options.max_depth = 7;
  world.run(options);
  world.wait("a", [&] { world.clock.advance(1s); });
  ASSERT_EQ(world.client.get_instance("a").value().failure->kind, FailureKind::poison);
  const auto history = world.client.read_history("a").value();
  EXPECT_EQ(std::get<event::OrchestrationStarted>(history.at(0).body).max_depth, 7u);
}

// -- counted --------------------------------------------------------------------------------------

/// Sums by name and labels.
class Sums final : public Metrics {
 public:
  void add(std::string_view counter, std::uint64_t by, MetricLabels labels) override {
    std::lock_guard lock(mutex_);
    sums_[key(counter, labels)] += static_cast<double>(by);
  }
  void observe(std::string_view histogram, double, MetricLabels labels) override {
    std::lock_guard lock(mutex_);
    sums_[key(histogram, labels)] += 1;
  }
  void set(std::string_view gauge, double value, MetricLabels labels) override {
    std::lock_guard lock(mutex_);
    sums_[key(gauge, labels)] = value;
  }
  [[nodiscard]] double operator[](const std::string& name) const {
    std::lock_guard lock(mutex_);
    const auto found = sums_.find(name);
    return found == sums_.end() ? 0 : found->second;
  }

 private:
  static std::string key(std::string_view name, MetricLabels labels) {
    std::string text(name);
    for (const MetricLabel& label : labels) text += " " + std::string(label.value);
    return text;
  }
  mutable std::mutex mutex_;
  std::map<std::string, double> sums_;
};

TEST_F(Dispatch, EverythingIsCountedOnce) {
  auto sums = std::make_shared<Sums>();
  RuntimeOptions options;
  options.metrics = sums;
  world.registry.add("sum", [](OrchestrationContext& ctx, int rounds) -> Task<int> {
    co_await ctx.schedule_activity<std::string>("Where", 1);
    auto failed = co_await ctx.schedule_activity<int>("Fail", 1).as_result();
    if (rounds > 1) co_return co_await ctx.continue_as_new(rounds - 1);
    co_return failed ? 1 : 0;
  });
  world.registry.add("Fail", [](ActivityContext&, int) -> int { throw std::runtime_error("no"); });
  Runtime& runtime = node("a", options);
  world.finish("i", "sum", 3);
  runtime.shutdown();  // the client may know of the end before the runtime has counted it
  const Sums& counted = *sums;
  EXPECT_EQ(counted["duramen_orchestration_starts_total sum 1.0.0 client"], 1);
  EXPECT_EQ(counted["duramen_orchestration_starts_total sum 1.0.0 continueAsNew"], 2);
  EXPECT_EQ(counted["duramen_orchestration_completions_total sum 1.0.0 success"], 1);
  EXPECT_EQ(counted["duramen_orchestration_completions_total sum 1.0.0 continuedAsNew"], 2);
  EXPECT_EQ(counted["duramen_orchestration_continue_as_new_total sum"], 2);
  EXPECT_EQ(counted["duramen_orchestration_turns_total sum"], 9);
  // The first turns of its three executions have nothing to find in memory.
  EXPECT_EQ(counted["duramen_resident_hits_total"] + counted["duramen_resident_misses_total"], 6);
  EXPECT_EQ(counted["duramen_resident_misses_total"], 0);
  EXPECT_EQ(counted["duramen_activity_executions_total Where success default"], 3);
  EXPECT_EQ(counted["duramen_activity_executions_total Fail app_error default"], 3);
  EXPECT_EQ(counted["duramen_orchestration_duration_seconds sum 1.0.0 success"], 1);
  EXPECT_GT(counted["duramen_commit_batch_size"], 0);
  EXPECT_GT(counted["duramen_provider_operation_duration_seconds commit_turns success"], 0);
}

TEST_F(Dispatch, ACancelIsCountedWithItsDelivery) {
  auto sums = std::make_shared<Sums>();
  RuntimeOptions options;
  options.metrics = sums;
  Signal<bool> begun;
  world.registry.add("Wait", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    begun.set(true);
    co_await ctx.cancelled();
    co_return value;
  });
  world.registry.add("wait", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Wait", 1);
  });
  Runtime& runtime = node("a", options);
  world.client.start("i", "wait").value();
  ASSERT_TRUE(begun.wait());
  world.client.cancel("i", "enough").value();
  world.client.wait("i", forever).value();
  world.until([&] { return (*sums)["duramen_activity_executions_total Wait cancelled default"] == 1; });
  runtime.shutdown();
  EXPECT_EQ((*sums)["duramen_cancel_delivery_seconds here"], 1);
  EXPECT_EQ((*sums)["duramen_orchestration_completions_total wait 1.0.0 cancelled"], 1);
  EXPECT_EQ((*sums)["duramen_orchestration_failures_total wait 1.0.0 cancelled"], 0);
}

TEST(Watchdog, ATurnThatBlocksIsLogged) {
  World world;
  Signal<std::string> named;
  RuntimeOptions options;
  options.slow_turn = 10ms;
  options.log = [&](const LogRecord& record) {
    if (record.level == LogLevel::warning) named.set(record.fields.front().value);
  };
  world.registry.add("block", [&](OrchestrationContext&) -> Task<int> {
    (void)named.wait();  // never do this
    co_return 1;
  });
  world.run(options);
  world.client.start("slow one", "block").value();
  EXPECT_EQ(named.wait(), "slow one");
  EXPECT_EQ(world.client.wait("slow one", forever).value().output_as<int>(), 1);
}

TEST(Options, InvalidOptionsAreRefused) {
  World world;
  const auto refuses = [&](auto change) {
    RuntimeOptions options;
    change(options);
    EXPECT_THROW(world.run(options), std::invalid_argument);
  };
  refuses([](RuntimeOptions& o) { o.max_attempts = 0; });
  refuses([](RuntimeOptions& o) { o.activity_lease = 0ms; });
  refuses([](RuntimeOptions& o) { o.tags = TagFilter::only({"1", "2", "3", "4", "5", "6"}); });
  refuses([](RuntimeOptions& o) { o.tags = TagFilter::only({""}); });
  refuses([](RuntimeOptions& o) { o.session_idle = 1ms; });
  refuses([](RuntimeOptions& o) { o.min_engine_version = 2, o.max_engine_version = 1; });
  for (const std::string& node : {std::string(129, 'n'), std::string("a\xFFz"), std::string("a\0z", 3)})
    refuses([&](RuntimeOptions& o) { o.node = NodeId{node}; });
}

TEST(Options, ARefusalSaysWhatIsAllowed) {
  World world;
  const auto refusal = [&](auto change) -> std::string {
    RuntimeOptions options;
    change(options);
    try {
      world.run(options);
    } catch (const std::invalid_argument& refused) {
      return refused.what();
    }
    return "accepted";
  };
  for (const std::uint32_t version : {0u, engine_version + 1}) {
    EXPECT_EQ(refusal([&](RuntimeOptions& o) { o.max_engine_version = version; }),
              "RuntimeOptions: max_engine_version is " + std::to_string(version) +
                  "; this build reads the engine versions from 1 to " + std::to_string(engine_version));
  }
  EXPECT_EQ(refusal([](RuntimeOptions& o) { o.max_actions_per_turn = 0; }),
            "RuntimeOptions: max_actions_per_turn is 0; give at least 1");
  EXPECT_EQ(refusal([](RuntimeOptions& o) { o.node = "a\xFFz"; }),
            "RuntimeOptions: node is UTF-8 text without NUL; \"a\uFFFDz\" is not, so encode it");
}

}  // namespace
}  // namespace duramen::test
