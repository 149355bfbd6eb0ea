// The JSON form of each type: the templates behind Codec, thin over json_value.hpp. Not API.
//
// JsonFormat<T> has write(out, value), read(JsonValue) and expected(), which describes what read() accepts.
#pragma once

#include <duramen/detail/json_value.hpp>
#include <duramen/detail/owned.hpp>
#include <duramen/payload.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::inline v0 {

namespace detail {

/// Thrown while reading and caught by decode_json; never leaves it.
struct JsonMismatch {
  std::string expected;
  std::string found;
  /// The place in the payload: "[2].first"; empty for the whole.
  std::string path;
};

[[noreturn]] void throw_mismatch(std::string expected, const JsonValue& found);
[[noreturn]] void throw_decode_error(const JsonMismatch& mismatch, const Payload& payload);
[[noreturn]] void throw_encode_error(std::string message);
[[nodiscard]] std::string expected_integer(std::int64_t lowest, std::uint64_t highest);
/// Throws unless `value` is an array, of `size` elements if that is given.
void require_array(const JsonValue& value, std::optional<std::size_t> size = std::nullopt);
void require_object(const JsonValue& value);
[[nodiscard]] bool is_finite(double value) noexcept;

/// Runs `read`; if it fails, prepends `step` to the path.
template <class Read>
decltype(auto) at_step(Read read, auto make_step) {
  try {
    return read();
  } catch (JsonMismatch& mismatch) {
    mismatch.path.insert(0, make_step());
    throw;
  }
}
[[nodiscard]] inline std::string index_step(std::size_t i) { return "[" + std::to_string(i) + "]"; }

/// A type with its own Codec, inside a container: its text as a string, its JSON as an array of one.
template <class T>
struct JsonFormat {
  static constexpr bool known = HasOwnCodec<T>;

  static void write(std::string& out, const T& value) {
    static_assert(known,
                  "duramen: no codec for this type. Include <duramen/json.hpp> and write DURAMEN_JSON(Type, "
                  "members...) "
                  "in the type's namespace, or specialise duramen::Codec<Type>.");
    if constexpr (known) {
      const Payload payload = Codec<T>::encode(value);
      if (payload.encoding == Encoding::text) return append_json_string(out, payload.data);
      out.append("[").append(payload.data).append("]");
    }
  }
  static T read(const JsonValue& value) {
    static_assert(known,
                  "duramen: no codec for this type. Include <duramen/json.hpp> and write DURAMEN_JSON(Type, "
                  "members...) "
                  "in the type's namespace, or specialise duramen::Codec<Type>.");
    if constexpr (known) {
      if (const auto text = value.string()) return Codec<T>::decode(Payload::text(std::string{*text}));
      require_array(value, 1);
      JsonCursor only{value};
      (void)only.next();
      return Codec<T>::decode(Payload::json(only.value().text()));
    }
  }
  static std::string expected() { return "a string, or an array of one element"; }
};

template <>
struct JsonFormat<std::string> {
  static void write(std::string& out, const std::string& value) { append_json_string(out, value); }
  static std::string read(const JsonValue& value);
  static std::string expected() { return "a string"; }
};

template <>
struct JsonFormat<std::monostate> {
  static void write(std::string& out, std::monostate) { out.append("null"); }
  static std::monostate read(const JsonValue& value);
  static std::string expected() { return "null"; }
};

template <>
struct JsonFormat<bool> {
  static void write(std::string& out, bool value) { append_json(out, value); }
  static bool read(const JsonValue& value);
  static std::string expected() { return "a boolean"; }
};

template <std::integral T>
struct JsonFormat<T> {
  using Limits = std::numeric_limits<T>;
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;

