#include "json.hpp"

#include "terminal.hpp"
#include <duramen/detail/json_value.hpp>
#include <duramen/detail/mutant.hpp>

#include <array>
#include <cstdio>

namespace duramen::cli {

Json::Json(std::string_view string) : text("\"") {
  // A store may be damaged: one bad text must not make the whole document invalid.
  for (const char c : valid_utf8(string)) {
    switch (c) {
      case '"':
        text += "\\\"";
        break;
      case '\\':
        text += "\\\\";
        break;
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      case '\t':
        text += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          std::array<char, 8> escape{};
          std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
          text += escape.data();
        } else {
          text += c;
        }
    }
  }
  text += '"';
}

Json Json::raw(std::string json) {
  Json value;
  value.text = std::move(json);
  return value;
}

Json Json::payload(const Payload& payload) {
  if (payload.encoding == Encoding::text) return Json(payload.data);
  const detail::JsonDocument document{payload.data};
  if (!document.error().empty() && !detail::mutant("broken_payload_breaks_the_document")) {
    return Json(payload.data);
  }
  // One document is one line: line breaks of the payload are removed. In JSON they occur only between tokens.
  std::string text = payload.data;
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return raw(std::move(text));
}

JsonObject& JsonObject::add(std::string_view name, const Json& value) {
  if (!members_.empty()) members_ += ',';
  members_ += Json(name).text;
  members_ += ':';
  members_ += value.text;
  return *this;
}

JsonArray& JsonArray::add(const Json& value) {
  if (!elements_.empty()) elements_ += ',';
  elements_ += value.text;
  return *this;
}

}  // namespace duramen::cli
