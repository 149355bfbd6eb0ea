// Cancels of trees that grow while they are cancelled.
#include "e2e/store_world.hpp"

namespace duramen::test {
namespace {

class Trees : public ::testing::Test {
 protected:
  /// Starts two children of itself, which do the same, down to the limit of the depth. The instances at this
  /// depth wait for an event first.
  static constexpr int waits_at = 3;
  static Task<int> grow(OrchestrationContext& ctx, int depth) {
    if (depth == waits_at) co_await ctx.schedule_wait<int>("go");
    auto left = ctx.schedule_sub_orchestration<int>("grow", depth + 1).start();
    auto right = ctx.schedule_sub_orchestration<int>("grow", depth + 1).start();
    co_return co_await std::move(left) + co_await std::move(right);
  }
  std::vector<InstanceInfo> all(std::vector<Status> statuses = {}) {
    InstanceQuery query;
    query.filter.statuses = std::move(statuses);
    query.limit = 10'000;
    return world.provider.list_instances(query).value().instances;
  }
  /// The instances that have no children yet and wait.
  std::vector<InstanceId> waiting() {
    std::vector<InstanceId> found;
    for (const InstanceInfo& info : all({Status::running})) {
      if (world.events(info.instance, "ExternalSubscribed") == 1) found.push_back(info.instance);
    }
    return found;
  }
  StoreWorld world;
};

TEST_F(Trees, ARecursionWithoutEndIsCancelledWhereItStands) {
  world.registry.add("grow", grow);
  RuntimeOptions options;
  options.max_depth = 9;  // 1,023 instances
  Runtime& first = world.run(options);
  world.client.start("root", "grow", 0).value();
  world.until_later([&] { return waiting().size() == 8; });
  first.shutdown();

  // All of them are about to grow when the cancel reaches the root.
  for (const InstanceId& instance : waiting()) world.client.raise_event(instance, "go", 1).value();
  world.client.cancel("root", "enough").value();
  world.run(options);
  world.until_later([&] {
    return all({Status::pending, Status::running, Status::cancelling, Status::continued_as_new}).empty();
  });
  const std::vector<InstanceInfo> ended = all();
  EXPECT_LT(ended.size(), 200u);
  for (const InstanceInfo& info : ended) {
    EXPECT_EQ(info.status, Status::cancelled) << info.instance.value;
    const auto state = world.client.wait(info.instance, forever).value();
    EXPECT_EQ(state.failure->message, "enough") << info.instance.value;
  }
  world.expect_nothing_left();
  EXPECT_EQ(world.log.count(LogLevel::error), 0u);
}

/// A chain of five instances, each with a child and an activity. Every second one cleans up.
class Chains : public ::testing::Test {
 protected:
  static constexpr int last = 4;
  static Task<int> link(OrchestrationContext& ctx, int depth) {
    auto activity = ctx.schedule_activity<int>("Wait", depth).start();
    if (depth == last) co_return co_await std::move(activity);
    const char* const next = depth % 2 == 0 ? "graceful link" : "link";
    const ChildOptions id = ChildOptions().id("link-" + std::to_string(depth + 1));
    auto child = ctx.schedule_sub_orchestration<int>(next, depth + 1, id);
    co_await ctx.join2(std::move(activity), std::move(child));
    co_return 0;
  }
  void cancel_the_root(CancelMode mode) {
    world.registry.add("link", link);
    world.registry.add("graceful link", link, OrchestrationOptions().graceful());
    waiters.add_to(world.registry, "Wait");
    world.run();
    world.client.start("link-0", "link", 0).value();
    world.until([&] { return waiters.begun() == last + 1; });
    world.client.cancel("link-0", "the customer left", mode).value();
    world.until([&] { return waiters.stops().size() == last + 1; });
  }
  void expect_the_words(CancelMode mode) {
    for (int depth = 0; depth <= last; ++depth) {
      const InstanceId id("link-" + std::to_string(depth));
      EXPECT_EQ(world.client.wait(id, forever).value().failure->message, "the customer left") << id.value;
      const auto request = world.client.explain(id).value().cancel_request;
      ASSERT_TRUE(request) << id.value;
      EXPECT_EQ(request->reason, "the customer left") << id.value;
      EXPECT_EQ(request->mode, mode) << id.value;
      EXPECT_EQ(request->by, depth == 0 ? CancelOrigin::client : CancelOrigin::parent) << id.value;
    }
    for (const Waiters::Stop& stop : waiters.stops()) {
      EXPECT_EQ(stop.reason, stop.instance == "link-0" ? CancelReason::orchestration_terminal_cancelled
                                                       : CancelReason::parent_cancelled)
          << stop.instance;
    }
  }
  StoreWorld world;
  Waiters waiters;
};

TEST_F(Chains, EveryDepthKnowsTheWordsOfTheClient) {
  cancel_the_root(CancelMode::graceful);
  expect_the_words(CancelMode::graceful);
}

TEST_F(Chains, EveryDepthKnowsThatItWasTerminated) {
  cancel_the_root(CancelMode::terminate);
  expect_the_words(CancelMode::terminate);
}

}  // namespace
}  // namespace duramen::test
