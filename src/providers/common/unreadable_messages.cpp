#include "providers/common/unreadable_messages.hpp"

namespace duramen::inline v0::providers {

namespace {

constexpr std::size_t most_described = 4;

}  // namespace

void UnreadableMessages::add(std::int64_t message, const std::string& why) {
  if (count_++ >= most_described) return;
  if (!described_.empty()) described_ += "; ";
  described_ += "message " + std::to_string(message) + ": " + why;
}

std::optional<std::string> UnreadableMessages::description() const {
  if (count_ == 0) return std::nullopt;
  if (count_ <= most_described) return described_;
  return described_ + "; and " + std::to_string(count_ - most_described) + " more";
}

}  // namespace duramen::inline v0::providers
