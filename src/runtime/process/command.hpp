// A command on its way: its pipes, its shim, and what came of it.
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
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
  std::string directory;                                         ///< empty: ours
  std::size_t max_output = 0;
  Duration kill_after{};
};

struct CommandEnd {
  ShimReport report;
  std::string output;
  bool too_much_output = false;
};

/// Runs it to its end; blocks. `stop`: SIGTERM, and SIGKILL `kill_after` later. `on_error_line` gets its
/// standard error. Throws std::system_error if no process can be made.
[[nodiscard]] CommandEnd run_command(const Command& command, std::string_view input,
                                     const std::stop_token& stop,
                                     const std::function<void(std::string_view line)>& on_error_line);

}  // namespace duramen::inline v0::runtime
