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

}  // namespace
}  // namespace duramen::test
