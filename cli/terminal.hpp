// Where output goes: how wide it is, whether it has colours, whether somebody sits there.
#pragma once

#include "answer.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace duramen::cli {

enum class ColorChoice : std::uint8_t { automatic, always, never };

struct Terminal {
  std::size_t width = 0;     ///< columns; 0: as wide as it takes (a pipe or a file)
  bool interactive = false;  ///< standard output is a terminal
  bool colors = false;

  /// $COLUMNS wins over what the terminal says; $NO_COLOR and TERM=dumb turn colours off.
  [[nodiscard]] static Terminal of_standard_output(ColorChoice choice);
};

/// Somebody can be asked: standard input and standard error are a terminal.
[[nodiscard]] bool can_ask() noexcept;

/// Control characters made visible, so that no stored text can steer a terminal, and one line of it.
[[nodiscard]] std::string printable(std::string_view text);
/// The same text, with U+FFFD in the place of bytes that are no UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);
/// How many columns it takes. Only for what printable() returned.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// The beginning of it that fits, with "…" where something is missing.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

/// The page of an answer as text.
[[nodiscard]] std::string render(const std::vector<Block>& page, const Terminal& terminal);

}  // namespace duramen::cli
