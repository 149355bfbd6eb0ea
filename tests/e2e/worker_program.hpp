// The worker programs of tests with several processes. A test program starts itself again with --worker.
#pragma once

#include "support/child_process.hpp"
#include <duramen/runtime.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace duramen::test {

/// "count_to": as many activities one after the other. "wait": an activity that ends when it is cancelled.
inline Registry worker_orchestrations() {
  Registry registry;
  registry.add("wait", [](OrchestrationContext& ctx, std::string how) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Wait", how);
  });
  registry.add("count_to", [](OrchestrationContext& ctx, int target) -> Task<int> {
    int value = 0;
    while (value < target) value = co_await ctx.schedule_activity<int>("Increment", value);
    co_return value;
  });
  return registry;
}

/// Their activities. Each reports to the test.
inline void add_worker_activities(Registry& registry) {
  registry.add("Wait", [](ActivityContext& ctx, std::string) -> ActivityTask<int> {
    report("begun");
    co_await ctx.cancelled();
    const auto reason = ctx.cancel_reason();
    report("stopped: " + std::string(to_string(ctx.stop_cause())) +
           (reason ? " " + std::string(to_string(*reason)) : std::string()));
    co_return 0;
  });
  registry.add("Increment", [](ActivityContext& ctx, int value) {
    report("step " + ctx.instance_id().value + " " + std::to_string(value));
    return value + 1;
  });
}

/// Old and new code of the orchestration "deploy" differ in their results.
inline void add_version(Registry& registry, const std::string& version) {
  registry.add(
      "deploy",
      [version](OrchestrationContext& ctx, int value) -> Task<std::string> {
        value = co_await ctx.schedule_activity<int>("Add", value);
        value += co_await ctx.schedule_wait<int>("go");
        value = co_await ctx.schedule_activity<int>("Add", value);
        co_return version + " " + std::to_string(value);
      },
      version);
}

/// Short leases: another process takes over soon after this one is killed.
inline RuntimeOptions worker_options(Duration lease, Duration poll_interval) {
  RuntimeOptions options;
  options.activity_lease = lease;
  options.turn_lease = lease;
  options.session_lease = lease;
  options.poll_interval = poll_interval;
  return options;
}

/// Runs a runtime until the test kills this process.
[[noreturn]] inline void run_until_killed(const Store& store, Registry registry, RuntimeOptions options) {
  Runtime runtime{store, std::move(registry), std::move(options)};
  report("ready");
  while (true) ::pause();
}

/// The body of main(): `run_worker` gets the arguments after --worker.
inline int run_worker_or_tests(int argc, char** argv,
                               const std::function<int(const std::vector<std::string>&)>& run_worker) {
  if (argc > 1 && std::string(argv[1]) == "--worker") {
    return run_worker(std::vector<std::string>(argv + 2, argv + argc));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace duramen::test
