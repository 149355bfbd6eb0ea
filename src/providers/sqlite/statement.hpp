// A prepared statement, and one run of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace duramen::inline v0::sqlite::detail {

class Connection;

/// One run of a statement: it binds values and returns rows; its destructor resets the statement. Bound text
/// is not copied; it must live as long as the run.
class Cursor {
 public:
  explicit Cursor(sqlite3_stmt* statement) noexcept : statement_(statement) {}
  ~Cursor();
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  /// Moves to the next row; false if there is none.
  bool step();
  /// For statements without a result: runs to the end and returns the number of changed rows.
  std::int64_t finish();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] bool is_text(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t number(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  /// Valid until the next step.
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] std::string string(int column) const { return std::string(text(column)); }
  [[nodiscard]] std::optional<std::string> optional_string(int column) const;

 private:
  sqlite3_stmt* statement_;
};

/// Prepared once, run often; by one thread at a time.
class Statement {
 public:
  Statement(Connection& connection, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds every parameter, in order, and starts a run.
  template <class... Values>
  [[nodiscard]] Cursor run(const Values&... values) {
    [[maybe_unused]] int index = 0;
    (bind(++index, values), ...);
    return Cursor{statement_};
  }
  /// For statements composed at run time: binds one parameter, counted from 1. The value must live as long as
  /// the run.
  template <class Value>
  void bind_value(int index, const Value& value) {
    bind(index, value);
  }
  /// The same for statements that only change rows.
  template <class... Values>
  std::int64_t execute(const Values&... values) {
    return run(values...).finish();
  }

 private:
  void bind(int index, std::int64_t value);
  void bind(int index, std::uint64_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::uint32_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, int value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, bool value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::string_view value);
  void bind(int index, const std::string& value) { bind(index, std::string_view(value)); }
  void bind(int index, const char* value) { bind(index, std::string_view(value)); }
  void bind(int index, std::nullopt_t);
  template <class T>
  void bind(int index, const std::optional<T>& value) {
    if (value)
      bind(index, *value);
    else
      bind(index, std::nullopt);
  }

  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace duramen::inline v0::sqlite::detail
