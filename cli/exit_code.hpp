// How the program ends. docs/reference/cli.md tells the same to users.
#pragma once

#include <duramen/result.hpp>

namespace duramen::cli {

enum class ExitCode : int {
  ok = 0,
  no = 1,            ///< asked and answered, and the answer is no: failed, refused, problems were found
  usage = 2,         ///< the command line, a payload or a module cannot be understood
  not_found = 3,     ///< no such instance, execution, key or file
  store = 4,         ///< the store cannot be opened, reached or understood
  timed_out = 5,     ///< the deadline of the command passed first
  partial = 6,       ///< done, but for what cannot be read and was left out: standard error names it
  closed_pipe = 141  ///< whoever read the output went away: what a shell shows for SIGPIPE
};

[[nodiscard]] ExitCode exit_code_for(ErrorCode code) noexcept;

}  // namespace duramen::cli
