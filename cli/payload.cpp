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

}  // namespace

Result<Payload> read_payload(const PayloadSource& source) {
  if (source.text) {
    Result<std::string> text = content(*source.text);
    if (!text) return text.error();
    return Payload::text(*std::move(text));
  }
  if (!source.json) return Payload::none();
  Result<std::string> json = content(*source.json);
  if (!json) return json.error();
  try {
    // Only a check: the stored text is the user's text without surrounding white space.
    (void)nlohmann::json::parse(*json);
  } catch (const nlohmann::json::parse_error& error) {
    std::string what = error.what();
    if (const auto at = what.find("] "); at != std::string::npos) what.erase(0, at + 2);
    return Error{ErrorCode::invalid_argument, "payload",
                 "that is not JSON (" + what + "); for plain text use --text instead", false};
  }
  const auto begin = json->find_first_not_of(" \t\r\n");
  const auto end = json->find_last_not_of(" \t\r\n");
  return Payload::json(json->substr(begin, end - begin + 1));
}

}  // namespace duramen::cli
