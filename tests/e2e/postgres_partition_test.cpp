// Three nodes, and one of them is cut off from the server for longer than its leases last.
//
// With real networks if possible: a namespace for each node, and a link that drops everything. Otherwise, or
// with DURAMEN_PARTITION=freeze, the node is frozen.
#include "e2e/exactly_once.hpp"
#include "e2e/worker_program.hpp"
#include "support/child_process.hpp"
#include "support/postgres_cluster.hpp"
#include "support/postgres_network.hpp"
#include "support/postgres_server.hpp"
#include "support/signal.hpp"
#include "support/temp_dir.hpp"
#include "support/until.hpp"
#include <duramen/client.hpp>
#include <duramen/postgres.hpp>
#include <duramen/runtime.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* lonely = "lonely";  // the node that is cut off

/// The events of all nodes, in one shared file.
class Diary {
 public:
  explicit Diary(std::string path) : path_(std::move(path)) {}
  void write(const std::string& line) const {
    // One append per line: lines of several processes do not mix.
    std::FILE* const file = std::fopen(path_.c_str(), "a");
    std::fputs((line + "\n").c_str(), file);
    std::fclose(file);
  }
  [[nodiscard]] bool contains(const std::string& wanted) const {
    std::ifstream file{path_};
    for (std::string line; std::getline(file, line);) {
      if (line == wanted) return true;
    }
    return false;
  }

 private:
  std::string path_;
};

Registry registry_of(const std::string& node, const Diary& diary, const std::string& finish) {
  Registry registry;
  registry.add("obey", [](OrchestrationContext& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Obey", 0);
  });
  registry.add("late", [](OrchestrationContext& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Late", 0);
  });
  registry.add("on", [](OrchestrationContext& ctx, std::string tag) -> Task<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Where", 0).with_tag(tag);
  });
  registry.add("count_to", [](OrchestrationContext& ctx, int target) -> Task<int> {
    int value = 0;
    while (value < target) value = co_await ctx.schedule_activity<int>("Increment", value);
    co_return value;
  });
  registry.add("Increment", [](ActivityContext& ctx, int value) -> ActivityTask<int> {
    co_await ctx.sleep(100ms);
    co_return value + 1;
  });
  registry.add("Where", [node](ActivityContext&, int) { return node; });
  // Only the lonely node waits; other nodes return at once.
  registry.add("Obey", [node, diary](ActivityContext& ctx, int) -> ActivityTask<std::string> {
    diary.write(node + " obeys");
    if (node == lonely) {
      co_await ctx.cancelled();
      diary.write(node + " stopped by " + std::string(to_string(ctx.stop_cause())));
    }
    co_return node;
  });
  registry.add("Late", [node, diary, finish](ActivityContext&, int) -> std::string {
    diary.write(node + " begins late");
    if (node == lonely) {
      while (!std::filesystem::exists(finish)) std::this_thread::sleep_for(5ms);
      diary.write(node + " is done");
    }
    return node;
  });
  return registry;
}

/// Arguments: the connection, the schema, the machine, the node, the directory.
int run_worker(const std::vector<std::string>& arguments) {
  const std::string& machine = arguments.at(2);
  const std::string& node = arguments.at(3);
  const std::string& directory = arguments.at(4);
  if (machine != "-" && !PostgresNetwork::enter(machine)) return 1;
  postgres::Options options;
  options.conninfo = arguments.at(0);
  options.schema = arguments.at(1);
  options.call_timeout = 1s;
  options.longest_reconnect_pause = 300ms;
  RuntimeOptions runtime_options = worker_options(3s, 300ms);
  runtime_options.node = node;
  runtime_options.tags = TagFilter::default_and({node});
  if (std::getenv("DURAMEN_TEST_LOG") == nullptr) runtime_options.log = [](const LogRecord&) {};
  const Diary diary{directory + "/diary"};
  // A busy server may need longer than the call timeout of a second, and only the runtime repeats its calls.
  auto provider = postgres::open_provider(options);
  while (!provider && provider.error().retryable) provider = postgres::open_provider(options);
  run_until_killed(Store(provider.value()), registry_of(node, diary, directory + "/finish"), runtime_options);
}

