// Task<T>: the coroutine type of orchestrations.
//
// A Task is lazy: its body runs when it is awaited, or when a combinator polls it. Only Duramen awaitables
// can be awaited inside one; anything else does not compile, because it would differ on replay. A Task
// destroyed before it finishes cancels the operations it was waiting for.
//
// A Task keeps its coroutine's parameters, but not the captures of a lambda: those are in the lambda object,
// which must live until the Task has finished. The Registry keeps registered lambdas alive; elsewhere write
// `[](OrchestrationContext& ctx, int x) -> Task<int> {...}(ctx, x)` instead of capturing x.
#pragma once

#include <duramen/detail/compiler.hpp>
#include <duramen/detail/coroutine.hpp>
#include <duramen/detail/operation.hpp>
#include <duramen/future.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace duramen::inline v0 {

template <class T>
class Task;

namespace detail {

template <class T>
class TaskAwaiter;
template <class T>
class FutureAwaiter;

/// Awaited inside a Task: shields the rest of it from a graceful cancellation.
class BeginShield {
 public:
  BeginShield() noexcept {}  // NOLINT: declared, so that it is no aggregate
};

/// The common part of all Task promises.
class TaskPromiseBase {
 public:
  TaskPromiseBase() noexcept {
  }  // NOLINT: declared, so that no compiler initialises it from the coroutine's arguments

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }

  struct FinalAwaiter {
    FinalAwaiter() noexcept {}  // NOLINT: as above
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
      TaskPromiseBase& promise = handle.promise();
      promise.done_ = true;
      make_ready(*promise.execution_, promise.waiters_);
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] FinalAwaiter final_suspend() const noexcept { return {}; }

  void bind(core::Execution& execution, bool shielded) noexcept {
    execution_ = &execution;
    shielded_ = shielded;
  }
  void add_waiter(Waiter& waiter) noexcept { waiters_.push(waiter); }
  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] core::Execution& execution() const noexcept { return *execution_; }

  /// True if a graceful cancellation must not interrupt this Task.
  [[nodiscard]] bool shielded() const noexcept { return shielded_; }
  /// The child Task or the operation that this Task is suspended on. At most one of the two is set.
  void suspended_on(TaskPromiseBase* child, Interruptible* awaiter) noexcept {
    child_ = child;
    awaiter_ = awaiter;
  }
  /// Continues this Task, which is no longer suspended on anything.
  void resume(std::coroutine_handle<> handle) {
    suspended_on(nullptr, nullptr);
    RunScope scope(*execution_, shielded_);
    handle.resume();
  }
  [[nodiscard]] TaskPromiseBase* child() const noexcept { return child_; }
  [[nodiscard]] Interruptible* awaiter() const noexcept { return awaiter_; }

  template <class T>
  [[nodiscard]] FutureAwaiter<T> await_transform(DurableFuture<T>&& future) {
    return FutureAwaiter<T>(*this, std::move(future));
  }
  /// Awaiting a named future consumes it: it is empty afterwards.
  template <class T>
  [[nodiscard]] FutureAwaiter<T> await_transform(DurableFuture<T>& future) {
    return FutureAwaiter<T>(*this, std::move(future));
  }
  template <class T>
  [[nodiscard]] TaskAwaiter<T> await_transform(Task<T>&& task) {
    return TaskAwaiter<T>(*this, std::move(task));
  }
  template <class T>
  [[nodiscard]] TaskAwaiter<T> await_transform(Task<T>& task) {
    return TaskAwaiter<T>(*this, std::move(task));
  }
  [[nodiscard]] std::suspend_never await_transform(BeginShield) noexcept {
    shielded_ = true;
    set_shielded_now(*execution_, true);
    return {};
  }
  template <class Other>
  void await_transform(Other&&) const {
    static_assert(
        sizeof(Other) == 0,
        "an orchestration can only await Duramen awaitables: a DurableFuture or a Task. Do I/O, sleeping and "
        "anything else that can differ on replay in an activity.");
  }

 private:
  core::Execution* execution_ = nullptr;
  WaiterList waiters_;
  TaskPromiseBase* child_ = nullptr;
  Interruptible* awaiter_ = nullptr;
  bool shielded_ = false;
  bool done_ = false;
};

template <class T>
class TaskPromise final : public TaskPromiseBase, public CoroutineResult<T> {
 public:
  TaskPromise() noexcept {}  // NOLINT: see TaskPromiseBase
  [[nodiscard]] Task<T> get_return_object() noexcept { return Task<T>(*this); }
};

}  // namespace detail

