#include "bench/report.hpp"

#include "bench/measure.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <utility>

namespace bench {

namespace {

/// Four significant digits: more would be noise.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

nlohmann::ordered_json as_json(const std::optional<double>& value) {
  if (!value) return nullptr;
  return rounded(*value);
}

std::string as_text(const std::optional<double>& value, const char* format) {
  if (!value) return "-";
  char text[64];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

}  // namespace

void set_percentiles(Row& row, std::vector<double>& milliseconds) {
  if (milliseconds.empty()) return;
  row.p50_ms = percentile(milliseconds, 0.50);
  row.p95_ms = percentile(milliseconds, 0.95);
  row.p99_ms = percentile(milliseconds, 0.99);
}

Report::Report(bool json, std::string commit, std::string machine)
    : json_(json), commit_(std::move(commit)), machine_(std::move(machine)) {}

void Report::add(const Row& row) {
  if (json_) {
    print_json(row);
  } else {
    print_line(row);
  }
  std::fflush(stdout);
}

void Report::add(const Figure& figure) {
  if (json_) {
    print_json(figure);
  } else {
    print_line(figure);
  }
  std::fflush(stdout);
}

/// The properties shared by all tables of one output.
void Report::print_origin() {
  if (!std::exchange(origin_printed_, true)) {
    std::printf("commit %s on %s\n", commit_.c_str(), machine_.c_str());
  }
}

void Report::print_json(const Row& row) const {
  nlohmann::ordered_json line;
  line["workload"] = row.workload;
  line["store"] = row.store;
  line["durability"] = row.durability;
  line["width"] = row.width;
  line["count"] = row.count;
  line["seconds"] = rounded(row.seconds);
  line["per_second"] = rounded(row.per_second);
  line["p50_ms"] = as_json(row.p50_ms);
  line["p95_ms"] = as_json(row.p95_ms);
  line["p99_ms"] = as_json(row.p99_ms);
  line["raw_per_second"] = as_json(row.raw_per_second);
  line["ratio"] = as_json(row.ratio);
  line["syncs"] = as_json(row.syncs);
  line["cpu_cores"] = rounded(row.cpu_cores);
  line["rss_mib"] = rounded(row.rss_mib);
  line["commit"] = commit_;
  line["machine"] = machine_;
  line["row_writes"] = as_json(row.row_writes);
  line["disk_rate"] = as_json(row.disk_rate);
  line["synced_commit_ms"] = as_json(row.synced_commit_ms);
  std::printf("%s\n", line.dump().c_str());
}

void Report::print_line(const Row& row) {
  if (!std::exchange(rows_begun_, true)) {
    print_origin();
    std::printf("\n%-24s %-6s %-5s %6s %8s %9s %8s %8s %8s %9s %6s %7s %6s %5s %7s %7s %7s\n", "workload",
                "store", "sync", "width", "count", "/s", "p50 ms", "p95 ms", "p99 ms", "raw /s", "ratio",
                "syncs", "rows", "cores", "MiB", "disk /s", "sync ms");
  }
  std::printf("%-24s %-6s %-5s %6zu %8llu %9.1f %8s %8s %8s %9s %6s %7s %6s %5.2f %7.1f %7s %7s\n",
              row.workload.c_str(), row.store.c_str(), row.durability.c_str(), row.width,
              static_cast<unsigned long long>(row.count), row.per_second, as_text(row.p50_ms, "%.3f").c_str(),
              as_text(row.p95_ms, "%.3f").c_str(), as_text(row.p99_ms, "%.3f").c_str(),
              as_text(row.raw_per_second, "%.1f").c_str(), as_text(row.ratio, "%.3f").c_str(),
              as_text(row.syncs, "%.4f").c_str(), as_text(row.row_writes, "%.2f").c_str(), row.cpu_cores,
              row.rss_mib, as_text(row.disk_rate, "%.0f").c_str(),
              as_text(row.synced_commit_ms, "%.3f").c_str());
}

void Report::print_json(const Figure& figure) const {
  nlohmann::ordered_json line;
  line["workload"] = figure.workload;
  line["figure"] = figure.figure;
  line["size"] = figure.size;
  line["runs"] = figure.runs;
  line["per_second"] = as_json(figure.per_second);
  line["ns_each"] = as_json(figure.ns_each);
  line["bytes_each"] = as_json(figure.bytes_each);
  line["growth"] = as_json(figure.growth);
  line["commit"] = commit_;
  line["machine"] = machine_;
  std::printf("%s\n", line.dump().c_str());
}

void Report::print_line(const Figure& figure) {
  if (!std::exchange(figures_begun_, true)) {
    print_origin();
    std::printf("\n%-10s %-34s %8s %5s %10s %9s %8s %7s\n", "workload", "figure", "size", "runs", "/s",
                "ns each", "B each", "growth");
  }
  std::printf("%-10s %-34s %8zu %5zu %10s %9s %8s %7s\n", figure.workload.c_str(), figure.figure.c_str(),
              figure.size, figure.runs, as_text(figure.per_second, "%.0f").c_str(),
              as_text(figure.ns_each, "%.1f").c_str(), as_text(figure.bytes_each, "%.1f").c_str(),
              as_text(figure.growth, "%.2f").c_str());
}

}  // namespace bench
