// cancel2: from client.cancel() to the stop in the activity, which another process holds.

#include "bench/bench_store.hpp"
#include "bench/commit_timer.hpp"
#include "bench/disk.hpp"
#include "bench/in_flight.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/cancels.hpp"
#include "bench/workloads/greeting.hpp"
#include "bench/workloads/waiting.hpp"
#include "bench/workloads/worker_process.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>
#include <duramen/store.hpp>

#include <optional>
#include <string>
#include <utility>

namespace bench {

namespace dm = duramen;

namespace {

constexpr double cancel2_bar_ms = 50;
constexpr double on_server_ms = 30;
constexpr std::size_t load_width = 20;

/// `turns_here`: this process runs the orchestration, so its commit takes the lease from the other one.
/// Otherwise this process is a client. `loaded`: it also runs hellos.
void measure_cancel2(const Scene& scene, const std::string& workload, bool turns_here, bool loaded) {
  scene.progress(workload);
  const auto rate =
      scene.stores.on_this_disk() ? std::optional(disk_rate(scene.directory, 0.25)) : std::nullopt;
  reset_peak_rss();

  const auto bench_store = scene.stores.make();
  auto timer = std::make_shared<CommitTimer>(bench_store->provider());
  WorkerProcess worker(bench_store->address(), !turns_here);
  const dm::Store store(timer);
  std::optional<dm::Runtime> runtime;
  if (turns_here || loaded) {
    dm::Registry registry;
    if (loaded) registry = greeting_registry();
    if (turns_here) add_waiting_orchestrations(registry);
    runtime.emplace(store, std::move(registry));
  }
  dm::Client client(store);
  InFlight in_flight(client, "Hello", "load", loaded ? load_width : 0);
  if (loaded) in_flight.start({});

  const Usage usage;
  auto latencies =
      time_cancels(client, worker, wait_in_coroutine, scene.arguments.count.value_or(default_cancels));
  Row row;
  row.workload = workload;
  row.store = scene.arguments.store;
  row.durability = scene.stores.durability();
  row.count = latencies.size();
  row.seconds = usage.wall_seconds();
  row.per_second = static_cast<double>(row.count) / row.seconds;
  row.cpu_cores = usage.cores();
  row.rss_mib = usage.rss_mib();
  row.width = loaded ? load_width : 1;
  if (loaded) {
    in_flight.stop();
    in_flight.wait();
  }
  set_percentiles(row, latencies);
  row.disk_rate = rate;
  row.synced_commit_ms = timer->median_ms();
  if (scene.arguments.on_postgres()) {
    report_bar(scene, workload, *row.p99_ms, 2 * *row.synced_commit_ms + on_server_ms,
               "2 synced commits + 30 ms", *timer);
  } else {
    report_bar(scene, workload, *row.p99_ms, cancel2_bar_ms, "fixed", *timer);
  }
  scene.report.add(row);
}

}  // namespace

void run_cancel2(Scene& scene) {
  measure_cancel2(scene, "cancel2-client", false, false);
  measure_cancel2(scene, "cancel2-steal", true, false);
  measure_cancel2(scene, "cancel2-client-loaded", false, true);
  measure_cancel2(scene, "cancel2-steal-loaded", true, true);
}

}  // namespace bench
