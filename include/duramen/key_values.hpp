// The key-value store that belongs to an instance.
#pragma once

#include <duramen/payload.hpp>
#include <duramen/time.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace duramen::inline v0 {

inline constexpr std::size_t max_keys = 100;
inline constexpr std::size_t max_key_value_bytes = std::size_t{16} << 10u;
inline constexpr std::size_t max_custom_status_bytes = std::size_t{256} << 10u;

struct KeyValueEntry {
  Payload value;
  TimePoint updated_at;
  friend bool operator==(const KeyValueEntry&, const KeyValueEntry&) = default;
};

/// Ordered, so that iterating it is the same on every replay.
using KeyValues = std::map<std::string, KeyValueEntry>;

/// One change, in the order in which a turn made them.
struct KeyValueChange {
  std::optional<std::string> key;  ///< absent: all keys
  std::optional<Payload> value;    ///< absent: cleared
  TimePoint updated_at{};
  friend bool operator==(const KeyValueChange&, const KeyValueChange&) = default;
};

}  // namespace duramen::inline v0
