// Heartbeat details that a failure takes from the row of its activity.
#pragma once

#include <duramen/detail/mutant.hpp>
#include <duramen/limits.hpp>
#include <duramen/payload.hpp>

#include <optional>
#include <utility>

namespace duramen::inline v0::providers {

/// The details, unless they are too large for a retry: the message would carry them for nothing.
[[nodiscard]] inline std::optional<Payload> retry_details(std::optional<Payload> of_row) {
  const bool fit = !of_row || of_row->data.size() <= max_retry_details_bytes ||
                   duramen::detail::mutant("failures_carry_details_of_any_size");
  return fit ? std::move(of_row) : std::nullopt;
}

}  // namespace duramen::inline v0::providers
