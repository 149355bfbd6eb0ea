// Several real processes on one PostgreSQL schema: they share the work, cancel across, and survive each
// other's death.
#include "e2e/exactly_once.hpp"
#include "e2e/worker_program.hpp"
#include "support/child_process.hpp"
#include "support/postgres_cluster.hpp"
#include "support/signal.hpp"
#include "support/temp_dir.hpp"
#include <duramen/client.hpp>
#include <duramen/postgres.hpp>
#include <duramen/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

Registry orchestrations() {
  Registry registry = worker_orchestrations();
  registry.add("hold", [](OrchestrationContext& ctx, std::string until) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Hold", until);
  });
  return registry;
}

void add_activities(Registry& registry) {
  add_worker_activities(registry);
  // Waits for the file, then returns the process that ran it.
  registry.add("Hold", [](ActivityContext&, std::string until) {
    report("holding");
    while (!std::filesystem::exists(until)) std::this_thread::sleep_for(10ms);
    report("held");
    return static_cast<int>(::getpid());
  });
}

RuntimeOptions short_leases() { return worker_options(1500ms, 300ms); }

/// Takes over soon, but keeps its own leases even on a busy machine.
RuntimeOptions heir() {
  RuntimeOptions options;
  options.poll_interval = 300ms;
  return options;
}

postgres::Options options_for(const std::string& conninfo, const std::string& schema) {
  postgres::Options options;
  options.conninfo = conninfo;
  options.schema = schema;
  return options;
}

/// Arguments: the connection, the schema, the kind.
int run_worker(const std::vector<std::string>& arguments) {
  const std::string& kind = arguments.at(2);
  Registry registry = kind == "activities" ? Registry{} : orchestrations();
  add_activities(registry);
  run_until_killed(postgres::open(options_for(arguments.at(0), arguments.at(1))), registry,
                   kind == "short-leases" ? short_leases()
                   : kind == "heir"       ? heir()
                                          : RuntimeOptions{});
}

class PostgresNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    DURAMEN_NEEDS_POSTGRES();
    schema = std::make_unique<PostgresSchema>(PostgresCluster::get()->conninfo());
    store = std::make_unique<Store>(postgres::open(schema->options()));
  }
  [[nodiscard]] std::vector<std::string> worker(const std::string& kind) const {
    return {"--worker", schema->conninfo(), schema->name(), kind};
  }
  TempDir dir;
  std::unique_ptr<PostgresSchema> schema;
  std::unique_ptr<Store> store;
};

TEST_F(PostgresNodes, ACancelReachesTheActivityOfAnotherProcess) {
  ChildProcess node(worker("all"));
  ASSERT_EQ(node.read_line(), "ready");
  Client client{*store};
  client.start("w", "wait", "long").value();
  ASSERT_EQ(node.read_line(), "begun");
  client.cancel("w", "from outside").value();
  EXPECT_EQ(node.read_line(), "stopped: cancelled orchestration_terminal_cancelled");
  EXPECT_EQ(client.wait("w", forever).value().status, Status::cancelled);
}

