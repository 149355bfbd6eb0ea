#include "base/utf8.hpp"

#include <simdjson.h>

#include <cstddef>
#include <cstring>

namespace duramen::base {
namespace {

bool is_continuation(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Length of the well-formed sequence at the start of `text`; 0 if there is none.
std::size_t sequence_length(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  return is_utf8(text.substr(0, length)) ? length : 0;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept { return simdjson::validate_utf8(text.data(), text.size()); }

bool is_text(std::string_view text) noexcept {
  return (text.empty() || std::memchr(text.data(), '\0', text.size()) == nullptr) && is_utf8(text);
}

std::string to_text(std::string text) {
  if (is_text(text)) return text;
  std::string clean;
  clean.reserve(text.size() + 8);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = rest[0] == '\0' ? 0 : sequence_length(rest);
    clean.append(length == 0 ? std::string_view{"\xEF\xBF\xBD"} : rest.substr(0, length));
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

std::string excerpt(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string{text};
  while (limit > 0 && is_continuation(text[limit])) --limit;
  return std::string{text.substr(0, limit)} + "...";
}

}  // namespace duramen::base
