// Tells one start from another of the same id.
#pragma once

#include <duramen/message.hpp>

#include <cstdint>
#include <string_view>

namespace duramen::inline v0::postgres::detail {

/// FNV-1a, 64 bits. Stored, so it must not change between builds; std::hash may.
[[nodiscard]] inline std::int64_t start_digest(const message::StartOrchestration& start) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    hash = (hash ^ 0xff) * 0x100000001b3ull;  // no UTF-8 text holds this byte: ends the part
  };
  add(start.orchestration);
  add(to_string(start.input.encoding));
  add(start.input.data);
  return static_cast<std::int64_t>(hash);
}

}  // namespace duramen::inline v0::postgres::detail
