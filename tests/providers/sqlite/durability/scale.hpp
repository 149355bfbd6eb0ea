// The size of long tests.
#pragma once

#include <duramen/sqlite.hpp>

#include <cstdlib>
#include <string>

namespace duramen::sqlite::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool under_sanitizer = true;
#else
inline constexpr bool under_sanitizer = false;
#endif
#else
inline constexpr bool under_sanitizer = false;
#endif

/// The value of the environment variable; otherwise `normal`, or `sanitized` in a build with sanitizers.
inline std::size_t amount(const char* variable, std::size_t normal, std::size_t sanitized) {
  if (const char* value = std::getenv(variable)) return std::stoul(value);
  return under_sanitizer ? sanitized : normal;
}

}  // namespace duramen::sqlite::test
