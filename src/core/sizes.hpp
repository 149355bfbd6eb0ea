// Estimates of sizes, and the bounds they are compared with.
#pragma once

#include <duramen/history.hpp>

#include <cstddef>

namespace duramen::inline v0::core {

/// The beginning of the next execution carries at most this much mail. The rest stays in the queue.
inline constexpr std::size_t max_carried_bytes = std::size_t{8} << 20u;
/// A turn whose events are larger takes no further message.
inline constexpr std::size_t large_turn_bytes = std::size_t{8} << 20u;
/// If the actions of one segment without the largest of them are larger, the orchestration fails.
inline constexpr std::size_t max_action_bytes = std::size_t{64} << 20u;

/// About the stored size.
[[nodiscard]] std::size_t estimated_bytes(const EventBody& body) noexcept;
[[nodiscard]] std::size_t estimated_bytes(const CarriedEvent& event) noexcept;

}  // namespace duramen::inline v0::core
