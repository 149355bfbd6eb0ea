// A lease ends on time by the clock of its holder, whatever the store, the loop and the process do.
#include "runtime/still_node.hpp"
#include <duramen/orchestration.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

class LeaseEnds : public ::testing::Test {
 protected:
  LeaseEnds() {
    world.registry.add("Wait", [this](ActivityContext& ctx, int value) -> ActivityTask<int> {
      co_await ctx.cancelled();
      stopped = ctx.stop_cause();
      co_return value;
    });
    world.registry.add("call", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>(activity, 1);
    });
  }
  void start(const std::string& activity) {
    world.begin();
    world.enqueue_start("i", "call", activity);
    world.node->turns_ready();
    env.settle();
  }
  /// The lease loop and the threads for stop callbacks and coroutines work; nothing else does.
  void run_without_loop_and_store() {
    env.leases.fire();
    env.at(Lane::cancellation).drain();
    env.coroutines.drain();
  }

  StillNode world;
  StillEnv& env = world.env;
  std::optional<StopCause> stopped;
};

TEST_F(LeaseEnds, AtTheDeadlineWhileARenewalHangs) {
  start("Wait");
  env.time.advance(10s);
  env.leases.fire();
  EXPECT_EQ(env.at(Lane::leases).jobs.size(), 1u);  // the renewal that hangs
  env.time.advance(20s - 1ms);
  run_without_loop_and_store();
  EXPECT_EQ(stopped, std::nullopt);
  env.time.advance(1ms);
  run_without_loop_and_store();
  EXPECT_EQ(stopped, StopCause::lease_lost);
}

TEST_F(LeaseEnds, AtTheDeadlineWhileTheLoopIsBlocked) {
  start("Wait");
  world.watched->before_call["renew_activities"] = [] { throw std::runtime_error("not reached"); };
  env.time.advance(30s);
  run_without_loop_and_store();
  EXPECT_EQ(stopped, StopCause::lease_lost);
}

TEST_F(LeaseEnds, CountedFromWhenTheLastRenewalWasSent) {
  start("Wait");
  env.time.advance(10s);
  world.watched->before_call["renew_activities"] = [this] { env.time.advance(7s); };
  env.leases.fire();
  env.at(Lane::leases).drain();
  world.watched->before_call.clear();
  env.time.advance(23s - 1ms);
  run_without_loop_and_store();
  EXPECT_EQ(stopped, std::nullopt);
  env.time.advance(1ms);
  run_without_loop_and_store();
  EXPECT_EQ(stopped, StopCause::lease_lost);
}

TEST_F(LeaseEnds, BeforeAnEndThatIsPlannedAlready) {
  RuntimeOptions options;
  options.turn_lease = 1h;
  world.begin(options);
  world.enqueue_start("i", "call", std::string("Wait"));
  world.node->turns_ready();
  env.settle();
  const auto renew = [this] {
    env.leases.fire();
    env.at(Lane::leases).drain();
  };
  env.time.advance(10s);
  renew();
  env.time.advance(1s);
  // The commit takes 19 s, while the lease of the first activity goes on.
  bool slow = true;
  world.watched->before_call["commit_turns"] = [&] {
    if (!std::exchange(slow, false)) return;
    env.time.advance(9s);
    renew();
    env.time.advance(10s);
    env.leases.fire();
  };
  world.enqueue_start("j", "call", std::string("Wait"));
  world.node->turns_ready();
  while (slow) {
    env.main.drain();
    env.at(Lane::store).drain();
  }
  world.watched->before_call.clear();
  env.main.drain();
  env.coroutines.drain();
  env.time.advance(11s - 1ms);
  run_without_loop_and_store();
  EXPECT_EQ(stopped, std::nullopt);
  env.time.advance(1ms);
  run_without_loop_and_store();
  EXPECT_EQ(stopped, StopCause::lease_lost);
}

TEST_F(LeaseEnds, AResultThatAStoppedProcessWakesUpWithIsNotSent) {
  world.registry.add("Work", [this](ActivityContext&, int value) {
    env.time.advance(31s);  // the process stood still in the middle
    return value;
  });
  world.begin();
  world.enqueue_start("i", "call", "Work");
  world.node->turns_ready();
  while (env.at(Lane::activities).jobs.empty()) {
    env.main.drain();
    env.at(Lane::store).drain();
  }
  const int commits = world.watched->calls["commit_turns"];
  env.at(Lane::activities).drain();
  // The loop comes before the timer of the lease.
  env.main.drain();
  env.at(Lane::store).drain();
  EXPECT_EQ(world.watched->calls["commit_turns"], commits);
  EXPECT_EQ(world.watched->calls["ack_activities"], 0);
}

}  // namespace
}  // namespace duramen::test
