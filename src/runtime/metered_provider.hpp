// Times every call to the store.
#pragma once

#include "runtime/instruments.hpp"
#include <duramen/forwarding_provider.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace duramen::inline v0::runtime {

class MeteredProvider final : public ForwardingProvider {
 public:
  MeteredProvider(std::shared_ptr<Provider> inner, const Instruments& instruments)
      : ForwardingProvider(std::move(inner)), instruments_(instruments) {}

  /// Passed on as one call, so that a store can read many histories at once; counted as one call.
  std::vector<Result<std::vector<Event>>> read_histories(std::span<const HistoryRequest> requests) override {
    const std::uint64_t began = now();
    auto histories = inner().read_histories(requests);
    const auto failed = std::ranges::find_if(histories, [](const auto& history) { return !history; });
    instruments_.provider_call("read_history", static_cast<double>(now() - began) * 1e-9,
                               failed == histories.end() ? nullptr : &failed->error());
    return histories;
  }

 protected:
  std::optional<Error> before(ProviderCall& call) override {
    call.note = now();
    return std::nullopt;
  }
  void answered(const ProviderCall& call, const Error* error) override {
    instruments_.provider_call(call.operation, static_cast<double>(now() - call.note) * 1e-9, error);
  }

 private:
  static std::uint64_t now() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds{1});
  }
  const Instruments& instruments_;
};

}  // namespace duramen::inline v0::runtime
