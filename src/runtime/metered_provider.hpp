// Times every call to the store.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <duramen/forwarding_provider.hpp>

#include "runtime/instruments.hpp"

namespace duramen::inline v0::runtime {

class MeteredProvider final : public ForwardingProvider {
 public:
  MeteredProvider(std::shared_ptr<Provider> inner, const Instruments& instruments)
      : ForwardingProvider(std::move(inner)), instruments_(instruments) {}

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
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1});
  }
  const Instruments& instruments_;
};

}  // namespace duramen::v0::runtime
