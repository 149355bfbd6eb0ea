// Appends objects and arrays to a string: compact, in the order of the calls, unbuffered.
#pragma once

#include <duramen/detail/json_value.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace duramen::base {

class JsonWriter {
 public:
  /// Appends to `out`, which must outlive the writer.
  explicit JsonWriter(std::string& out) : out_(out) {}

  void begin_object() { open('{'); }
  void end_object() { out_.push_back('}'); }
  void begin_array() { open('['); }
  void end_array() { out_.push_back(']'); }

  /// `name` must need no escaping; the names of our own fields need none.
  void key(std::string_view name) { key(name, {}); }
  /// The same for a name in two parts.
  void key(std::string_view name, std::string_view suffix) {
    separate();
    out_.push_back('"');
    out_.append(name).append(suffix).append("\":");
  }

  void null() { raw("null"); }
  void value(std::string_view text) {
    separate();
    detail::append_json_string(out_, text);
  }
  void value(const char* text) { value(std::string_view{text}); }
  void value(bool flag) {
    separate();
    detail::append_json(out_, flag);
  }
  void value(std::integral auto number) {
    separate();
    if constexpr (std::is_signed_v<decltype(number)>) {
      detail::append_json(out_, static_cast<std::int64_t>(number));
    } else {
      detail::append_json(out_, static_cast<std::uint64_t>(number));
    }
  }
  /// `json` must be one JSON value.
  void raw(std::string_view json) {
    separate();
    out_.append(json);
  }

  template <class T>
  void field(std::string_view name, const T& v) {
    key(name);
    value(v);
  }

 private:
  void open(char bracket) {
    separate();
    out_.push_back(bracket);
  }
  // Writes a comma, unless the last output was an opening bracket or a key. Strings end in a quote, so the
  // last character decides.
  void separate() {
    if (out_.empty()) return;
    const char last = out_.back();
    if (last != '{' && last != '[' && last != ':') out_.push_back(',');
  }

  std::string& out_;
};

}  // namespace duramen::base
