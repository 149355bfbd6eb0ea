// Worker processes that are killed in the middle of activities, of sessions and of a deployment.
#include "e2e/exactly_once.hpp"
#include "e2e/worker_program.hpp"
#include "support/child_process.hpp"
#include "support/signal.hpp"
#include "support/temp_dir.hpp"
#include "support/until.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>
#include <duramen/sqlite.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

/// Words that configure a worker: "v1", "v2": its versions; "hang": its activities never end; "patient": long
/// leases.
Registry registry_of(const std::vector<std::string>& words) {
  const std::set<std::string> can(words.begin(), words.end());
  Registry registry;
  if (can.contains("v1")) add_version(registry, "1.0.0");
  if (can.contains("v2")) add_version(registry, "2.0.0");
  registry.add("Add", [](ActivityContext&, int value) { return value + 1; });
  registry.add("fan", [](OrchestrationContext& ctx, int width) -> Task<int> {
    std::vector<DurableFuture<int>> all;
    for (int i = 0; i < width; ++i) all.push_back(ctx.schedule_activity<int>("Work", i));
    int sum = 0;
    for (const int part : co_await ctx.join(std::move(all))) sum += part;
    co_return sum;
  });
  const bool hangs = can.contains("hang");
  registry.add("Work", [hangs](ActivityContext& ctx, int value) -> ActivityTask<int> {
    report("begun " + std::to_string(value) + " attempt " + std::to_string(ctx.attempt()));
    while (hangs) co_await ctx.sleep(1h);
    co_return value;
  });
  registry.add("sessions", [](OrchestrationContext& ctx, int steps) -> Task<std::vector<std::string>> {
    std::vector<std::string> nodes;
    for (int i = 0; i < steps; ++i) {
      if (i == steps / 2) co_await ctx.schedule_wait<int>("go");
      nodes.push_back(
          co_await ctx.schedule_activity<std::string>("Where", i).on_session(ctx.instance_id().value));
    }
    co_return nodes;
  });
  registry.add("Where", [](ActivityContext& ctx, int) { return ctx.node().value; });
  registry.add("nap", [](OrchestrationContext& ctx) -> Task<int> {
    co_await ctx.schedule_timer(300ms);
    co_return 1;
  });
  return registry;
}

/// Arguments: the file, the node, the words.
int run_worker(const std::vector<std::string>& arguments) {
  const std::vector<std::string> words(arguments.begin() + 2, arguments.end());
  RuntimeOptions options = worker_options(900ms, 200ms);
  options.node = arguments.at(1);
  if (std::ranges::find(words, "patient") != words.end()) {
    // Long enough for a busy machine to renew them in time.
    options.activity_lease = 10s;
    options.session_lease = 10s;
  }
  options.log = [](const LogRecord&) {};
  run_until_killed(sqlite::open(arguments.at(0)), registry_of(words), options);
}

class WorkerProcesses : public ::testing::Test {
 protected:
  std::unique_ptr<ChildProcess> worker(const std::string& node, const std::vector<std::string>& words = {}) {
    std::vector<std::string> arguments{"--worker", path, node};
    arguments.insert(arguments.end(), words.begin(), words.end());
    auto process = std::make_unique<ChildProcess>(arguments);
    EXPECT_EQ(process->read_line(), "ready");
    return process;
  }
  std::size_t count(const InstanceId& instance, std::string_view type) {
    return count_events(client, instance, type);
  }

  TempDir dir;
  std::string path = dir.file("shared.db");
  Store store = sqlite::open(path);
  Client client{store};
};

TEST_F(WorkerProcesses, ActivitiesOfAKilledWorkerAreTakenOverAndCompletedExactlyOnce) {
  constexpr int width = 20;
  auto first = worker("first", {"hang"});
  client.start("f", "fan", width).value();
  // A set: on a busy machine a lease may end before all have begun, and one activity begins again.
  std::set<std::string> begun;
  while (begun.size() < width) {
    const std::string line = first->read_line();
    ASSERT_TRUE(line.starts_with("begun ")) << line;
    begun.insert(line.substr(0, line.find(" attempt ")));
  }
  first->kill();
  auto second = worker("second");
  EXPECT_EQ(client.wait("f", forever).value().output_as<int>(), width * (width - 1) / 2);
  EXPECT_EQ(count("f", "ActivityScheduled"), static_cast<std::size_t>(width));
  EXPECT_EQ(count("f", "ActivityCompleted"), static_cast<std::size_t>(width));
  for (int i = 0; i < width; ++i) {
    const std::string line = second->read_line();
    EXPECT_TRUE(line.starts_with("begun ") && !line.ends_with(" attempt 1")) << line;
  }
}

