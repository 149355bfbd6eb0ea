// Values in PostgreSQL's binary format: numbers in network order, arrays with a header.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace duramen::inline v0::postgres::detail::wire {

/// The server's numbers for its types; they never change.
enum Type : std::uint32_t {
  boolean = 16,
  int8 = 20,
  int2 = 21,
  int4 = 23,
  text = 25,
  boolean_array = 1000,
  int2_array = 1005,
  int4_array = 1007,
  text_array = 1009,
  int8_array = 1016,
};

template <class Unsigned>
void append(std::string& out, Unsigned value) {
  char bytes[sizeof value];
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes[i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * (sizeof value - 1 - i))));
  }
  out.append(bytes, sizeof value);
}

template <class Unsigned>
[[nodiscard]] Unsigned read(const char* at) {
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value = static_cast<Unsigned>((value << 8) | static_cast<unsigned char>(at[i]));
  }
  return value;
}

/// A signed number of two, four or eight bytes.
[[nodiscard]] inline std::int64_t read_number(std::string_view bytes) {
  switch (bytes.size()) {
    case 1:
      return bytes[0] != 0;  // a boolean
    case 2:
      return static_cast<std::int16_t>(read<std::uint16_t>(bytes.data()));
    case 4:
      return static_cast<std::int32_t>(read<std::uint32_t>(bytes.data()));
    default:
      return static_cast<std::int64_t>(read<std::uint64_t>(bytes.data()));
  }
}

}  // namespace duramen::inline v0::postgres::detail::wire
