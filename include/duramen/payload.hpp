// Data passed between orchestrations, activities and clients: text and its encoding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace duramen::inline v0 {

/// The encoding of a payload's text. Stored with every payload.
enum class Encoding : std::uint8_t {
  text,  ///< a std::string, as it is
  json,  ///< any other C++ value, as JSON
};

/// The spelling in the store.
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
  /// The payload of a function that returns nothing.
  [[nodiscard]] static Payload none() { return json("null"); }

  friend bool operator==(const Payload&, const Payload&) = default;
};

}  // namespace duramen::inline v0
