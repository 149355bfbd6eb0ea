// hello, latency and fanout: many short instances, some of them in flight at all times.

#include "bench/bars.hpp"
#include "bench/in_flight.hpp"
#include "bench/pairs.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/greeting.hpp"
#include <duramen/client.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>
#include <duramen/runtime.hpp>
#include <duramen/store.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;

namespace {

struct HelloShape {
  std::string orchestration;
  std::size_t width = 1;
  std::size_t payload = 0;
};

/// Enough to fill the WAL once and to use every statement; fewer for width 1 or large payloads.
std::uint64_t hello_warm_up(const HelloShape& shape) {
  constexpr std::size_t much = 256 * 1024;
  const std::uint64_t width = shape.width;
  if (shape.payload >= much) return width;
  return std::max<std::uint64_t>(50, std::min<std::uint64_t>(20 * width, 400 + 2 * width));
}

std::string input_of(const HelloShape& shape) {
  return shape.payload == 0 ? "world" : std::string(shape.payload, 'w');
}

RunResult run_lanes(const HelloShape& shape, const RunStore& place, const Limit& limit) {
  const std::string& orchestration = shape.orchestration;
  const std::size_t width = shape.width;
  const dm::Store store(place.provider);
  const dm::Runtime runtime(store, greeting_registry());
  dm::Client client(store);
  {
    InFlight warm_up(client, orchestration, "warm-up", width, input_of(shape));
    warm_up.start({hello_warm_up(shape), {}});
    warm_up.wait();
  }
  place.mark();

  InFlight in_flight(client, orchestration, "run", width, input_of(shape));
  const StoreCounts before = place.store.counts();
  const Usage usage;
  in_flight.start(limit);
  in_flight.wait();
  RunResult result;
  result.cpu_cores = usage.cores();
  result.rss_mib = usage.rss_mib();
  const Spent spent = place.store.spent_since(before);
  result.instances = result.count = in_flight.count();
  result.seconds = in_flight.seconds();
  result.latencies_ms = in_flight.latencies_ms();
  const auto each = static_cast<double>(result.count);
  result.syncs = spent.synced_commits / each;
  if (spent.row_writes) result.row_writes = *spent.row_writes / each;
  return result;
}

/// `bars_at`: the promises at a width, without a payload.
template <class BarsAt>
void measure_hello(const Scene& scene, const std::string& workload, const std::string& orchestration,
                   BarsAt bars_at) {
  const std::vector<std::size_t> default_widths{20, 1000};
  const auto& asked = scene.arguments.widths;
  const std::size_t payload = scene.arguments.payload;
  const std::string name = payload == 0 ? workload : workload + "-" + std::to_string(payload);
  for (const std::size_t width : asked.empty() ? default_widths : asked) {
    const Row row =
        measure_pairs(scene, name, width, Counted::all, [&](const RunStore& place, const Limit& limit) {
          return run_lanes({orchestration, width, payload}, place, limit);
        });
    if (payload == 0) judge(scene, row, bars_at(width));
  }
}

}  // namespace

void run_hello(Scene& scene) {
  measure_hello(scene, "hello", "Hello", [](std::size_t width) -> Bars {
    if (width < 20) return {};
    if (width < 1000)
      return {.least_ratio = 0.6, .least_per_disk_rate = 2.5, .most_syncs = 0.25, .most_row_writes = 12};
    return {.least_ratio = 0.6, .least_per_disk_rate = 7, .most_syncs = 0.25, .most_row_writes = 12};
  });
}

void run_fanout(Scene& scene) {
  measure_hello(scene, "fanout", "Fanout", [](std::size_t width) -> Bars {
    if (width < 20) return {};
    return {.least_ratio = 0.6, .most_row_writes = 30};
  });
}

void run_latency(Scene& scene) {
  const Row row =
      measure_pairs(scene, "latency", 1, Counted::all, [&scene](const RunStore& place, const Limit& limit) {
        return run_lanes({"Hello", 1, scene.arguments.payload}, place, limit);
      });
  judge(scene, row, {.most_syncs = 3});
  if (!scene.arguments.on_sqlite() || !row.raw_per_second) return;
  const double raw_commit_ms = 1000 / (*row.raw_per_second * *row.syncs);
  scene.judge_at_most("latency: p50 over one raw synced commit", *row.p50_ms / raw_commit_ms, 4);
  scene.judge_at_most("latency: p99 over p50", *row.p99_ms / *row.p50_ms, 4);
}

}  // namespace bench
