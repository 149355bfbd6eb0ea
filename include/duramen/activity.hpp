// What an activity can do.
//
// An activity is where the world is touched: a plain function `R(dm::ActivityContext&, In)`, run on a thread
// pool, or a coroutine `dm::ActivityTask<R>(dm::ActivityContext&, In)`, of which one thread carries tens of
// thousands. It runs at least once: after a crash it is run again, so give its idempotency key to whatever it
// calls. When it is no longer wanted its stop token fires within milliseconds, and one that has not begun yet
// never does. A result that an activity returns after it was asked to stop is dropped, whatever the cause.
#pragma once

#include <duramen/codec.hpp>
#include <duramen/detail/compiler.hpp>
#include <duramen/detail/mutant.hpp>
#include <duramen/failure.hpp>
#include <duramen/function.hpp>
#include <duramen/ids.hpp>
#include <duramen/log.hpp>
#include <duramen/payload.hpp>
#include <duramen/result.hpp>
#include <duramen/time.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace duramen::inline v0 {

/// Why an activity was asked to stop.
enum class StopCause : std::uint8_t {
  none,
  cancelled,   ///< nobody wants the result; cancel_reason() says why
  lease_lost,  ///< this node no longer holds the activity; another one may be running it
  shutdown,    ///< the runtime is stopping; the activity will be run again, whatever it returns now
};
/// Its name, as logs show it.
[[nodiscard]] std::string_view to_string(StopCause cause) noexcept;

namespace detail {
class ActivityState;

/// The part of co_await ctx.sleep() and ctx.cancelled() that does not depend on the coroutine.
class PauseAwaiter {
 public:
  PauseAwaiter(std::shared_ptr<ActivityState> state, std::optional<Duration> delay);
  PauseAwaiter(const PauseAwaiter&) = delete;
  PauseAwaiter& operator=(const PauseAwaiter&) = delete;
  ~PauseAwaiter();

  [[nodiscard]] bool await_ready() const noexcept;
  /// False if the coroutine is to go on at once.
  bool await_suspend(std::coroutine_handle<> handle);
  /// True if the whole time has passed, false if the activity was asked to stop.
  bool await_resume() const noexcept;

 private:
  class Pause;
  std::shared_ptr<ActivityState> state_;
  std::optional<Duration> delay_;
  std::shared_ptr<Pause> pause_;
};
}  // namespace detail

/// An activity's view of the world that runs it. Belongs to one attempt; valid as long as that runs. A
/// coroutine that your own code resumes may run longer than its Runtime. Then trace() and heartbeat() do
/// nothing, the stop token has fired, and wait_for() and cancelled() return at once.
class ActivityContext {
 public:
  explicit ActivityContext(std::shared_ptr<detail::ActivityState> state) noexcept
      : state_(std::move(state)) {}

  /// Which attempt at what this is: the instance and execution that asked for it, the event that recorded it,
  /// the names.
  [[nodiscard]] const InstanceId& instance_id() const noexcept;
  [[nodiscard]] ExecutionId execution_id() const noexcept;
  [[nodiscard]] EventId activity_id() const noexcept;
  [[nodiscard]] const std::string& activity_name() const noexcept;
  [[nodiscard]] const std::string& orchestration_name() const noexcept;
  [[nodiscard]] const std::string& orchestration_version() const noexcept;
  /// As the orchestration asked for them.
  [[nodiscard]] const std::optional<std::string>& tag() const noexcept;
  [[nodiscard]] const std::optional<std::string>& session_id() const noexcept;
  /// The node that runs it.
  [[nodiscard]] const NodeId& node() const noexcept;
  /// 1 for the first time it is handed out.
  [[nodiscard]] std::uint32_t attempt() const noexcept;
  /// The same for every attempt at this activity and different for any other, also across instances of one
  /// name.
  [[nodiscard]] std::string idempotency_key() const;
  /// Greater for every later attempt at this activity, also where attempt() does not count one that was given
  /// back. A store that the activity writes to can refuse a number smaller than one it has seen: then an
  /// attempt that lost its lease without noticing does no harm. Compare the tokens of one idempotency_key()
  /// only: each try of a RetryPolicy is an activity of its own, whose tokens begin anew.
  [[nodiscard]] std::uint64_t fencing_token() const noexcept;

  /// A sign of life. Needed if the activity has a heartbeat limit; sent along with the next renewal of its
  /// lease, or sooner if the limit asks for it. The details are there for the next attempt: how far this one
  /// got.
  void heartbeat();
  template <class T>
  void heartbeat(const T& details) {
    send_heartbeat(encode_payload<T>(details));
  }
  void heartbeat(std::string_view details) { send_heartbeat(Payload::text(std::string(details))); }
  /// What the last attempt that said something left; absent for the first attempt. Throws DecodeError if it
  /// is no T.
  template <class T>
  [[nodiscard]] std::optional<T> heartbeat_details() const {
    const std::optional<Payload>& left = last_heartbeat();
    if (!left) return std::nullopt;
    return decode_payload<T>(*left);
  }

  /// A line in the runtime's log, with the activity's names beside it.
  void trace(LogLevel level, std::string text);
  void trace_info(std::string text) { trace(LogLevel::info, std::move(text)); }
  void trace_warning(std::string text) { trace(LogLevel::warning, std::move(text)); }
  void trace_error(std::string text) { trace(LogLevel::error, std::move(text)); }
  void trace_debug(std::string text) { trace(LogLevel::debug, std::move(text)); }

