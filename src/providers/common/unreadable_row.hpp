// Rows that this Duramen cannot read: how stores treat and report them.
#pragma once

#include <duramen/detail/mutant.hpp>
#include <duramen/ids.hpp>
#include <duramen/result.hpp>
#include <duramen/status.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace duramen::inline v0::providers {

/// For work on a row: an unknown status counts as running. So the instance can run, be cancelled and be
/// deleted like any other, and it fails no batch.
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

/// The error for a caller that reads this instance.
[[nodiscard]] inline Error unreadable_instance(const char* operation, const InstanceId& instance,
                                               const std::string& why) {
  return Error{ErrorCode::corrupt, operation, "instance \"" + instance.value + "\" cannot be read: " + why,
               false};
}

}  // namespace duramen::inline v0::providers
