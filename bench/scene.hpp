// What every workload is given: the command line, a directory of its own and the place for its results.
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

  /// To standard error: what is going on, for whoever waits.
  void progress(const std::string& text) const;
  /// Says there whether a figure is within what is promised.
  void judge_at_most(const std::string& what, double value, double bar) const;
  void judge_at_least(const std::string& what, double value, double bar) const;
};

}  // namespace bench
