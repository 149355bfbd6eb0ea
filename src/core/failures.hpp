// Failures the engine itself decides.
#pragma once

#include <string>
#include <utility>

#include <duramen/failure.hpp>

namespace duramen::inline v0::core {

[[nodiscard]] inline Failure engine_failure(FailureKind kind, std::string type, std::string message) {
  Failure failure;
  failure.kind = kind;
  failure.type = std::move(type);
  failure.message = std::move(message);
  return failure;
}

}  // namespace duramen::v0::core
