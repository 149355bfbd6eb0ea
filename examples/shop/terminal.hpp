// Colour and a moving line for people, plain text for pipes; no colour with NO_COLOR.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <unistd.h>

namespace shop {

enum class Colour { plain, dim, bold, green, yellow, red };

class Terminal {
 public:
  Terminal()
      : moves_(isatty(STDOUT_FILENO) == 1 && variable("TERM") != "dumb"),
        colours_(moves_ && is_empty("NO_COLOR")) {}
  ~Terminal() { progress({}); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] std::string paint(Colour colour, std::string_view text) const {
    constexpr std::string_view codes[] = {"0", "2", "1", "32", "33", "31"};
    if (!colours_ || colour == Colour::plain) return std::string(text);
    std::string painted = "\033[";
    painted += codes[static_cast<std::size_t>(colour)];
    painted += 'm';
    painted += text;
    painted += "\033[0m";
    return painted;
  }

  /// Prints at once, even into a pipe.
  void line(std::string_view text = {}, Colour colour = Colour::plain) const {
    const std::string clear = last_line_.empty() ? "" : erase_line;
    std::cout << clear + paint(colour, text) + "\n" + last_line_ << std::flush;
  }

  /// The text of the last line, below all others. Only on a terminal.
  void progress(const std::string& text) {
    if (!moves_ || text == last_line_) return;
    last_line_ = text;
    std::cout << erase_line + text << std::flush;
  }

 private:
  static std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  }
  static bool is_empty(const char* name) { return variable(name).empty(); }

  inline static const std::string erase_line = "\r\033[K";

  bool moves_;
  bool colours_;
  std::string last_line_;
};

/// `text` with blanks up to `width`.
[[nodiscard]] inline std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  if (result.size() < width) result.append(width - result.size(), ' ');
  return result;
}

}  // namespace shop
