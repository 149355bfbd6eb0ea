// Rows that this Duramen cannot read: what stores take them for, and how they report them.
#pragma once

#include <duramen/detail/mutant.hpp>
#include <duramen/ids.hpp>
#include <duramen/result.hpp>
#include <duramen/status.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace duramen::inline v0::providers {

/// For work on a row: one in a status that this Duramen does not know has not ended. So it can be gone on
/// with, cancelled and deleted like any other, and fails no batch that it is in.
[[nodiscard]] inline Status status_or_running(std::string_view text) {
  const auto status = parse_status(text);
  if (!status && detail::mutant("unknown_status_fails_the_batch"))
    throw std::runtime_error(std::string(text));
  return status.value_or(Status::running);
}

[[nodiscard]] inline std::string unknown_status(std::string_view text) {
  return "its status '" + std::string(text) +
         "' is unknown; use the Duramen that wrote it, or delete the instance";
}

/// For a caller that wants this one instance.
[[nodiscard]] inline Error unreadable_instance(const char* operation, const InstanceId& instance,
                                               const std::string& why) {
  return Error{ErrorCode::corrupt, operation, "instance \"" + instance.value + "\" cannot be read: " + why,
               false};
}

}  // namespace duramen::inline v0::providers
