// The pending waits of a client for changes of instances.
//
// A wait is completed by the first of three: a runtime in this process announces the end, the provider
// reports a change and a check of the store confirms it, or the slow poll finds it.
#pragma once

#include "base/longest_wait.hpp"
#include "base/thread_executor.hpp"
#include <duramen/client.hpp>
#include <duramen/provider.hpp>
#include <duramen/store.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace duramen::inline v0::client {

/// One value, set by one thread and awaited by another; the setter may outlive the waiter.
template <class T>
class OneShot {
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
    if (!state_->set.wait_for(lock, std::min(timeout, base::longest_wait),
                              [this] { return state_->value.has_value(); })) {
      return std::nullopt;
    }
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

/// The changes of an instance that need a check.
enum class Interest : std::uint8_t { end, any_change };

/// One pending wait. Ended once, by the first thread that claims it.
class PendingWait {
 public:
  PendingWait(InstanceId i, Interest interest) : instance(std::move(i)), interest(interest) {}
  virtual ~PendingWait() = default;

  const InstanceId instance;
  const Interest interest;
  // From the local hub, if registered there; guarded by WaitRegistry::mutex_.
  std::uint64_t ticket = 0;
  std::atomic<bool> ended{false};
  // False: its start is not durable yet, so the store may not know the instance.
  std::atomic<bool> started{true};
  std::atomic<bool> check_queued{false};

 protected:
  friend class WaitRegistry;
  /// Reads the store, without a lock. Returns the answer to deliver, if there is one now.
  using Answer = UniqueFunction<void()>;
  [[nodiscard]] virtual std::optional<Answer> check_store(Provider& provider) = 0;
  virtual void fail(Error error) = 0;
};

/// A wait for a T.
template <class T>
class PendingWaitFor final : public PendingWait {
 public:
  /// Reads the store: the T; nothing if it is not there yet; an error if waiting makes no sense.
  using Condition = std::function<Result<std::optional<T>>(Provider&, const InstanceId&)>;
  using Done = UniqueFunction<void(Result<T>)>;

  PendingWaitFor(InstanceId instance, Interest interest, Condition condition, Done done)
      : PendingWait(std::move(instance), interest),
        condition_(std::move(condition)),
        done_(std::move(done)) {}

  void complete(Result<T> result) { done_(std::move(result)); }

 private:
  std::optional<Answer> check_store(Provider& provider) override {
    // Read before the store: a start that becomes durable during the read may be missing from it.
    const bool was_started = started;
    Result<std::optional<T>> found = condition_(provider, instance);
    if (found && !*found) return std::nullopt;
    if (!found) {
      if (found.error().retryable) return std::nullopt;  // the poll checks again
      if (found.error().code == ErrorCode::not_found && !was_started) return std::nullopt;
      return Answer([this, error = found.error()]() mutable { done_(std::move(error)); });
    }
    return Answer([this, value = std::move(**found)]() mutable { done_(std::move(value)); });
  }
  void fail(Error error) override { done_(std::move(error)); }

  const Condition condition_;
  Done done_;
};

using WaitForEnd = PendingWaitFor<InstanceState>;

/// Shared with callbacks: a runtime may be about to announce an end while the client is destroyed.
class WaitRegistry final : public ProviderListener, public std::enable_shared_from_this<WaitRegistry> {
 public:
  using Handle = std::shared_ptr<PendingWait>;

  explicit WaitRegistry(Store store);
  /// Fails all pending waits. No callback runs after this.
  void close();

  /// Waits for the end of an instance. `check_now`: the instance exists, and may have ended before. Otherwise
  /// its start is not durable yet: see started().
  Handle add_end(const InstanceId& instance, Client::WaitDone done, bool check_now);
  [[nodiscard]] Result<InstanceState> wait_for_end(const InstanceId& instance, Duration timeout);
  /// Waits for any other condition that the store can answer. `what` completes the sentence "instance x has
  /// not ...".
  template <class T>
  [[nodiscard]] Result<T> wait_for(const InstanceId& instance, Duration timeout, const char* operation,
                                   const std::string& what, typename PendingWaitFor<T>::Condition condition) {
    OneShot<Result<T>> answer;
    const auto wait = std::make_shared<PendingWaitFor<T>>(instance, Interest::any_change,
                                                          std::move(condition), answer.setter());
    add(wait);
    check_store(wait);
    return answer_of(answer, wait, timeout, operation, what);
  }

  /// The start is durable; `before`: it was durable before this call.
  void started(const Handle& wait, bool before);
  void fail(const Handle& wait, Error error);
  /// Checks the store for every wait, in the background.
  void check_all();
  /// Like check_all(), after a hint that names no instance. Hints may come faster than checks are worthwhile:
  /// a long check is followed by a pause.
  void check_after_hint();
  void run_in_background(Job job) { background_.post(std::move(job)); }
  /// True on the thread that checks the store and runs callbacks.
  [[nodiscard]] bool is_background() const noexcept { return ThreadExecutor::current() == &background_; }

  void turns_ready() override {}
  void activities_ready() override {}
  void leases_stolen(std::span<const StolenLease> /*stolen*/) override {}
  void stolen_leases_pending() override {}
  void instances_changed(std::span<const ChangedInstance> instances) override;
  void unknown_instances_changed() override;

 private:
  template <class T>
  Result<T> answer_of(OneShot<Result<T>>& answer, const Handle& wait, Duration timeout, const char* operation,
                      const std::string& what) {
    if (auto result = answer.wait_for(timeout)) return std::move(*result);
    if (claim(wait)) return timed_out(*wait, timeout, operation, what);
    // Another thread claimed it and is completing it.
    return answer.wait();
  }
  static Error timed_out(const PendingWait& wait, Duration timeout, const char* operation,
                         const std::string& what);
  void add(const Handle& wait);
  /// Checks the store, in the background, and ends the wait if its condition holds.
  void check_store(const Handle& wait);
  /// True for the one caller that may end the wait. After that no check runs for it.
  bool claim(const Handle& wait);
  void poll();

  const Store store_;
  Provider& provider_;

  std::mutex mutex_;
  std::unordered_map<InstanceId, std::vector<Handle>> open_;  // guarded by mutex_
  // Guarded by mutex_: a check of all is queued.
  bool looking_ = false;
  // Used on the background thread: earlier hints that name no instance are postponed.
  LeaseTime next_check_{};

  ThreadExecutor background_;
  std::unique_ptr<Subscription> subscription_;
};

}  // namespace duramen::inline v0::client
