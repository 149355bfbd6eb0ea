// Who wants to hear, in this process, of what happens in the store.
#pragma once

#include "providers/postgres/notices.hpp"
#include <duramen/provider.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace duramen::inline v0::postgres::detail {

/// Callable from any thread. No lock of the provider is held while a listener runs.
class Listeners {
 public:
  [[nodiscard]] std::unique_ptr<Subscription> add(NodeId node, ProviderListener& listener);

  /// Tells what was committed here.
  void tell(const Notices& news);
  /// Tells what another process said.
  void tell(const Announcement& bulletin);

 private:
  struct Entry;
  class Handle;
  using Entries = std::vector<std::shared_ptr<Entry>>;

  // Kept alive by handles: a subscription may outlive the store.
  struct State {
    std::mutex mutex;
    std::shared_ptr<const Entries> entries = std::make_shared<const Entries>();
    std::atomic<std::size_t> count = 0;
  };

  template <class Tell>
  void each(Tell&& tell) const;

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace duramen::inline v0::postgres::detail
