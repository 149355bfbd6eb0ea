// Makes recorded calls again, on a fresh store, by one thread.
#pragma once

#include "bench/recording.hpp"
#include <duramen/provider.hpp>

#include <cstdint>

namespace bench {

struct ReplayResult {
  double seconds = 0;             ///< in the store calls that count
  std::uint64_t differences = 0;  ///< entries that the store answered differently than it did in the run
};

/// Which calls count; those before the mark never do.
enum class Counted {
  all,
  steps,  ///< only commits of turns that an activity's end caused
};

/// What the store hands out (incarnations, lease tokens) is put in place of what it handed out in the run.
/// That, and the copying of arguments, is not timed.
[[nodiscard]] ReplayResult replay(const Recording& recording, duramen::Provider& store, Counted counted);

}  // namespace bench
