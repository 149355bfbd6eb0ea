// Colour for people, plain text for pipes and for whoever sets NO_COLOR.
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
  Terminal() : colours_(isatty(STDOUT_FILENO) == 1 && is_empty("NO_COLOR") && variable("TERM") != "dumb") {}

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

  /// Prints at once, also into a pipe.
  void line(std::string_view text = {}, Colour colour = Colour::plain) const {
    std::cout << paint(colour, text) + "\n" << std::flush;
  }

 private:
  static std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  }
  static bool is_empty(const char* name) { return variable(name).empty(); }

  bool colours_;
};

/// `text` with blanks up to `width`.
[[nodiscard]] inline std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  if (result.size() < width) result.append(width - result.size(), ' ');
  return result;
}

}  // namespace shop
