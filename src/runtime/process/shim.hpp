// The process between us and a command: owns its process group, ends it when we are gone, reports how it
// ended.
#pragma once

#include <cstdint>

namespace duramen::inline v0::runtime {

/// What the shim is told, one byte each.
enum class ShimOrder : char { terminate = 'T', kill = 'K' };

/// What the shim tells in the end.
struct ShimReport {
  enum class Kind : std::int32_t { exited, signalled, not_started } kind = Kind::not_started;
  std::int32_t value = 0;  ///< exit status, signal or errno
};

/// Everything prepared beforehand: between fork and exec nothing may be allocated.
struct ShimPlan {
  const char* const* argv;
  const char* const* envp;
  const char* program;    ///< a path
  const char* directory;  ///< null: as it is
  int input;              ///< the command's standard input, output and error; no descriptor here is below 3
  int output;
  int errors;
  int orders;   ///< read here; its end means that the host is gone
  int reports;  ///< written here once
};

/// Makes the shim and, below it, the command. Answers the shim's process id, or -1 with errno set. The shim
/// sends no SIGCHLD; reap it with waitpid(..., __WALL).
[[nodiscard]] int start_shim(const ShimPlan& plan);

}  // namespace duramen::inline v0::runtime
