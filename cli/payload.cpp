#include "payload.hpp"

#include <duramen/json.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace duramen::cli {

namespace {

std::string all_of(std::istream& stream) { return {std::istreambuf_iterator<char>(stream), {}}; }

Result<std::string> content(const std::string& given) {
  if (given == "-") return all_of(std::cin);
  if (given.empty() || given.front() != '@') return given;
  const std::string path = given.substr(1);
  const auto cannot = [&](const char* why) {
    return Error{ErrorCode::not_found, "read", path + " cannot be read: " + why, false};
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return cannot("it is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) return cannot(std::strerror(errno));
  return all_of(file);
}

/// Valid JSON that fits every reader of a payload; the error names the option and the place.
Result<void> check_json(const std::string& json, const std::string& option) {
  const auto refused = [&](std::size_t position, const std::string& what, const char* remedy) {
    return Error{ErrorCode::invalid_argument, "payload",
                 option + ", byte " + std::to_string(position) + ": " + what + "; " + remedy, false};
  };
  try {
    (void)nlohmann::json::parse(json);
    return {};
  } catch (const nlohmann::json::parse_error& error) {
    std::string what = error.what();
    // The library's "[json.exception.parse_error.101] parse error at line 1, column 2: ".
    if (const auto at = what.find(": "); at != std::string::npos) what.erase(0, at + 2);
    return refused(error.byte, "that is not JSON (" + what + ")",
                   "write valid JSON, or use --text for plain text");
  } catch (const nlohmann::json::out_of_range& error) {
    // Its message ends with the number in quotes.
    const std::string what = error.what();
    const auto begin = what.find('\'');
    const std::string number =
        begin == std::string::npos ? what : what.substr(begin + 1, what.rfind('\'') - begin - 1);
    return refused(json.find(number) + 1, "the number " + number + " is too large",
                   "write it as a JSON string, or use --text for plain text");
  }
}

}  // namespace

Result<Payload> read_payload(const PayloadSource& source, const char* option) {
  if (source.text) {
    Result<std::string> text = content(*source.text);
    if (!text) return text.error();
    return Payload::text(*std::move(text));
  }
  if (!source.json) return Payload::none();
  Result<std::string> json = content(*source.json);
  if (!json) return json.error();
  // Only a check: the stored text is the user's text without surrounding white space.
  if (Result<void> ok = check_json(*json, option); !ok) return ok.error();
  const auto begin = json->find_first_not_of(" \t\r\n");
  const auto end = json->find_last_not_of(" \t\r\n");
  return Payload::json(json->substr(begin, end - begin + 1));
}

}  // namespace duramen::cli
