#include <duramen/testing/faulty_provider.hpp>

#include "testing/simulation/random.hpp"

#include <mutex>
#include <utility>

namespace duramen::inline v0::testing {

FaultSchedule random_faults(std::uint64_t seed, double rate) {
  return [random = SeededRandom(seed), rate](const ProviderCall&, std::uint64_t) mutable {
    if (!random.chance(rate)) return Fault::none;
    return random.coin() ? Fault::error : Fault::lost_answer;
  };
}

FaultSchedule single_fault(std::string operation, std::uint64_t nth, Fault fault) {
  return [operation = std::move(operation), nth, fault, seen = std::uint64_t{0}](const ProviderCall& call,
                                                                                 std::uint64_t) mutable {
    return call.operation == operation && ++seen == nth ? fault : Fault::none;
  };
}

struct FaultyProvider::State {
  mutable std::mutex mutex;
  FaultSchedule schedule;    // guarded by mutex
  std::uint64_t calls = 0;   // guarded by mutex
  std::uint64_t faults = 0;  // guarded by mutex
  bool crashed = false;      // guarded by mutex
  std::function<void()> wait;
};

namespace {

Error not_reached(const ProviderCall& call) {
  return {ErrorCode::unavailable, std::string(call.operation), "an injected fault: the store was not reached",
          true};
}
Error answer_lost(const ProviderCall& call) {
  return {ErrorCode::unavailable, std::string(call.operation), "an injected fault: the answer was lost",
          true};
}

}  // namespace

FaultyProvider::FaultyProvider(std::shared_ptr<Provider> inner, FaultSchedule schedule,
                               std::function<void()> wait)
    : ForwardingProvider(std::move(inner)), state_(std::make_unique<State>()) {
  state_->schedule = std::move(schedule);
  state_->wait = std::move(wait);
}
FaultyProvider::~FaultyProvider() = default;

std::uint64_t FaultyProvider::faults() const {
  std::lock_guard lock(state_->mutex);
  return state_->faults;
}

bool FaultyProvider::crashed() const {
  std::lock_guard lock(state_->mutex);
  return state_->crashed;
}

std::optional<Error> FaultyProvider::before(ProviderCall& call) {
  Fault fault = Fault::none;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->crashed) return not_reached(call);
    fault = state_->schedule(call, ++state_->calls);
    if (fault != Fault::none) ++state_->faults;
    if (fault == Fault::crash_before || fault == Fault::crash_after) state_->crashed = true;
  }
  call.note = static_cast<std::uint64_t>(fault);
  if (fault == Fault::error || fault == Fault::crash_before) return not_reached(call);
  if (fault == Fault::delay_before && state_->wait) state_->wait();
  return std::nullopt;
}

std::optional<Error> FaultyProvider::after(const ProviderCall& call) {
  const auto fault = static_cast<Fault>(call.note);
  if (fault == Fault::delay_after && state_->wait) state_->wait();
  if (fault == Fault::lost_answer || fault == Fault::crash_after) return answer_lost(call);
  return std::nullopt;
}

}  // namespace duramen::inline v0::testing
