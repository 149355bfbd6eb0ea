// The pause before the next attempt: about doubled each time, and random, so that nodes that lost the same
// server do not reconnect at the same moment.
#pragma once

#include <duramen/time.hpp>

#include <algorithm>
#include <random>

namespace duramen::inline v0::postgres::detail {

class BackOff {
 public:
  BackOff(Duration first, Duration longest)
      : first_(std::max(first, Duration{1})), longest_(std::max(longest, first_)), next_(first_) {}

  /// The pause after another failure: between half of the current limit and all of it.
  [[nodiscard]] Duration failed() {
    const Duration::rep most = next_.count();
    next_ = std::min(next_ * 2, longest_);
    return Duration{std::uniform_int_distribution<Duration::rep>{(most + 1) / 2, most}(random_)};
  }
  void succeeded() { next_ = first_; }

 private:
  Duration first_;
  Duration longest_;
  Duration next_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace duramen::inline v0::postgres::detail
