// A provider that fails when told to, in front of one that works.
//
// Two things can go wrong between a runtime and its store: the call never got there, or it did and the answer
// was lost. The caller cannot tell them apart, so both are the same retryable error; what the store holds
// differs. Push passes through.
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
  error,         ///< the inner provider is not called
  lost_answer,   ///< the inner provider is called, and its answer thrown away
  delay_before,  ///< the caller waits, then the inner provider is called
  delay_after,   ///< the inner provider is called, then the caller waits for the answer
  crash_before,  ///< nothing reaches the inner provider, now and from now on: the process is gone
  crash_after,   ///< the inner provider is called, but this and every later answer is lost: the process is
                 ///< gone
};

/// Decides the fate of each call. Called under a lock, one call at a time.
/// `number` counts all calls of the provider from 1.
using FaultSchedule = std::function<Fault(const ProviderCall& call, std::uint64_t number)>;

/// Each call fails with the chance `rate` (0 to 1), half of them by losing the answer. The same seed gives
/// the same faults to the same sequence of calls.
[[nodiscard]] FaultSchedule random_faults(std::uint64_t seed, double rate);

/// Only the `nth` call (from 1) of `operation` fails.
[[nodiscard]] FaultSchedule single_fault(std::string operation, std::uint64_t nth, Fault fault);

/// Thread-safe if the inner provider is.
class FaultyProvider final : public ForwardingProvider {
 public:
  /// `wait` is what a delay does; without it a delay is none.
  FaultyProvider(std::shared_ptr<Provider> inner, FaultSchedule schedule, std::function<void()> wait = {});
  ~FaultyProvider() override;

  /// How many faults have been injected so far.
  [[nodiscard]] std::uint64_t faults() const;
  /// After a crash nothing reaches the store any more.
  [[nodiscard]] bool crashed() const;

 protected:
  std::optional<Error> before(ProviderCall& call) override;
  std::optional<Error> after(const ProviderCall& call) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace duramen::inline v0::testing
