// What must hold for every input. Stops the process, so that fuzzer and tests alike see it.
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
