// Servers that go away under load, and come back: nothing that was acknowledged is lost, nothing is seen twice, nothing
// is stuck.
//
// DURAMEN_POSTGRES_RESTARTS says how many restarts there are, one after the other; three unless it is set.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include <duramen/client.hpp>
#include <duramen/postgres.hpp>
#include <duramen/runtime.hpp>
#include <gtest/gtest.h>

#include "support/postgres_cluster.hpp"
#include "support/postgres_server.hpp"

namespace duramen::test {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

/// A runtime with steady work: one thread starts instances and remembers those that were acknowledged.
class Load {
 public:
  static constexpr int steps = 4;

  explicit Load(const std::string& conninfo)
      : store_(postgres::open({.conninfo = conninfo, .longest_reconnect_pause = 500ms})),
        runtime_(store_, registry(), options()),
        client_(store_),
        starter_([this](const std::stop_token& stop) {
          for (int i = 0; !stop.stop_requested(); ++i) {
            const std::string id = "i" + std::to_string(i);
            // A start that failed may have been stored all the same; asked again, the store says so.
            while (!stop.stop_requested()) {
              if (client_.start(id, "count", steps)) {
                const std::lock_guard lock(mutex_);
                acknowledged_.insert(id);
                break;
              }
              std::this_thread::sleep_for(10ms);
            }
            std::this_thread::sleep_for(10ms);
          }
        }) {}

  [[nodiscard]] std::size_t acknowledged() const {
    const std::lock_guard lock(mutex_);
    return acknowledged_.size();
  }
  /// How long until more starts have been acknowledged.
  Duration until_more() {
    const auto began = Steady::now();
    const std::size_t before = acknowledged();
    while (acknowledged() < before + 3) std::this_thread::sleep_for(1ms);
    return std::chrono::duration_cast<Duration>(Steady::now() - began);
  }
  void expect_each_finished_once() {
    starter_.request_stop();
    starter_.join();
    for (const std::string& id : acknowledged_) {
      auto end = client_.wait(id, 60s);
      while (!end && end.error().retryable) end = client_.wait(id, 60s);
      ASSERT_TRUE(end) << id << ": " << end.error().describe();
      ASSERT_EQ(end->status, Status::completed) << id;
      std::map<EventId, int> completions;
      int ends = 0;
      for (const Event& event : client_.read_history(id).value()) {
        if (std::holds_alternative<event::ActivityCompleted>(event.body)) ++completions[event.source];
        if (event_class(event) == EventClass::terminal) ++ends;
      }
      EXPECT_EQ(completions.size(), static_cast<std::size_t>(steps)) << id;
      for (const auto& [source, times] : completions) EXPECT_EQ(times, 1) << id << ", activity " << source.value;
      EXPECT_EQ(ends, 1) << id;
    }
  }

 private:
  static Registry registry() {
    Registry registry;
    registry.add("Increment", [](ActivityContext&, int value) { return value + 1; });
    registry.add("count", [](OrchestrationContext& ctx, int target) -> Task<int> {
      int value = 0;
      while (value < target) value = co_await ctx.schedule_activity<int>("Increment", value);
      co_return value;
    });
    return registry;
  }
  static RuntimeOptions options() {
    RuntimeOptions options;
    options.activity_lease = 4s;
    options.turn_lease = 4s;
    options.poll_interval = 500ms;
    // That the store was away is what this is about.
    if (std::getenv("DURAMEN_TEST_LOG") == nullptr) options.log = [](const LogRecord&) {};
    return options;
  }

  Store store_;
  Runtime runtime_;
  Client client_;
  mutable std::mutex mutex_;
  std::set<std::string> acknowledged_;
  std::jthread starter_;
};

TEST(PostgresFaults, ServersRestartedUnderLoadLoseNothing) {
  DURAMEN_NEEDS_POSTGRES();
  const char* const wanted = std::getenv("DURAMEN_POSTGRES_RESTARTS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 3;
  PostgresServer server;
  server.start();
  Load load{server.conninfo()};
  load.until_more();
  constexpr std::pair<PostgresServer::Stop, const char*> ways[] = {{PostgresServer::Stop::fast, "fast"},
                                                                  {PostgresServer::Stop::immediate, "immediate"},
                                                                  {PostgresServer::Stop::kill, "kill -9"}};
  for (int round = 0; round < rounds; ++round) {
    const auto& [how, name] = ways[round % 3];
    server.stop(how);
    server.start();
    std::cout << "restart " << round + 1 << " (" << name << "): work goes on " << load.until_more().count()
              << " ms after the server is back, " << load.acknowledged() << " started" << std::endl;
  }
  load.expect_each_finished_once();
}

TEST(PostgresFaults, NodesFollowAFailoverToASynchronousStandby) {
  DURAMEN_NEEDS_POSTGRES();
  PostgresServer primary{5432};
  primary.start();
  PostgresServer standby = PostgresServer::standby_of(primary, 5433);
  // From here on a commit that is answered is on both machines.
  primary.stop(PostgresServer::Stop::fast);
  primary.start({"synchronous_standby_names=*"});

  Load load{"host=" + primary.directory() + "," + standby.directory() + " port=5432,5433 user=postgres dbname=postgres"};
  load.until_more();
  primary.stop(PostgresServer::Stop::kill);
  const auto gone = Steady::now();
  standby.promote();
  load.until_more();
  std::cout << "failover: work goes on "
            << std::chrono::duration_cast<Duration>(Steady::now() - gone).count() << " ms after the primary was killed"
            << std::endl;
  load.expect_each_finished_once();
}

}  // namespace
}  // namespace duramen::test
