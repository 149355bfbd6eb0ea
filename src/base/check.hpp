// DURAMEN_CHECK: for what can only be false if we have a bug. Replay makes stopping safe, going on does not.
#pragma once

namespace duramen::base {

/// Prints where and what to standard error, then aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition) noexcept;

}  // namespace duramen::base

/// Stops the process if `...` is false. Stays on in release builds. Never for input or for the outside world.
#define DURAMEN_CHECK(...)                               \
  (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0) \
                                  : ::duramen::base::check_failed(__FILE__, __LINE__, #__VA_ARGS__))
