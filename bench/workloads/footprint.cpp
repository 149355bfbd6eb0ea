// resident: the memory and disk use of many finished hellos.

#include "bench/bench_store.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/hello_worker.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace bench {

namespace {

constexpr std::uint64_t footprint_instances = 100'000;
constexpr double rss_bar_mib = 64;
constexpr double disk_bar_kib = 700;  // for a thousand
constexpr double footprint_wal_bar_mib = 16;

}  // namespace

void run_resident(Scene& scene) {
  const std::uint64_t count = scene.arguments.count.value_or(footprint_instances);
  const std::size_t width = scene.arguments.widths.empty() ? 20 : scene.arguments.widths.front();
  scene.progress("resident: " + std::to_string(count) + " hellos");
  const ScratchDirectory directory(scene.directory);
  const std::string file = (directory.path() / "bench.db").string();
  HelloWorker::Outcome outcome;
  double log_mib = 0;
  {
    // In a separate process, where nothing else has used memory before.
    HelloWorker worker("sqlite " + file, "run", width, {count, {}});
    worker.begin();
    outcome = worker.wait();
    log_mib = static_cast<double>(std::filesystem::file_size(file + "-wal")) / (1024.0 * 1024.0);
  }
  // Closed: the WAL is checkpointed.
  const auto bytes = static_cast<double>(std::filesystem::file_size(file));
  Row row;
  row.workload = "resident";
  row.store = scene.arguments.store;
  row.durability = scene.stores.durability();
  row.width = width;
  row.count = outcome.count;
  row.seconds = outcome.seconds;
  row.per_second = static_cast<double>(outcome.count) / outcome.seconds;
  row.rss_mib = outcome.rss_mib;
  scene.report.add(row);
  Figure figure{.workload = "resident", .figure = "disk", .size = static_cast<std::size_t>(count)};
  figure.bytes_each = bytes / static_cast<double>(count);
  scene.report.add(figure);
  scene.judge_at_most("resident: memory in MiB", outcome.rss_mib, rss_bar_mib);
  scene.judge_at_most("resident: KiB on disk for a thousand", *figure.bytes_each * 1000 / 1024, disk_bar_kib);
  scene.judge_at_most("resident: the log's size in MiB", log_mib, footprint_wal_bar_mib);
}

}  // namespace bench
