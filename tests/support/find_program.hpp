// Finds a program that a test needs, on the path of a system administrator.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <unistd.h>

namespace duramen::test {

/// Its path; empty if there is none.
[[nodiscard]] inline std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders{std::string(path != nullptr ? path : "/usr/bin:/bin") + ":/usr/sbin:/sbin"};
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace duramen::test
