// Reading and writing JSON for codecs, without naming the library that parses. Not API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace duramen::inline v0::detail {

enum class JsonKind : std::uint8_t { null, boolean, integer, number, string, array, object };

/// "a string", "an integer", ...: for messages.
[[nodiscard]] std::string_view describe(JsonKind kind) noexcept;

/// One value in a JsonDocument. A view: valid while its document lives.
class JsonValue {
 public:
  [[nodiscard]] JsonKind kind() const noexcept;
  [[nodiscard]] bool is_null() const noexcept { return kind() == JsonKind::null; }

  // Each is empty if the value is of another kind; an integer is empty if it does not fit. number() accepts
  // integers.
  [[nodiscard]] std::optional<bool> boolean() const noexcept;
  [[nodiscard]] std::optional<std::int64_t> int64() const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> uint64() const noexcept;
  [[nodiscard]] std::optional<double> number() const noexcept;
  [[nodiscard]] std::optional<std::string_view> string() const noexcept;

  /// The member of that name, if this is an object that has one.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const noexcept;

  /// The number of elements or members; 0 if this is neither array nor object. Stops counting at 16 million.
  [[nodiscard]] std::size_t size() const noexcept;

  /// This value as JSON text without white space.
  [[nodiscard]] std::string text() const;

 private:
  friend struct JsonAccess;
  const void* document_ = nullptr;
  std::size_t position_ = 0;
};

/// Walks the elements of an array or the members of an object:
/// `for (JsonCursor c{value}; c.next();) use(c.key(), c.value());`
class JsonCursor {
 public:
  /// A value that is neither array nor object is treated as empty.
  explicit JsonCursor(const JsonValue& container) noexcept;

  [[nodiscard]] bool next() noexcept;
  [[nodiscard]] JsonValue value() const noexcept;
  [[nodiscard]] std::string_view key() const noexcept;  ///< only for objects

 private:
  const void* document_ = nullptr;
  std::size_t position_ = 0;
  std::size_t end_ = 0;
  bool object_ = false;
  bool started_ = false;
};

/// A parsed text. Documents may be nested; a document must not move to another thread.
class JsonDocument {
 public:
  explicit JsonDocument(std::string_view text);
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  /// Empty if the text is valid JSON; otherwise the problem.
  [[nodiscard]] std::string_view error() const noexcept { return error_; }
  [[nodiscard]] JsonValue root() const noexcept { return root_; }

 private:
  void* parser_;
  std::string_view error_;
  JsonValue root_;
};

// Each appends one JSON value to `out`.
void append_json_string(std::string& out, std::string_view text);
void append_json(std::string& out, bool value);
void append_json(std::string& out, std::int64_t value);
void append_json(std::string& out, std::uint64_t value);
/// The shortest text that reads back as the same number. `value` must be finite.
void append_json(std::string& out, double value);
void append_json(std::string& out, float value);

}  // namespace duramen::inline v0::detail
