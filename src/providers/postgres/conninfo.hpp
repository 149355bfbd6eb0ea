// A parsed connection string: our defaults, and a description without secrets.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace duramen::inline v0::postgres::detail {

class ConnInfo {
 public:
  /// Throws StoreError; its text never repeats the string, which may contain a password.
  explicit ConnInfo(const std::string& text);

  /// Keywords and values for libpq with our defaults, which the string overrides.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& values() const noexcept {
    return values_;
  }
  /// "database d at host:port as user", for messages.
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
  std::string description_;
};

}  // namespace duramen::inline v0::postgres::detail
