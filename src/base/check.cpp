#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace duramen::base {

void check_failed(const char* file, int line, const char* condition) noexcept {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace duramen::base
