// The hash of stored and shared values: unlike std::hash it is the same in every build.
#pragma once

#include <cstdint>
#include <string_view>

namespace duramen::base {

/// FNV-1a, 64 bits.
class Fnv1a {
 public:
  constexpr Fnv1a& add(std::string_view text) noexcept {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    return *this;
  }
  constexpr Fnv1a& add_byte(unsigned char byte) noexcept {
    hash_ = (hash_ ^ byte) * 0x100000001b3ull;
    return *this;
  }
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

}  // namespace duramen::base
