// Your own types as payloads, through nlohmann::json: every type it can convert works in Duramen.
//
//   struct Order { std::string id; int cents; };
//   DURAMEN_JSON(Order, id, cents)                  // or to_json / from_json of your own
//
// Include this in every file that uses such a type as a parameter or a result. Inside std::vector and the
// other containers of <duramen/codec.hpp> such types mix freely with built-in ones; inside your own types
// nlohmann's rules apply.
#pragma once

#include <duramen/codec.hpp>
#include <duramen/detail/type_name.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

/// Makes a struct convertible: the type, then its members. Write it in the type's namespace. All members must
/// be present when a value is read, and must own their data: a std::string_view does not compile.
#define DURAMEN_JSON(Type, ...)                                                                \
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, __VA_ARGS__)                                        \
  [[maybe_unused]] inline void duramen_check_members([[maybe_unused]] const Type* duramen_t) { \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(DURAMEN_DETAIL_CHECK_MEMBER, __VA_ARGS__))        \
  }
#define DURAMEN_DETAIL_CHECK_MEMBER(member) \
  static_assert(sizeof(::duramen::detail::Owned<decltype(duramen_t->member)>) != 0);

namespace duramen::inline v0::detail {

template <class T>
concept NlohmannConvertible =
    !std::is_arithmetic_v<T> && !HasOwnCodec<T> &&
    (std::is_same_v<T, nlohmann::json> || requires(nlohmann::json& json, const T& value) {
      nlohmann::adl_serializer<T>::to_json(json, value);
      json.get<T>();
    });

template <NlohmannConvertible T>
struct JsonFormat<T> {
  static void write(std::string& out, const T& value) {
    try {
      nlohmann::json json;
      if constexpr (std::is_same_v<T, nlohmann::json>) {
        json = value;
      } else {
        nlohmann::adl_serializer<T>::to_json(json, value);
      }
      out.append(json.dump());
    } catch (const nlohmann::json::exception& e) {
      throw_encode_error(expected() + " cannot be written: " + e.what());
    }
  }
  static T read(const JsonValue& value) { return parse(value.text()); }
  static T parse(std::string_view text) {
    try {
      return nlohmann::json::parse(text).template get<T>();
    } catch (const nlohmann::json::exception& e) {
      throw JsonMismatch{expected(), e.what(), {}};
    }
  }
  static std::string expected() { return std::is_same_v<T, nlohmann::json> ? "JSON" : type_name(typeid(T)); }
};

}  // namespace duramen::inline v0::detail