/// The coroutine type of orchestrations and their helper functions. Move-only; await it once.
template <class T = void>
class [[nodiscard("a Task does nothing until it is awaited")]] Task {
 public:
  using promise_type = detail::TaskPromise<T>;
  using value_type = T;

  /// Destroys the Task at its current point. The operations it waited for are cancelled.
  void reset() noexcept { frame_.reset(); }

  // Internal: used by the engine and the combinators.
  void run_until_suspended(core::Execution& execution, bool shielded) {
    if (!frame_.handle()) throw std::logic_error("this Task was moved from or awaited before");
    frame_.promise().bind(execution, shielded);
    detail::RunScope scope(execution, shielded);
    frame_.handle().resume();
  }
  [[nodiscard]] promise_type& promise() const { return frame_.promise(); }

 private:
  friend class detail::TaskPromise<T>;
  explicit Task(promise_type& promise) noexcept : frame_(promise) {}
  detail::OwnedFrame<promise_type> frame_;
};

namespace detail {

/// Runs the child on the awaiting coroutine's stack until it first waits; after that the ready list wakes the
/// awaiting coroutine.
template <class T>
class TaskAwaiter final : public Waiter {
 public:
  TaskAwaiter(TaskPromiseBase& awaiting, Task<T>&& task) noexcept
      : awaiting_(awaiting), task_(std::move(task)) {}

  [[nodiscard]] bool await_ready() {
    task_.run_until_suspended(awaiting_.execution(), awaiting_.shielded());
    return task_.promise().done();
  }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    awaiting_.suspended_on(&task_.promise(), nullptr);
    task_.promise().add_waiter(*this);
  }
  T await_resume() { return task_.promise().take(); }

 private:
  void run() override { awaiting_.resume(handle_); }

  TaskPromiseBase& awaiting_;
  std::coroutine_handle<> handle_;
  Task<T> task_;
};

template <class T>
class FutureAwaiter final : public Interruptible {
 public:
  FutureAwaiter(TaskPromiseBase& awaiting, DurableFuture<T>&& future) noexcept
      : awaiting_(awaiting), future_(std::move(future)) {}

  [[nodiscard]] bool await_ready() {
    Operation& operation = future_.operation();
    interrupted_ = !awaiting_.shielded() && is_cancelling(awaiting_.execution());
    if (interrupted_) return true;
    operation.start();
    return operation.done();
  }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    awaiting_.suspended_on(nullptr, this);
    future_.operation().add_waiter(*this);
  }
  T await_resume() {
    if (interrupted_) {
      // The caller asked for failures as values, so this failure is returned as a value.
      if constexpr (std::is_same_v<T, AsResult<T>>) {
        return T{cancelled_failure(awaiting_.execution())};
      } else {
        throw_cancelled(awaiting_.execution());
      }
    }
    return future_.take();
  }

 private:
  void run() override { awaiting_.resume(handle_); }

  TaskPromiseBase& awaiting_;
  std::coroutine_handle<> handle_;
  DurableFuture<T> future_;
};

/// A Task as a branch of a combinator.
template <class T>
class TaskOperation final : public Operation, private Waiter {
 public:
  TaskOperation(core::Execution& execution, Task<T>&& task) noexcept
      : Operation(execution), task_(std::move(task)) {}

  void drop(CancelReason reason) noexcept override {
    if (done()) return;
    Waiter::unlink();
    DropScope scope(execution(), reason);
    task_.reset();
  }
  [[nodiscard]] static T take(Operation& operation, FutureReader<void>::Inner /*unused*/) {
    return static_cast<TaskOperation&>(operation).task_.promise().take();
  }

 private:
  void do_start() override {
    task_.run_until_suspended(execution(), shielded_now(execution()));
    if (task_.promise().done()) {
      complete();
    } else {
      task_.promise().add_waiter(*this);
    }
  }
  void run() override { complete(); }

  Task<T> task_;
};

}  // namespace detail

/// Runs `task` and returns its exception as a value, because C++ allows no co_await in a catch block:
///   auto booked = co_await dm::attempt(book(ctx, trip));
///   if (!booked) co_await ctx.schedule_activity(CancelHotel, trip);
template <class T>
[[nodiscard]] Task<Result<T, Failure>> attempt(Task<T> task) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(task);
      co_return Result<void, Failure>{};
    } else {
      co_return Result<T, Failure>{co_await std::move(task)};
    }
  } catch (...) {
    co_return Result<T, Failure>{failure_from(std::current_exception())};
  }
}
template <class T>
[[nodiscard]] DurableFuture<detail::AsResult<T>> attempt(DurableFuture<T> future) {
  return std::move(future).as_result();
}

}  // namespace duramen::inline v0
