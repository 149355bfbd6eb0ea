// Reads values that several tables contain.
#pragma once

#include "base/enum_names.hpp"
#include <duramen/history.hpp>
#include <duramen/payload.hpp>

#include <optional>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

[[nodiscard]] inline std::optional<Encoding> parse_encoding(std::string_view text) {
  if (text == to_string(Encoding::json)) return Encoding::json;
  if (text == to_string(Encoding::text)) return Encoding::text;
  return std::nullopt;
}

[[nodiscard]] inline std::optional<CancelMode> parse_cancel_mode(std::string_view text) {
  CancelMode mode{};
  return base::parse(text, mode) ? std::optional(mode) : std::nullopt;
}

}  // namespace duramen::inline v0::sqlite::detail