TEST_F(PostgresNodes, ATurnTakenByOneProcessStealsTheLeaseOfAnotherByPush) {
  ChildProcess node(worker("activities"));
  ASSERT_EQ(node.read_line(), "ready");
  Runtime turns{*store, orchestrations()};
  Client client{*store};
  // Push is far faster than a renewal: leases last thirty seconds and are renewed after ten.
  for (int i = 0; i < 5; ++i) {
    const InstanceId id("w" + std::to_string(i));
    client.start(id, "wait", "long").value();
    ASSERT_EQ(node.read_line(), "begun");
    const auto began = std::chrono::steady_clock::now();
    client.cancel(id, "from here").value();
    ASSERT_EQ(node.read_line(), "stopped: cancelled orchestration_terminal_cancelled");
    const auto took = std::chrono::steady_clock::now() - began;
    RecordProperty("cancel_ms_" + std::to_string(i),
                   static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  }
}

TEST_F(PostgresNodes, TwoProcessesShareTheWork) {
  ChildProcess one(worker("all"));
  ChildProcess two(worker("all"));
  ASSERT_EQ(one.read_line(), "ready");
  ASSERT_EQ(two.read_line(), "ready");
  const auto count_steps = [](ChildProcess& child, std::atomic<int>& steps) {
    while (!child.read_line().empty()) ++steps;
  };
  std::atomic<int> steps_one{0}, steps_two{0};
  std::thread drain_one(count_steps, std::ref(one), std::ref(steps_one));
  std::thread drain_two(count_steps, std::ref(two), std::ref(steps_two));
  Client client{*store};
  // On a busy machine one process may finish a round before the other gets a turn.
  int rounds = 0;
  for (; rounds == 0 || (rounds < 50 && (steps_one == 0 || steps_two == 0)); ++rounds) {
    const auto id = [&](int i) { return InstanceId(std::to_string(rounds) + "-" + std::to_string(i)); };
    for (int i = 0; i < 60; ++i) client.start(id(i), "count_to", 5).value();
    for (int i = 0; i < 60; ++i) {
      EXPECT_EQ(client.wait(id(i), forever).value().output_as<int>(), 5);
      expect_each_step_once(client, id(i), 5);
    }
  }
  one.kill();
  two.kill();
  drain_one.join();
  drain_two.join();
  EXPECT_GT(steps_one, 0);
  EXPECT_GT(steps_two, 0);
  EXPECT_EQ(steps_one + steps_two, rounds * 300);
}

TEST_F(PostgresNodes, AnotherNodeFinishesTheWorkOfAKilledNodeExactlyOnce) {
  constexpr int instances = 6;
  constexpr int steps = 15;
  Client client{*store};
  for (int i = 0; i < instances; ++i) client.start("i" + std::to_string(i), "count_to", steps).value();
  for (int round = 0; round < 2; ++round) {
    ChildProcess node(worker("short-leases"));
    ASSERT_EQ(node.read_line(), "ready");
    for (int line = 0; line < 12 + 7 * round; ++line) ASSERT_NE(node.read_line(), "");
    node.kill();
  }
  ChildProcess last(worker("short-leases"));
  for (int i = 0; i < instances; ++i) {
    const InstanceId id("i" + std::to_string(i));
    EXPECT_EQ(client.wait(id, forever).value().output_as<int>(), steps);
    expect_each_step_once(client, id, steps);
  }
}

TEST_F(PostgresNodes, AFrozenNodeLearnsOfItsLostLeaseWhenItWakes) {
  ChildProcess frozen(worker("short-leases"));
  ASSERT_EQ(frozen.read_line(), "ready");
  Client client{*store};
  client.start("w", "wait", "long").value();
  ASSERT_EQ(frozen.read_line(), "begun");
  frozen.signal(SIGSTOP);
  ChildProcess other(worker("heir"));
  ASSERT_EQ(other.read_line(), "ready");
  EXPECT_EQ(other.read_line(), "begun");  // when the lease has ended
  frozen.signal(SIGCONT);
  EXPECT_EQ(frozen.read_line(), "stopped: lease_lost");
  client.cancel("w", "enough").value();
  EXPECT_EQ(other.read_line(), "stopped: cancelled orchestration_terminal_cancelled");
}

TEST_F(PostgresNodes, ALateResultOfAFrozenNodeIsRefused) {
  const std::string go = dir.file("go");
  ChildProcess frozen(worker("short-leases"));
  ASSERT_EQ(frozen.read_line(), "ready");
  Client client{*store};
  client.start("h", "hold", go).value();
  ASSERT_EQ(frozen.read_line(), "holding");
  frozen.signal(SIGSTOP);
  ChildProcess other(worker("heir"));
  ASSERT_EQ(other.read_line(), "ready");
  ASSERT_EQ(other.read_line(), "holding");  // when the lease has ended
  std::ofstream{go} << "go";
  ASSERT_EQ(other.read_line(), "held");
  const int done_by = client.wait("h", forever).value().output_as<int>();
  frozen.signal(SIGCONT);
  std::string line = frozen.read_line();
  // It may have lost its lease before it was frozen.
  while (line == "holding") line = frozen.read_line();
  ASSERT_EQ(line, "held");
  // It still works: it lost that lease and nothing else.
  client.start("after", "count_to", 3).value();
  EXPECT_EQ(client.wait("after", forever).value().output_as<int>(), 3);
  EXPECT_EQ(client.wait("h", forever).value().output_as<int>(), done_by);
  expect_each_step_once(client, "h", 1);
}

}  // namespace
}  // namespace duramen::test

int main(int argc, char** argv) {
  return duramen::test::run_worker_or_tests(argc, argv, duramen::test::run_worker);
}
