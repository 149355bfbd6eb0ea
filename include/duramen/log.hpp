// Where the runtime says what a person should know. The host decides where that goes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace duramen::inline v0 {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
[[nodiscard]] constexpr std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "error";
}

/// Called from any thread. Payloads and secrets are never part of a message.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

}  // namespace duramen::v0
