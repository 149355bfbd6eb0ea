// Reads values that several tables contain.
#pragma once

#include <duramen/payload.hpp>

#include <optional>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

[[nodiscard]] inline std::optional<Encoding> parse_encoding(std::string_view text) {
  if (text == to_string(Encoding::json)) return Encoding::json;
  if (text == to_string(Encoding::text)) return Encoding::text;
  return std::nullopt;
}

}  // namespace duramen::inline v0::sqlite::detail
