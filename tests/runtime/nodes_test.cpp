// The record that a runtime keeps of itself in the store, and the write level that it follows.
#include "runtime/clocked_world.hpp"
#include <duramen/forwarding_provider.hpp>
#include <duramen/version.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unistd.h>

namespace duramen::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Nodes : public ::testing::Test {
 protected:
  Nodes() {
    world.registry.add("it", [](OrchestrationContext&, int) -> Task<int> { co_return 1; }, "1.2.0");
    world.registry.add("Charge", [](ActivityContext&) { return 1; });
  }
  std::vector<NodeRecord> nodes() { return world.provider->list_nodes().value(); }
  /// The warnings of a runtime that starts now.
  std::vector<std::string> warnings_of(RuntimeOptions options) {
    std::mutex mutex;
    std::vector<std::string> warnings;
    options.log = [&](const LogRecord& record) {
      const std::lock_guard lock(mutex);
      warnings.emplace_back(record.message);
    };
    const Runtime runtime{world.store, world.registry, options};
    const std::lock_guard lock(mutex);
    return warnings;
  }
  std::uint32_t level_of(const InstanceId& instance) {
    const auto history = world.client.read_history(instance).value();
    return std::get<event::OrchestrationStarted>(history.at(0).body).engine_version;
  }

  ClockedWorld world;
};

TEST_F(Nodes, ARuntimeDescribesItselfWhenItStarts) {
  RuntimeOptions options;
  options.node = "here";
  options.max_activities = 7;
  options.tags = TagFilter::default_and({"gpu"});
  world.run(options);
  world.until([&] { return nodes().size() == 1; });
  const NodeRecord node = nodes().at(0);
  EXPECT_EQ(node.node, NodeId("here"));
  EXPECT_EQ(node.pid, getpid());
  EXPECT_EQ(node.version, version());
  EXPECT_EQ(node.max_engine_version, engine_version);
  EXPECT_EQ(node.orchestrations, (std::vector<RegisteredOrchestration>{{"it", {"1.2.0"}}}));
  EXPECT_THAT(node.activities, ElementsAre("Charge"));
  EXPECT_EQ(node.tags, options.tags);
  EXPECT_EQ(node.capacity, 7u);
  EXPECT_EQ(node.seen_at, world.clock.now());
}

TEST_F(Nodes, ARuntimeReportsOftenEnoughToCountAsLive) {
  world.run();
  world.until([&] { return nodes().size() == 1; });
  for (int i = 0; i < 10; ++i) {
    world.clock.advance(30s);
    world.until([&] { return nodes().at(0).seen_at == world.clock.now(); });
  }
}

TEST_F(Nodes, ARuntimeThatStopsIsNotListed) {
  world.run();
  world.until([&] { return nodes().size() == 1; });
  world.runtimes.clear();
  EXPECT_THAT(nodes(), IsEmpty());
}

TEST_F(Nodes, ARuntimeThatStopsLeavesTheRecordOfItsSuccessor) {
  RuntimeOptions options;
  options.node = "fixed";
  world.run(options);
  world.run(options);
  const std::string run = nodes().at(0).run;
  world.runtimes.erase(world.runtimes.begin());
  ASSERT_EQ(nodes().size(), 1u);
  EXPECT_EQ(nodes().at(0).run, run);
  world.runtimes.clear();
  EXPECT_THAT(nodes(), IsEmpty());
}

TEST_F(Nodes, ANodeCountsTheInstancesThatItKeepsInMemory) {
  world.registry.add("waits", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_wait<int>("go");
  });
  world.run();
  world.client.start("a", "waits").value();
  world.until([&] { return world.client.get_instance("a").value().status == Status::running; });
  world.until([&] { return !nodes().empty() && nodes().at(0).resident == 1; },
              [&] { world.clock.advance(30s); });
}

TEST_F(Nodes, AnExecutionBeginsAtTheNewestLevelOfANewStore) {
  world.run();
  world.finish("a", "it", 0);
  EXPECT_EQ(level_of("a"), engine_version);
}

