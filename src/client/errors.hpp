// Common errors of client calls.
#pragma once

#include <duramen/ids.hpp>
#include <duramen/result.hpp>

#include <string>

namespace duramen::inline v0::client {

[[nodiscard]] inline Error no_instance(const char* operation, const InstanceId& instance) {
  return Error{ErrorCode::not_found, operation,
               "there is no instance \"" + instance.value + "\"; check the id, or list the instances", false};
}

[[nodiscard]] inline Error bad_argument(const char* operation, std::string what_to_change) {
  return Error{ErrorCode::invalid_argument, operation, std::move(what_to_change), false};
}

}  // namespace duramen::inline v0::client
