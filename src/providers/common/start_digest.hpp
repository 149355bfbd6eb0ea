// Distinguishes two starts of the same id.
#pragma once

#include "base/fnv1a.hpp"
#include <duramen/message.hpp>

#include <cstdint>

namespace duramen::inline v0::providers {

/// Stores keep this number: it must be the same in every build and every version.
[[nodiscard]] inline std::int64_t start_digest(const message::StartOrchestration& start) noexcept {
  // Ends each part: UTF-8 text never contains this byte.
  constexpr unsigned char end = 0xff;
  base::Fnv1a hash;
  hash.add(start.orchestration).add_byte(end);
  hash.add(to_string(start.input.encoding)).add_byte(end);
  hash.add(start.input.data).add_byte(end);
  return static_cast<std::int64_t>(hash.value());
}

}  // namespace duramen::inline v0::providers
