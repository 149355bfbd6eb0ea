// The status of an instance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace duramen::inline v0 {

enum class Status : std::uint8_t {
  pending,     ///< started, no turn has run yet
  running,     ///< waiting, or with work to do
  cancelling,  ///< asked to stop and cleaning up
  completed,   ///< returned a value
  failed,      ///< ended with a failure
  cancelled,   ///< ended by a cancel request
  /// This execution is over; the next one continues.
  continued_as_new,
};

inline constexpr std::size_t status_count = 7;

/// "Pending", "Running", ...: the spelling in stores, CLI and HTTP.
[[nodiscard]] std::string_view to_string(Status status) noexcept;
[[nodiscard]] std::optional<Status> parse_status(std::string_view text) noexcept;

/// True if the instance has ended: its result will not change.
[[nodiscard]] constexpr bool is_final(Status s) noexcept {
  return s == Status::completed || s == Status::failed || s == Status::cancelled;
}

}  // namespace duramen::inline v0