  /// Fires when the activity should stop, for whatever cause. Hand it to whatever blocks. A
  /// std::stop_callback on it runs on a thread of the runtime and should only wake somebody: one that takes
  /// over 50 ms is named in the log, and one that throws ends the process.
  [[nodiscard]] std::stop_token stop_token() const noexcept;
  /// The activity was asked to stop.
  [[nodiscard]] bool is_cancelled() const noexcept;
  [[nodiscard]] StopCause stop_cause() const noexcept;
  /// Why, if it was cancelled.
  [[nodiscard]] std::optional<CancelReason> cancel_reason() const noexcept;

  /// In a function activity: blocks for the time given. False, and at once, if asked to stop.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> delay) {
    return block(round_up(delay));
  }

  /// In a coroutine activity: `bool rested = co_await ctx.sleep(5s);`. False if asked to stop meanwhile:
  /// once. Sleeps after that are not cut short, so that clean-up can wait; when the grace period is over, or
  /// the runtime has ended, the coroutine is destroyed in one. Resumes on the runtime's activity thread. A
  /// coroutine is destroyed as a whole: while one part of it sleeps, no other part may wait for something
  /// else.
  template <class Rep, class Period>
  [[nodiscard]] detail::PauseAwaiter sleep(std::chrono::duration<Rep, Period> delay) {
    return detail::PauseAwaiter(state_, round_up(delay));
  }
  /// In a coroutine activity: waits until asked to stop. Resumes on the runtime's activity thread.
  [[nodiscard]] detail::PauseAwaiter cancelled() { return detail::PauseAwaiter(state_, std::nullopt); }

 private:
  void send_heartbeat(Payload details);
  [[nodiscard]] const std::optional<Payload>& last_heartbeat() const noexcept;
  bool block(Duration delay);

  std::shared_ptr<detail::ActivityState> state_;
};

template <class T = void>
class ActivityTask;

namespace detail {

class ActivityPromiseBase {
 public:
  ActivityPromiseBase() noexcept {
  }  // NOLINT: declared, so that no compiler initialises it from the arguments

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  struct FinalAwaiter {
    FinalAwaiter() noexcept {}  // NOLINT: as above
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
      ActivityPromiseBase& promise = handle.promise();
      const std::coroutine_handle<> next =
          promise.continuation_ ? promise.continuation_ : std::noop_coroutine();
      // It gives the frame to its owner, which may destroy it here or on another thread before this returns:
      // so it is not called where it lies in the frame, and nothing of the frame is touched after it.
      UniqueFunction<void()> on_done = std::move(promise.on_done_);
      if (on_done) on_done();
      if (mutant("the_end_reads_a_frame_given_away") && promise.continuation_) return promise.continuation_;
      return next;
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  void set_continuation(std::coroutine_handle<> handle) noexcept { continuation_ = handle; }
  void set_on_done(UniqueFunction<void()> on_done) { on_done_ = std::move(on_done); }

 protected:
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  std::coroutine_handle<> continuation_;
  UniqueFunction<void()> on_done_;
  std::exception_ptr error_;
};

template <class T>
class ActivityPromise final : public ActivityPromiseBase {
 public:
  ActivityPromise() noexcept {}  // NOLINT: see ActivityPromiseBase
  [[nodiscard]] ActivityTask<T> get_return_object() noexcept;
  template <class U>
    requires std::is_constructible_v<T, U&&>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  [[nodiscard]] T take() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class ActivityPromise<void> final : public ActivityPromiseBase {
 public:
  ActivityPromise() noexcept {}  // NOLINT: see ActivityPromiseBase
  [[nodiscard]] ActivityTask<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() { rethrow(); }
};

}  // namespace detail

/// The coroutine type of activities. Lazy; may await anything, and end on any thread. Awaiting another
/// ActivityTask runs it in place. While it waits in an awaitable of yours the runtime never destroys it, not
/// even at its own end: the frame stays until you resume it and it ends. The runtime logs how many it leaves.
template <class T>
class [[nodiscard("an ActivityTask does nothing until it is awaited")]] ActivityTask {
 public:
  using promise_type = detail::ActivityPromise<T>;
  using value_type = T;

  ActivityTask(ActivityTask&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  ActivityTask& operator=(ActivityTask&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~ActivityTask() { reset(); }

  class Awaiter {
   public:
    explicit Awaiter(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) const noexcept {
      handle_.promise().set_continuation(waiting);
      return handle_;
    }
    T await_resume() const { return handle_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> handle_;
  };
  Awaiter operator co_await() const& noexcept { return Awaiter(handle_); }
  Awaiter operator co_await() const&& noexcept { return Awaiter(handle_); }

  // For the runtime.
  void start(UniqueFunction<void()> on_done) {
    handle_.promise().set_on_done(std::move(on_done));
    handle_.resume();
  }
  T take() { return handle_.promise().take(); }

 private:
  friend class detail::ActivityPromise<T>;
  explicit ActivityTask(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  void reset() noexcept {
    if (auto handle = std::exchange(handle_, {})) handle.destroy();
  }
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {
template <class T>
ActivityTask<T> ActivityPromise<T>::get_return_object() noexcept {
  return ActivityTask<T>(std::coroutine_handle<ActivityPromise>::from_promise(*this));
}
inline ActivityTask<void> ActivityPromise<void>::get_return_object() noexcept {
  return ActivityTask<void>(std::coroutine_handle<ActivityPromise>::from_promise(*this));
}
}  // namespace detail

}  // namespace duramen::inline v0
