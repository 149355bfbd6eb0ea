// The command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

struct Arguments {
  std::vector<std::string> workloads;
  std::vector<std::string> left_out;   ///< workloads that do not run on this store
  std::string store = "sqlite";        ///< sqlite, memory or postgres
  std::string server;                  ///< for postgres; empty: our own. Never shown: may hold a password
  std::vector<std::size_t> widths;     ///< empty: the workload's default
  double seconds = 1;                  ///< of one run
  std::optional<std::uint64_t> count;  ///< of one run; overrides seconds
  std::size_t pairs = 5;
  std::size_t payload = 0;  ///< bytes that a hello carries; 0: a short word
  bool json = false;
  bool help = false;
  std::filesystem::path directory;  ///< empty: next to the program

  [[nodiscard]] bool on_sqlite() const { return store == "sqlite"; }
  [[nodiscard]] bool on_postgres() const { return store == "postgres"; }
};

/// The command line is invalid; what() is the reason.
class BadArguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[nodiscard]] Arguments parse_arguments(const std::vector<std::string>& words);
[[nodiscard]] std::string help_text();

}  // namespace bench
