// Points in time and durations as text for people.
#pragma once

#include <duramen/time.hpp>

#include <string>

namespace duramen::base {

/// ISO 8601 in UTC, with milliseconds: "2026-11-15T23:38:57.123Z".
[[nodiscard]] std::string to_iso8601(TimePoint moment);

/// Its two largest units, rounded down: "3 d 4 h", "12 min 5 s", "1.250 s", "40 ms". Negative is "0 ms".
[[nodiscard]] std::string in_words(Duration length);

}  // namespace duramen::base
