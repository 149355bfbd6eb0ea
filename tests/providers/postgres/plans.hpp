// The plans of a store's statements, and what they read.
#pragma once

#include "store.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace duramen::test {

/// The number that follows `what` in `line`, if any.
inline std::optional<double> number_after(const std::string& what, const std::string& line) {
  const std::size_t at = line.find(what);
  if (at == std::string::npos) return std::nullopt;
  return std::stod(line.substr(at + what.size()));
}

/// The pages of tables and indexes that a plan read, from memory or not.
inline double pages_read(const std::string& plan) {
  double most = 0;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("Buffers: ") == std::string::npos) continue;
    most = std::max(most, number_after("hit=", line).value_or(0) + number_after("read=", line).value_or(0));
  }
  return most;
}

/// Collects the plans that the server reports.
class Plans {
 public:
  [[nodiscard]] LogSink sink() {
    return [this](const LogRecord& record) {
      if (record.level != LogLevel::debug) return;
      const std::lock_guard lock(mutex_);
      plans_.emplace_back(record.message);
    };
  }
  [[nodiscard]] std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return plans_;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    plans_.clear();
  }

  /// The server reports the plan and the cost of every statement to us.
  [[nodiscard]] postgres::Options explained(postgres::Options options) {
    options.conninfo +=
        " options='-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0 "
        "-c auto_explain.log_nested_statements=on -c auto_explain.log_level=notice "
        "-c auto_explain.log_analyze=on -c auto_explain.log_timing=off -c auto_explain.log_buffers=on'";
    options.max_connections = 1;  // each connection keeps its own plans
    options.log = sink();
    return options;
  }
  /// The pages that the most expensive statement read; the whole call is one of them.
  [[nodiscard]] double most_pages_read() const {
    double most = 0;
    for (const std::string& plan : all()) most = std::max(most, pages_read(plan));
    return most;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> plans_;
};

}  // namespace duramen::test
