#include "providers/sqlite/listeners.hpp"

#include <algorithm>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

struct Listeners::Entry {
  NodeId node;
  std::mutex mutex;  // held while the listener runs, so that its subscription can wait for the end of that
  ProviderListener* listener;  // null once the subscription has ended

  Entry(NodeId n, ProviderListener& l) : node(std::move(n)), listener(&l) {}

  template <class Call>
  void call(Call&& tell) {
    const std::lock_guard guard{mutex};
    if (listener != nullptr) tell(*listener);
  }
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

std::shared_ptr<const Listeners::Entries> Listeners::current() const {
  if (state_->count == 0) return nullptr;
  const std::lock_guard guard{state_->mutex};
  return state_->entries;
}

void Listeners::tell(const Notices& news) {
  const auto entries = current();
  if (!entries) return;
  for (const auto& entry : *entries) {
    std::vector<StolenLease> stolen;
    for (const StolenLease& lease : news.stolen) {
      if (lease.owner == entry->node) stolen.push_back(lease);
    }
    entry->call([&](ProviderListener& listener) {
      // Cancellations first: they are what somebody waits for.
      if (!stolen.empty()) listener.leases_stolen(stolen);
      if (news.orchestrator_work) listener.turns_ready();
      if (news.worker_work) listener.activities_ready();
      if (!news.instances.empty()) listener.instances_changed(news.instances);
    });
  }
}

void Listeners::tell(Topics topics) {
  const auto entries = current();
  if (!entries) return;
  for (const auto& entry : *entries) {
    entry->call([&](ProviderListener& listener) {
      if (topics.stolen_leases && !entry->node.empty()) listener.stolen_leases_pending();
      if (topics.orchestrator_work) listener.turns_ready();
      if (topics.worker_work) listener.activities_ready();
      if (topics.instances) listener.unknown_instances_changed();
    });
  }
}

}  // namespace duramen::inline v0::sqlite::detail
