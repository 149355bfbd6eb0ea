// The interface of an activity to the runtime.
//
// Activities do the work outside the engine: I/O, calls to services, computation. An activity is a plain
// function `R(dm::ActivityContext&, In)`, run on a thread pool, or a coroutine
// `dm::ActivityTask<R>(dm::ActivityContext&, In)`; one thread carries tens of thousands of these. It runs at
// least once: after a crash it runs again, so pass its idempotency key to every service it calls. When the
// result is no longer wanted, the stop token fires within milliseconds; an activity that has not started by
// then never starts. A value returned after a stop request is discarded, whatever the cause of the stop.
#pragma once

#include <duramen/codec.hpp>
#include <duramen/detail/compiler.hpp>
#include <duramen/detail/coroutine.hpp>
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
  /// The result is no longer wanted; see cancel_reason().
  cancelled,
  /// This node no longer holds the lease; another node may be running the activity. The stop token fires at
  /// the end of the lease by this node's clock, counted from when its last successful renewal was sent, even
  /// if the store does not answer.
  lease_lost,
  /// The runtime is stopping; the activity will run again, whatever it returns now.
  shutdown,
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
  /// False if the coroutine continues immediately.
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

/// The context of one attempt at an activity; valid while that attempt runs. A coroutine that your own code
/// resumes may outlive its Runtime. Then trace() and heartbeat() do nothing, the stop token has fired, and
/// wait_for() and cancelled() return immediately.
class ActivityContext {
 public:
  explicit ActivityContext(std::shared_ptr<detail::ActivityState> state) noexcept
      : state_(std::move(state)) {}

  /// Identifies the activity: the instance and execution that scheduled it, the event that recorded it, and
  /// the names.
  [[nodiscard]] const InstanceId& instance_id() const noexcept;
  [[nodiscard]] ExecutionId execution_id() const noexcept;
  [[nodiscard]] EventId activity_id() const noexcept;
  [[nodiscard]] const std::string& activity_name() const noexcept;
  [[nodiscard]] const std::string& orchestration_name() const noexcept;
  [[nodiscard]] const std::string& orchestration_version() const noexcept;
  /// As set by the orchestration.
  [[nodiscard]] const std::optional<std::string>& tag() const noexcept;
  [[nodiscard]] const std::optional<std::string>& session_id() const noexcept;
  /// The node that runs it.
  [[nodiscard]] const NodeId& node() const noexcept;
  /// 1 for the first attempt; counted over the tries of a RetryPolicy. An attempt that a shutdown released
  /// does not count, nor does a try that no worker took in time; fencing_token() grows with every attempt.
  [[nodiscard]] std::uint32_t attempt() const noexcept;
  /// Equal for every attempt at this step, all tries of its RetryPolicy included, and different for any other
  /// step, even in another instance with the same id, or in another store: the key begins with the random id
  /// of the store. A service that has seen the key answers as it did then. So a charge that reached the
  /// service and timed out is not made twice by a retry. Letters, digits and hyphens, at most 120. A copy of
  /// a store makes the same keys as the original for instances with the same ids.
  [[nodiscard]] std::string idempotency_key() const;
  /// Like idempotency_key(), but different for each try of a RetryPolicy. For a service that keeps a refusal
  /// under its key and has to decide anew with each try.
  [[nodiscard]] std::string attempt_key() const;
  /// Increases with every attempt, even where attempt() does not because an attempt was released without
  /// being counted, with every try of a RetryPolicy, and with every activity that the instance schedules
  /// later, in later executions too. A receiver that rejects numbers lower than the highest it has seen is
  /// safe from an attempt that lost its lease without noticing. If activities of the instance run at the same
  /// time, compare only tokens with the same idempotency_key().
  [[nodiscard]] std::uint64_t fencing_token() const noexcept;

  /// Reports progress. Required if the activity has a heartbeat limit. Sent with the next lease renewal, or
  /// earlier if the limit requires it. The next attempt can read `details`. A try of a RetryPolicy receives
  /// those of the try that failed before, if they have at most max_retry_details_bytes; a try that reported
  /// none leaves those that it received. RetryPolicy::attempt_timeout gives a try up without its details.
  void heartbeat();
  template <class T>
  void heartbeat(const T& details) {
    send_heartbeat(encode_payload<T>(details));
  }
  void heartbeat(std::string_view details) { send_heartbeat(Payload::text(std::string(details))); }
  /// The details of the last heartbeat of an earlier attempt, if there was one. Throws DecodeError if they
  /// are not a T.
  template <class T>
  [[nodiscard]] std::optional<T> heartbeat_details() const {
    const std::optional<Payload>& left = last_heartbeat();
    if (!left) return std::nullopt;
    return decode_payload<T>(*left);
  }

