// The answer of a command before it is rendered: blocks for people, documents for programs.
#pragma once

#include "exit_code.hpp"
#include "json.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::cli {

/// The meaning of a piece of text; a terminal may show it in colour.
enum class Tone : std::uint8_t { plain, strong, faint, good, bad, busy, warning };

struct Cell {
  std::string text;
  Tone tone = Tone::plain;

  Cell() = default;
  Cell(std::string t, Tone as = Tone::plain) : text(std::move(t)), tone(as) {}  // NOLINT: written in place
  Cell(const char* t, Tone as = Tone::plain) : text(t), tone(as) {}             // NOLINT
};

struct Column {
  std::string title;
  bool right = false;             ///< numbers
  std::size_t may_shrink_to = 0;  ///< the least width after a cut; 0: never cut
  bool optional = false;          ///< left out, from the right, if empty or if there is no room
  bool wraps = false;             ///< the last column only: broken into lines instead of cut
  std::size_t at_least = 0;       ///< aligns parts of a table that are shown one by one
};

/// Rows under titles, as wide as the terminal allows.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  bool titles = true;
};

/// Names with values, one per line.
struct Fields {
  std::vector<std::pair<std::string, Cell>> fields;
  void add(std::string name, Cell value) { fields.emplace_back(std::move(name), std::move(value)); }
};

/// Text; long lines wrap at the width of the terminal and keep their indentation.
struct Text {
  std::string text;
  Tone tone = Tone::plain;
};

/// Labels with sentences, which wrap at the width of the terminal.
struct Items {
  std::vector<std::pair<Cell, std::string>> items;
};

/// Bytes as they are: a payload, a script.
struct Verbatim {
  std::string text;
};

using Block = std::variant<Table, Fields, Text, Items, Verbatim>;

struct Answer {
  std::vector<Block> page;         ///< for people
  std::vector<Json> documents;     ///< for programs, one per line
  std::vector<std::string> notes;  ///< for people, on standard error
  /// Unreadable items that were left out: one line each on standard error, with JSON as well.
  std::vector<std::string> left_out;
  ExitCode exit = ExitCode::ok;

  void leave_out(std::string what) {
    left_out.push_back(std::move(what));
    if (exit == ExitCode::ok) exit = ExitCode::partial;
  }
};

}  // namespace duramen::cli
