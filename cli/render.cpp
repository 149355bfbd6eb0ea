// Blocks become text that fits the terminal.
#include "terminal.hpp"

#include <algorithm>
#include <numeric>

namespace duramen::cli {

namespace {

constexpr std::size_t gap = 2;  // between columns

std::string_view color_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::strong:
      return "\x1b[1m";
    case Tone::faint:
      return "\x1b[2m";
    case Tone::good:
      return "\x1b[32m";
    case Tone::bad:
      return "\x1b[31m";
    case Tone::busy:
      return "\x1b[36m";
    case Tone::warning:
      return "\x1b[33m";
  }
  return "";
}

class Renderer {
 public:
  explicit Renderer(const Terminal& terminal) : terminal_(terminal) {}

  void operator()(const Table& table) {
    std::vector<std::size_t> widths(table.columns.size());
    std::vector<std::vector<std::string>> rows;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      widths[c] = std::max(columns_of(table.columns[c].title), table.columns[c].at_least);
    }
    for (const auto& row : table.rows) {
      auto& shown = rows.emplace_back();
      for (std::size_t c = 0; c < widths.size(); ++c) {
        shown.push_back(printable(row[c].text));
        widths[c] = std::max(widths[c], columns_of(shown.back()));
      }
    }
    const std::vector<std::size_t> kept = fit(table, rows, widths);
    for (std::size_t i = 0; i < kept.size() && table.titles; ++i) {
      const Column& column = table.columns[kept[i]];
      put(column.title, widths[kept[i]], column.right, Tone::faint, i + 1 == kept.size());
    }
    if (table.titles) out_ += '\n';
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::size_t indent = 0;
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const std::size_t c = kept[i];
        const bool last = i + 1 == kept.size();
        if (last && table.columns[c].wraps) {
          wrap(rows[r][c], table.rows[r][c].tone, indent, true, true);
        } else {
          put(rows[r][c], widths[c], table.columns[c].right, table.rows[r][c].tone, last);
          if (last) out_ += '\n';
        }
        indent += widths[c] + gap;
      }
    }
  }

  void operator()(const Fields& fields) {
    std::size_t widest = 0;
    for (const auto& [name, value] : fields.fields) widest = std::max(widest, columns_of(name));
    for (const auto& [name, value] : fields.fields) {
      paint(name, Tone::faint);
      out_.append(widest - columns_of(name) + gap, ' ');
      const std::string shown = printable(value.text);
      // Values are never cut: the user asked for one instance. The terminal wraps them.
      paint(shown, value.tone);
      out_ += '\n';
    }
  }

  void operator()(const Text& text) {
    std::size_t begin = 0;
    while (begin < text.text.size()) {
      std::size_t end = text.text.find('\n', begin);
      if (end == std::string::npos) end = text.text.size();
      const std::string line = printable(text.text.substr(begin, end - begin));
      const std::size_t indent = std::min(line.find_first_not_of(" -"), line.size());
      wrap(line, text.tone, indent, false);
      begin = end + 1;
    }
  }

  void operator()(const Items& items) {
    std::size_t widest = 0;
    for (const auto& [word, text] : items.items) widest = std::max(widest, columns_of(word.text));
    for (const auto& [word, text] : items.items) {
      paint(word.text, word.tone);
      out_.append(widest - columns_of(word.text) + gap, ' ');
      wrap(printable(text), Tone::plain, widest + gap, true);
    }
  }

  void operator()(const Verbatim& verbatim) { out_ += verbatim.text; }

  std::string take() { return std::move(out_); }
  void blank_line() { out_ += '\n'; }

 private:
  /// Chooses the visible columns. `widths` holds the wanted widths, then the final ones.
  std::vector<std::size_t> fit(const Table& table, const std::vector<std::vector<std::string>>& rows,
                               std::vector<std::size_t>& widths) const {
    std::vector<std::size_t> kept(widths.size());
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    // An empty column is left out.
    std::erase_if(kept, [&](std::size_t c) {
      return table.columns[c].optional && !rows.empty() &&
             std::ranges::all_of(rows, [&](const auto& row) { return row[c].empty(); });
    });
    if (terminal_.width == 0) return kept;
    const auto least = [&](std::size_t c) {
      const std::size_t cut = table.columns[c].may_shrink_to;
      return cut == 0 ? widths[c] : std::min(widths[c], std::max(cut, columns_of(table.columns[c].title)));
    };
    const auto total = [&](auto width) {
      std::size_t sum = kept.empty() ? 0 : gap * (kept.size() - 1);
      for (const std::size_t c : kept) sum += width(c);
      return sum;
    };
    // Optional numbers are dropped before names are shortened; optional names are dropped before all become
    // tiny.
    constexpr std::size_t comfortable = 24;
    const auto enough = [&](std::size_t c) { return std::max(least(c), std::min(widths[c], comfortable)); };
    const auto leave_out = [&](auto width, auto may_go) {
      while (total(width) > terminal_.width) {
        const auto last = std::find_if(kept.rbegin(), kept.rend(), may_go);
        if (last == kept.rend()) return;
        kept.erase(std::next(last).base());
      }
    };
    leave_out(enough, [&](std::size_t c) {
      return table.columns[c].optional && table.columns[c].may_shrink_to == 0;
    });
    leave_out(least, [&](std::size_t c) { return table.columns[c].optional; });
    // The widest column shrinks first, until all fit.
    while (total([&](std::size_t c) { return widths[c]; }) > terminal_.width) {
      std::size_t* widest = nullptr;
      for (const std::size_t c : kept) {
        if (widths[c] > least(c) && (widest == nullptr || widths[c] > *widest)) widest = &widths[c];
      }
      if (widest == nullptr) break;
      --*widest;
    }
    return kept;
  }

  void put(const std::string& text, std::size_t width, bool right, Tone tone, bool last) {
    const std::string shown = terminal_.width == 0 ? text : shortened(text, width);
    const std::size_t padding = width - std::min(width, columns_of(shown));
    if (right) out_.append(padding, ' ');
    paint(shown, tone);
    if (last) return;
    if (!right) out_.append(padding, ' ');
    out_.append(gap, ' ');
  }

  void paint(std::string_view text, Tone tone) {
    const std::string_view color = terminal_.colors ? color_of(tone) : "";
    out_ += color;
    out_ += text;
    if (!color.empty()) out_ += "\x1b[0m";
  }

  /// Wraps a line at spaces; later lines are indented by `indent`. `begun`: the first line is already
  /// indented. `hard`: a long word is split; otherwise the terminal wraps it, so that it can be copied.
  void wrap(std::string rest, Tone tone, std::size_t indent, bool begun, bool hard = false) {
    const std::size_t room = terminal_.width > indent + 20 ? terminal_.width - indent : std::string::npos;
    std::size_t skip = begun ? 0 : indent;  // its indentation, which is not split
    while (true) {
      std::size_t cut = rest.size();
      std::size_t next = cut;
      if (columns_of(rest) > (room == std::string::npos ? room : room + skip)) {
        cut = last_space(rest, room + skip, skip);
        next = cut + 1;
        if (hard && columns_of(rest.substr(0, cut)) > room)
          cut = next = shortened(rest, room + 1).size() - 3;  // without "…"
      }
      paint(rest.substr(0, cut), tone);
      out_ += '\n';
      if (cut >= rest.size()) return;
      rest.erase(0, next);
      out_.append(indent, ' ');
      skip = 0;
    }
  }

  /// The break position with at most `columns` before it; the end if a word is longer.
  static std::size_t last_space(const std::string& text, std::size_t columns, std::size_t from) {
    std::size_t best = std::string::npos;
    for (std::size_t at = text.find(' ', from + 1); at != std::string::npos; at = text.find(' ', at + 1)) {
      if (columns_of(text.substr(0, at)) > columns) return best != std::string::npos ? best : at;
      best = at;
    }
    return best != std::string::npos ? best : text.size();
  }

  const Terminal& terminal_;
  std::string out_;
};

}  // namespace

std::string render(const std::vector<Block>& page, const Terminal& terminal) {
  Renderer renderer(terminal);
  bool first = true;
  for (const Block& block : page) {
    if (!first) renderer.blank_line();
    first = false;
    std::visit(renderer, block);
  }
  return renderer.take();
}

}  // namespace duramen::cli
