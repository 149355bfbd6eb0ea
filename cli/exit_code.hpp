// The exit codes of the program. docs/reference/cli.md documents them.
#pragma once

#include <duramen/result.hpp>

namespace duramen::cli {

enum class ExitCode : int {
  ok = 0,
  no = 1,            ///< the answer is no: failed, refused, problems found
  usage = 2,         ///< the command line, a payload or a module cannot be understood
  not_found = 3,     ///< no such instance, execution, key or file
  store = 4,         ///< the store cannot be opened, reached or understood
  timed_out = 5,     ///< the deadline of the command passed first
  partial = 6,       ///< done, but unreadable items were left out
  closed_pipe = 141  ///< the reader closed the output; as a shell shows SIGPIPE
};

[[nodiscard]] ExitCode exit_code_for(ErrorCode code) noexcept;

}  // namespace duramen::cli
