// cancel: from client.cancel() to the stop in the activity, in one process.

#include "bench/bench_store.hpp"
#include "bench/commit_timer.hpp"
#include "bench/disk.hpp"
#include "bench/in_flight.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/cancels.hpp"
#include "bench/workloads/greeting.hpp"
#include "bench/workloads/waiting.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>
#include <duramen/store.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace bench {

namespace dm = duramen;

namespace {

/// `load`: the number of hellos in flight.
void measure_cancel(const Scene& scene, const std::string& workload, const char* orchestration,
                    std::size_t load) {
  const Arguments& arguments = scene.arguments;
  scene.progress(workload);
  const auto rate =
      scene.stores.on_this_disk() ? std::optional(disk_rate(scene.directory, 0.25)) : std::nullopt;
  reset_peak_rss();

  const auto bench_store = scene.stores.make();
  auto timer = std::make_shared<CommitTimer>(bench_store->provider());
  LocalWatch watch;
  dm::Registry registry = greeting_registry();
  add_waiting_orchestrations(registry);
  add_waiting_activities(registry, watch);
  const dm::Store store(timer);
  const dm::Runtime runtime(store, std::move(registry), {.activity_lease = std::chrono::seconds{30}});
  dm::Client client(store);
  const bool loaded = load > 0;
  InFlight in_flight(client, "Hello", "load", load);
  if (loaded) in_flight.start({});

  StoreCounts before;
  double synced = 0;
  std::optional<double> rows = 0;
  const Usage usage;
  auto latencies = time_cancels(
      client, watch, orchestration, arguments.count.value_or(default_cancels),
      [&] { before = bench_store->counts(); },
      [&] {
        const Spent spent = bench_store->spent_since(before);
        synced += spent.synced_commits;
        rows = rows && spent.row_writes ? std::optional(*rows + *spent.row_writes) : std::nullopt;
      });

  Row row;
  row.workload = workload;
  row.store = arguments.store;
  row.durability = scene.stores.durability();
  row.width = loaded ? load : 1;
  row.count = latencies.size();
  row.seconds = usage.wall_seconds();
  row.per_second = static_cast<double>(row.count) / row.seconds;
  row.cpu_cores = usage.cores();
  row.rss_mib = usage.rss_mib();
  if (loaded) {
    in_flight.stop();
    in_flight.wait();
  }
  set_percentiles(row, latencies);
  if (arguments.store != "memory") {
    row.disk_rate = rate;
    row.synced_commit_ms = timer->median_ms();
    if (!loaded) {
      row.syncs = synced / static_cast<double>(row.count);
      if (rows) row.row_writes = *rows / static_cast<double>(row.count);
    }
    report_bar(scene, workload, *row.p99_ms, 2 * *row.synced_commit_ms + 3, "2 synced commits + 3 ms",
               *timer);
  }
  scene.report.add(row);
}

}  // namespace

void run_cancel(Scene& scene) {
  measure_cancel(scene, "cancel-coroutine", wait_in_coroutine, 0);
  measure_cancel(scene, "cancel-function", wait_in_function, 0);
  for (const std::size_t load : {std::size_t{20}, std::size_t{1000}}) {
    measure_cancel(scene, "cancel-coroutine-loaded", wait_in_coroutine, load);
    measure_cancel(scene, "cancel-function-loaded", wait_in_function, load);
  }
}

}  // namespace bench
