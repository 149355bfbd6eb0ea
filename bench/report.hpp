// One row of results and its printing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Absent: does not apply. bench/README.md explains each field.
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

/// One figure of the engine alone: the cost of one of `size` things.
struct Figure {
  std::string workload;
  std::string figure;
  std::size_t size = 0;
  std::size_t runs = 1;
  std::optional<double> per_second;
  std::optional<double> ns_each;
  std::optional<double> bytes_each;
  std::optional<double> growth;
};

/// Fills in the percentiles. Sorts.
void set_percentiles(Row& row, std::vector<double>& milliseconds);

class Report {
 public:
  Report(bool json, std::string commit, std::string machine);
  /// Printed at once: an interrupted run keeps its results.
  void add(const Row& row);
  void add(const Figure& figure);

 private:
  void print_json(const Row& row) const;
  void print_line(const Row& row);
  void print_json(const Figure& figure) const;
  void print_line(const Figure& figure);
  void print_origin();

  const bool json_;
  const std::string commit_;
  const std::string machine_;
  bool origin_printed_ = false;
  bool rows_begun_ = false;
  bool figures_begun_ = false;
};

}  // namespace bench
