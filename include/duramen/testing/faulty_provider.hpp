// A provider that injects faults in front of a working one.
//
// Two things can go wrong between a runtime and its store: the call never arrived, or it arrived and the
// answer was lost. The caller cannot distinguish them, so both are the same retryable error; the store's
// content differs. Notifications pass through.
#pragma once

#include <duramen/testing/forwarding_provider.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace duramen::inline v0::testing {

enum class Fault : std::uint8_t {
  none,
  error,  ///< the inner provider is not called
  /// The inner provider is called, and its answer is discarded.
  lost_answer,
  /// The caller waits, then the inner provider is called.
  delay_before,
  /// The inner provider is called, then the caller waits for the answer.
  delay_after,
  /// From now on nothing reaches the inner provider: the process is gone.
  crash_before,
  /// The inner provider is called, but this and every later answer is lost: the process is gone.
  crash_after,
};

/// Chooses the fault of each call. Called under a lock, one call at a time. `number` counts all calls of the
/// provider from 1.
using FaultSchedule = std::function<Fault(const ProviderCall& call, std::uint64_t number)>;

/// Each call fails with probability `rate` (0 to 1), half of them by losing the answer. The same seed gives
/// the same faults for the same sequence of calls.
[[nodiscard]] FaultSchedule random_faults(std::uint64_t seed, double rate);

/// Only the `nth` call (from 1) of `operation` fails.
[[nodiscard]] FaultSchedule single_fault(std::string operation, std::uint64_t nth, Fault fault);

/// Thread-safe if the inner provider is.
class FaultyProvider final : public ForwardingProvider {
 public:
  /// `wait` performs a delay; without it delays are skipped.
  FaultyProvider(std::shared_ptr<Provider> inner, FaultSchedule schedule, std::function<void()> wait = {});
  ~FaultyProvider() override;

  /// The number of faults injected so far.
  [[nodiscard]] std::uint64_t faults() const;
  /// True after a crash: calls no longer reach the store.
  [[nodiscard]] bool crashed() const;

 protected:
  std::optional<Error> before(ProviderCall& call) override;
  std::optional<Error> after(const ProviderCall& call) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace duramen::inline v0::testing
