// One row of results, and how it is printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Absent: does not apply. bench/README.md says what each means.
struct Row {
  std::string workload;
  std::string store;
  std::string durability;
  std::size_t width = 1;
  std::uint64_t count = 0;
  double seconds = 0;
  double per_second = 0;
  std::optional<double> p50_ms;
  std::optional<double> p95_ms;
  std::optional<double> p99_ms;
  std::optional<double> raw_per_second;
  std::optional<double> ratio;
  std::optional<double> syncs;
  double cpu_cores = 0;
  double rss_mib = 0;
  std::optional<double> row_writes;
  std::optional<double> disk_rate;
  std::optional<double> synced_commit_ms;
};

/// Fills in the percentiles. Sorts.
void set_percentiles(Row& row, std::vector<double>& milliseconds);

class Report {
 public:
  Report(bool json, std::string commit, std::string machine);
  /// Printed at once: a run that is interrupted has said what it knew.
  void add(const Row& row);

 private:
  void print_json(const Row& row) const;
  void print_line(const Row& row);

  const bool json_;
  const std::string commit_;
  const std::string machine_;
  bool begun_ = false;
};

}  // namespace bench
