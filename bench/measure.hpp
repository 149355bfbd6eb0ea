// Clocks, percentiles, CPU and memory of this process.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace bench {

/// CLOCK_MONOTONIC: processes of one machine share it.
using Instant = std::chrono::steady_clock::time_point;
[[nodiscard]] inline Instant now() { return std::chrono::steady_clock::now(); }
[[nodiscard]] double seconds_between(Instant from, Instant to);
[[nodiscard]] double milliseconds_between(Instant from, Instant to);
[[nodiscard]] std::int64_t as_nanoseconds(Instant instant);
[[nodiscard]] Instant from_nanoseconds(std::int64_t nanoseconds);

/// The percentile for `share` (0.5, 0.99); zero without values. Sorts.
[[nodiscard]] double percentile(std::vector<double>& values, double share);
[[nodiscard]] double median(std::vector<double> values);

/// CPU time of this process, user and system.
[[nodiscard]] double cpu_seconds();

/// CPU time of the calling thread. Measures single-threaded work on a busy machine.
[[nodiscard]] double thread_cpu_seconds();

/// The most memory resident at one time since the last reset, in MiB.
[[nodiscard]] double peak_rss_mib();
void reset_peak_rss();
/// The memory resident now, in MiB.
[[nodiscard]] double current_rss_mib();

/// CPU and memory from its construction on.
class Usage {
 public:
  Usage();
  [[nodiscard]] double wall_seconds() const;
  [[nodiscard]] double cores() const;
  [[nodiscard]] double rss_mib() const;

 private:
  const Instant began_;
  const double cpu_before_;
};

}  // namespace bench
