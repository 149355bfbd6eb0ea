// Times and statuses on the command line.
#pragma once

#include <duramen/status.hpp>
#include <duramen/time.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duramen::cli {

/// "500ms", "30s", "5min", "2h", "7d", "1w"; absent if invalid.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);

/// "2026-11-16", "2026-11-16T03:30", "2026-11-16T03:30:15Z" (all UTC), or a duration before `now`.
[[nodiscard]] std::optional<TimePoint> parse_moment(std::string_view text, TimePoint now);

/// "failed" or "Failed", and the groups "open" and "ended"; empty if invalid.
[[nodiscard]] std::vector<Status> parse_statuses(std::string_view text);

/// "2026-11-16 03:30:15" in UTC.
[[nodiscard]] std::string date_and_time(TimePoint moment);
/// "12s", "5m", "3h", "2d": a rounded duration.
[[nodiscard]] std::string roughly(Duration length);
/// "just now", "12s ago", "in 5m".
[[nodiscard]] std::string ago(TimePoint moment, TimePoint now);
/// "+0.250s", "+12.5s", "+3m04s": an offset.
[[nodiscard]] std::string offset(Duration length);

}  // namespace duramen::cli
