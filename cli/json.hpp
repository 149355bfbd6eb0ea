// JSON for programs, written member by member in a fixed order. Nothing here reads JSON.
#pragma once

#include <duramen/ids.hpp>
#include <duramen/payload.hpp>
#include <duramen/time.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace duramen::cli {

/// One JSON value as text without line breaks.
struct Json {
  std::string text = "null";

  Json() = default;
  Json(std::string_view string);                                       // NOLINT: a value is written in place
  Json(const std::string& string) : Json(std::string_view(string)) {}  // NOLINT
  Json(const char* string) : Json(std::string_view(string)) {}         // NOLINT
  template <std::integral T>
  Json(T number) {  // NOLINT
    if constexpr (std::same_as<T, bool>) {
      text = number ? "true" : "false";
    } else {
      text = std::to_string(number);
    }
  }
  template <class Tag>
  Json(const Name<Tag>& name) : Json(std::string_view(name.value)) {}  // NOLINT
  template <class Tag>
  Json(const Number<Tag>& number) : Json(number.value) {}  // NOLINT
  Json(TimePoint moment) : Json(to_unix_ms(moment)) {}     // NOLINT: milliseconds since 1970
  Json(double) = delete;
  template <class T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}  // NOLINT: absent is null

  /// Text that is already JSON.
  [[nodiscard]] static Json raw(std::string json);
  /// A payload's value: JSON unchanged, text as a string. Invalid JSON is written as a string.
  [[nodiscard]] static Json payload(const Payload& payload);
};

class JsonObject {
 public:
  JsonObject& add(std::string_view name, const Json& value);
  operator Json() const { return Json::raw("{" + members_ + "}"); }  // NOLINT: finished, it is a value

 private:
  std::string members_;
};

class JsonArray {
 public:
  JsonArray& add(const Json& value);
  operator Json() const { return Json::raw("[" + elements_ + "]"); }  // NOLINT

 private:
  std::string elements_;
};

/// The values of a range, each converted to Json by `make`.
template <class Range, class Make>
[[nodiscard]] Json json_array(const Range& range, Make make) {
  JsonArray array;
  for (const auto& value : range) array.add(make(value));
  return array;
}
template <class Range>
[[nodiscard]] Json json_array(const Range& range) {
  return json_array(range, [](const auto& value) { return Json(value); });
}

}  // namespace duramen::cli