TEST_F(Nodes, ANodeBeginsNoExecutionAboveWhatItReads) {
  ASSERT_EQ(world.provider->raise_write_level(engine_version + 1, 90s).value().level, engine_version + 1);
  EXPECT_THAT(warnings_of({}), ElementsAre(HasSubstr("write level is above")));
  world.run();
  world.finish("a", "it", 0);
  EXPECT_EQ(level_of("a"), engine_version);
}

/// Counts the instances that were started together with their first turn.
class FusedStarts final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<int> count = 0;

  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    for (const TurnCommit& commit : commits)
      count += std::holds_alternative<FusedStart>(commit.basis) ? 1 : 0;
    return ForwardingProvider::commit_turns(commits, preempt);
  }
};

TEST(NodesBelowTheWriteLevel, LeaveAStartToTheQueue) {
  std::shared_ptr<FusedStarts> fused;
  ClockedWorld world([&](std::shared_ptr<Provider> provider) {
    return fused = std::make_shared<FusedStarts>(std::move(provider));
  });
  world.registry.add("it", [](OrchestrationContext&, int) -> Task<int> { co_return 1; });
  world.run();
  world.finish("before", "it", 0);
  EXPECT_EQ(fused->count, 1);
  world.runtimes.clear();
  ASSERT_TRUE(fused->raise_write_level(engine_version + 1, 90s).value().held_back_by.empty());
  world.run();
  world.finish("after", "it", 0);
  EXPECT_EQ(fused->count, 1);
}

TEST_F(Nodes, TheWriteLevelNeverFalls) {
  const std::uint32_t next = engine_version + 1;
  ASSERT_EQ(world.provider->raise_write_level(next, 90s).value().level, next);
  RuntimeOptions raises;
  raises.raise_write_level = true;
  warnings_of(raises);
  EXPECT_EQ(world.provider->get_write_level().value(), next);
}

TEST_F(Nodes, ANodeAtTheNewestLevelWarnsOfNothing) { EXPECT_THAT(warnings_of({}), IsEmpty()); }

/// Notes whether its node was listed whenever that node asked for something.
class WatchedStore final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  Result<void> write_node(const NodeRecord& record) override {
    if (failures.fetch_sub(1) > 0)
      return Error{ErrorCode::unavailable, "write_node", "the store is away", true};
    return ForwardingProvider::write_node(record);
  }
  Result<std::uint32_t> get_write_level() override {
    note("get_write_level");
    return ForwardingProvider::get_write_level();
  }
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    note("fetch_turns");
    return ForwardingProvider::fetch_turns(request);
  }
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    note("fetch_activities");
    return ForwardingProvider::fetch_activities(request);
  }
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    note("commit_turns");
    return ForwardingProvider::commit_turns(commits, preempt);
  }
  /// The calls that came before the node was listed.
  std::set<std::string> early() {
    const std::lock_guard lock(mutex_);
    return early_;
  }
  static inline std::atomic<int> failures = 0;  // of the next calls of write_node

 private:
  void note(const std::string& call) {
    if (!ForwardingProvider::list_nodes().value().empty()) return;
    const std::lock_guard lock(mutex_);
    early_.insert(call);
  }
  std::mutex mutex_;
  std::set<std::string> early_;
};

class ListedNodes : public ::testing::Test {
 protected:
  ListedNodes() {
    world.registry.add("it", [](OrchestrationContext& ctx) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>("Charge");
    });
    world.registry.add("Charge", [](ActivityContext&) { return 1; });
  }
  ~ListedNodes() override { WatchedStore::failures = 0; }
  std::shared_ptr<WatchedStore> watched;
  ClockedWorld world{
      [this](auto inner) { return watched = std::make_shared<WatchedStore>(std::move(inner)); }};
};

// A raise of the write level between its start and its first report did not see it.
TEST_F(ListedNodes, ANodeIsListedBeforeItReadsTheWriteLevelOrTakesWork) {
  world.run();
  world.client.start("a", "it").value();
  world.wait("a", [&] { world.clock.advance(2s); });
  EXPECT_THAT(watched->early(), IsEmpty());
}

TEST_F(ListedNodes, ANodeThatCannotBeListedDoesNoWorkUntilItIs) {
  WatchedStore::failures = 3;
  world.run();
  world.client.start("a", "it").value();
  world.wait("a", [&] { world.clock.advance(2s); });
  EXPECT_THAT(watched->early(), IsEmpty());
}

