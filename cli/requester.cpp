#include "requester.hpp"

#include "terminal.hpp"
#include <duramen/limits.hpp>

#include <array>
#include <pwd.h>
#include <unistd.h>

namespace duramen::cli {

namespace {

bool can_be_stored(const std::string& name) {
  return name.size() <= max_name_bytes && valid_utf8(name) == name;
}

std::string login_name() {
  std::array<char, 1024> buffer{};
  // The user that logged in, even if the command runs as another one.
  if (getlogin_r(buffer.data(), buffer.size()) == 0) return buffer.data();
  std::array<char, 4096> strings{};
  passwd entry{};
  passwd* found = nullptr;
  const bool known = getpwuid_r(getuid(), &entry, strings.data(), strings.size(), &found) == 0 && found;
  return known ? entry.pw_name : "";
}

}  // namespace

Result<std::optional<std::string>> requester(const std::optional<std::string>& given) {
  std::string name = given ? *given : login_name();
  if (name.empty()) return std::optional<std::string>{};
  if (can_be_stored(name)) return std::optional(std::move(name));
  if (!given) return std::optional<std::string>{};
  return Error{ErrorCode::invalid_argument, "by",
               "--by: a name is UTF-8 and has at most " + std::to_string(max_name_bytes) + " bytes", false};
}

}  // namespace duramen::cli