  /// Writes a line to the runtime's log, with the activity's names as fields.
  void trace(LogLevel level, std::string text);
  void trace_info(std::string text) { trace(LogLevel::info, std::move(text)); }
  void trace_warning(std::string text) { trace(LogLevel::warning, std::move(text)); }
  void trace_error(std::string text) { trace(LogLevel::error, std::move(text)); }
  void trace_debug(std::string text) { trace(LogLevel::debug, std::move(text)); }

  /// Fires when the activity should stop, for any cause. Pass it to everything that blocks. A
  /// std::stop_callback on it runs on a thread of the runtime and should only wake another thread: the log
  /// names a callback that takes over 50 ms, and a callback that throws ends the process.
  [[nodiscard]] std::stop_token stop_token() const noexcept;
  /// The activity was asked to stop.
  [[nodiscard]] bool is_cancelled() const noexcept;
  [[nodiscard]] StopCause stop_cause() const noexcept;
  /// The reason, if the activity was cancelled.
  [[nodiscard]] std::optional<CancelReason> cancel_reason() const noexcept;

  /// In a function activity: blocks for the given time. Returns false immediately if a stop is requested.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> delay) {
    return block(round_up(delay));
  }

  /// In a coroutine activity: `bool rested = co_await ctx.sleep(5s);`. Returns false, once, when a stop is
  /// requested, even if it was before the sleep; cancelled() uses this up. Later sleeps run in full, so that
  /// clean-up can wait. If the grace period or the runtime ends during a sleep, the coroutine is destroyed
  /// there. Resumes on the runtime's activity thread. A coroutine is destroyed as a whole: do not wait in two
  /// awaitables at once.
  template <class Rep, class Period>
  [[nodiscard]] detail::PauseAwaiter sleep(std::chrono::duration<Rep, Period> delay) {
    return detail::PauseAwaiter(state_, round_up(delay));
  }
  /// In a coroutine activity: waits until a stop is requested. Resumes on the runtime's activity thread.
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
      // on_done passes the frame to its owner, which may destroy it here or on another thread before on_done
      // returns. So on_done is moved out of the frame first, and the frame is not used afterwards.
      UniqueFunction<void()> on_done = std::move(promise.on_done_);
      if (on_done) on_done();
      if (mutant("the_end_reads_a_frame_given_away") && promise.continuation_) return promise.continuation_;
      return next;
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] FinalAwaiter final_suspend() const noexcept { return {}; }

  void set_continuation(std::coroutine_handle<> handle) noexcept { continuation_ = handle; }
  void set_on_done(UniqueFunction<void()> on_done) { on_done_ = std::move(on_done); }

 private:
  std::coroutine_handle<> continuation_;
  UniqueFunction<void()> on_done_;
};

template <class T>
class ActivityPromise final : public ActivityPromiseBase, public CoroutineResult<T> {
 public:
  ActivityPromise() noexcept {}  // NOLINT: see ActivityPromiseBase
  [[nodiscard]] ActivityTask<T> get_return_object() noexcept { return ActivityTask<T>(*this); }
};

}  // namespace detail

/// The coroutine type of activities. Lazy; may await anything, and may finish on any thread. Awaiting another
/// ActivityTask runs it in place. While it waits in an awaitable of yours, the runtime never destroys it,
/// even when the runtime itself ends: the frame stays until you resume it and it finishes. The runtime logs
/// how many such frames it leaves.
template <class T>
class [[nodiscard("an ActivityTask does nothing until it is awaited")]] ActivityTask {
 public:
  using promise_type = detail::ActivityPromise<T>;
  using value_type = T;

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
  Awaiter operator co_await() const& noexcept { return Awaiter(frame_.handle()); }
  Awaiter operator co_await() const&& noexcept { return Awaiter(frame_.handle()); }

  // Internal: used by the runtime.
  void start(UniqueFunction<void()> on_done) {
    frame_.promise().set_on_done(std::move(on_done));
    frame_.handle().resume();
  }
  T take() { return frame_.promise().take(); }

 private:
  friend class detail::ActivityPromise<T>;
  explicit ActivityTask(promise_type& promise) noexcept : frame_(promise) {}
  detail::OwnedFrame<promise_type> frame_;
};

}  // namespace duramen::inline v0
