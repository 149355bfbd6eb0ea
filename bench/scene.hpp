// The input of every workload: the command line, a directory and the receiver of its results.
#pragma once

#include "bench/arguments.hpp"
#include "bench/bench_store.hpp"
#include "bench/report.hpp"

#include <filesystem>
#include <string>

namespace bench {

struct Scene {
  const Arguments& arguments;
  const std::filesystem::path& directory;
  Report& report;
  const StoreSource& stores;

  /// Prints progress to standard error.
  void progress(const std::string& text) const;
  /// Reports there whether a figure keeps its promise.
  void judge_at_most(const std::string& what, double value, double bar) const;
  void judge_at_least(const std::string& what, double value, double bar) const;
};

}  // namespace bench
