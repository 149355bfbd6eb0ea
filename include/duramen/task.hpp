// Task<T>: the coroutine type of orchestrations.
//
// A Task is lazy: its body runs when it is awaited, or when a combinator polls it. Only Duramen awaitables
// can be awaited inside one; anything else does not compile, because it would differ on replay. A Task
// destroyed before it finishes cancels the operations it was waiting for; inside a shield it ends the shield
// first (OrchestrationContext::shield).
//
// A Task keeps its coroutine's parameters, but not the captures of a lambda: those are in the lambda object,
// which must live until the Task has finished. The Registry keeps registered lambdas alive; elsewhere write
// `[](OrchestrationContext& ctx, int x) -> Task<int> {...}(ctx, x)` instead of capturing x.
#pragma once

#include <duramen/detail/compiler.hpp>
#include <duramen/detail/coroutine.hpp>
#include <duramen/detail/operation.hpp>
#include <duramen/detail/owned.hpp>
#include <duramen/detail/task_node.hpp>
#include <duramen/future.hpp>

#include <coroutine>
#include <exception>
#include <source_location>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace duramen::inline v0 {

template <class T>
class Task;
class OrchestrationContext;

namespace detail {

template <class T>
class TaskAwaiter;
template <class T>
class FutureAwaiter;
template <class T, class... Args>
class BoundTaskPromise;

/// Awaited inside a Task: shields the rest of it from a graceful cancellation.
class BeginShield {
 public:
  explicit BeginShield(std::source_location where) noexcept : where_(where) {}
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

 private:
  std::source_location where_;
};

/// The common part of all Task promises.
class TaskPromiseBase : public TaskNode {
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
      promise.end();
      make_ready(promise.execution(), promise.waiters_);
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] FinalAwaiter final_suspend() const noexcept { return {}; }

  void add_waiter(Waiter& waiter) noexcept { waiters_.push(waiter); }
  [[nodiscard]] bool done() const noexcept { return done_; }

  /// Continues this Task, which is no longer suspended on anything, unless it has to wait.
  void resume(Waiter& waiter, std::coroutine_handle<> handle) {
    if (!may_resume(waiter)) return;
    suspended_on(nullptr);
    RunScope scope(execution(), *this);
    handle.resume();
  }

  template <class T>
  [[nodiscard]] FutureAwaiter<T> await_transform(
      DurableFuture<T>&& future, std::source_location where = std::source_location::current()) {
    return FutureAwaiter<T>(*this, std::move(future), where);
  }
  /// Awaiting a named future consumes it: it is empty afterwards.
  template <class T>
  [[nodiscard]] FutureAwaiter<T> await_transform(
      DurableFuture<T>& future, std::source_location where = std::source_location::current()) {
    return FutureAwaiter<T>(*this, std::move(future), where);
  }
  template <class T>
  [[nodiscard]] TaskAwaiter<T> await_transform(Task<T>&& task) {
    return TaskAwaiter<T>(*this, std::move(task));
  }
  template <class T>
  [[nodiscard]] TaskAwaiter<T> await_transform(Task<T>& task) {
    return TaskAwaiter<T>(*this, std::move(task));
  }
  [[nodiscard]] std::suspend_never await_transform(BeginShield shield) noexcept {
    begin_shield(shield.where());
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
  WaiterList waiters_;
  bool done_ = false;
};

template <class T>
class TaskPromise : public TaskPromiseBase, public CoroutineResult<T> {
 public:
  TaskPromise() noexcept {}  // NOLINT: see TaskPromiseBase
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
  /// True if its parameters refer to objects of other frames, so that it cannot outlive them.
  [[nodiscard]] bool borrows() const noexcept { return frame_.handle() && promise_->borrows(); }

  // Internal: used by the engine and the combinators.
  void run_until_suspended(core::Execution& execution) {
    if (!frame_.handle()) throw std::logic_error("this Task was moved from or awaited before");
    promise_->begin(execution);
    detail::RunScope scope(execution, *promise_);
    frame_.handle().resume();
  }
  [[nodiscard]] promise_type& promise() const { return *promise_; }
  [[nodiscard]] promise_type* find_promise() const { return frame_.handle() ? promise_ : nullptr; }
  [[nodiscard]] std::coroutine_handle<> release() noexcept { return frame_.release(); }