  static void write(std::string& out, T value) { append_json(out, static_cast<Wide>(value)); }
  static T read(const JsonValue& value) {
    if constexpr (std::is_signed_v<T>) {
      const auto number = value.int64();
      if (number && *number >= Limits::min() && *number <= Limits::max()) return static_cast<T>(*number);
    } else {
      const auto number = value.uint64();
      if (number && *number <= Limits::max()) return static_cast<T>(*number);
    }
    throw_mismatch(expected(), value);
  }
  static std::string expected() { return expected_integer(Limits::min(), Limits::max()); }
};

template <std::floating_point T>
  requires(sizeof(T) <= sizeof(double))
struct JsonFormat<T> {
  static void write(std::string& out, T value) {
    if (!is_finite(value)) throw_encode_error("NaN and infinity cannot be written as JSON");
    append_json(out, value);
  }
  static T read(const JsonValue& value) {
    const auto number = value.number();
    if (!number || *number > std::numeric_limits<T>::max() || *number < std::numeric_limits<T>::lowest()) {
      throw_mismatch(expected(), value);
    }
    return static_cast<T>(*number);
  }
  static std::string expected() {
    return sizeof(T) == sizeof(double) ? "a number" : "a number that fits a float";
  }
};

template <class T>
struct JsonFormat<std::optional<T>> {
  static void write(std::string& out, const std::optional<T>& value) {
    if (!value) return static_cast<void>(out.append("null"));
    JsonFormat<T>::write(out, *value);
  }
  static std::optional<T> read(const JsonValue& value) {
    if (value.is_null()) return std::nullopt;
    return JsonFormat<T>::read(value);
  }
  static std::string expected() { return JsonFormat<T>::expected() + " or null"; }
};

template <class T>
struct JsonFormat<std::vector<T>> {
  static void write(std::string& out, const std::vector<T>& values) {
    out.push_back('[');
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) out.push_back(',');
      JsonFormat<T>::write(out, values[i]);
    }
    out.push_back(']');
  }
  static std::vector<T> read(const JsonValue& value) {
    require_array(value);
    std::vector<T> values;
    values.reserve(value.size());
    for (JsonCursor c{value}; c.next();) {
      at_step([&] { values.push_back(JsonFormat<T>::read(c.value())); },
              [&] { return index_step(values.size()); });
    }
    return values;
  }
  static std::string expected() { return "an array"; }
};

template <class T>
struct JsonFormat<std::map<std::string, T>> {
  static void write(std::string& out, const std::map<std::string, T>& values) {
    out.push_back('{');
    for (const auto& [key, value] : values) {
      if (out.back() != '{') out.push_back(',');
      append_json_string(out, key);
      out.push_back(':');
      JsonFormat<T>::write(out, value);
    }
    out.push_back('}');
  }
  static std::map<std::string, T> read(const JsonValue& value) {
    require_object(value);
    std::map<std::string, T> values;
    for (JsonCursor c{value}; c.next();) {
      at_step([&] { values.insert_or_assign(std::string{c.key()}, JsonFormat<T>::read(c.value())); },
              [&] { return "." + std::string{c.key()}; });
    }
    return values;
  }
  static std::string expected() { return "an object"; }
};

template <class Tuple>
struct JsonTuple {
  static constexpr std::size_t size = std::tuple_size_v<Tuple>;
  using Indexes = std::make_index_sequence<size>;

  static void write(std::string& out, const Tuple& values) {
    out.push_back('[');
    write_elements(out, values, Indexes{});
    out.push_back(']');
  }
  static Tuple read(const JsonValue& value) {
    require_array(value, size);
    JsonCursor c{value};
    return read_elements(c, Indexes{});
  }
  static std::string expected() { return "an array of " + std::to_string(size) + " elements"; }

 private:
  template <std::size_t... I>
  static void write_elements(std::string& out, const Tuple& values, std::index_sequence<I...>) {
    ((I != 0 ? out.push_back(',') : void(),
      JsonFormat<std::tuple_element_t<I, Tuple>>::write(out, std::get<I>(values))),
     ...);
  }
  template <std::size_t... I>
  static Tuple read_elements(JsonCursor& c, std::index_sequence<I...>) {
    return Tuple{read_element<I>(c)...};  // braces: from left to right
  }
  template <std::size_t I>
  static std::tuple_element_t<I, Tuple> read_element(JsonCursor& c) {
    (void)c.next();
    return at_step([&] { return JsonFormat<std::tuple_element_t<I, Tuple>>::read(c.value()); },
                   [] { return index_step(I); });
  }
};

template <class A, class B>
struct JsonFormat<std::pair<A, B>> : JsonTuple<std::pair<A, B>> {};
template <class... T>
struct JsonFormat<std::tuple<T...>> : JsonTuple<std::tuple<T...>> {};

template <class T>
T decode_json(const Payload& payload) {
  try {
    if constexpr (requires { JsonFormat<T>::parse(payload.data); }) {
      return JsonFormat<T>::parse(payload.data);
    } else {
      const JsonDocument document{payload.data};
      if (!document.error().empty()) {
        throw_decode_error({JsonFormat<T>::expected(), "no JSON: " + std::string{document.error()}, {}},
                           payload);
      }
      return JsonFormat<T>::read(document.root());
    }
  } catch (const JsonMismatch& mismatch) {
    throw_decode_error(mismatch, payload);
  }
}

}  // namespace detail
}  // namespace duramen::inline v0
