// When a node asks the store for turns.
#include "runtime/node.hpp"
#include "runtime/still_env.hpp"
#include <duramen/testing/memory_provider.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace duramen::runtime {
namespace {

TEST(FetchGate, HintsWhileTheStoreIsBusyArmOneTimer) {
  test::StillEnv env;
  const Store store(std::make_shared<testing::MemoryProvider>(env.time));
  Registry registry;
  registry.add("wait", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_wait<int>("go");
  });
  RuntimeOptions options;
  options.node = "node";
  options.log = [](const LogRecord&) {};
  Node node(env, store, registry, options);
  node.run();
  env.main.jobs.clear();  // without its own first fetch
  // The node fetches no more turns while this many are being stored.
  for (int i = 0; i < 2048; ++i) {
    StartRequest request;
    request.instance = InstanceId("i" + std::to_string(i));
    request.start.orchestration = "wait";
    node.start(std::move(request), [](const Result<StartOutcome>&) {});
  }
  env.main.drain();
  const std::size_t before = env.main.timers.size();
  for (int hint = 0; hint < 50; ++hint) {
    node.turns_ready();
    env.main.drain();
  }
  EXPECT_EQ(env.main.timers.size(), before + 1);
  // It arms the next.
  Job due = std::move(env.main.timers.back().job);
  env.main.timers.pop_back();
  due();
  EXPECT_EQ(env.main.timers.size(), before + 1);
}

}  // namespace
}  // namespace duramen::runtime
