// The loop of both cancel workloads: start, wait until the activity runs, cancel, wait for its stop.
#pragma once

#include "bench/commit_timer.hpp"
#include "bench/measure.hpp"
#include "bench/scene.hpp"
#include <duramen/client.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

constexpr std::uint64_t default_cancels = 200;
constexpr std::uint64_t warm_up_cancels = 10;

/// `Watch` has await_running(instance) and await_stopped(instance). Returns milliseconds from the call of
/// cancel to the stop. `before` and `after` are called around each timed cancel.
template <class Watch>
std::vector<double> time_cancels(duramen::Client& client, Watch& watch, const char* orchestration,
                                 std::uint64_t count, const std::function<void()>& before = {},
                                 const std::function<void()>& after = {}) {
  std::vector<double> latencies;
  for (std::uint64_t i = 0; i < warm_up_cancels + count; ++i) {
    const bool counts = i >= warm_up_cancels;
    const std::string instance = std::string(orchestration) + "-" + std::to_string(i);
    (void)client.start(instance, orchestration).value();
    watch.await_running(instance);
    if (counts && before) before();
    const Instant called = now();
    if (!client.cancel(instance, "benchmark").value())
      throw std::runtime_error(instance + " had ended by itself");
    const Instant stopped = watch.await_stopped(instance);
    if (!counts) continue;
    if (after) after();
    latencies.push_back(milliseconds_between(called, stopped));
  }
  return latencies;
}

/// Reports to standard error whether the 99th percentile keeps its promise, and how even the disk was.
inline void report_bar(const Scene& scene, const std::string& workload, double p99_ms, double bar_ms,
                       const std::string& bar, const CommitTimer& commits) {
  char text[240];
  std::snprintf(text, sizeof text,
                ": p99 %.2f ms, bar %.2f ms (%s): %s; the durable calls of the run: p50 %.2f ms, p99 %.2f ms",
                p99_ms, bar_ms, bar.c_str(), p99_ms <= bar_ms ? "held" : "MISSED", commits.median_ms(),
                commits.p99_ms());
  scene.progress(workload + text);
}

}  // namespace bench
