#include "exit_code.hpp"

namespace duramen::cli {

ExitCode exit_code_for(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::not_found:
      return ExitCode::not_found;
    case ErrorCode::already_exists:
    case ErrorCode::conflict:
      return ExitCode::no;
    case ErrorCode::invalid_argument:
    case ErrorCode::limit_exceeded:
      return ExitCode::usage;
    case ErrorCode::timed_out:
      return ExitCode::timed_out;
    case ErrorCode::lease_lost:
    case ErrorCode::busy:
    case ErrorCode::unavailable:
    case ErrorCode::corrupt:
    case ErrorCode::wrong_version:
    case ErrorCode::shutting_down:
    case ErrorCode::internal:
      break;
  }
  return ExitCode::store;
}

}  // namespace duramen::cli
