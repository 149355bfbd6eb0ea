#include "providers/common/listeners.hpp"

#include <new>

namespace duramen::inline v0::providers {

class Listeners::Handle final : public Subscription {
 public:
  Handle(std::shared_ptr<State> state, std::shared_ptr<Entry> entry)
      : state_(std::move(state)), entry_(std::move(entry)) {}

  ~Handle() override {
    try {
      const std::lock_guard guard{state_->mutex};
      auto rest = std::make_shared<Entries>(*state_->entries);
      std::erase(*rest, entry_);
      state_->count = rest->size();
      state_->entries = std::move(rest);
    } catch (const std::bad_alloc&) {
      // The entry stays in the list, without a listener.
    }
    const std::lock_guard guard{entry_->mutex};
    entry_->listener = nullptr;
  }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<Entry> entry_;
};

std::unique_ptr<Subscription> Listeners::add(NodeId node, ProviderListener& listener) {
  auto entry = std::make_shared<Entry>(std::move(node), listener);
  auto handle = std::make_unique<Handle>(state_, entry);
  const std::lock_guard guard{state_->mutex};
  auto more = std::make_shared<Entries>(*state_->entries);
  more->push_back(std::move(entry));
  state_->count = more->size();
  state_->entries = std::move(more);
  return handle;
}

void Listeners::notify(const Notices& notices) const {
  if (!notices.any()) return;
  each([&](const NodeId& node, ProviderListener& listener) {
    std::vector<StolenLease> own;
    for (const StolenLease& lease : notices.stolen) {
      if (lease.owner == node) own.push_back(lease);
    }
    if (!own.empty()) listener.leases_stolen(own);
    if (notices.turns_ready) listener.turns_ready();
    if (notices.activities_ready) listener.activities_ready();
    if (!notices.instances.empty()) listener.instances_changed(notices.instances);
  });
}

}  // namespace duramen::inline v0::providers
