#include "terminal.hpp"

#include <cstdlib>
#include <cwchar>
#include <sys/ioctl.h>
#include <unistd.h>

namespace duramen::cli {

namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::size_t width_of_output(bool interactive) {
  const std::string asked(environment("COLUMNS"));
  if (const unsigned long columns = std::strtoul(asked.c_str(), nullptr, 10);
      columns >= 20 && columns < 10'000) {
    return columns;
  }
  if (!interactive) return 0;
  struct winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 80;
}

/// The code point that begins at `at`, which moves behind it. Broken UTF-8 is read byte by byte, as U+FFFD.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const std::size_t length = lead < 0x80          ? 1
                             : lead >> 5u == 0x6  ? 2
                             : lead >> 4u == 0xE  ? 3
                             : lead >> 3u == 0x1E ? 4
                                                  : 0;
  if (length == 0 || at + length > text.size()) {
    ++at;
    return U'\uFFFD';
  }
  char32_t point = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0u) != 0x80u) {
      ++at;
      return U'\uFFFD';
    }
    point = (point << 6u) | (byte(at + i) & 0x3Fu);
  }
  at += length;
  return point;
}

std::size_t columns_of(char32_t point) {
  const int columns = ::wcwidth(static_cast<wchar_t>(point));
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace

Terminal Terminal::of_standard_output(ColorChoice choice) {
  Terminal terminal;
  terminal.interactive = ::isatty(STDOUT_FILENO) != 0;
  terminal.width = width_of_output(terminal.interactive);
  const bool wanted =
      terminal.interactive && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  terminal.colors = choice == ColorChoice::always || (choice == ColorChoice::automatic && wanted);
  return terminal;
}

bool can_ask() noexcept { return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0; }

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t point = next_code_point(text, at);
    if (point == U'\n') {
      shown += "\\n";
    } else if (point == U'\t') {
      shown += "\\t";
    } else if (point == U'\r') {
      shown += "\\r";
    } else if (point < 0x20 || (point >= 0x7F && point < 0xA0) || point == U'\uFFFD' ||
               (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069)) {
      shown += "\xEF\xBF\xBD";  // controls the terminal or the direction
    } else {
      shown.append(text, begin, at - begin);
    }
  }
  return shown;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (next_code_point(text, at) == U'\uFFFD') {
      valid += "\xEF\xBF\xBD";
    } else {
      valid.append(text, begin, at - begin);
    }
  }
  return valid;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) columns += columns_of(next_code_point(text, at));
  return columns;
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  std::size_t used = 0;
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    used += columns_of(next_code_point(text, at));
    if (used + 1 > columns) break;
    end = at;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace duramen::cli
