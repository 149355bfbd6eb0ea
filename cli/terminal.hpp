// The output device: its width, its colours, and whether it is interactive.
#pragma once

#include "answer.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace duramen::cli {

enum class ColorChoice : std::uint8_t { automatic, always, never };

struct Terminal {
  std::size_t width = 0;     ///< columns; 0: no limit (a pipe or a file)
  bool interactive = false;  ///< standard output is a terminal
  bool colors = false;

  /// $COLUMNS overrides the terminal; $NO_COLOR and TERM=dumb turn colours off.
  [[nodiscard]] static Terminal of_standard_output(ColorChoice choice);
};

/// True if standard input and standard error are a terminal: the user can be asked.
[[nodiscard]] bool can_ask() noexcept;

/// One line with visible control characters, so that stored text cannot control a terminal.
[[nodiscard]] std::string printable(std::string_view text);
/// The same text, with U+FFFD for bytes that are not UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);
/// The width in columns of a text from printable().
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// The part that fits, with "…" if it was cut.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

/// The page of an answer as text.
[[nodiscard]] std::string render(const std::vector<Block>& page, const Terminal& terminal);

}  // namespace duramen::cli
