// masscancel: one orchestration with very many activities is cancelled. The time from client.cancel() to the
// last stop request, and the number of commits.

#include "bench/bench_store.hpp"
#include "bench/disk.hpp"
#include "bench/in_flight.hpp"
#include "bench/measure.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/greeting.hpp"
#include <duramen/client.hpp>
#include <duramen/forwarding_provider.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/runtime.hpp>
#include <duramen/store.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;

namespace {

constexpr std::uint64_t default_activities = 10'000;
constexpr std::size_t full_width = 1000;
constexpr int repetitions = 5;
constexpr double crowd_bar_ms = 1000;
constexpr std::chrono::seconds crowd_patience{60};

constexpr const char* crowded = "crowd";

/// Counts the turns of the crowd that are stored.
class CommitCounter final : public dm::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  dm::Result<std::vector<dm::CommitResult>> commit_turns(std::span<const dm::TurnCommit> commits,
                                                         const std::stop_token& preempt) override {
    auto answers = ForwardingProvider::commit_turns(commits, preempt);
    for (std::size_t i = 0; answers && i < answers->size(); ++i) turns += commits[i].instance == crowded;
    return answers;
  }
  std::atomic<std::uint64_t> turns{0};
};

/// The running activities, and when each received its stop request.
class Crowd {
 public:
  void began() {
    const std::lock_guard lock(mutex_);
    ++running_;
    changed_.notify_all();
  }
  void stopped() {
    const Instant when = now();
    const std::lock_guard lock(mutex_);
    stopped_.push_back(when);
    changed_.notify_all();
  }
  void await_running(std::size_t count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, crowd_patience, [&] { return running_ >= count; })) {
      throw std::runtime_error("only " + std::to_string(running_) + " activities began");
    }
  }
  /// All that began have stopped.
  std::vector<Instant> await_stopped() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, crowd_patience, [&] { return stopped_.size() >= running_; })) {
      throw std::runtime_error("only " + std::to_string(stopped_.size()) +
                               " activities received their stop request");
    }
    return stopped_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_ = 0;
  std::vector<Instant> stopped_;
};

dm::ActivityTask<void> wait_in_crowd(dm::ActivityContext& ctx, Crowd* crowd) {
  crowd->began();
  co_await ctx.cancelled();
  crowd->stopped();
}

dm::Task<void> run_crowd(dm::OrchestrationContext& ctx, std::uint64_t count) {
  std::vector<dm::DurableFuture<void>> all;
  all.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(ctx.schedule_activity<void>("WaitInCrowd", i));
  co_await ctx.join(std::move(all));
}

struct CrowdShape {
  std::uint64_t activities = 0;
  std::size_t places = 0;  ///< running activities; the others wait in the queue
  std::size_t load = 0;    ///< hellos in flight, in other places
};

void measure_crowd(const Scene& scene, const std::string& workload, const CrowdShape& shape) {
  scene.progress(workload);
  const Arguments& arguments = scene.arguments;
  const auto rate =
      scene.stores.on_this_disk() ? std::optional(disk_rate(scene.directory, 0.25)) : std::nullopt;
  reset_peak_rss();
  std::vector<double> delivered_ms;
  double slowest_ms = 0;
  std::uint64_t most_turns = 0;
  const Usage usage;
  double cancelling_seconds = 0;
  for (int i = 0; i < repetitions; ++i) {
    const auto bench_store = scene.stores.make();
    auto counter = std::make_shared<CommitCounter>(bench_store->provider());
    Crowd crowd;
    dm::Registry registry = greeting_registry();
    registry.add("Many", run_crowd);
    registry.add("WaitInCrowd", [&crowd](dm::ActivityContext& ctx) { return wait_in_crowd(ctx, &crowd); });
    const dm::Store store(counter);
    const dm::Runtime runtime(store, std::move(registry), {.max_activities = shape.places + shape.load});
    dm::Client client(store);
    InFlight in_flight(client, "Hello", "load", shape.load);
    if (shape.load > 0) in_flight.start({});
    (void)client.start(crowded, "Many", shape.activities).value();
    crowd.await_running(std::min<std::size_t>(shape.places, shape.activities));

    const std::uint64_t turns_before = counter->turns;
    const Instant called = now();
    (void)client.cancel(crowded, "benchmark").value();
    if (client.wait(crowded, crowd_patience).value().status != dm::Status::cancelled) {
      throw std::runtime_error("the orchestration was not cancelled");
    }
    const Instant committed = now();
    const std::vector<Instant> stopped = crowd.await_stopped();
    most_turns = std::max(most_turns, counter->turns - turns_before);
    double last_ms = milliseconds_between(called, committed);
    for (const Instant when : stopped) {
      delivered_ms.push_back(milliseconds_between(called, when));
      last_ms = std::max(last_ms, delivered_ms.back());
    }
    slowest_ms = std::max(slowest_ms, last_ms);
    cancelling_seconds += last_ms / 1000;
    if (shape.load > 0) {
      in_flight.stop();
      in_flight.wait();
    }
  }
  Row row;
  row.workload = workload;
  row.store = arguments.store;
  row.durability = scene.stores.durability();
  row.width = shape.activities;
  row.count = static_cast<std::uint64_t>(repetitions);
  row.seconds = cancelling_seconds;
  row.per_second = static_cast<double>(shape.activities) * repetitions / cancelling_seconds;
  row.cpu_cores = usage.cores();
  row.rss_mib = usage.rss_mib();
  row.disk_rate = rate;
  set_percentiles(row, delivered_ms);
  scene.report.add(row);
  char text[200];
  std::snprintf(text, sizeof text,
                ": decided, committed and delivered in %.0f ms at most (bar %.0f ms): %s; %llu commit%s",
                slowest_ms, crowd_bar_ms, slowest_ms <= crowd_bar_ms ? "held" : "MISSED",
                static_cast<unsigned long long>(most_turns), most_turns == 1 ? ": held" : "s: MISSED");
  scene.progress(workload + text);
}

}  // namespace

void run_masscancel(Scene& scene) {
  const std::uint64_t activities = scene.arguments.count.value_or(default_activities);
  measure_crowd(scene, "masscancel-running", {.activities = activities, .places = activities});
  measure_crowd(scene, "masscancel-queued",
                {.activities = activities, .places = std::max<std::size_t>(activities / 10, 1)});
  measure_crowd(scene, "masscancel-loaded",
                {.activities = activities, .places = activities, .load = full_width});
}

}  // namespace bench
