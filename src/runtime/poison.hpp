// The failure of an instance or an activity that was handed out too often or is unreadable.
#pragma once

#include <duramen/failure.hpp>
#include <duramen/provider.hpp>

#include <cstdint>

namespace duramen::inline v0::runtime {

[[nodiscard]] Failure poison_failure(const LeasedInstance& leased, std::uint32_t max_attempts);
[[nodiscard]] Failure poison_failure(const LeasedActivity& leased, std::uint32_t max_attempts);

}  // namespace duramen::inline v0::runtime