class Partition : public ::testing::Test {
 protected:
  void SetUp() override {
    DURAMEN_NEEDS_POSTGRES();
    const char* const way = std::getenv("DURAMEN_PARTITION");
    if ((way == nullptr || std::string(way) != "freeze") && PostgresNetwork::can_be_had()) {
      network = std::make_unique<PostgresNetwork>(3);
      server.emplace();
      server->allow("host all all " + network->range() + " trust");
      server->start({"listen_addresses=" + network->address()});
    } else {
      std::cout
          << "no network namespaces here (they need root and the command ip): the node is frozen instead\n";
      server.emplace();
      server->start();
    }
    schema = std::make_unique<PostgresSchema>(server->conninfo());
  }
  [[nodiscard]] std::unique_ptr<ChildProcess> node(const std::string& name, int machine) {
    const std::string conninfo =
        network ? "host=" + network->address() +
                      " user=postgres dbname=postgres connect_timeout=2 tcp_user_timeout=2000"
                : server->conninfo();
    auto process = std::make_unique<ChildProcess>(std::vector<std::string>{
        "--worker", conninfo, schema->name(), network ? network->machine(machine) : "-", name, dir.file("")});
    EXPECT_EQ(process->read_line(), "ready");
    return process;
  }
  TempDir dir;
  std::unique_ptr<PostgresNetwork> network;
  std::optional<PostgresServer> server;
  std::unique_ptr<PostgresSchema> schema;
};

TEST_F(Partition, OtherNodesFinishTheWorkOfACutOffNodeOnceAndItWorksAgainAfterwards) {
  const Diary diary{dir.file("diary")};
  const Store store = postgres::open(schema->options());
  Client client{store};
  auto cut = node(lonely, 0);
  client.start("obey", "obey").value();
  client.start("late", "late").value();
  until([&] { return diary.contains("lonely obeys") && diary.contains("lonely begins late"); });
  const auto one = node("one", 1);
  const auto two = node("two", 2);
  constexpr int instances = 15;
  constexpr int steps = 6;
  for (int i = 0; i < instances; ++i) client.start("i" + std::to_string(i), "count_to", steps).value();

  if (network) {
    network->cut_off(0);
  } else {
    cut->signal(SIGSTOP);
  }
  // The node still assumes that it holds its lease: its result arrives too late, after all its attempts.
  std::ofstream{dir.file("finish")} << "now";
  if (network) {
    until([&] { return diary.contains("lonely is done"); });
    // By its own clock: no message can reach it.
    until([&] { return diary.contains("lonely stopped by lease_lost"); });
  }
  for (const char* id : {"obey", "late"}) {
    const std::string by = client.wait(id, forever).value().output_as<std::string>();
    EXPECT_TRUE(by == "one" || by == "two") << id << " by " << by;
  }
  for (int i = 0; i < instances; ++i) {
    EXPECT_EQ(client.wait("i" + std::to_string(i), forever).value().output_as<int>(), steps);
  }

  if (network) {
    network->heal(0);
  } else {
    cut->signal(SIGCONT);
  }
  until([&] { return diary.contains("lonely stopped by lease_lost") && diary.contains("lonely is done"); });
  client.start("again", "on", std::string(lonely)).value();
  EXPECT_EQ(client.wait("again", forever).value().output_as<std::string>(), lonely);
  expect_each_step_once(client, "obey", 1);
  expect_each_step_once(client, "late", 1);
  for (int i = 0; i < instances; ++i) expect_each_step_once(client, "i" + std::to_string(i), steps);
  const QueueDepths left = store.provider()->get_queue_depths().value();
  EXPECT_EQ(left.worker_due + left.worker_later + left.worker_leased, 0u);
}

}  // namespace
}  // namespace duramen::test

int main(int argc, char** argv) {
  return duramen::test::run_worker_or_tests(argc, argv, duramen::test::run_worker);
}
