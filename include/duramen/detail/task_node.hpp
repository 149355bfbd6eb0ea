// The place of a Task among the live Tasks of its execution, and a Task as a branch of a combinator. Not API.
#pragma once

#include <duramen/detail/operation.hpp>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <source_location>

namespace duramen::inline v0 {
namespace core {
class LiveTasks;
}

namespace detail {

/// A Task is live from its first poll to its end. It belongs to the Task whose code polled it first; if that
/// one ends earlier, to that one's owner. The execution keeps the live Tasks (core::LiveTasks).
class TaskNode {
 public:
  TaskNode() noexcept {}  // NOLINT: declared, see TaskPromiseBase
  TaskNode(const TaskNode&) = delete;
  TaskNode& operator=(const TaskNode&) = delete;
  ~TaskNode() { end(); }

  /// The first poll.
  void begin(core::Execution& execution);
  /// The end of its code. Does nothing after the first call.
  void end() noexcept;
  /// A graceful cancellation does not interrupt the rest of it.
  void begin_shield(std::source_location where) noexcept;
  /// False: it must not continue now. It may continue later, through the same waiter.
  [[nodiscard]] bool may_resume(Waiter& waiter) noexcept;
  /// The begin of an await. True if the await does not suspend; `interrupted` says that a cancellation is the
  /// reason.
  [[nodiscard]] bool begin_await(Operation& operation, std::source_location where, bool& interrupted);

  [[nodiscard]] core::Execution& execution() const noexcept { return *execution_; }
  /// The await that it is suspended on, unless that is another Task.
  void suspended_on(Interruptible* awaiter) noexcept { awaiter_ = awaiter; }
  /// True if its code refers to objects outside of its frame, so that it cannot outlive them.
  [[nodiscard]] bool borrows() const noexcept { return borrows_; }

 protected:
  void set_borrows(bool borrows) noexcept { borrows_ = borrows; }

 private:
  friend class core::LiveTasks;
  core::Execution* execution_ = nullptr;
  TaskNode* owner_ = nullptr;
  Interruptible* awaiter_ = nullptr;
  Waiter* held_ = nullptr;  // continues it once no Task that belongs to it is live
  std::source_location shield_;
  std::uint64_t order_ = 0;  // of first polls
  std::uint32_t below_ = 0;  // live Tasks that belong to it
  bool live_ = false;
  bool is_shield_ = false;
  bool shielded_ = false;  // it or an owner is a shield
  bool frozen_ = false;    // it continues no more: it is destroyed with a Task that was dropped
  bool borrows_ = false;
};

/// A Task as a branch of a combinator.
class TaskBranch : public Operation, protected Waiter {
 public:
  using Operation::Operation;

  void drop(CancelReason reason) noexcept override;
  [[nodiscard]] bool has_tasks() const noexcept override { return true; }
  void end_with_tasks(CancelReason /*reason*/) override { start(); }
  void drop_leaves(CancelReason /*reason*/) noexcept override {}
  [[nodiscard]] bool abandon(CancelReason reason) noexcept override;

  /// Called when the abandoned Task has left its last shield.
  void leave(CancelReason reason) noexcept;

 protected:
  /// Null if there is no frame.
  [[nodiscard]] virtual TaskNode* task() const noexcept = 0;
  [[nodiscard]] virtual bool task_done() const noexcept = 0;
  virtual void run_task() = 0;
  virtual void wait_for_task(Waiter& waiter) noexcept = 0;
  [[nodiscard]] virtual std::coroutine_handle<> release_frame() noexcept = 0;

 private:
  void do_start() override;
  void run() override { complete(); }

  bool leaving_ = false;
};

/// How a Task ended that threw `error`, which may be null.
[[nodiscard]] Ended how_ended(const std::exception_ptr& error);

}  // namespace detail
}  // namespace duramen::inline v0
