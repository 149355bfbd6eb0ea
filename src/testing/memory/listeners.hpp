// Who listens to a memory provider, and what a call has to tell them.
#pragma once

#include <duramen/provider.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace duramen::inline v0::testing {

/// What a call changed, gathered under the provider's lock and told after it.
struct Notices {
  bool orchestrator_work = false;
  bool worker_work = false;
  std::vector<StolenLease> stolen;  ///< by somebody else than their owner
  std::vector<ChangedInstance> changed;
};

class Listeners {
 public:
  Listeners();
  ~Listeners();

  [[nodiscard]] std::unique_ptr<Subscription> add(NodeId node, ProviderListener& listener);
  void tell(const Notices& news);

 private:
  struct Entry;
  class Handle;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;
};

}  // namespace duramen::inline v0::testing
