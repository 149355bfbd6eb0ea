// Tables between enumerators and their spelling in stores, JSON and messages.
#pragma once

#include <duramen/history.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace duramen::base {

/// One row per enumerator, in the order of the enumeration.
template <class E, std::size_t N>
using NameTable = std::array<std::pair<E, std::string_view>, N>;

template <class E, std::size_t N>
constexpr bool in_enum_order(const NameTable<E, N>& table) {
  for (std::size_t i = 0; i < N; ++i) {
    if (static_cast<std::size_t>(table[i].first) != i) return false;
  }
  return true;
}

template <class E, std::size_t N>
constexpr std::string_view name_of(const NameTable<E, N>& table, E value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? table[index].second : std::string_view{"unknown"};
}

template <class E, std::size_t N>
constexpr std::optional<E> value_of(const NameTable<E, N>& table, std::string_view name) noexcept {
  for (const auto& [value, text] : table) {
    if (text == name) return value;
  }
  return std::nullopt;
}

// The JSON spelling of enumerations without a public spelling.
[[nodiscard]] std::string_view name(CancelMode mode) noexcept;
[[nodiscard]] std::string_view name(CancelOrigin origin) noexcept;
[[nodiscard]] bool parse(std::string_view text, CancelMode& out) noexcept;
[[nodiscard]] bool parse(std::string_view text, CancelOrigin& out) noexcept;

}  // namespace duramen::base
