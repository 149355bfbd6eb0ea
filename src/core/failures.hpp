// Failures decided by the engine itself.
#pragma once

#include <duramen/codec.hpp>
#include <duramen/failure.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace duramen::inline v0::core {

[[nodiscard]] inline Failure engine_failure(FailureKind kind, std::string type, std::string message) {
  Failure failure;
  failure.kind = kind;
  failure.type = std::move(type);
  failure.message = std::move(message);
  return failure;
}

/// The failure of a payload that cannot be stored: larger than `limit`, or not valid text. The message starts
/// with `what` and names `name`.
[[nodiscard]] inline std::optional<Failure> unfit(const Payload& payload, std::size_t limit,
                                                  std::string_view what, std::string_view name = {}) {
  const Result<void> fits = check_payload(payload, limit);
  if (fits) return std::nullopt;
  std::string message(what);
  if (!name.empty()) message.append(" '").append(name).append("'");
  const bool too_large = fits.error().code == ErrorCode::limit_exceeded;
  return engine_failure(too_large ? FailureKind::limit : FailureKind::application, "InvalidPayload",
                        message + ": " + fits.error().message);
}

}  // namespace duramen::inline v0::core
