// Limits the stored size of a failure.
#pragma once

#include <duramen/failure.hpp>

namespace duramen::base {

/// Limits a failure as the end of an activity or an orchestration stores it: see Failure. Must not be applied
/// to failures in history: code that reads one must read the same on every replay.
[[nodiscard]] Failure bounded(Failure failure);

}  // namespace duramen::base
