// Everyone in this client who waits for something to happen to an instance.
//
// What is waited for is learnt in one of three ways, whichever is first: a runtime in this process announces
// an end, the provider says that the instance changed and a look at the store finds it so, or the slow poll
// does.
#pragma once

#include "base/thread_executor.hpp"
#include <duramen/client.hpp>
#include <duramen/provider.hpp>
#include <duramen/store.hpp>

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
    // A deadline that is out of the clock's range would overflow; nobody waits that long.
    constexpr Duration longest = std::chrono::hours{24 * 365 * 10};
    if (!state_->set.wait_for(lock, std::min(timeout, longest),
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

/// Which changes of an instance are worth a look.
enum class Interest : std::uint8_t { end, any_change };

/// One who waits. Ended once, by whoever comes first.
class PendingWait {
 public:
  PendingWait(InstanceId i, Interest interest) : instance(std::move(i)), interest(interest) {}
  virtual ~PendingWait() = default;

  const InstanceId instance;
  const Interest interest;
  std::uint64_t ticket = 0;  // from the local_hub, if it was asked; guarded by Waits::mutex_
  std::atomic<bool> ended{false};
  std::atomic<bool> started{
      true};  // false: its start is still on its way, so that the store need not know it yet
  std::atomic<bool> look_queued{false};

 protected:
  friend class WaitRegistry;
  /// Reads the store, without a lock. The answer to give, if there is one now.
  using Answer = UniqueFunction<void()>;
  [[nodiscard]] virtual std::optional<Answer> look(Provider& provider) = 0;
  virtual void fail(Error error) = 0;
};

/// One who waits for a T.
template <class T>
class PendingWaitFor final : public PendingWait {
 public:
  /// What the store holds: the T; nothing, if it is not there yet; an error, if waiting makes no sense.
  using Condition = std::function<Result<std::optional<T>>(Provider&, const InstanceId&)>;
  using Done = UniqueFunction<void(Result<T>)>;

  PendingWaitFor(InstanceId instance, Interest interest, Condition condition, Done done)
      : PendingWait(std::move(instance), interest),
        condition_(std::move(condition)),
        done_(std::move(done)) {}

  void tell(Result<T> result) { done_(std::move(result)); }

 private:
  std::optional<Answer> look(Provider& provider) override {
    // Asked before the store is: a start that becomes durable while the store is read was not there to be
    // found.
    const bool was_started = started;
    Result<std::optional<T>> found = condition_(provider, instance);
    if (found && !*found) return std::nullopt;
    if (!found) {
      if (found.error().retryable) return std::nullopt;  // the poll looks again
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

/// Shared with whoever may still call back: a runtime may be about to announce an end while the client goes
/// away.
class WaitRegistry final : public ProviderListener, public std::enable_shared_from_this<WaitRegistry> {
 public:
  using Handle = std::shared_ptr<PendingWait>;

  explicit WaitRegistry(Store store);
  /// Tells whoever still waits that the client is gone. After this nothing is called back.
  void close();

  /// Waits for the end of an instance. `look_now`: it exists, and may have ended before. Otherwise its start
  /// is on its way: see started().
  Handle add_end(const InstanceId& instance, Client::WaitDone done, bool look_now);
  [[nodiscard]] Result<InstanceState> wait_for_end(const InstanceId& instance, Duration timeout);
  /// Waits for anything else that the store can tell. `what` completes the sentence "instance x has not ...".
  template <class T>
  [[nodiscard]] Result<T> wait_for(const InstanceId& instance, Duration timeout, const char* operation,
                                   const std::string& what, typename PendingWaitFor<T>::Condition condition) {
    OneShot<Result<T>> answer;
    const auto wait = std::make_shared<PendingWaitFor<T>>(instance, Interest::any_change,
                                                          std::move(condition), answer.setter());
    add(wait);
    look(wait);
    return answer_of(answer, wait, timeout, operation, what);
  }

  /// The start is durable; `before`: it had been all along.
  void started(const Handle& wait, bool before);
  void fail(const Handle& wait, Error error);
  /// Looks at the store for everyone, in the background.
  void check_all();
  /// The same after a hint that does not say what was changed. Hints may come faster than looks are worth
  /// their while: a look that took long is followed by a pause.
  void check_after_hint();
  void run_in_background(Job job) { background_.post(std::move(job)); }
  /// Whether the caller is the thread that looks at the store, and calls back.
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
    return answer.wait();  // it came at the last moment, and is being told
  }
  static Error timed_out(const PendingWait& wait, Duration timeout, const char* operation,
                         const std::string& what);
  void add(const Handle& wait);
  /// Looks at the store, in the background, and ends the wait if it holds what is waited for.
  void look(const Handle& wait);
  /// True for the one who may end the wait. After that nobody looks on its behalf.
  bool claim(const Handle& wait);
  void poll();

  const Store store_;
  Provider& provider_;

  std::mutex mutex_;
  std::unordered_map<InstanceId, std::vector<Handle>> open_;  // guarded by mutex_
  bool looking_ = false;                                      // guarded by mutex_: a look at all is queued
  LeaseTime next_look_{};  // the background's: before it, hints that name nothing are not followed

  ThreadExecutor background_;
  std::unique_ptr<Subscription> subscription_;
};

}  // namespace duramen::inline v0::client
