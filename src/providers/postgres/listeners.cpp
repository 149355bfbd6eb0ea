#include "providers/postgres/listeners.hpp"

#include <algorithm>
#include <utility>

namespace duramen::inline v0::postgres::detail {

struct Listeners::Entry {
  Entry(NodeId n, ProviderListener& l) : node(std::move(n)), listener(&l) {}

  NodeId node;
  std::mutex mutex;  // held while the listener runs, so that its subscription can wait for the end of that
  ProviderListener* listener;  // null once the subscription has ended
};

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
      // It stays in the list, without a listener.
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

template <class Tell>
void Listeners::each(Tell&& tell) const {
  if (state_->count == 0) return;
  std::shared_ptr<const Entries> entries;
  {
    const std::lock_guard guard{state_->mutex};
    entries = state_->entries;
  }
  for (const auto& entry : *entries) {
    const std::lock_guard guard{entry->mutex};
    if (entry->listener != nullptr) tell(entry->node, *entry->listener);
  }
}

void Listeners::tell(const Notices& news) {
  each([&](const NodeId& node, ProviderListener& listener) {
    // Cancellations first: they are what somebody waits for.
    std::vector<StolenLease> stolen;
    std::ranges::copy_if(news.stolen, std::back_inserter(stolen),
                         [&](const StolenLease& lease) { return lease.owner == node; });
    if (!stolen.empty()) listener.leases_stolen(stolen);
    if (news.orchestrator_work) listener.turns_ready();
    if (news.worker_work) listener.activities_ready();
    if (!news.instances.empty()) listener.instances_changed(news.instances);
  });
}

void Listeners::tell(const Announcement& bulletin) {
  each([&](const NodeId& node, ProviderListener& listener) {
    if (bulletin.concerns(node)) listener.stolen_leases_pending();
    if (bulletin.orchestrator_work) listener.turns_ready();
    if (bulletin.worker_work) listener.activities_ready();
    if (bulletin.instances) listener.unknown_instances_changed();
  });
}

}  // namespace duramen::inline v0::postgres::detail
