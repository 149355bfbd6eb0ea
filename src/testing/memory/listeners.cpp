#include "testing/memory/listeners.hpp"

#include <condition_variable>
#include <utility>

namespace duramen::inline v0::testing {

// Shared by the list and the handle, so that either may go first.
struct Listeners::Entry {
  Entry(NodeId n, ProviderListener& l) : node(std::move(n)), listener(l) {}

  const NodeId node;
  ProviderListener& listener;
  std::mutex mutex;
  std::condition_variable idle;
  int running = 0;
  bool closed = false;

  bool enter() {
    std::lock_guard lock(mutex);
    if (closed) return false;
    ++running;
    return true;
  }
  void leave() {
    std::lock_guard lock(mutex);
    if (--running == 0) idle.notify_all();
  }
  void close() {
    std::unique_lock lock(mutex);
    closed = true;
    idle.wait(lock, [&] { return running == 0; });
  }
};

class Listeners::Handle final : public Subscription {
 public:
  explicit Handle(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
  ~Handle() override { entry_->close(); }

 private:
  std::shared_ptr<Entry> entry_;
};

Listeners::Listeners() = default;
Listeners::~Listeners() = default;

std::unique_ptr<Subscription> Listeners::add(NodeId node, ProviderListener& listener) {
  auto entry = std::make_shared<Entry>(std::move(node), listener);
  std::lock_guard lock(mutex_);
  entries_.push_back(entry);
  return std::make_unique<Handle>(std::move(entry));
}

void Listeners::tell(const Notices& news) {
  if (!news.orchestrator_work && !news.worker_work && news.stolen.empty() && news.changed.empty()) return;

  std::vector<std::shared_ptr<Entry>> entries;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const auto& entry) {
      std::lock_guard entry_lock(entry->mutex);
      return entry->closed;
    });
    entries = entries_;
  }
  for (const auto& entry : entries) {
    if (!entry->enter()) continue;
    if (news.orchestrator_work) entry->listener.turns_ready();
    if (news.worker_work) entry->listener.activities_ready();
    std::vector<StolenLease> own;
    for (const auto& stolen : news.stolen) {
      if (stolen.owner == entry->node) own.push_back(stolen);
    }
    if (!own.empty()) entry->listener.leases_stolen(own);
    if (!news.changed.empty()) entry->listener.instances_changed(news.changed);
    entry->leave();
  }
}

}  // namespace duramen::inline v0::testing
