// Several real processes on one SQLite file: they share the work, cancel across, and survive each other's
// death.
#include "e2e/child_process.hpp"
#include "support/signal.hpp"
#include "support/temp_dir.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>
#include <duramen/sqlite.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

Registry orchestrations() {
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

void add_activities(Registry& registry) {
  registry.add("Wait", [](ActivityContext& ctx, std::string) -> ActivityTask<int> {
    say("begun");
    co_await ctx.cancelled();
    const auto reason = ctx.cancel_reason();
    say("stopped: " + std::string(to_string(ctx.stop_cause())) +
        (reason ? " " + std::string(to_string(*reason)) : std::string()));
    co_return 0;
  });
  registry.add("Increment", [](ActivityContext& ctx, int value) {
    say("step " + ctx.instance_id().value + " " + std::to_string(value));
    return value + 1;
  });
}

RuntimeOptions short_leases() {
  RuntimeOptions options;
  options.activity_lease = 900ms;  // so that a killed process is succeeded soon
  options.turn_lease = 900ms;
  options.poll_interval = 200ms;
  return options;
}

/// What a child process does: runs a runtime until it is killed.
int run_worker(const std::string& path, const std::string& kind) {
  Registry registry = kind == "activities" ? Registry{} : orchestrations();
  add_activities(registry);
  Runtime runtime{sqlite::open(path), registry, kind == "short-leases" ? short_leases() : RuntimeOptions{}};
  say("ready");
  while (true) ::pause();
}

class Processes : public ::testing::Test {
 protected:
  TempDir dir;
  std::string path = dir.file("shared.db");
};

TEST_F(Processes, ACancelReachesTheActivityOfAnotherProcess) {
  Store store = sqlite::open(path);
  ChildProcess worker({"--worker", path, "all"});
  ASSERT_EQ(worker.read_line(), "ready");
  Client client{store};
  client.start("w", "wait", "long").value();
  ASSERT_EQ(worker.read_line(), "begun");
  client.cancel("w", "from outside").value();
  EXPECT_EQ(worker.read_line(), "stopped: cancelled orchestration_terminal_cancelled");
  EXPECT_EQ(client.wait("w", forever).value().status, Status::cancelled);
}

TEST_F(Processes, ATurnTakenByOneProcessStealsTheLeaseOfAnother) {
  Store store = sqlite::open(path);
  ChildProcess worker({"--worker", path, "activities"});
  ASSERT_EQ(worker.read_line(), "ready");
  Runtime turns{store, orchestrations()};
  Client client{store};
  client.start("w", "wait", "long").value();
  ASSERT_EQ(worker.read_line(), "begun");
  client.cancel("w", "from here").value();
  EXPECT_EQ(worker.read_line(), "stopped: cancelled orchestration_terminal_cancelled");
}

TEST_F(Processes, WhatAKilledProcessLeftIsFinishedByTheNextExactlyOnce) {
  constexpr int instances = 10;
  constexpr int steps = 20;
  Store store = sqlite::open(path);
  Client client{store};
  for (int i = 0; i < instances; ++i) client.start("i" + std::to_string(i), "count_to", steps).value();
  for (int round = 0; round < 3; ++round) {
    ChildProcess worker({"--worker", path, "short-leases"});
    ASSERT_EQ(worker.read_line(), "ready");
    for (int line = 0; line < 15 + 7 * round; ++line) ASSERT_NE(worker.read_line(), "");
    worker.kill();
  }
  ChildProcess last({"--worker", path, "short-leases"});
  for (int i = 0; i < instances; ++i) {
    const InstanceId instance("i" + std::to_string(i));
    EXPECT_EQ(client.wait(instance, forever).value().output_as<int>(), steps);
    std::map<EventId, int> completions;
    int ends = 0;
    for (const Event& event : client.read_history(instance).value()) {
      if (std::holds_alternative<event::ActivityCompleted>(event.body)) ++completions[event.source];
      if (event_class(event) == EventClass::terminal) ++ends;
    }
    EXPECT_EQ(completions.size(), static_cast<std::size_t>(steps));
    for (const auto& [source, count] : completions) EXPECT_EQ(count, 1) << "activity " << source.value;
    EXPECT_EQ(ends, 1);
  }
}

TEST_F(Processes, TwoProcessesShareTheWorkOfOneFile) {
  Store store = sqlite::open(path);
  ChildProcess one({"--worker", path, "all"});
  ChildProcess two({"--worker", path, "all"});
  ASSERT_EQ(one.read_line(), "ready");
  ASSERT_EQ(two.read_line(), "ready");
  // Their output must not fill the pipes.
  std::thread drain_one([&] {
    while (!one.read_line().empty()) {
    }
  });
  std::thread drain_two([&] {
    while (!two.read_line().empty()) {
    }
  });
  Client client{store};
  for (int i = 0; i < 100; ++i) client.start("i" + std::to_string(i), "count_to", 5).value();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client.wait("i" + std::to_string(i), forever).value().output_as<int>(), 5);
  }
  one.kill();
  two.kill();
  drain_one.join();
  drain_two.join();
}

}  // namespace
}  // namespace duramen::test

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--worker") return duramen::test::run_worker(argv[2], argv[3]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
