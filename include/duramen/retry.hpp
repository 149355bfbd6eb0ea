// The number of attempts at an activity, and the pauses between them.
#pragma once

#include <duramen/failure.hpp>
#include <duramen/time.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace duramen::inline v0 {

/// The pause after a failed attempt. Created by one of the functions, so that no field is left unset.
class Backoff {
 public:
  /// Exponential: 100 ms, doubling, at most 30 s.
  Backoff() = default;

  /// No pause; a constant pause.
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

  /// The pause after failed attempt number `attempt`, from 1.
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

/// Retries a failure unless it is marked as not retryable or its type is listed. The orchestration receives
/// the last failure.
class RetryPolicy {
 public:
  RetryPolicy() = default;

  /// Maximum number of attempts, including the first. At least 1; throws std::invalid_argument for 0.
  RetryPolicy& attempts(std::uint32_t count);
  RetryPolicy& backoff(Backoff backoff) {
    backoff_ = backoff;
    return *this;
  }
  /// Time limit of one attempt. On expiry the attempt is cancelled with reason `timeout` and counts as
  /// failed. Its heartbeat details are lost: the next attempt receives those that this one received.
  template <class Rep, class Period>
  RetryPolicy& attempt_timeout(std::chrono::duration<Rep, Period> limit) {
    attempt_timeout_ = round_up(limit);
    return *this;
  }
  /// Time limit for all attempts and pauses together.
  template <class Rep, class Period>
  RetryPolicy& total_timeout(std::chrono::duration<Rep, Period> limit) {
    total_timeout_ = round_up(limit);
    return *this;
  }
  /// Failures of this type end the retries immediately.
  RetryPolicy& give_up_on(std::string failure_type) {
    final_types_.push_back(std::move(failure_type));
    return *this;
  }

  /// The decisions of the policy, for the engine and for tests.
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
