// When a node asks the store for turns.
#include "runtime/node.hpp"
#include <duramen/testing/manual_clock.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>

namespace duramen::runtime {
namespace {

/// Runs jobs of the loop when the test calls for it; jobs for the store wait, and so do timers.
class StillEnv final : public Env {
 public:
  class Queue final : public Executor {
   public:
    void post(Job job) override { jobs.push_back(std::move(job)); }
    void post_first(Job job) override { jobs.push_front(std::move(job)); }
    void post_at(LeaseTime /*when*/, Job job) override { timers.push_back(std::move(job)); }
    void drain() {
      while (!jobs.empty()) {
        Job job = std::move(jobs.front());
        jobs.pop_front();
        job();
      }
    }
    std::deque<Job> jobs;
    std::deque<Job> timers;
  };

  [[nodiscard]] const Clock& clock() const override { return time; }
  [[nodiscard]] std::uint64_t random() override { return ++last_random; }
  [[nodiscard]] Executor& loop() override { return main; }
  [[nodiscard]] Executor& activity_loop() override { return activities; }
  [[nodiscard]] Executor& lease_loop() override { return leases; }
  void run_elsewhere(Lane /*lane*/, Job work) override { elsewhere.push_back(std::move(work)); }
  bool pause_activity(Duration /*delay*/, const std::stop_token& /*stop*/) override { return true; }
  [[nodiscard]] bool loop_is_idle() const override { return false; }

  testing::ManualClock time;
  std::uint64_t last_random = 0;
  Queue main;
  Queue activities;
  Queue leases;
  std::deque<Job> elsewhere;
};

TEST(FetchGate, HintsWhileTheStoreIsBusyArmOneTimer) {
  StillEnv env;
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
  Job due = std::move(env.main.timers.back());
  env.main.timers.pop_back();
  due();
  EXPECT_EQ(env.main.timers.size(), before + 1);
}

}  // namespace
}  // namespace duramen::runtime
