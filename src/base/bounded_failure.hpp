// What of a failure is stored.
#pragma once

#include <duramen/failure.hpp>

namespace duramen::base {

/// The failure as the end of an activity or an orchestration stores it: see Failure. Not for failures that
/// history holds already: code that reads one must read the same on every replay.
[[nodiscard]] Failure bounded(Failure failure);

}  // namespace duramen::base
