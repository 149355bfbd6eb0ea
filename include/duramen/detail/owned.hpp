// The types that can be read from the store: those that own their data. Not API.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::inline v0 {

template <class T>
struct Codec;

namespace detail {

template <class T>
concept HasOwnCodec =
    requires { Codec<T>::encode(std::declval<const T&>()); } && !requires { typename Codec<T>::generic; };

/// A view of another object's data, or a container of such views. Members of a class are not visible here:
/// DURAMEN_JSON checks them.
template <class T>
struct IsView : std::is_reference<T> {};
template <class T>
struct IsView<T*> : std::bool_constant<!HasOwnCodec<T*>> {};
template <class T>
struct IsView<const T> : IsView<T> {};
template <class Char, class Traits>
struct IsView<std::basic_string_view<Char, Traits>> : std::true_type {};
template <class T, std::size_t size>
struct IsView<std::span<T, size>> : std::true_type {};
template <class T>
struct IsView<std::initializer_list<T>> : std::true_type {};
template <class T>
struct IsView<std::reference_wrapper<T>> : std::true_type {};
template <class T>
struct IsView<std::optional<T>> : IsView<T> {};
template <class T, class Allocator>
struct IsView<std::vector<T, Allocator>> : IsView<T> {};
template <class T, std::size_t size>
struct IsView<std::array<T, size>> : IsView<T> {};
template <class Key, class T, class Compare, class Allocator>
struct IsView<std::map<Key, T, Compare, Allocator>> : std::disjunction<IsView<Key>, IsView<T>> {};
template <class A, class B>
struct IsView<std::pair<A, B>> : std::disjunction<IsView<A>, IsView<B>> {};
template <class... T>
struct IsView<std::tuple<T...>> : std::disjunction<IsView<T>...> {};
template <class... T>
struct IsView<std::variant<T...>> : std::disjunction<IsView<T>...> {};
/// Any other container. A type whose elements have its own type, like nlohmann::json, does not count.
template <class T>
  requires(requires(T& container) {
    container.begin();
    typename T::value_type;
  } && !std::is_same_v<typename T::value_type, T>)
struct IsView<T> : IsView<typename T::value_type> {};

/// With its own Codec even a pointer can be read: the Codec may find an object that is never destroyed. The
/// order matters: a Codec may be specialised further down, so only the Codec of a view is checked here.
template <class T>
concept Unowned = IsView<T>::value && !HasOwnCodec<T>;

/// T, if a value of it can be read from the store.
template <class T>
struct Owned {
#ifndef DURAMEN_MUTANT_VIEWS_ARE_VALUES  // puts the defect back: tests/core/negative
  static_assert(
      !Unowned<T>,
      "duramen: an input, a result or a member that is read from the store must own what it holds: "
      "std::string_view, std::span, pointers and references would refer to memory that is gone. Use "
      "std::string (for literals as well), std::vector or a value.");
#endif
  using type = T;
};

}  // namespace detail
}  // namespace duramen::inline v0
