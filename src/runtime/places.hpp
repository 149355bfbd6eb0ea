// Places for activities on this node.
#pragma once

#include <cstddef>

namespace duramen::inline v0::runtime {

struct Places {
  std::size_t all = 0;
  std::size_t functions = 0;  ///< of these, for functions, which need threads
};

}  // namespace duramen::inline v0::runtime
