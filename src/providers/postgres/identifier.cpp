#include "providers/postgres/identifier.hpp"

#include "base/utf8.hpp"
#include "providers/postgres/error.hpp"

namespace duramen::inline v0::postgres::detail {

namespace {

// The server cuts longer names, and two long names might become one.
constexpr std::size_t longest_identifier = 63;

std::string quoted(std::string_view text, char quote) {
  std::string result(1, quote);
  for (const char c : text) {
    if (c == quote) result.push_back(quote);
    result.push_back(c);
  }
  result.push_back(quote);
  return result;
}

}  // namespace

std::string quoted_identifier(std::string_view name) {
  if (name.empty() || name.size() > longest_identifier || !base::is_text(name)) {
    throw StoreError({ErrorCode::invalid_argument, "",
                      "the schema name '" + base::excerpt(base::to_text(std::string(name)), 80) +
                          "' is not a valid name for PostgreSQL; use 1 to 63 bytes of text",
                      false});
  }
  return quoted(name, '"');
}

std::string quoted_literal(std::string_view text) {
  // With standard_conforming_strings off a backslash would escape; E'' has one meaning in both cases.
  std::string doubled;
  for (const char c : text) {
    if (c == '\\') doubled.push_back('\\');
    doubled.push_back(c);
  }
  return " E" + quoted(doubled, '\'');
}

std::string in_schema(std::string_view statement, std::string_view quoted_schema) {
  std::string result;
  for (const char c : statement) {
    if (c == '@') {
      result.append(quoted_schema).push_back('.');
    } else {
      result.push_back(c);
    }
  }
  return result;
}

}  // namespace duramen::inline v0::postgres::detail
