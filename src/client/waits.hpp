// Everyone who waits for an instance to end, in this client.
//
// The end is learnt in one of three ways, whichever is first: a runtime in this process announces it, the provider says
// that the instance changed and a look at the store finds it ended, or the slow poll does.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <duramen/client.hpp>
#include <duramen/provider.hpp>
#include <duramen/store.hpp>

#include "base/thread_executor.hpp"

namespace duramen::inline v0::client {

/// One value, set by one thread and awaited by another; the setter may outlive the waiter.
template <class T>
class Once {
 public:
  [[nodiscard]] auto setter() {
    return [state = state_](T value) {
      std::lock_guard lock(state->mutex);
      state->value.emplace(std::move(value));
      state->set.notify_all();
    };
  }
  [[nodiscard]] T wait() {
    std::unique_lock lock(state_->mutex);
    state_->set.wait(lock, [this] { return state_->value.has_value(); });
    return std::move(*state_->value);
  }
  [[nodiscard]] std::optional<T> wait_for(Duration timeout) {
    std::unique_lock lock(state_->mutex);
    if (!state_->set.wait_for(lock, timeout, [this] { return state_->value.has_value(); })) return std::nullopt;
    return std::move(*state_->value);
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable set;
    std::optional<T> value;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// Shared with whoever may still call back: a runtime may be about to announce an end while the client goes away.
class Waits final : public ProviderListener, public std::enable_shared_from_this<Waits> {
 public:
  class Wait;
  using Handle = std::shared_ptr<Wait>;

  explicit Waits(Store store);
  /// Tells whoever still waits that the client is gone. After this nothing is called back.
  void close();

  /// `look_now`: the instance exists, and may have ended before. Otherwise its start is on its way: see started().
  Handle add(const InstanceId& instance, Client::WaitDone done, bool look_now);
  [[nodiscard]] Result<InstanceState> wait(const InstanceId& instance, Duration timeout);
  /// The start is durable; `before`: it had been all along.
  void started(const Handle& wait, bool before);
  void fail(const Handle& wait, Error error);
  /// Looks at the store, in the background, and ends the wait if the instance has.
  void look(const Handle& wait);
  void run_in_background(Job job) { background_.post(std::move(job)); }

  void orchestrator_work_ready() override {}
  void worker_work_ready() override {}
  void leases_stolen(std::span<const StolenLease> /*stolen*/) override {}
  void instances_changed(std::span<const ChangedInstance> instances) override;

 private:
  void end(const Handle& wait, Result<InstanceState> state);
  void give_up(const Handle& wait);
  void look_at_all();
  void poll();

  const Store store_;
  Provider& provider_;

  std::mutex mutex_;
  std::unordered_map<InstanceId, std::vector<Handle>> open_;  // guarded by mutex_
  bool looking_ = false;                                      // guarded by mutex_: a look at all is queued

  ThreadExecutor background_;
  std::unique_ptr<Subscription> subscription_;
};

}  // namespace duramen::v0::client
