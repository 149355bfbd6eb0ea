// Replays recorded calls on a fresh store, on one thread.
#pragma once

#include "bench/recording.hpp"
#include <duramen/provider.hpp>

#include <cstdint>

namespace bench {

struct ReplayResult {
  double seconds = 0;             ///< in the timed store calls
  std::uint64_t differences = 0;  ///< entries with another answer than in the run
};

/// The timed calls; calls before the mark are never timed.
enum class Counted {
  all,
  steps,  ///< only commits of turns after an activity's end
};

/// Incarnations and lease tokens of the run are replaced by those of this store. The replacement and the
/// copying of arguments are not timed.
[[nodiscard]] ReplayResult replay(const Recording& recording, duramen::Provider& store, Counted counted);

}  // namespace bench
