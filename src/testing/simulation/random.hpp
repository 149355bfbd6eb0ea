// Repeatable randomness: one number seeds a stream, and the streams of one seed are independent.
#pragma once

#include <cstdint>

namespace duramen::inline v0::testing {

/// SplitMix64: one addition and one mix per number. Good enough for choices, and cheap to create.
class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(mix(seed + gamma)) {}
  /// The independent stream number `stream` of the same seed.
  SeededRandom(std::uint64_t seed, std::uint64_t stream) : SeededRandom(mix(seed) ^ mix(~stream)) {}

  std::uint64_t next() { return mix(state_ += gamma); }
  /// 0 .. n-1; `n` is small, so the bias of the remainder does not matter.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  bool chance(double rate) { return rate > 0 && static_cast<double>(next() >> 11U) * 0x1.0p-53 < rate; }
  bool coin() { return (next() & 1U) != 0; }

 private:
  static constexpr std::uint64_t gamma = 0x9E3779B97F4A7C15U;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::uint64_t state_;
};

}  // namespace duramen::inline v0::testing
