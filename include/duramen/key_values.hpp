// The key-value store that belongs to an instance.
#pragma once

#include <duramen/limits.hpp>
#include <duramen/payload.hpp>
#include <duramen/time.hpp>

#include <map>
#include <optional>
#include <string>

namespace duramen::inline v0 {

struct KeyValueEntry {
  Payload value;
  TimePoint updated_at;
  friend bool operator==(const KeyValueEntry&, const KeyValueEntry&) = default;
};

/// Ordered, so that every replay iterates in the same order.
using KeyValues = std::map<std::string, KeyValueEntry>;

/// One change, in the order in which a turn made them.
struct KeyValueChange {
  std::optional<std::string> key;  ///< absent: all keys
  std::optional<Payload> value;    ///< absent: cleared
  TimePoint updated_at{};
  friend bool operator==(const KeyValueChange&, const KeyValueChange&) = default;
};

}  // namespace duramen::inline v0
