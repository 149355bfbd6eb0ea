// The order of runs for workloads that are compared with the raw store: run, raw, run, raw, ...
#pragma once

#include "bench/bench_store.hpp"
#include "bench/in_flight.hpp"
#include "bench/recording.hpp"
#include "bench/replay.hpp"
#include "bench/scene.hpp"
#include <duramen/provider.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// The measurements of one run.
struct RunResult {
  std::uint64_t instances = 0;
  std::uint64_t count = 0;  ///< instances, or steps
  double seconds = 0;
  std::vector<double> latencies_ms;
  double cpu_cores = 0;
  double rss_mib = 0;
  double syncs = 0;                  ///< per instance or step
  std::optional<double> row_writes;  ///< likewise; absent: unknown
};

/// A store for one run. The run uses `provider`: the store's own, or one that records.
struct RunStore {
  BenchStore& store;
  std::shared_ptr<duramen::Provider> provider;
  std::function<void()> mark;  ///< called where the timed part begins
};
using Run = std::function<RunResult(const RunStore&, const Limit&)>;

/// Makes the runs and their raw counterparts, and reports them as one row, which it returns.
Row measure_pairs(const Scene& scene, const std::string& workload, std::size_t width, Counted counted,
                  const Run& run);

}  // namespace bench
