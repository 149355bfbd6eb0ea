// A cancel does not wait for large turns.
#include "runtime/still_node.hpp"
#include <duramen/orchestration.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace duramen::test {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20u;

TEST(LargeTurns, OfOneMebibyteDoNotJoinTheBatchOfACancel) {
  StillNode world;
  world.registry.add("wait", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_wait<int>("go");
  });
  world.registry.add("large", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Nowhere", std::string(mebibyte - 1000, 'x'));
  });
  world.begin();
  const auto start = [&](const std::string& instance, const std::string& orchestration) {
    StartRequest request;
    request.instance = InstanceId(instance);
    request.start.orchestration = orchestration;
    world.node->start(std::move(request), [](const Result<StartOutcome>&) {});
  };
  start("victim", "wait");
  world.env.settle();
  for (int i = 0; i < 250; ++i) start("large" + std::to_string(i), "large");
  world.env.main.drain();
  // The first batch waits for the store when the cancel comes.
  auto cancel = std::make_shared<detail::LocalCancel>();
  cancel->instance = InstanceId("victim");
  bool stored = false;
  cancel->done = [&](bool done) { stored = done; };
  world.watched->batches.clear();
  world.node->cancel(cancel);
  world.env.settle();
  EXPECT_TRUE(stored);
  const auto& batches = world.watched->batches;
  const auto with_cancel = std::ranges::find_if(
      batches, [](const auto& batch) { return std::ranges::count(batch, "victim") > 0; });
  ASSERT_NE(with_cancel, batches.end());
  EXPECT_LE(with_cancel - batches.begin(), 1);  // at most the batch under way is before it
  EXPECT_EQ(with_cancel->size(), 1u);
  for (const auto& batch : batches) EXPECT_LE(batch.size(), 8u);
  EXPECT_EQ(world.status("large249"), Status::running);
}

}  // namespace
}  // namespace duramen::test
