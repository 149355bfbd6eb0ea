#include "base/time_text.hpp"

#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace duramen::base {

namespace {

std::string two_units(long long large, const char* large_unit, long long small, const char* small_unit) {
  std::string text = std::to_string(large) + " " + large_unit;
  if (small != 0) text += " " + std::to_string(small) + " " + small_unit;
  return text;
}

}  // namespace

std::string to_iso8601(TimePoint moment) {
  using namespace std::chrono;
  if (!detail::mutant("years_have_many_digits"))
    moment = std::clamp(moment, TimePoint{sys_days{year{0} / 1 / 1}}, latest_timer);
  const auto day = floor<days>(moment);
  const year_month_day date{day};
  const hh_mm_ss time{moment - day};
  std::array<char, 64> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
      static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string in_words(Duration length) {
  const long long ms = length.count();
  if (ms <= 0) return "0 ms";
  if (ms < 1000) return std::to_string(ms) + " ms";
  const long long seconds = ms / 1000;
  if (seconds < 60) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%lld.%03lld s", seconds, ms % 1000);
    return text.data();
  }
  if (seconds < 3600) return two_units(seconds / 60, "min", seconds % 60, "s");
  if (seconds < 86400) return two_units(seconds / 3600, "h", seconds / 60 % 60, "min");
  return two_units(seconds / 86400, "d", seconds / 3600 % 24, "h");
}

}  // namespace duramen::base
