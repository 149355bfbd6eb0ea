// processes: hello in one process, then in two on one file, or in two and in four on one server.

#include "bench/bench_store.hpp"
#include "bench/disk.hpp"
#include "bench/measure.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/hello_worker.hpp"

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace bench {

namespace {

// A file has one writer at a time; a server has many.
constexpr double together_bar = 0.8;
constexpr double together_on_server_bar = 1.0;
constexpr double share_bar = 0.25;
constexpr double processes_wal_bar_mib = 16;

struct Together {
  double per_second = 0;
  std::uint64_t count = 0;
  double seconds = 0;
  double smallest_share = 1;
  double log_mib = 0;
};

double log_mib(const std::string& file) {
  std::error_code none_yet;
  const auto size = std::filesystem::file_size(file + "-wal", none_yet);
  return none_yet ? 0 : static_cast<double>(size) / (1024.0 * 1024.0);
}

Together run_together(const Scene& scene, std::size_t processes, std::size_t width) {
  const auto store = scene.stores.make();
  const std::string address = store->address();
  const std::string file =
      scene.arguments.on_sqlite() ? address.substr(address.find(' ') + 1) : std::string();
  const Limit limit =
      scene.arguments.count ? Limit{scene.arguments.count, {}} : Limit{{}, scene.arguments.seconds};
  std::vector<std::unique_ptr<HelloWorker>> workers;
  for (std::size_t i = 0; i < processes; ++i) {
    workers.push_back(std::make_unique<HelloWorker>(address, "p" + std::to_string(i), width, limit));
  }
  for (const auto& worker : workers) worker->begin();
  auto outcomes = std::async(std::launch::async, [&] {
    std::vector<HelloWorker::Outcome> all;
    for (const auto& worker : workers) all.push_back(worker->wait());
    return all;
  });
  Together together;
  while (outcomes.wait_for(std::chrono::milliseconds{10}) != std::future_status::ready) {
    if (!file.empty()) together.log_mib = std::max(together.log_mib, log_mib(file));
  }
  std::vector<double> rates;
  for (const HelloWorker::Outcome& outcome : outcomes.get()) {
    together.count += outcome.count;
    together.seconds = std::max(together.seconds, outcome.seconds);
    rates.push_back(static_cast<double>(outcome.count) / outcome.seconds);
    together.per_second += rates.back();
  }
  together.smallest_share = *std::ranges::min_element(rates) / together.per_second;
  return together;
}

}  // namespace

void run_processes(Scene& scene) {
  const bool on_server = scene.arguments.on_postgres();
  const auto counts = on_server ? std::vector<std::size_t>{1, 2, 4} : std::vector<std::size_t>{1, 2};
  const auto& asked = scene.arguments.widths;
  for (const std::size_t width : asked.empty() ? std::vector<std::size_t>{20} : asked) {
    std::map<std::size_t, std::vector<Together>> runs;
    std::vector<double> disk;
    const std::size_t pairs = std::max<std::size_t>(1, scene.arguments.pairs);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      scene.progress("processes width " + std::to_string(width) + ": round " + std::to_string(pair + 1) +
                     " of " + std::to_string(pairs));
      if (scene.stores.on_this_disk()) disk.push_back(disk_rate(scene.directory, 0.25));
      for (const std::size_t processes : counts)
        runs[processes].push_back(run_together(scene, processes, width));
    }
    const auto rate = [&](std::size_t processes) {
      std::vector<double> rates;
      for (const Together& together : runs[processes]) rates.push_back(together.per_second);
      return median(std::move(rates));
    };
    for (const std::size_t processes : counts) {
      Row row;
      row.workload = "processes-" + std::to_string(processes);
      row.store = scene.arguments.store;
      row.durability = scene.stores.durability();
      row.width = width;
      for (const Together& together : runs[processes]) {
        row.count += together.count;
        row.seconds += together.seconds;
      }
      row.per_second = rate(processes);
      if (!disk.empty()) row.disk_rate = median(disk);
      scene.report.add(row);
    }
    for (const std::size_t processes : counts) {
      if (processes == 1) continue;
      const std::string some = std::to_string(processes);
      double share = 1;
      double log = 0;
      for (const Together& together : runs[processes]) {
        share = std::min(share, together.smallest_share);
        log = std::max(log, together.log_mib);
      }
      scene.judge_at_least("processes: " + some + " together against one", rate(processes) / rate(1),
                           on_server ? together_on_server_bar : together_bar);
      scene.judge_at_least("processes: the smallest share of " + some + ", in any run", share,
                           share_bar * 2 / static_cast<double>(processes));
      if (!on_server)
        scene.judge_at_most("processes: the log's largest size in MiB", log, processes_wal_bar_mib);
    }
  }
}

}  // namespace bench
