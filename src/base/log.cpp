// The two built-in log sinks. Both write one line per record: a line break in a message must not look like a
// second record.
#include <duramen/log.hpp>

#include "base/time_text.hpp"
#include "base/utf8.hpp"
#include <duramen/detail/json_value.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

namespace duramen::inline v0 {

namespace {

void write_to_standard_error(std::string_view line) {
  // One call per line, so that lines of several sinks do not mix.
  std::string text;
  text.reserve(line.size() + 1);
  text.append(line).push_back('\n');
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// Writes lines one at a time, although records come from many threads.
class LineOutput {
 public:
  explicit LineOutput(LineWriter write) : write_(write ? std::move(write) : write_to_standard_error) {}

  void operator()(std::string_view line) noexcept {
    std::lock_guard lock(mutex_);
    try {
      write_(line);
    } catch (...) {
      // A failing log must not stop the work it reports.
    }
  }

 private:
  std::mutex mutex_;
  const LineWriter write_;
};

using Render = void (*)(std::string& line, const LogRecord& record);

LogSink make_sink(LogLevel at_least, LineWriter write, Render render) {
  return
      [at_least, render, output = std::make_shared<LineOutput>(std::move(write))](const LogRecord& record) {
        if (record.level < at_least) return;
        std::string line;
        render(line, record);
        (*output)(line);
      };
}

// -- text ---------------------------------------------------------------------------------------------------

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }

/// Text as it is, except for characters that would end the line or control a terminal.
void append_printable(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  for (const char c : base::to_text(std::string(text))) {
    if (!is_control(c)) {
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else {
      out.append("\\x").push_back(hex[static_cast<unsigned char>(c) >> 4U]);
      out.push_back(hex[static_cast<unsigned char>(c) & 0x0FU]);
    }
  }
}

/// A value that could be mistaken for something else is quoted.
void append_value(std::string& out, std::string_view value) {
  const bool plain = !value.empty() && value.find_first_of(" =\"\\") == value.npos;
  if (plain) return append_printable(out, value);
  std::string quoted;
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  out.push_back('"');
  append_printable(out, quoted);
  out.push_back('"');
}

void render_text(std::string& line, const LogRecord& record) {
  line = base::to_iso8601(system_clock().now());
  line.append(" ").append(to_string(record.level)).append(" ").append(to_string(record.source)).append(": ");
  append_printable(line, record.message);
  for (const LogField& field : record.fields) {
    line.push_back(' ');
    append_printable(line, field.key);
    line.push_back('=');
    append_value(line, field.value);
  }
}

// -- JSON ---------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 4> own_members{"time", "level", "source", "message"};

void append_member(std::string& out, std::string_view key, std::string_view value) {
  out.push_back(out.empty() ? '{' : ',');
  detail::append_json_string(out, key);
  out.push_back(':');
  if (base::is_text(value)) return detail::append_json_string(out, value);
  detail::append_json_string(out, base::to_text(std::string(value)));
}

void render_json(std::string& line, const LogRecord& record) {
  append_member(line, own_members[0], base::to_iso8601(system_clock().now()));
  append_member(line, own_members[1], to_string(record.level));
  append_member(line, own_members[2], to_string(record.source));
  append_member(line, own_members[3], record.message);
  for (const LogField& field : record.fields) {
    std::string key = base::to_text(std::string(field.key));
    // Most readers accept only one member of a name.
    if (std::ranges::find(own_members, key) != own_members.end()) key.insert(0, "field_");
    append_member(line, key, field.value);
  }
  line.push_back('}');
}

}  // namespace

LogSink text_log(LogLevel at_least, LineWriter write) {
  return make_sink(at_least, std::move(write), render_text);
}
LogSink json_log(LogLevel at_least, LineWriter write) {
  return make_sink(at_least, std::move(write), render_json);
}

}  // namespace duramen::inline v0