/// Blocks calls of write_node, and fails them when they are released.
class HangingStore final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  Result<void> write_node(const NodeRecord&) override {
    std::unique_lock lock(mutex_);
    ++calls_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !blocks_; });
    return Error{ErrorCode::unavailable, "write_node", "the store is away", true};
  }
  void block(bool blocks) {
    const std::lock_guard lock(mutex_);
    blocks_ = blocks;
    changed_.notify_all();
  }
  int calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool blocks_ = false;
  int calls_ = 0;
};

TEST(NodesOfASlowStore, ReportsDoNotGather) {
  std::shared_ptr<HangingStore> hanging;
  ClockedWorld world{[&](auto inner) { return hanging = std::make_shared<HangingStore>(std::move(inner)); }};
  world.run();
  EXPECT_EQ(hanging->calls(), 1);
  hanging->block(true);
  world.until([&] { return hanging->calls() == 2; }, [&] { world.clock.advance(1s); });
  for (int i = 0; i < 100; ++i) {
    world.clock.advance(1s);
    std::this_thread::sleep_for(1ms);  // only a loop that is wrong has something to do meanwhile
  }
  hanging->block(false);
  // The next report is overdue; the one after it waits for the clock.
  world.until([&] { return hanging->calls() == 3; });
  world.runtimes.clear();
  EXPECT_EQ(hanging->calls(), 3);
}

TEST_F(ListedNodes, ANodeThatIsListedLateFetchesAtOnce) {
  WatchedStore::failures = 1;
  RuntimeOptions options;
  options.poll_interval = 1h;  // no poll helps
  world.client.start("a", "it").value();
  world.run(options);
  world.clock.advance(30s);
  world.wait("a", [] {});
}

/// Refuses the first raises of the write level.
class ReluctantStore final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  Result<WriteLevelRaise> raise_write_level(std::uint32_t level, Duration live_within) override {
    const int call = ++calls;
    if (call <= 2) return WriteLevelRaise{.level = 0, .held_back_by = {"killed"}};
    if (call == 3) return WriteLevelRaise{.level = 0, .held_back_by = {"killed", "older"}};
    return ForwardingProvider::raise_write_level(level, live_within);
  }
  std::atomic<int> calls = 0;
};

TEST(NodesThatRaiseTheWriteLevel, TryAgainUntilNoLiveNodeReadsLess) {
  std::shared_ptr<ReluctantStore> reluctant;
  ClockedWorld world{
      [&](auto inner) { return reluctant = std::make_shared<ReluctantStore>(std::move(inner)); }};
  std::mutex mutex;
  std::vector<std::string> refusals;
  RuntimeOptions options;
  options.raise_write_level = true;
  options.log = [&](const LogRecord& record) {
    const std::lock_guard lock(mutex);
    for (const LogField& field : record.fields)
      if (field.key == "nodes") refusals.emplace_back(field.value);
  };
  world.run(options);
  EXPECT_EQ(reluctant->calls, 1);
  const auto report = [&] {
    world.clock.advance(30s);
    world.until([&] { return world.provider->list_nodes().value().at(0).seen_at == world.clock.now(); });
  };
  for (int i = 0; i < 5; ++i) report();
  world.runtimes.clear();
  EXPECT_EQ(reluctant->calls, 4);
  EXPECT_THAT(refusals, ElementsAre("killed", "killed, older"));
}

/// Fails the first reads of the write level.
class ForgetfulStore final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  Result<std::uint32_t> get_write_level() override {
    if (failures_.fetch_sub(1) > 0)
      return Error{ErrorCode::unavailable, "get_write_level", "the store is away", true};
    return ForwardingProvider::get_write_level();
  }

 private:
  std::atomic<int> failures_ = 2;
};

TEST(NodesOfABrokenStore, ANodeBeginsNothingUntilItKnowsTheWriteLevel) {
  ClockedWorld world{[](auto inner) { return std::make_shared<ForgetfulStore>(std::move(inner)); }};
  world.registry.add("it", [](OrchestrationContext&) -> Task<int> { co_return 1; });
  world.run();
  world.client.start("a", "it").value();
  world.wait("a", [&] { world.clock.advance(2s); });
}

}  // namespace
}  // namespace duramen::test
