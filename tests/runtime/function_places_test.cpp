// Functions need threads: a node takes as many as it can begin soon, and their time limits count from their
// begin.
#include "runtime/still_node.hpp"
#include <duramen/orchestration.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

class FunctionPlaces : public ::testing::Test {
 protected:
  FunctionPlaces() {
    options.activity_threads = 1;
    world.registry.add("Work", [this](ActivityContext& ctx, int value) {
      if (work) work(ctx);
      return value;
    });
    world.registry.add("Wait", [this](ActivityContext& ctx, int value) -> ActivityTask<int> {
      co_await ctx.cancelled();
      reason = ctx.cancel_reason();
      co_return value;
    });
    world.registry.add("work", [this](OrchestrationContext& ctx, int) -> Task<std::string> {
      auto call = ctx.schedule_activity<int>("Work", 1).start_to_close(close).heartbeat(beat);
      const auto result = co_await std::move(call).as_result();
      co_return result ? "worked" : std::string(to_string(*result.error().timeout));
    });
    world.registry.add("wait", [this](OrchestrationContext& ctx, int) -> Task<std::string> {
      auto call = ctx.schedule_activity<int>("Wait", 1).start_to_close(close).heartbeat(beat);
      const auto result = co_await std::move(call).as_result();
      co_return result ? "worked" : std::string(to_string(*result.error().timeout));
    });
  }
  void start(int instances, const std::string& orchestration) {
    world.begin(options);
    for (int i = 0; i < instances; ++i) world.enqueue_start(InstanceId(std::to_string(i)), orchestration, 0);
    world.node->turns_ready();
    run_all_but_functions();
  }
  /// Everything that is due, except functions: their thread is busy.
  void run_all_but_functions() { env.settle(Lane::activities); }
  /// The one thread runs the next function.
  bool run_one_function() {
    StillEnv::Queue& functions = env.at(Lane::activities);
    if (functions.jobs.empty()) return false;
    Job job = std::move(functions.jobs.front());
    functions.jobs.pop_front();
    job();
    run_all_but_functions();
    return true;
  }
  std::string output(int instance) {
    const auto info = world.memory->get_instance(InstanceId(std::to_string(instance))).value().value();
    return info.output ? decode_payload<std::string>(*info.output) : std::string(to_string(info.status));
  }

  StillNode world;
  StillEnv& env = world.env;
  RuntimeOptions options;
  Duration close{};
  Duration beat{};
  std::function<void(ActivityContext&)> work;
  std::optional<CancelReason> reason;
};

TEST_F(FunctionPlaces, ANodeHoldsNoMoreThanItsThreadsAndAFewThatBeginSoon) {
  work = [this](ActivityContext&) { env.time.advance(400ms); };
  start(100, "work");
  EXPECT_LE(world.memory->get_queue_depths().value().worker_leased, 9u);
  EXPECT_GE(world.memory->get_queue_depths().value().worker_due, 91u);
  while (run_one_function()) {
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(output(i), "worked") << i;
}

TEST_F(FunctionPlaces, StartToCloseDoesNotCountWhileAFunctionWaitsForAThread) {
  close = 1s;
  work = [this](ActivityContext&) { env.time.advance(400ms); };
  start(6, "work");
  while (run_one_function()) {
  }
  for (int i = 0; i < 6; ++i) EXPECT_EQ(output(i), "worked") << i;
}

TEST_F(FunctionPlaces, TheHeartbeatLimitDoesNotCountWhileAFunctionWaitsForAThread) {
  beat = 5s;
  work = [this](ActivityContext& ctx) {
    for (int i = 0; i < 8; ++i) {
      ctx.heartbeat();
      env.time.advance(4s);
      run_all_but_functions();
    }
  };
  start(4, "work");
  while (run_one_function()) {
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(output(i), "worked") << i;
}

TEST_F(FunctionPlaces, TheHolderFailsAnActivityWhenItsTimeHasPassed) {
  close = 5s;
  start(1, "wait");
  env.time.advance(5s - 1ms);
  run_all_but_functions();
  EXPECT_EQ(output(0), "Running");
  env.time.advance(1ms);
  run_all_but_functions();
  EXPECT_EQ(output(0), "start_to_close");
  EXPECT_EQ(reason, CancelReason::timeout);
}

TEST_F(FunctionPlaces, TheHolderFailsAnActivityWithoutHeartbeats) {
  beat = 5s;
  start(1, "wait");
  env.time.advance(5s);
  run_all_but_functions();
  EXPECT_EQ(output(0), "heartbeat");
}

// The failure and the end of the activity meet on the loop.
TEST_F(FunctionPlaces, AResultAtTheLimitIsStoredOnceAsOneOrTheOther) {
  close = 5s;
  work = [this](ActivityContext&) {
    env.time.advance(5s);
    env.leases.fire();
  };
  start(1, "work");
  run_one_function();
  EXPECT_EQ(output(0), "start_to_close");
}

}  // namespace
}  // namespace duramen::test
