// Reads the members of one JSON object, and keeps the first problem.
#pragma once

#include <duramen/detail/json_value.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace duramen::base {

/// After the first problem every call does nothing, so that a sequence of reads needs one check at its end.
class ObjectReader {
 public:
  /// `problem` stays empty without problems, and must outlive the reader.
  ObjectReader(const detail::JsonValue& object, std::string& problem) : object_(object), problem_(problem) {
    if (ok() && object_.kind() != detail::JsonKind::object) {
      fail("expected an object, found " + std::string{describe(object_.kind())});
    }
    if (!ok()) return;  // only an object has keys to read
    for (detail::JsonCursor c{object_}; c.next();) {
      if (count_ == members_.size()) {
        complete_ = false;
        break;
      }
      members_[count_++] = {c.key(), c.value()};
    }
  }

  [[nodiscard]] bool ok() const noexcept { return problem_.empty(); }
  void fail(std::string what) {
    if (ok()) problem_ = std::move(what);
  }
  void fail_field(std::string_view name, std::string_view what) {
    fail("field '" + std::string{name} + "' " + std::string{what});
  }

  /// The member of that name; absent if it is missing or null.
  [[nodiscard]] std::optional<detail::JsonValue> find(std::string_view name) const noexcept {
    if (!ok()) return std::nullopt;
    auto value = member(name);
    if (value && value->is_null()) return std::nullopt;
    return value;
  }

  /// The member of that name, which must be there.
  [[nodiscard]] std::optional<detail::JsonValue> require(std::string_view name) {
    if (!ok()) return std::nullopt;
    auto value = member(name);
    if (!value) fail_field(name, "is missing");
    return value;
  }

  /// Reads a string, boolean or integer that must be there.
  template <class T>
  void required(std::string_view name, T& out) {
    if (const auto value = require(name)) scalar(name, *value, out);
  }
  /// Reads the member if it exists; otherwise leaves `out` unchanged and returns false.
  template <class T>
  bool optional(std::string_view name, T& out) {
    const auto value = find(name);
    if (value) scalar(name, *value, out);
    return value.has_value();
  }

  void scalar(std::string_view name, const detail::JsonValue& value, std::string& out) {
    if (const auto text = string(name, value)) out.assign(*text);
  }
  void scalar(std::string_view name, const detail::JsonValue& value, bool& out) {
    const auto flag = value.boolean();
    if (!flag) return wrong_kind(name, "a boolean", value);
    out = *flag;
  }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  void scalar(std::string_view name, const detail::JsonValue& value, T& out) {
    if (value.kind() != detail::JsonKind::integer) return wrong_kind(name, "an integer", value);
    if constexpr (std::signed_integral<T>) {
      const auto number = value.int64();
      if (!number || *number < std::numeric_limits<T>::min() || *number > std::numeric_limits<T>::max()) {
        return out_of_range(name, value);
      }
      out = static_cast<T>(*number);
    } else {
      const auto number = value.uint64();
      if (!number || *number > std::numeric_limits<T>::max()) return out_of_range(name, value);
      out = static_cast<T>(*number);
    }
  }

  /// The text of a string; any other value, or a NUL in it, is a problem.
  std::optional<std::string_view> string(std::string_view name, const detail::JsonValue& value) {
    const auto text = value.string();
    if (!text) {
      wrong_kind(name, "a string", value);
    } else if (!text->empty() && std::memchr(text->data(), '\0', text->size()) != nullptr) {
      fail_field(name, "contains NUL");
      return std::nullopt;
    }
    return text;
  }

  void wrong_kind(std::string_view name, std::string_view expected, const detail::JsonValue& found) {
    fail_field(name, "must be " + std::string{expected} + ", found " + std::string{describe(found.kind())});
  }

 private:
  // The first member of that name.
  [[nodiscard]] std::optional<detail::JsonValue> member(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (members_[i].first == name) return members_[i].second;
    }
    return complete_ ? std::nullopt : object_.find(name);
  }
  void out_of_range(std::string_view name, const detail::JsonValue& value) {
    fail_field(name, "is out of range: " + value.text());
  }

  detail::JsonValue object_;
  std::string& problem_;
  // The first members, listed once because most are read by name and many are absent; the rest is searched.
  std::array<std::pair<std::string_view, detail::JsonValue>, 16> members_;
  std::size_t count_ = 0;
  bool complete_ = true;
};

}  // namespace duramen::base
