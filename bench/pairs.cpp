#include "bench/pairs.hpp"

#include "bench/disk.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

namespace bench {

namespace {

constexpr double disk_seconds = 0.25;
// A recording is kept in memory.
constexpr std::uint64_t most_recorded = 200'000;

RunResult run_once(const Scene& scene, const Run& run, const Limit& limit) {
  const auto store = scene.stores.make();
  return run({*store, store->provider(), [] {}}, limit);
}

struct Recorded {
  Recording recording;
  RunResult result;
};

Recorded record(const Scene& scene, const Run& run, const Limit& limit) {
  const auto store = scene.stores.make();
  auto recorder = std::make_shared<RecordingProvider>(store->provider());
  RunResult result = run({*store, recorder, [&recorder] { recorder->mark(); }}, limit);
  return {recorder->take(), std::move(result)};
}

double raw_rate(const Scene& scene, const Recorded& recorded, Counted counted) {
  const auto store = scene.stores.make();
  const ReplayResult result = replay(recorded.recording, *store->provider(), counted);
  if (result.differences > 0) {
    scene.progress("warning: the store answered " + std::to_string(result.differences) +
                   " replayed entries differently than in the run");
  }
  return static_cast<double>(recorded.result.count) / result.seconds;
}

/// The recording represents the runs: their batches should be alike.
void compare_batches(const Scene& scene, const std::string& title, double run_syncs, double recorded_syncs) {
  if (std::fabs(run_syncs - recorded_syncs) <= 0.15 * run_syncs) return;
  char text[160];
  std::snprintf(text, sizeof text,
                "warning: the recorded run made %.4f synced commits each, the timed runs %.4f",
                recorded_syncs, run_syncs);
  scene.progress(title + ": " + text);
}

double median_of(const std::vector<RunResult>& runs, double RunResult::* field) {
  std::vector<double> values;
  for (const RunResult& run : runs) values.push_back(run.*field);
  return median(std::move(values));
}

std::optional<double> median_rows(const std::vector<RunResult>& runs) {
  std::vector<double> values;
  for (const RunResult& run : runs) {
    if (run.row_writes) values.push_back(*run.row_writes);
  }
  if (values.empty()) return std::nullopt;
  return median(std::move(values));
}

Row row_of(const std::vector<RunResult>& runs) {
  Row row;
  std::vector<double> latencies;
  std::vector<double> rates;
  for (const RunResult& run : runs) {
    row.count += run.count;
    row.seconds += run.seconds;
    rates.push_back(static_cast<double>(run.count) / run.seconds);
    latencies.insert(latencies.end(), run.latencies_ms.begin(), run.latencies_ms.end());
  }
  row.per_second = median(std::move(rates));
  set_percentiles(row, latencies);
  row.cpu_cores = median_of(runs, &RunResult::cpu_cores);
  row.rss_mib = runs.front().rss_mib;  // later runs include the recording
  return row;
}

}  // namespace

Row measure_pairs(const Scene& scene, const std::string& workload, std::size_t width, Counted counted,
                  const Run& run) {
  const Arguments& arguments = scene.arguments;
  const std::string title = workload + " width " + std::to_string(width);
  const bool with_raw = arguments.store != "memory" && arguments.pairs > 0;
  const std::size_t pairs = std::max<std::size_t>(arguments.pairs, 1);

  Limit limit;
  limit.count = arguments.count.value_or(most_recorded);
  if (!arguments.count) limit.seconds = arguments.seconds;

  std::vector<RunResult> runs;
  std::vector<double> raw;
  Recorded recorded;
  std::vector<double> disk;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    scene.progress(title + ": pair " + std::to_string(pair + 1) + " of " + std::to_string(pairs));
    if (scene.stores.on_this_disk()) disk.push_back(disk_rate(scene.directory, disk_seconds));
    reset_peak_rss();
    runs.push_back(run_once(scene, run, limit));
    // All later runs do as much as the first run did in its time.
    limit = Limit{runs.front().instances, {}};
    if (!with_raw) continue;
    if (pair == 0) recorded = record(scene, run, limit);
    raw.push_back(raw_rate(scene, recorded, counted));
  }

  Row row = row_of(runs);
  row.workload = workload;
  row.store = arguments.store;
  row.durability = scene.stores.durability();
  row.width = width;
  if (arguments.store != "memory") {
    row.syncs = median_of(runs, &RunResult::syncs);
    row.row_writes = median_rows(runs);
  }
  if (!disk.empty()) row.disk_rate = median(disk);
  if (with_raw) {
    compare_batches(scene, title, *row.syncs, recorded.result.syncs);
    row.raw_per_second = median(raw);
    row.ratio = row.per_second / *row.raw_per_second;
  }
  scene.report.add(row);
  return row;
}

}  // namespace bench