 private:
  template <class, class...>
  friend class detail::BoundTaskPromise;
  template <class... Args>
  explicit Task(detail::BoundTaskPromise<T, Args...>& promise) noexcept
      : frame_(promise), promise_(&promise) {}
  detail::OwnedFrame<void> frame_;
  promise_type* promise_;  // in the frame
};

namespace detail {

/// True if a parameter of this type refers to an object outside of the frame. The engine's own objects
/// outlive every Task. The object of a lambda without captures is empty.
template <class Arg>
[[nodiscard]] constexpr bool is_borrowed() {
  using Value = std::remove_cvref_t<Arg>;
  if constexpr (std::is_same_v<Value, OrchestrationContext> || std::is_same_v<Value, core::Execution>) {
    return false;
  } else if constexpr (std::is_reference_v<Arg>) {
    return !std::is_empty_v<Value>;
  } else {
    return std::is_pointer_v<Value> || (std::is_class_v<Value> && IsView<Value>::value);
  }
}

/// True if an argument holds Tasks or futures with borrowed parameters.
template <class Arg>
[[nodiscard]] bool holds_borrowed(const Arg& /*unused*/) noexcept {
  return false;
}
template <class T>
[[nodiscard]] bool holds_borrowed(const Task<T>& task) noexcept {
  return task.borrows();
}
template <class T>
[[nodiscard]] bool holds_borrowed(const DurableFuture<T>& future) noexcept {
  return future.borrows();
}
template <class T>
[[nodiscard]] bool holds_borrowed(const std::vector<T>& many) noexcept {
  for (const auto& one : many) {
    if (holds_borrowed(one)) return true;
  }
  return false;
}

/// The promise of a coroutine with these parameter types. Some compilers do not pass the object of a lambda
/// to the constructor, so types and values are checked separately.
template <class T, class... Args>
class BoundTaskPromise final : public TaskPromise<T> {
 public:
  template <class... Given>
  explicit BoundTaskPromise(Given&... given) noexcept {
    this->set_borrows((is_borrowed<Args>() || ...) || (holds_borrowed(given) || ...));
  }
  [[nodiscard]] Task<T> get_return_object() noexcept { return Task<T>(*this); }
};

}  // namespace detail
}  // namespace duramen::inline v0

template <class T, class... Args>
struct std::coroutine_traits<duramen::Task<T>, Args...> {
  using promise_type = duramen::detail::BoundTaskPromise<T, Args...>;
};

namespace duramen::inline v0 {
namespace detail {

/// Runs the child on the awaiting coroutine's stack until it first waits; after that the ready list wakes the
/// awaiting coroutine.
template <class T>
class TaskAwaiter final : public Waiter {
 public:
  TaskAwaiter(TaskPromiseBase& awaiting, Task<T>&& task) noexcept
      : awaiting_(awaiting), task_(std::move(task)) {}

  [[nodiscard]] bool await_ready() {
    task_.run_until_suspended(awaiting_.execution());
    return task_.promise().done();
  }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    task_.promise().add_waiter(*this);
  }
  T await_resume() { return task_.promise().take(); }

 private:
  void run() override { awaiting_.resume(*this, handle_); }

  TaskPromiseBase& awaiting_;
  std::coroutine_handle<> handle_;
  Task<T> task_;
};

template <class T>
class FutureAwaiter final : public Interruptible {
 public:
  FutureAwaiter(TaskPromiseBase& awaiting, DurableFuture<T>&& future, std::source_location where) noexcept
      : awaiting_(awaiting), where_(where), future_(std::move(future)) {}

  [[nodiscard]] bool await_ready() {
    return awaiting_.begin_await(future_.operation(), where_, interrupted_);
  }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    awaiting_.suspended_on(this);
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
  [[nodiscard]] Operation& operation() const override { return future_.operation(); }

 private:
  void run() override { awaiting_.resume(*this, handle_); }

  TaskPromiseBase& awaiting_;
  std::source_location where_;
  std::coroutine_handle<> handle_;
  DurableFuture<T> future_;
};

template <class T>
class TaskOperation final : public TaskBranch {
 public:
  TaskOperation(core::Execution& execution, Task<T>&& task) noexcept
      : TaskBranch(execution), task_(std::move(task)) {}

  [[nodiscard]] static T take(Operation& operation, FutureReader<void>::Inner /*unused*/) {
    return static_cast<TaskOperation&>(operation).task_.promise().take();
  }
  [[nodiscard]] Ended ended() const override {
    return task() == nullptr ? Ended::cancelled : how_ended(task_.promise().error());
  }
  [[nodiscard]] bool borrows() const noexcept override { return task_.borrows(); }

 private:
  [[nodiscard]] TaskNode* task() const noexcept override { return task_.find_promise(); }
  [[nodiscard]] bool task_done() const noexcept override { return task_.promise().done(); }
  void run_task() override { task_.run_until_suspended(execution()); }
  void wait_for_task(Waiter& waiter) noexcept override { task_.promise().add_waiter(waiter); }
  [[nodiscard]] std::coroutine_handle<> release_frame() noexcept override { return task_.release(); }

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
