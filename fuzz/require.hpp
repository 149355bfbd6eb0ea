// A condition for every input. Stops the process, which fuzzer and tests notice.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace duramen::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace duramen::fuzz
