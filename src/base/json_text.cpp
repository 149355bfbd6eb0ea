// Appends JSON text to a string: the hot half of every commit, so runs without escapes are copied whole.

#include <duramen/detail/json_value.hpp>

#include <array>
#include <charconv>
#include <cstring>

namespace duramen::inline v0::detail {
namespace {

constexpr std::uint64_t every_byte(std::uint64_t byte) { return byte * 0x0101010101010101ULL; }

// Not zero if one of the eight bytes is below `limit` (at most 0x80); exact for the lowest such byte.
constexpr std::uint64_t below(std::uint64_t word, std::uint64_t limit) {
  return (word - every_byte(limit)) & ~word & every_byte(0x80);
}
constexpr std::uint64_t equal(std::uint64_t word, std::uint64_t byte) {
  return below(word ^ every_byte(byte), 1);
}

constexpr bool must_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

// Index of the first byte at or after `at` that must be escaped; the size if there is none.
std::size_t clean_until(std::string_view text, std::size_t at) noexcept {
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((below(word, 0x20) | equal(word, '"') | equal(word, '\\')) != 0) break;
  }
  while (at < text.size() && !must_escape(text[at])) ++at;
  return at;
}

void append_escape(std::string& out, char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  switch (c) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\b':
      out.append("\\b");
      return;
    case '\f':
      out.append("\\f");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    default:
      out.append("\\u00");
      out.push_back(hex[static_cast<unsigned char>(c) >> 4U]);
      out.push_back(hex[static_cast<unsigned char>(c) & 0x0FU]);
  }
}

template <class T>
void append_number(std::string& out, T value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = clean_until(text, at);
    out.append(text, at, end - at);
    if (end == text.size()) break;
    append_escape(out, text[end]);
    at = end + 1;
  }
  out.push_back('"');
}

void append_json(std::string& out, bool value) { out.append(value ? "true" : "false"); }
void append_json(std::string& out, std::int64_t value) { append_number(out, value); }
void append_json(std::string& out, std::uint64_t value) { append_number(out, value); }

void append_json(std::string& out, double value) {
  const std::size_t begin = out.size();
  append_number(out, value);
  // Without a point these would be read as integers: too large for one, or without their sign.
  const std::string_view text = std::string_view{out}.substr(begin);
  if ((text.size() > 15 || text == "-0") && text.find_first_of(".e") == text.npos) out.append(".0");
}

void append_json(std::string& out, float value) {
  const std::size_t begin = out.size();
  append_number(out, value);
  // Readers parse through double. If rounding twice would change the number, the longer text is correct.
  double read = 0;
  std::from_chars(out.data() + begin, out.data() + out.size(), read);
  if (static_cast<float>(read) == value && value != 0) return;
  out.resize(begin);
  append_json(out, static_cast<double>(value));
}

}  // namespace duramen::inline v0::detail
