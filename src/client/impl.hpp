// The parts of a Client, for the files that implement it.
#pragma once

#include "client/wait_registry.hpp"
#include <duramen/client.hpp>

#include <memory>
#include <utility>

namespace duramen::inline v0 {

class Client::Impl {
 public:
  Impl(Store s, ClientOptions o)
      : options(std::move(o)),
        store(std::move(s)),
        provider(*store.provider()),
        waits(std::make_shared<client::WaitRegistry>(store)) {}

  /// Refuses a call on a thread that it would wait for: it would never return.
  [[nodiscard]] Result<void> check_may_wait_for_commit(const char* operation) const;
  [[nodiscard]] Result<void> check_may_wait_for_instance(const char* operation) const;

  const ClientOptions options;
  Store store;
  Provider& provider;
  std::shared_ptr<client::WaitRegistry> waits;
};

namespace client {
/// The instance, even if it cannot be read (InstanceInfo::unreadable); absent if it does not exist.
[[nodiscard]] Result<std::optional<InstanceInfo>> find_instance(Provider& provider,
                                                                const InstanceId& instance);
}  // namespace client

}  // namespace duramen::inline v0
