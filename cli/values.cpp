#include "values.hpp"

#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

namespace duramen::cli {

namespace {

using namespace std::chrono;

/// Reads digits from the front of `text`; absent if there are none, or not exactly `digits` (if not 0).
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  int value = 0;
  const std::string_view part = digits == 0 ? text : text.substr(0, digits);
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  const auto used = static_cast<std::size_t>(end - part.data());
  if (error != std::errc{} || used == 0 || value < 0 || (digits != 0 && used != digits)) return std::nullopt;
  text.remove_prefix(used);
  return value;
}

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

std::optional<TimePoint> parse_date(std::string_view text) {
  const auto y = take_number(text, 4);
  if (!y || !take(text, "-")) return std::nullopt;
  const auto m = take_number(text, 2);
  if (!m || !take(text, "-")) return std::nullopt;
  const auto d = take_number(text, 2);
  if (!d) return std::nullopt;
  const year_month_day date{year{*y}, month{static_cast<unsigned>(*m)}, day{static_cast<unsigned>(*d)}};
  if (!date.ok()) return std::nullopt;
  TimePoint moment{sys_days{date}};
  if (text.empty()) return moment;
  if (!take(text, "T") && !take(text, " ")) return std::nullopt;
  const auto hour = take_number(text, 2);
  if (!hour || !take(text, ":")) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *hour > 23 || *minute > 59) return std::nullopt;
  moment += hours{*hour} + minutes{*minute};
  if (take(text, ":")) {
    const auto second = take_number(text, 2);
    if (!second || *second > 60) return std::nullopt;
    moment += seconds{*second};
    if (take(text, ".")) {
      const auto fraction = take_number(text, 3);
      if (!fraction) return std::nullopt;
      moment += milliseconds{*fraction};
    }
  }
  take(text, "Z");
  if (!text.empty()) return std::nullopt;
  return moment;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  const auto number = take_number(text, 0);
  if (!number) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, Duration>, 9> units{{{"ms", 1ms},
                                                                        {"s", 1s},
                                                                        {"sec", 1s},
                                                                        {"m", 1min},
                                                                        {"min", 1min},
                                                                        {"h", 1h},
                                                                        {"d", 24h},
                                                                        {"w", 24h * 7},
                                                                        {"y", 24h * 365}}};
  for (const auto& [name, unit] : units) {
    if (text != name) continue;
    return *number > Duration::max() / unit && !detail::mutant("long_times_overflow") ? Duration::max()
                                                                                      : unit * *number;
  }
  return std::nullopt;
}

std::optional<TimePoint> parse_moment(std::string_view text, TimePoint now) {
  if (text == "now") return now;
  if (const auto length = parse_duration(text)) return now - *length;
  return parse_date(text);
}

std::vector<Status> parse_statuses(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (c != '-' && c != '_' && c != ' ') word += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  if (word == "open") return {Status::pending, Status::running, Status::cancelling, Status::continued_as_new};
  if (word == "ended") return {Status::completed, Status::failed, Status::cancelled};
  for (std::size_t i = 0; i < status_count; ++i) {
    std::string name(to_string(static_cast<Status>(i)));
    for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (name == word) return {static_cast<Status>(i)};
  }
  return {};
}

std::string date_and_time(TimePoint moment) {
  moment = std::clamp(moment, TimePoint{sys_days{year{0} / 1 / 1}}, latest_timer);
  const auto day = floor<days>(moment);
  const year_month_day date{day};
  const hh_mm_ss time{floor<seconds>(moment - day)};
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text.data();
}

std::string roughly(Duration length) {
  const auto ms = length.count();
  if (ms < 1000) return std::to_string(ms < 0 ? 0 : ms) + "ms";
  const auto s = ms / 1000;
  if (s < 120) return std::to_string(s) + "s";
  if (s < 120 * 60) return std::to_string(s / 60) + "m";
  if (s < 48 * 3600) return std::to_string(s / 3600) + "h";
  return std::to_string(s / 86400) + "d";
}

std::string ago(TimePoint moment, TimePoint now) {
  if (moment <= now && now - moment < 1s) return "just now";
  return moment <= now ? roughly(now - moment) + " ago" : "in " + roughly(moment - now);
}

std::string offset(Duration length) {
  const bool negative = length < Duration::zero();
  const long long ms = negative ? -length.count() : length.count();
  const char sign = negative ? '-' : '+';
  std::array<char, 48> text{};
  if (ms < 60'000) {
    std::snprintf(text.data(), text.size(), "%c%lld.%03llds", sign, ms / 1000, ms % 1000);
  } else if (ms < 3'600'000) {
    std::snprintf(text.data(), text.size(), "%c%lldm%02llds", sign, ms / 60'000, ms / 1000 % 60);
  } else if (ms < 86'400'000) {
    std::snprintf(text.data(), text.size(), "%c%lldh%02lldm", sign, ms / 3'600'000, ms / 60'000 % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%c%lldd%02lldh", sign, ms / 86'400'000, ms / 3'600'000 % 24);
  }
  return text.data();
}

}  // namespace duramen::cli
