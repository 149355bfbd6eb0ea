// Who wants to hear of commits made through, or noticed by, one store.
#pragma once

#include "providers/sqlite/bell.hpp"
#include <duramen/provider.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

/// What a commit of this store has to tell. Filled in during a transaction, told after it.
struct Notices {
  bool orchestrator_work = false;
  bool worker_work = false;
  std::vector<StolenLease> stolen;  ///< from other nodes
  std::vector<ChangedInstance> instances;

  [[nodiscard]] Topics topics() const noexcept {
    return {orchestrator_work, worker_work, !stolen.empty(), !instances.empty()};
  }
};

/// Callable from any thread. No lock that guards the store is held while a listener runs.
class Listeners {
 public:
  [[nodiscard]] std::unique_ptr<Subscription> add(NodeId node, ProviderListener& listener);

  /// Tells what this store committed itself.
  void tell(const Notices& news);
  /// Tells what others committed: only the topics are known.
  void tell(Topics topics);

 private:
  struct Entry;
  class Handle;
  using Entries = std::vector<std::shared_ptr<Entry>>;

  [[nodiscard]] std::shared_ptr<const Entries> current() const;

  // Kept alive by handles: a subscription may outlive the store.
  struct State {
    std::mutex mutex;
    std::shared_ptr<const Entries> entries = std::make_shared<const Entries>();
    std::atomic<std::size_t> count = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace duramen::inline v0::sqlite::detail
