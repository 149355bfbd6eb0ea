// DURAMEN_CHECK: for conditions that only a bug of ours can make false. Stopping is safe because of replay;
// continuing is not.
#pragma once

namespace duramen::base {

/// Prints the place and the condition to standard error, then aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition) noexcept;

}  // namespace duramen::base

/// Stops the process if `...` is false. Stays active in release builds. Never used for input or for the
/// outside world.
#define DURAMEN_CHECK(...)                               \
  (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0) \
                                  : ::duramen::base::check_failed(__FILE__, __LINE__, #__VA_ARGS__))
