#include "bench/machine.hpp"

#include "bench_commit.hpp"

#include <fstream>
#include <sstream>
#include <sys/utsname.h>
#include <thread>

namespace bench {

namespace {

std::string cpu_model(const utsname& system) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return std::string(system.machine) + " CPU";
}

bool is_below(const std::filesystem::path& path, const std::filesystem::path& root) {
  const auto relative = path.lexically_relative(root);
  return !relative.empty() && *relative.begin() != "..";
}

}  // namespace

std::string built_commit() { return DURAMEN_BENCH_COMMIT; }

std::string file_system_of(const std::filesystem::path& directory) {
  std::error_code error;
  const auto path = std::filesystem::canonical(directory, error);
  if (error) return "unknown";
  std::ifstream mounts("/proc/self/mounts");
  std::string line;
  std::string best_type = "unknown";
  std::size_t best_length = 0;
  while (std::getline(mounts, line)) {
    std::istringstream fields(line);
    std::string device;
    std::string point;
    std::string type;
    fields >> device >> point >> type;
    if (!is_below(path, point) || point.size() < best_length) continue;
    best_length = point.size();
    best_type = type;
  }
  return best_type;
}

std::string describe_machine(const std::filesystem::path& directory) {
  utsname system{};
  uname(&system);
  return std::to_string(std::thread::hardware_concurrency()) + " cores, " + cpu_model(system) + ", " +
         file_system_of(directory) + ", " + system.sysname + " " + system.release;
}

}  // namespace bench
