// C++ values as payloads, and back.
//
// Built in: std::string (as it is), and as JSON bool, integers, floating point numbers, std::optional,
// std::vector, std::map with string keys, std::pair, std::tuple and std::monostate. A Payload is passed
// through. Your own types: include <duramen/json.hpp> and write DURAMEN_JSON(Type, members...) beside the
// type, or specialise Codec.
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

/// How a type becomes a payload. To teach Duramen a type without JSON, specialise this with the same two
/// functions; the type then also works inside std::vector and the other containers above.
template <class T>
struct Codec {
  using generic = void;  // not there in a specialisation

  /// Throws DurableError (type "EncodeError") if the value has no JSON, like NaN.
  [[nodiscard]] static Payload encode(const T& value) {
    std::string json;
    detail::JsonFormat<T>::write(json, value);
    return Payload::json(std::move(json));
  }

  /// Throws DecodeError if the payload does not hold a T; says what was expected, what was found and where.
  /// Reads JSON whatever the encoding tag says, because text from elsewhere (a command line, another engine)
  /// has none.
  [[nodiscard]] static T decode(const Payload& payload) { return detail::decode_json<T>(payload); }
};

/// A string is stored as it is. Decoding also takes JSON that holds a string.
template <>
struct Codec<std::string> {
  using generic = void;
  [[nodiscard]] static Payload encode(const std::string& value) { return Payload::text(value); }
  [[nodiscard]] static std::string decode(const Payload& payload);
};

/// Nothing: `null`. Decoding takes anything, since nobody will look at it.
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

/// The payload for a value. Text in any shape (a literal, a string_view) is taken as a std::string.
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

/// The value in a payload; throws DecodeError if it is not a T. A T that refers to memory it does not own (a
/// std::string_view, a pointer) does not compile: the payload's text is gone when this returns.
template <class T>
[[nodiscard]] T decode_payload(const Payload& payload) {
  return Codec<std::remove_cv_t<typename detail::Owned<T>::type>>::decode(payload);
}

/// Whether a payload can be stored: UTF-8, no NUL, at most `limit` bytes. The error (`invalid_argument`,
/// `limit_exceeded`) says what to do.
[[nodiscard]] Result<void> check_payload(const Payload& payload, std::size_t limit = default_payload_limit);

}  // namespace duramen::inline v0
