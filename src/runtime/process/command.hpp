// A running command: its pipes, its shim and its result.
#pragma once

#include "runtime/process/shim.hpp"
#include <duramen/time.hpp>

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace duramen::inline v0::runtime {

struct Command {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the host's
  std::string directory;                                         ///< empty: the host's
  std::size_t max_output = 0;
  Duration kill_after{};
};

struct CommandEnd {
  ShimReport report;
  std::string output;
  bool too_much_output = false;
};

/// Runs the command to its end; blocks. `stop` sends SIGTERM, and SIGKILL `kill_after` later. `on_error_line`
/// receives its standard error. Throws std::system_error if the system refuses a process.
[[nodiscard]] CommandEnd run_command(const Command& command, std::string_view input,
                                     const std::stop_token& stop,
                                     const std::function<void(std::string_view line)>& on_error_line);

}  // namespace duramen::inline v0::runtime
