// Waiting for changes of the store without polling.
#pragma once

#include <duramen/provider.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>

namespace duramen::cli {

class Changes final : private ProviderListener {
 public:
  explicit Changes(Provider& provider) : subscription_(provider.subscribe({}, *this)) {}
  ~Changes() override { subscription_.reset(); }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  /// Returns when an instance has changed since the last call, or after `at_most`: a hint may be lost.
  void wait(Duration at_most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [this] { return any_; });
    any_ = false;
  }

 private:
  void turns_ready() override {}
  void activities_ready() override {}
  void leases_stolen(std::span<const StolenLease> /*stolen*/) override {}
  void stolen_leases_pending() override {}
  void instances_changed(std::span<const ChangedInstance> /*instances*/) override { note(); }
  void unknown_instances_changed() override { note(); }

  void note() {
    std::lock_guard lock(mutex_);
    any_ = true;
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool any_ = false;
  std::unique_ptr<Subscription> subscription_;  // declared last: ends all callbacks first
};

}  // namespace duramen::cli
