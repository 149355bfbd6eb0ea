// Payloads and failures in columns.
#pragma once

#include "base/json_writer.hpp"
#include "format/failure_json.hpp"
#include <duramen/failure.hpp>
#include <duramen/payload.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace duramen::inline v0::postgres::detail {

[[nodiscard]] inline std::optional<Encoding> parse_encoding(std::string_view text) {
  if (text == to_string(Encoding::json)) return Encoding::json;
  if (text == to_string(Encoding::text)) return Encoding::text;
  return std::nullopt;
}

[[nodiscard]] inline Payload make_payload(std::string_view data, std::string_view encoding) {
  return Payload{std::string(data), parse_encoding(encoding).value_or(Encoding::text)};
}

[[nodiscard]] inline std::string stored_failure(const Failure& failure) {
  std::string json;
  base::JsonWriter writer{json};
  format::write_stored_failure(writer, failure);
  return json;
}

}  // namespace duramen::inline v0::postgres::detail
