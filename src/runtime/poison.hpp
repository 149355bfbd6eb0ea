// The failure of an instance or an activity that was handed out too often or is unreadable.
#pragma once

#include "runtime/lost_attempts.hpp"
#include <duramen/failure.hpp>
#include <duramen/provider.hpp>

#include <cstdint>

namespace duramen::inline v0::runtime {

/// `seen`: the attempts that this node knows the end of.
[[nodiscard]] Failure poison_failure(const LeasedInstance& leased, std::uint32_t max_attempts,
                                     const LostAttempts::Counts& seen);
/// `lost`: how often this node lost the lease of the activity.
[[nodiscard]] Failure poison_failure(const LeasedActivity& leased, std::uint32_t max_attempts,
                                     std::uint32_t lost);

}  // namespace duramen::inline v0::runtime
