// The two halves of every await: an Operation, which completes once, and a Waiter, which it notifies.
//
// Everything an orchestration can wait for is an Operation: a scheduled activity, a running Task, a select. A
// completed operation never resumes a coroutine directly: it puts its waiters on the execution's ready list,
// and the engine runs that list from the top of its loop, in order. So no stack grows with the length of a
// chain, and no frame is destroyed while it runs.
#pragma once

#include <duramen/failure.hpp>

#include <cstdint>
#include <optional>

namespace duramen::inline v0 {
namespace core {
class Execution;
}

namespace detail {

class WaiterList;

/// Code to run when an operation completes. It is in at most one list at a time, and its destructor removes
/// it, so that a destroyed frame is never resumed.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  virtual ~Waiter() { unlink(); }

  /// Called by the engine, with no user code on the stack.
  virtual void run() = 0;

  void unlink() noexcept;

 private:
  friend class WaiterList;
  Waiter* next_ = nullptr;
  Waiter* previous_ = nullptr;
};

/// First in, first out; owns nothing.
class WaiterList {
 public:
  WaiterList() noexcept {
    head_.next_ = &head_;
    head_.previous_ = &head_;
  }
  WaiterList(const WaiterList&) = delete;
  WaiterList& operator=(const WaiterList&) = delete;
  ~WaiterList() { clear(); }

  [[nodiscard]] bool empty() const noexcept { return head_.next_ == &head_; }
  void push(Waiter& waiter) noexcept {
    waiter.unlink();
    waiter.previous_ = head_.previous_;
    waiter.next_ = &head_;
    head_.previous_->next_ = &waiter;
    head_.previous_ = &waiter;
  }
  /// The oldest, unlinked; null if there is none.
  Waiter* pop() noexcept {
    if (empty()) return nullptr;
    Waiter* first = head_.next_;
    first->unlink();
    return first;
  }
  void clear() noexcept {
    while (pop() != nullptr) {
    }
  }

 private:
  struct Head final : Waiter {
    void run() override {}
  };
  Head head_;
};

inline void Waiter::unlink() noexcept {
  if (next_ == nullptr) return;
  previous_->next_ = next_;
  next_->previous_ = previous_;
  next_ = nullptr;
  previous_ = nullptr;
}

class Operation;

/// A coroutine suspended on an operation, which a graceful cancellation may wake instead.
class Interruptible : public Waiter {
 public:
  void interrupt() noexcept { interrupted_ = true; }
  [[nodiscard]] virtual Operation& operation() const = 0;

 protected:
  bool interrupted_ = false;
};

/// How an operation ended. `cancelled`: only because the orchestration is being cancelled.
enum class Ended : std::uint8_t { with_value, with_failure, cancelled };

/// Something an orchestration can wait for. Lazy: nothing happens before start().
class Operation {
 public:
  explicit Operation(core::Execution& execution) noexcept : execution_(execution) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  /// The first poll. Later calls do nothing.
  void start() {
    if (started_) return;
    started_ = true;
    do_start();
  }
  /// The result is no longer wanted: cancels the operation. Does nothing before the start and after the end.
  virtual void drop(CancelReason reason) noexcept = 0;
  /// Starts now and detaches: a later drop cancels nothing. Only operations that can outlive their future can
  /// be detached.
  virtual void detach();

  /// True if a Task is in it, at any depth. Code in a Task may clean up, so a cancellation waits for it.
  [[nodiscard]] virtual bool has_tasks() const noexcept { return false; }
  /// A cancellation has reached the await: the leaves in it are dropped, or not started; it is done when its
  /// Tasks are. Only for operations with Tasks.
  virtual void end_with_tasks(CancelReason /*reason*/) {}
  /// Drops the leaves in it and leaves the Tasks alone.
  virtual void drop_leaves(CancelReason reason) noexcept { drop(reason); }
  /// It has lost a race. True: it is gone. False: a Task in it is inside a shield; the operation is done when
  /// the last such Task has left its shield and is gone.
  [[nodiscard]] virtual bool abandon(CancelReason reason) noexcept {
    drop(reason);
    return true;
  }
  /// Only once it is done.
  [[nodiscard]] virtual Ended ended() const { return Ended::with_value; }
  /// True if it refers to objects that another frame owns.
  [[nodiscard]] virtual bool borrows() const noexcept { return false; }

  void add_waiter(Waiter& waiter) noexcept { waiters_.push(waiter); }

  [[nodiscard]] core::Execution& execution() const noexcept { return execution_; }
  [[nodiscard]] bool started() const noexcept { return started_; }
  [[nodiscard]] bool done() const noexcept { return completion_order_ != 0; }
  /// The position in the order of completions.
  [[nodiscard]] std::uint64_t completion_order() const noexcept { return completion_order_; }

 protected:
  virtual void do_start() = 0;
  /// For operations that start in another way than do_start().
  void mark_started() noexcept { started_ = true; }
  /// Marks it done and makes its waiters ready.
  void complete() noexcept;

 private:
  core::Execution& execution_;
  WaiterList waiters_;
  std::uint64_t completion_order_ = 0;
  bool started_ = false;
};

class TaskNode;

/// Queries of the execution, for code that does not see its definition.
[[nodiscard]] CancelReason drop_reason(const core::Execution& execution) noexcept;
void make_ready(core::Execution& execution, WaiterList& waiters) noexcept;
[[noreturn]] void throw_cancelled(const core::Execution& execution);
[[nodiscard]] Failure cancelled_failure(const core::Execution& execution);
/// Notes the Task whose code runs now; returns the one before.
TaskNode* set_running(core::Execution& execution, TaskNode* task) noexcept;

/// While a DropScope lives, drops use `reason`.
class DropScope {
 public:
  DropScope(core::Execution& execution, CancelReason reason) noexcept;
  ~DropScope();
  DropScope(const DropScope&) = delete;
  DropScope& operator=(const DropScope&) = delete;

 private:
  core::Execution& execution_;
  std::optional<CancelReason> previous_;
};

/// Surrounds every resumption of a coroutine.
class RunScope {
 public:
  RunScope(core::Execution& execution, TaskNode& task) noexcept
      : execution_(execution), previous_(set_running(execution, &task)) {}
  ~RunScope() { set_running(execution_, previous_); }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  core::Execution& execution_;
  TaskNode* previous_;
};

}  // namespace detail
}  // namespace duramen::inline v0
