// Servers that stop under load and come back: every acknowledged change survives, nothing happens twice,
// nothing is stuck.
//
// DURAMEN_POSTGRES_RESTARTS sets the number of restarts; the default is three.
#include "e2e/exactly_once.hpp"
#include "support/postgres_cluster.hpp"
#include "support/postgres_server.hpp"
#include <duramen/client.hpp>
#include <duramen/postgres.hpp>
#include <duramen/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

/// A runtime with steady work: a constant number of instances in flight, and a list of all acknowledged
/// starts.
class Load {
 public:
  static constexpr int steps = 4;
  static constexpr std::size_t at_once = 60;

  explicit Load(const std::string& conninfo)
      : store_(postgres::open({.conninfo = conninfo, .longest_reconnect_pause = 500ms})),
        runtime_(store_, registry(), options()),
        client_(store_),
        starter_([this](const std::stop_token& stop) { start_many(stop); }),
        watcher_([this] { watch_ends(); }) {}
  ~Load() { stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  [[nodiscard]] std::size_t acknowledged() const {
    const std::lock_guard lock(mutex_);
    return acknowledged_.size();
  }
  [[nodiscard]] std::size_t ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  [[nodiscard]] std::size_t in_flight() const {
    const std::lock_guard lock(mutex_);
    return acknowledged_.size() - ended_;
  }
  /// Waits until many instances run, or as many as this machine manages.
  void until_busy() {
    while (in_flight() < at_once / 2 && acknowledged() < 2 * at_once) std::this_thread::sleep_for(1ms);
  }
  /// The time until starts are acknowledged again, and until instances end again.
  struct Recovery {
    Duration starts;
    Duration ends;
  };
  Recovery until_more() {
    const auto began = Steady::now();
    const auto since = [&] { return std::chrono::duration_cast<Duration>(Steady::now() - began); };
    const std::size_t starts = acknowledged();
    const std::size_t ends = ended();
    Recovery took{};
    while (took.starts == Duration{} || took.ends == Duration{}) {
      if (took.starts == Duration{} && acknowledged() >= starts + 3) took.starts = since() + 1ms;
      if (took.ends == Duration{} && ended() >= ends + 3) took.ends = since() + 1ms;
      std::this_thread::sleep_for(1ms);
    }
    return took;
  }
  void expect_each_finished_once() {
    stop();
    for (const std::string& id : acknowledged_) {
      const auto end = client_.wait(id, 60s);
      ASSERT_TRUE(end) << id << ": " << end.error().describe();
      ASSERT_EQ(end->status, Status::completed) << id;
      EXPECT_EQ(end->output_as<int>(), steps) << id;
      expect_each_step_once(client_, id, steps);
    }
    // No work is left over, and every instance was started by this test.
    const StoreMetrics metrics = store_.provider()->get_metrics().value();
    EXPECT_EQ(metrics.total_instances(), acknowledged_.size());
    const auto left = [&] {
      const QueueDepths depths = store_.provider()->get_queue_depths().value();
      return depths.worker_due + depths.worker_later + depths.worker_leased + depths.orchestrator_due +
             depths.orchestrator_later + depths.orchestrator_leased;
    };
    const auto patience = Steady::now() + 30s;
    while (left() > 0 && Steady::now() < patience) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(left(), 0u);
  }

 private:
  static Registry registry() {
    Registry registry;
    // Long enough that many instances run at every fault.
    registry.add("Increment", [](ActivityContext& ctx, int value) -> ActivityTask<int> {
      co_await ctx.sleep(100ms);
      co_return value + 1;
    });
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
    // An unavailable store is expected here.
    if (std::getenv("DURAMEN_TEST_LOG") == nullptr) options.log = [](const LogRecord&) {};
    return options;
  }

  void start_many(const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      while (in_flight() >= at_once && !stop.stop_requested()) std::this_thread::sleep_for(1ms);
      if (stop.stop_requested()) return;
      const std::string id = "i" + std::to_string(i);
      // A failed start may have been stored; the repeated start then succeeds.
      while (!client_.start(id, "count", steps)) std::this_thread::sleep_for(5ms);
      const std::lock_guard lock(mutex_);
      acknowledged_.push_back(id);
    }
  }
  /// In the order of their starts, which is roughly the order of their ends.
  void watch_ends() {
    while (true) {
      std::string next;
      {
        const std::lock_guard lock(mutex_);
        if (ended_ < acknowledged_.size()) next = acknowledged_[ended_];
        if (next.empty() && finishing_) return;
      }
      if (next.empty()) {
        std::this_thread::sleep_for(1ms);
        continue;
      }
      const auto end = client_.wait(next, 60s);
      if (!end && end.error().retryable) continue;
      EXPECT_TRUE(end) << next << " is stuck: " << end.error().describe();
      const std::lock_guard lock(mutex_);
      ++ended_;
    }
  }
  void stop() {
    starter_.request_stop();
    if (starter_.joinable()) starter_.join();
    {
      const std::lock_guard lock(mutex_);
      finishing_ = true;
    }
    if (watcher_.joinable()) watcher_.join();
  }

  Store store_;
  Runtime runtime_;
  Client client_;
  mutable std::mutex mutex_;
  std::vector<std::string> acknowledged_;
  std::size_t ended_ = 0;
  bool finishing_ = false;
  std::jthread starter_;
  std::thread watcher_;
};

TEST(PostgresFaults, ServersRestartedUnderLoadLoseNothing) {
  DURAMEN_NEEDS_POSTGRES();
  const char* const wanted = std::getenv("DURAMEN_POSTGRES_RESTARTS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 3;
  PostgresServer server;
  server.start();
  Load load{server.conninfo()};
  load.until_more();
  constexpr std::pair<PostgresServer::Stop, const char*> ways[] = {
      {PostgresServer::Stop::fast, "fast"},
      {PostgresServer::Stop::immediate, "immediate"},
      {PostgresServer::Stop::kill, "kill -9"}};
  for (int round = 0; round < rounds; ++round) {
    const auto& [how, name] = ways[round % 3];
    load.until_busy();
    const std::size_t in_flight = load.in_flight();
    server.stop(how);
    const auto gone = Steady::now();
    server.start();
    const auto away = std::chrono::duration_cast<Duration>(Steady::now() - gone);
    const Load::Recovery recovery = load.until_more();
    std::cout << "restart " << round + 1 << " (" << name << "): " << in_flight << " in flight, server away "
              << away.count() << " ms; after that, starts are acknowledged again after "
              << recovery.starts.count() << " ms, instances end again after " << recovery.ends.count()
              << " ms; " << load.acknowledged() << " started" << std::endl;
  }
  load.expect_each_finished_once();
}

TEST(PostgresFaults, NodesFollowAFailoverToASynchronousStandby) {
  DURAMEN_NEEDS_POSTGRES();
  PostgresServer primary{5432};
  primary.start();
  PostgresServer standby = PostgresServer::standby_of(primary, 5433);
  // From here on every acknowledged commit is on both machines.
  primary.stop(PostgresServer::Stop::fast);
  primary.start({"synchronous_standby_names=*"});

  Load load{"host=" + primary.directory() + "," + standby.directory() +
            " port=5432,5433 user=postgres dbname=postgres"};
  load.until_busy();
  primary.stop(PostgresServer::Stop::kill);
  const auto gone = Steady::now();
  standby.promote();
  load.until_more();
  std::cout << "failover: work goes on " << std::chrono::duration_cast<Duration>(Steady::now() - gone).count()
            << " ms after the primary was killed" << std::endl;
  load.expect_each_finished_once();
}

}  // namespace
}  // namespace duramen::test
