// The live Tasks of an execution: which of them a cancellation reaches, in which order they continue, and
// which dropped ones stay because they are inside a shield.
//
// A cancellation reaches Tasks bottom-up: a Task continues only when no Task that belongs to it is live, and
// of those that may continue, the one that was polled first. Otherwise an outer Task would unwind first and
// drop an inner one before that has begun its clean-up.
//
// A shield is a Task. A dropped Task with a shield in it is frozen: outside of the shield it continues no
// more, and it is destroyed when the shield has ended.
#pragma once

#include <duramen/detail/task_node.hpp>

#include <coroutine>
#include <cstdint>
#include <map>
#include <source_location>
#include <utility>
#include <vector>

namespace duramen::inline v0::core {

class LiveTasks {
 public:
  explicit LiveTasks(Execution& execution) noexcept : execution_(execution) {}
  LiveTasks(const LiveTasks&) = delete;
  LiveTasks& operator=(const LiveTasks&) = delete;
  ~LiveTasks() = default;

  // -- the life of a Task ---------------------------------------------------------------------------
  void begin(detail::TaskNode& task);
  void begin_shield(detail::TaskNode& task, const std::source_location& where);
  void end(detail::TaskNode& task) noexcept;
  detail::TaskNode* set_running(detail::TaskNode* task) noexcept { return std::exchange(running_, task); }
  [[nodiscard]] bool is_shielded_now() const noexcept { return running_ != nullptr && running_->shielded_; }
  /// If not, the Task continues later through `waiter`, or never.
  [[nodiscard]] bool may_resume(detail::TaskNode& task, detail::Waiter& waiter);

  // -- the reach of a cancellation ------------------------------------------------------------------
  /// Ends the awaits of all Tasks that are not shielded: their leaves at once, their code in step().
  void interrupt();
  /// Called when nothing is ready: destroys an abandoned Task whose shields have ended, or continues one
  /// Task that had to wait. False if there is neither.
  [[nodiscard]] bool step();

  // -- dropped Tasks --------------------------------------------------------------------------------
  /// True if a shield is in `task`, so that it cannot be destroyed now.
  [[nodiscard]] bool is_protected(const detail::TaskNode& task) const noexcept;
  /// A branch that has lost; the branch keeps the frame.
  void abandon(detail::TaskNode& task, detail::TaskBranch& branch, CancelReason reason);
  void forget(const detail::TaskBranch& branch) noexcept;
  /// A destructor gives up a frame. It is destroyed, or kept until its shields have ended.
  void drop(detail::TaskNode& task, std::coroutine_handle<> frame, CancelReason reason) noexcept;
  /// While the result lives, and `on`, shields protect nothing.
  [[nodiscard]] auto destroy_shields(bool on) noexcept {
    class Scope {
     public:
      Scope(bool& destroying, bool value) noexcept
          : destroying_(destroying), before_(std::exchange(destroying, destroying || value)) {}
      Scope(const Scope&) = delete;
      Scope& operator=(const Scope&) = delete;
      ~Scope() { destroying_ = before_; }

     private:
      bool& destroying_;
      bool before_;
    };
    return Scope(destroying_, on);
  }
  /// Destroys the kept frames.
  void clear() noexcept;

  // -- the end of the execution ---------------------------------------------------------------------
  /// The running code continues as new: from now on only the code inside other shields runs.
  void continue_as_new();
  /// True if the execution cannot end yet: code runs inside a shield that the end must not cut.
  [[nodiscard]] bool holds_end() const noexcept;

 private:
  struct Leaving {
    detail::TaskNode* task;
    CancelReason reason;
    detail::TaskBranch* branch;     // of a race; or null
    std::coroutine_handle<> frame;  // of a Task that its owner has dropped
  };

  [[nodiscard]] bool cancelling() const noexcept;
  [[nodiscard]] bool in_other_shield(const detail::TaskNode& task) const noexcept;
  [[nodiscard]] static bool is_below(const detail::TaskNode& task, const detail::TaskNode& top) noexcept;
  void hold(detail::TaskNode& task, detail::Waiter& waiter);
  void hand_on(detail::TaskNode& task) noexcept;
  void freeze(detail::TaskNode& top, CancelReason reason) noexcept;
  void adopt(detail::TaskNode& task, std::coroutine_handle<> frame, CancelReason reason);
  void warn(const detail::TaskNode& task) const;
  void destroy_adopted_below(const detail::TaskNode& top) noexcept;
  [[nodiscard]] bool let_one_go();

  Execution& execution_;
  std::map<std::uint64_t, detail::TaskNode*> tasks_;  // by the order of first polls
  std::map<std::uint64_t, detail::TaskNode*> free_;   // held, and no Task that belongs to them is live
  std::vector<detail::TaskNode*> shields_;
  std::vector<Leaving> leaving_;
  detail::TaskNode* running_ = nullptr;
  std::vector<detail::TaskNode*> continuing_;  // the Tasks that continue as new; null: the root has ended
  std::uint64_t polls_ = 0;
  bool continues_ = false;
  bool destroying_ = false;
  bool reach_changed_ = false;  // a Task is no longer shielded
};

}  // namespace duramen::inline v0::core
