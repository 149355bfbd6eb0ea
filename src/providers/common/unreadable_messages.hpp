// The messages of one instance that this Duramen cannot read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace duramen::inline v0::providers {

class UnreadableMessages {
 public:
  void add(std::int64_t message, const std::string& why);

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Describes the first few and counts the rest. None if every message could be read.
  [[nodiscard]] std::optional<std::string> description() const;

 private:
  std::size_t count_ = 0;
  std::string described_;
};

}  // namespace duramen::inline v0::providers
