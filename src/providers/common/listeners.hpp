// The listeners of one store, in this process.
#pragma once

#include "providers/common/notices.hpp"
#include <duramen/provider.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace duramen::inline v0::providers {

/// Callable from any thread. No lock of the store is held while a listener runs. A subscription may outlive
/// the Listeners.
class Listeners {
 public:
  [[nodiscard]] std::unique_ptr<Subscription> add(NodeId node, ProviderListener& listener);

  /// Notifies of a commit by this store: cancellations first, because running activities wait for them.
  void notify(const Notices& notices) const;

  /// Calls `call(node, listener)` for each listener whose subscription has not ended.
  template <class Call>
  void each(Call&& call) const {
    if (state_->count == 0) return;
    std::shared_ptr<const Entries> entries;
    {
      const std::lock_guard guard{state_->mutex};
      entries = state_->entries;
    }
    for (const auto& entry : *entries) {
      const std::lock_guard guard{entry->mutex};
      if (entry->listener != nullptr) call(std::as_const(entry->node), *entry->listener);
    }
  }

 private:
  class Handle;

  struct Entry {
    Entry(NodeId n, ProviderListener& l) : node(std::move(n)), listener(&l) {}

    const NodeId node;
    // Held while the listener runs: the end of its subscription waits for it.
    std::mutex mutex;
    ProviderListener* listener;  // null once the subscription has ended
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;

  // Shared with the handles.
  struct State {
    std::mutex mutex;
    std::shared_ptr<const Entries> entries = std::make_shared<const Entries>();
    std::atomic<std::size_t> count = 0;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace duramen::inline v0::providers
