// What every store says of a turn that does not fit the history it belongs to.
#pragma once

namespace duramen::base {

inline constexpr const char* turn_does_not_fit =
    "its events do not go on where the stored history ends, or belong to an execution that is not due; check "
    "that the store was not changed by hand or restored while the runtime was running";

}  // namespace duramen::base
