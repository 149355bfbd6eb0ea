// What travels between orchestrations, activities and clients: text, and how to read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace duramen::inline v0 {

/// How a payload's text is to be read. Stored beside every payload.
enum class Encoding : std::uint8_t {
  text,  ///< a std::string, as it is
  json,  ///< any other C++ value, as JSON
};

/// As the store spells it.
[[nodiscard]] constexpr std::string_view to_string(Encoding e) noexcept {
  return e == Encoding::text ? "text" : "json";
}

/// UTF-8 text without NUL, and its encoding tag.
struct Payload {
  std::string data;
  Encoding encoding = Encoding::text;

  /// Text as it is, and text that is JSON.
  [[nodiscard]] static Payload text(std::string s) { return Payload{std::move(s), Encoding::text}; }
  [[nodiscard]] static Payload json(std::string s) { return Payload{std::move(s), Encoding::json}; }
  /// What a function that returns nothing returns.
  [[nodiscard]] static Payload none() { return json("null"); }

  friend bool operator==(const Payload&, const Payload&) = default;
};

}  // namespace duramen::inline v0
