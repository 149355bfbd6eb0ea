// Conversion of C++ values to payloads and back.
//
// Built in: std::string (stored as it is), and as JSON bool, integers, floating point numbers, std::optional,
// std::vector, std::map with string keys, std::pair, std::tuple and std::monostate. A Payload is passed
// through. To use your own types, include <duramen/json.hpp> and write DURAMEN_JSON(Type, members...) after
// the type, or specialise Codec.
#pragma once

#include <duramen/detail/json_format.hpp>
#include <duramen/failure.hpp>
#include <duramen/limits.hpp>
#include <duramen/payload.hpp>
#include <duramen/result.hpp>

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

/// Converts a type to a payload and back. To add a type without JSON, specialise this with the same two
/// functions; the type then also works inside std::vector and the other containers above.
template <class T>
struct Codec {
  using generic = void;  // absent in a specialisation

  /// Throws DurableError (type "EncodeError") if the value has no JSON form, like NaN.
  [[nodiscard]] static Payload encode(const T& value) {
    std::string json;
    detail::JsonFormat<T>::write(json, value);
    return Payload::json(std::move(json));
  }

  /// Throws DecodeError if the payload does not hold a T; the message names the expected type, the type found
  /// and the place. Reads JSON regardless of the encoding tag, because text from other sources (a command
  /// line, another engine) has none.
  [[nodiscard]] static T decode(const Payload& payload) { return detail::decode_json<T>(payload); }
};

/// A string is stored as it is. Decoding also accepts JSON that holds a string.
template <>
struct Codec<std::string> {
  using generic = void;
  [[nodiscard]] static Payload encode(const std::string& value) { return Payload::text(value); }
  [[nodiscard]] static std::string decode(const Payload& payload);
};

/// No value: `null`. Decoding accepts and ignores any payload.
template <>
struct Codec<void> {
  [[nodiscard]] static Payload encode() { return Payload::none(); }
  static void decode(const Payload& /*payload*/) {}
};

template <>
struct Codec<Payload> {
  [[nodiscard]] static Payload encode(const Payload& value) { return value; }
  [[nodiscard]] static Payload decode(const Payload& payload) { return payload; }
};

/// Converts a value to a payload. Text in any form (a literal, a string_view) is treated as a std::string.
template <class T>
  requires(!std::is_void_v<T>)
[[nodiscard]] Payload encode_payload(const T& value) {
  if constexpr (std::same_as<std::decay_t<T>, std::string_view> ||
                std::same_as<std::decay_t<T>, const char*> || std::same_as<std::decay_t<T>, char*>) {
    return Payload::text(std::string{value});
  } else {
    return Codec<std::remove_cv_t<T>>::encode(value);
  }
}
template <class T = void>
  requires std::is_void_v<T>
[[nodiscard]] Payload encode_payload() {
  return Codec<void>::encode();
}

namespace detail {
/// Converts an argument of a call to a payload. A type that converts to std::string_view is stored as text.
template <class In>
[[nodiscard]] Payload encode_input(const In& input) {
  if constexpr (std::is_convertible_v<const In&, std::string_view>) {
    return Payload::text(std::string(std::string_view(input)));
  } else {
    return encode_payload<In>(input);
  }
}
}  // namespace detail

/// Reads the value of a payload; throws DecodeError if it is not a T. A T that refers to memory it does not
/// own (a std::string_view, a pointer) does not compile: the payload's text is gone when this returns.
template <class T>
[[nodiscard]] T decode_payload(const Payload& payload) {
  return Codec<std::remove_cv_t<typename detail::Owned<T>::type>>::decode(payload);
}

/// Checks that a payload can be stored: UTF-8, no NUL, at most `limit` bytes. The error (`invalid_argument`,
/// `limit_exceeded`) explains what to do.
[[nodiscard]] Result<void> check_payload(const Payload& payload, std::size_t limit = default_payload_limit);

}  // namespace duramen::inline v0
