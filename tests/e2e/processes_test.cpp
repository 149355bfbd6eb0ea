// Several real processes on one SQLite file: they share the work, cancel across, and survive each other's
// death.
#include "e2e/exactly_once.hpp"
#include "e2e/worker_program.hpp"
#include "support/child_process.hpp"
#include "support/signal.hpp"
#include "support/temp_dir.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>
#include <duramen/sqlite.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <thread>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

RuntimeOptions short_leases() { return worker_options(900ms, 200ms); }

/// Arguments: the file, the kind.
int run_worker(const std::vector<std::string>& arguments) {
  const std::string& kind = arguments.at(1);
  Registry registry = kind == "activities" ? Registry{} : worker_orchestrations();
  add_worker_activities(registry);
  run_until_killed(sqlite::open(arguments.at(0)), registry,
                   kind == "short-leases" ? short_leases() : RuntimeOptions{});
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
  Runtime turns{store, worker_orchestrations()};
  Client client{store};
  client.start("w", "wait", "long").value();
  ASSERT_EQ(worker.read_line(), "begun");
  client.cancel("w", "from here").value();
  EXPECT_EQ(worker.read_line(), "stopped: cancelled orchestration_terminal_cancelled");
}

TEST_F(Processes, TheNextProcessFinishesTheWorkOfAKilledOneExactlyOnce) {
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
    expect_each_step_once(client, instance, steps);
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
  return duramen::test::run_worker_or_tests(argc, argv, duramen::test::run_worker);
}
