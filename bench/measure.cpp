#include "bench/measure.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <malloc.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <time.h>

namespace bench {

double seconds_between(Instant from, Instant to) { return std::chrono::duration<double>(to - from).count(); }
double milliseconds_between(Instant from, Instant to) { return seconds_between(from, to) * 1e3; }

std::int64_t as_nanoseconds(Instant instant) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(instant.time_since_epoch()).count();
}
Instant from_nanoseconds(std::int64_t nanoseconds) {
  return Instant(std::chrono::duration_cast<Instant::duration>(std::chrono::nanoseconds(nanoseconds)));
}

double percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double thread_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

namespace {

std::optional<double> memory_mib(std::string_view what) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(what)) return std::stod(line.substr(what.size())) / 1024;
  }
  return std::nullopt;
}

}  // namespace

double peak_rss_mib() {
  if (const auto peak = memory_mib("VmHWM:")) return *peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double current_rss_mib() { return memory_mib("VmRSS:").value_or(peak_rss_mib()); }

void reset_peak_rss() {
  malloc_trim(0);  // drops memory of earlier workloads
  std::ofstream("/proc/self/clear_refs") << "5";
}

Usage::Usage() : began_(now()), cpu_before_(cpu_seconds()) {}
double Usage::wall_seconds() const { return seconds_between(began_, now()); }
double Usage::cores() const { return (cpu_seconds() - cpu_before_) / std::max(wall_seconds(), 1e-9); }
double Usage::rss_mib() const { return peak_rss_mib(); }

}  // namespace bench
