// The message of every store about a turn that does not fit its history.
#pragma once

namespace duramen::inline v0::providers {

inline constexpr const char* turn_does_not_fit =
    "its events do not continue the stored history, or belong to an execution that is not due; check "
    "that the store was not changed by hand or restored while the runtime was running";

}  // namespace duramen::inline v0::providers
