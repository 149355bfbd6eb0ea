// How often, and with what pauses, an activity is tried again.
#pragma once

#include <duramen/failure.hpp>
#include <duramen/time.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace duramen::inline v0 {

/// The pause after a failed attempt. Made by one of the functions, so that no field is left unset.
class Backoff {
 public:
  Backoff() = default;  ///< exponential: 100 ms, doubling, at most 30 s

  /// No pause; always the same pause.
  [[nodiscard]] static Backoff none() { return Backoff(Kind::none, Duration{0}, Duration{0}, 1.0); }
  [[nodiscard]] static Backoff fixed(Duration pause) { return Backoff(Kind::fixed, pause, pause, 1.0); }
  /// base, 2 base, 3 base, ... up to `longest`.
  [[nodiscard]] static Backoff linear(Duration base, Duration longest) {
    return Backoff(Kind::linear, base, longest, 1.0);
  }
  /// base, base * factor, base * factor^2, ... up to `longest`.
  [[nodiscard]] static Backoff exponential(Duration base, double factor, Duration longest) {
    return Backoff(Kind::exponential, base, longest, factor);
  }

  /// After the failed attempt number `attempt`, counted from 1.
  [[nodiscard]] Duration pause_after(std::uint32_t attempt) const noexcept;

 private:
  enum class Kind : std::uint8_t { none, fixed, linear, exponential };
  Backoff(Kind kind, Duration base, Duration longest, double factor)
      : kind_(kind), base_(base), longest_(longest), factor_(factor) {}

  Kind kind_ = Kind::exponential;
  Duration base_{100};
  Duration longest_{30'000};
  double factor_ = 2.0;
};

/// A failure is tried again unless it says that it is not retryable, or its type is listed. What failed last
/// is what the orchestration sees.
class RetryPolicy {
 public:
  RetryPolicy() = default;

  /// How often at most, the first time included. At least 1; throws std::invalid_argument for 0.
  RetryPolicy& attempts(std::uint32_t count);
  RetryPolicy& backoff(Backoff backoff) {
    backoff_ = backoff;
    return *this;
  }
  /// How long one attempt may take. It is then cancelled with reason `timeout` and counts as failed.
  template <class Rep, class Period>
  RetryPolicy& attempt_timeout(std::chrono::duration<Rep, Period> limit) {
    attempt_timeout_ = round_up(limit);
    return *this;
  }
  /// How long all attempts and pauses may take together.
  template <class Rep, class Period>
  RetryPolicy& total_timeout(std::chrono::duration<Rep, Period> limit) {
    total_timeout_ = round_up(limit);
    return *this;
  }
  /// Failures of this type end the retrying at once.
  RetryPolicy& give_up_on(std::string failure_type) {
    final_types_.push_back(std::move(failure_type));
    return *this;
  }

  /// For the engine and for tests: what the policy says.
  [[nodiscard]] bool tries_again(const Failure& failure, std::uint32_t attempt) const;
  [[nodiscard]] Duration pause_after(std::uint32_t attempt) const noexcept {
    return backoff_.pause_after(attempt);
  }
  [[nodiscard]] const std::optional<Duration>& attempt_timeout() const noexcept { return attempt_timeout_; }
  [[nodiscard]] const std::optional<Duration>& total_timeout() const noexcept { return total_timeout_; }

 private:
  std::uint32_t attempts_ = 3;
  Backoff backoff_;
  std::optional<Duration> attempt_timeout_;
  std::optional<Duration> total_timeout_;
  std::vector<std::string> final_types_;
};

}  // namespace duramen::inline v0
