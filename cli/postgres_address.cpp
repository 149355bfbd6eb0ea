#include "postgres_address.hpp"

#include <charconv>
#include <string_view>

namespace duramen::cli {

namespace {

Result<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    unsigned byte = 0;
    const char* const first = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(first, first + 2, byte, 16).ptr != first + 2 || byte == 0) {
      return Error{ErrorCode::invalid_argument, "open",
                   "schema=" + std::string(text) + " in the address: write a % as %25", false};
    }
    plain += static_cast<char>(byte);
    i += 2;
  }
  return plain;
}

}  // namespace

Result<PostgresAddress> parse_postgres_address(const std::string& address) {
  const std::size_t question = address.find('?');
  PostgresAddress result{address.substr(0, question), {}};
  if (question == std::string::npos) return result;
  char separator = '?';
  for (std::size_t begin = question + 1; begin <= address.size();) {
    const std::size_t end = std::min(address.find('&', begin), address.size());
    const std::string parameter = address.substr(begin, end - begin);
    begin = end + 1;
    constexpr std::string_view ours = "schema=";
    if (parameter.starts_with(ours)) {
      Result<std::string> name = decoded(std::string_view(parameter).substr(ours.size()));
      if (!name) return name.error();
      if (name->empty()) {
        return Error{ErrorCode::invalid_argument, "open", "schema= in the address names no schema", false};
      }
      result.schema = *std::move(name);
    } else {
      result.uri += separator + parameter;
      separator = '&';
    }
  }
  return result;
}

}  // namespace duramen::cli
