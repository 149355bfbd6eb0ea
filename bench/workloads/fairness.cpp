// fairness: the wait of a writer of one row under the load of a process that commits one batch after the
// other.

#include "bench/bench_store.hpp"
#include "bench/disk.hpp"
#include "bench/measure.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/hello_turns.hpp"
#include <duramen/sqlite.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace bench {

namespace dm = duramen;

namespace {

constexpr double fairness_bar_ms = 50;

/// A process that writes without a pause until this object is destroyed.
class Saturator {
 public:
  Saturator(const std::string& file, const HelloTurns& turns, std::size_t batch) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe available");
    // No other thread runs now, so the forked process may continue here.
    pid_ = ::fork();
    if (pid_ == 0) run(file, turns, batch, ends[1]);
    ::close(ends[1]);
    char begun = 0;
    const bool runs = pid_ > 0 && ::read(ends[0], &begun, 1) == 1;
    ::close(ends[0]);
    if (!runs) {
      stop();
      throw std::runtime_error("the writing process did not begin");
    }
  }
  ~Saturator() { stop(); }
  Saturator(const Saturator&) = delete;
  Saturator& operator=(const Saturator&) = delete;

 private:
  [[noreturn]] static void run(const std::string& file, const HelloTurns& turns, std::size_t batch,
                               int report) {
    try {
      const auto provider = dm::sqlite::open_provider({.path = file}).value();
      std::uint64_t number = 0;
      for (bool begun = false;; begun = true) {
        std::vector<dm::TurnCommit> firsts;
        for (std::size_t i = 0; i < batch; ++i) firsts.push_back(turns.first(number + i));
        const auto created = commit_all(*provider, firsts);
        std::vector<dm::TurnCommit> seconds;
        for (std::size_t i = 0; i < batch; ++i)
          seconds.push_back(turns.second(number + i, created[i].incarnation));
        (void)commit_all(*provider, seconds);
        number += batch;
        if (!begun && ::write(report, "b", 1) != 1) ::_exit(1);
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "duramen_bench: the writing process: %s\n", error.what());
    }
    ::_exit(1);
  }
  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  pid_t pid_ = -1;
};

void measure_fairness(const Scene& scene, const HelloTurns& turns, std::size_t batch) {
  const Arguments& arguments = scene.arguments;
  scene.progress("fairness next to batches of " + std::to_string(batch));
  const double rate = disk_rate(scene.directory, 0.25);
  reset_peak_rss();
  const ScratchDirectory directory(scene.directory);
  const std::string file = (directory.path() / "bench.db").string();
  const Saturator other(file, turns, batch);
  const auto provider = dm::sqlite::open_provider({.path = file}).value();
  std::vector<double> waits_ms;
  const Usage usage;
  const auto enough = [&] {
    // Enough starts for a useful 99th percentile.
    if (arguments.count) return waits_ms.size() >= *arguments.count;
    return usage.wall_seconds() >= arguments.seconds && waits_ms.size() >= 300;
  };
  while (!enough()) {
    dm::StartRequest request;
    request.instance = "one-" + std::to_string(waits_ms.size());
    request.start.orchestration = "Hello";
    const Instant began = now();
    (void)provider->start_instances({&request, 1}).value();
    waits_ms.push_back(milliseconds_between(began, now()));
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  Row row;
  row.workload = "fairness";
  row.store = arguments.store;
  row.durability = scene.stores.durability();
  row.width = batch;
  row.count = waits_ms.size();
  row.seconds = usage.wall_seconds();
  row.per_second = static_cast<double>(row.count) / row.seconds;
  row.cpu_cores = usage.cores();
  row.rss_mib = usage.rss_mib();
  row.disk_rate = rate;
  set_percentiles(row, waits_ms);
  scene.report.add(row);
  char text[120];
  std::snprintf(text, sizeof text, "fairness next to batches of %zu: p99 %.1f ms, %s %.0f ms", batch,
                *row.p99_ms, *row.p99_ms <= fairness_bar_ms ? "within" : "MORE THAN", fairness_bar_ms);
  scene.progress(text);
}

}  // namespace

void run_fairness(Scene& scene) {
  const HelloTurns turns;
  const auto& asked = scene.arguments.widths;
  for (const std::size_t batch : asked.empty() ? std::vector<std::size_t>{1, 100} : asked) {
    measure_fairness(scene, turns, batch);
  }
}

}  // namespace bench
