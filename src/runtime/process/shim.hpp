// The process between the host and a command: it owns the command's process group, ends it when the host is
// gone, and reports the end.
#pragma once

#include <cstdint>

namespace duramen::inline v0::runtime {

/// Orders to the shim, one byte each.
enum class ShimOrder : char { terminate = 'T', kill = 'K' };

/// The report of the shim at the end.
struct ShimReport {
  enum class Kind : std::int32_t { exited, signalled, not_started } kind = Kind::not_started;
  std::int32_t value = 0;  ///< exit status, signal or errno
};

/// Prepared before the fork: nothing may be allocated between fork and exec.
struct ShimPlan {
  const char* const* argv;
  const char* const* envp;
  const char* program;    ///< a path
  const char* directory;  ///< null: the host's
  /// The command's standard input, output and error. No descriptor here is below 3.
  int input;
  int output;
  int errors;
  /// The shim reads it; its end means that the host is gone.
  int orders;
  int reports;  ///< the shim writes it once
};

/// Makes the shim and, below it, the command. Returns the shim's process id, or -1 with errno set. The shim
/// sends no SIGCHLD; reap it with waitpid(..., __WALL).
[[nodiscard]] int start_shim(const ShimPlan& plan);

}  // namespace duramen::inline v0::runtime