TEST_F(WorkerProcesses, ATimerFiresThoughEveryWorkerDiedBeforeIt) {
  auto first = worker("first");
  client.start("n", "nap").value();
  until([&] { return count("n", "TimerCreated") == 1; });
  first->kill();
  auto second = worker("second");
  EXPECT_EQ(client.wait("n", forever).value().output_as<int>(), 1);
}

TEST_F(WorkerProcesses, SessionsStickToTheirProcessAndMoveOnceWhenItDies) {
  constexpr int sessions = 8;
  constexpr int steps = 6;
  auto a = worker("a", {"patient"});
  auto b = worker("b", {"patient"});
  for (int i = 0; i < sessions; ++i) client.start("s" + std::to_string(i), "sessions", steps).value();
  for (int i = 0; i < sessions; ++i) {
    until([&] { return count("s" + std::to_string(i), "ExternalSubscribed") == 1; });
  }
  a->kill();
  for (int i = 0; i < sessions; ++i) client.raise_event("s" + std::to_string(i), "go", 1).value();
  for (int i = 0; i < sessions; ++i) {
    const auto nodes =
        client.wait("s" + std::to_string(i), forever).value().output_as<std::vector<std::string>>();
    ASSERT_EQ(nodes.size(), static_cast<std::size_t>(steps));
    for (int s = 1; s < steps / 2; ++s) EXPECT_EQ(nodes.at(static_cast<std::size_t>(s)), nodes.front()) << i;
    for (int s = steps / 2; s < steps; ++s) EXPECT_EQ(nodes.at(static_cast<std::size_t>(s)), "b") << i;
  }
}

TEST_F(WorkerProcesses, ARollingDeploymentLosesNothingAndMixesNothing) {
  constexpr int each = 10;
  const auto id = [](const char* when, int i) { return InstanceId(std::string(when) + std::to_string(i)); };
  const auto start = [&](const char* when) {
    for (int i = 0; i < each; ++i) client.start(id(when, i), "deploy", i).value();
  };
  const auto waiting = [&](const char* when) {
    for (int i = 0; i < each; ++i) {
      until([&] { return count(id(when, i), "ExternalSubscribed") == 1; });
    }
  };
  auto old_one = worker("old-1", {"v1"});
  auto old_two = worker("old-2", {"v1"});
  start("before");
  waiting("before");
  // A node with both versions replaces each old node in turn. In between, both kinds run at the same time.
  old_one->kill();
  auto new_one = worker("new-1", {"v1", "v2"});
  start("between");
  waiting("between");
  old_two->kill();
  auto new_two = worker("new-2", {"v1", "v2"});
  start("after");
  waiting("after");
  for (const char* when : {"before", "between", "after"}) {
    for (int i = 0; i < each; ++i) client.raise_event(id(when, i), "go", 100).value();
  }
  for (const char* when : {"before", "between", "after"}) {
    for (int i = 0; i < each; ++i) {
      const InstanceState state = client.wait(id(when, i), forever).value();
      const std::string version = client.get_instance(id(when, i)).value().version;
      if (std::string(when) == "before") EXPECT_EQ(version, "1.0.0");
      if (std::string(when) == "after") EXPECT_EQ(version, "2.0.0");
      EXPECT_EQ(state.output_as<std::string>(), version + " " + std::to_string(i + 102)) << when << i;
      EXPECT_EQ(count(id(when, i), "ActivityCompleted"), 2u);
    }
  }
}

}  // namespace
}  // namespace duramen::test

int main(int argc, char** argv) {
  return duramen::test::run_worker_or_tests(argc, argv, duramen::test::run_worker);
}
