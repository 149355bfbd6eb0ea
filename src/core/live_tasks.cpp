#include "core/live_tasks.hpp"

#include "core/execution.hpp"
#include "core/matching.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <string>

namespace duramen::inline v0::core {

using detail::TaskNode;

namespace {

/// True if code of its own Tasks must run before it continues.
bool has_to_wait(std::uint32_t live_below) {
  return live_below > 0 && !detail::mutant("a_cancel_unwinds_outer_tasks_first");
}

}  // namespace

bool LiveTasks::cancelling() const noexcept { return execution_.cancelling() != nullptr; }

// -- the life of a Task ---------------------------------------------------------------------------

void LiveTasks::begin(TaskNode& task) {
  task.live_ = true;
  task.order_ = ++polls_;
  task.owner_ = running_;
  tasks_.emplace_hint(tasks_.end(), task.order_, &task);
  if (running_ == nullptr) return;
  ++running_->below_;
  task.shielded_ = running_->shielded_;
}

void LiveTasks::begin_shield(TaskNode& task, const std::source_location& where) {
  task.is_shield_ = true;
  task.shielded_ = true;
  task.shield_ = where;
  shields_.push_back(&task);
}

void LiveTasks::end(TaskNode& task) noexcept {
  task.live_ = false;
  tasks_.erase(task.order_);
  free_.erase(task.order_);
  if (task.is_shield_) std::erase(shields_, &task);
  if (task.below_ > 0) hand_on(task);
  std::ranges::replace(continuing_, &task, task.owner_);
  TaskNode* const owner = task.owner_;
  if (owner == nullptr) return;
  if (--owner->below_ == 0 && owner->held_ != nullptr) free_.emplace(owner->order_, owner);
}

/// Tasks that outlive their owner belong to its owner. They are shielded if one of their owners is; an owner
/// comes before its Tasks.
void LiveTasks::hand_on(TaskNode& task) noexcept {
  for (auto& [order, other] : tasks_) {
    if (other->owner_ == &task) {
      other->owner_ = task.owner_;
      if (task.owner_ != nullptr) ++task.owner_->below_;
    }
    const bool shielded = other->is_shield_ || (other->owner_ != nullptr && other->owner_->shielded_);
    reach_changed_ = reach_changed_ || shielded != other->shielded_;
    other->shielded_ = shielded;
  }
  task.below_ = 0;
}

bool LiveTasks::may_resume(TaskNode& task, detail::Waiter& waiter) {
  if (task.frozen_) return false;
  if (continues_ && !in_other_shield(task)) return false;
  if (cancelling() && !task.shielded_ && has_to_wait(task.below_)) {
    hold(task, waiter);
    return false;
  }
  return true;
}

// -- the reach of a cancellation ------------------------------------------------------------------

void LiveTasks::hold(TaskNode& task, detail::Waiter& waiter) {
  waiter.unlink();
  task.held_ = &waiter;
  if (!has_to_wait(task.below_)) free_.emplace(task.order_, &task);
}

void LiveTasks::interrupt() {
  reach_changed_ = false;
  if (continues_) return;
  const CancelReason reason = execution_.drop_reason();
  for (auto& [order, task] : tasks_) {
    if (task->shielded_ || task->frozen_ || task->held_ != nullptr || task->awaiter_ == nullptr) continue;
    detail::Operation& operation = task->awaiter_->operation();
    if (operation.has_tasks() && !detail::mutant("a_cancel_drops_tasks_in_branches")) {
      operation.end_with_tasks(reason);
      if (!operation.done()) continue;  // its Tasks wake it
    } else {
      operation.drop(reason);
      task->awaiter_->interrupt();
    }
    hold(*task, *task->awaiter_);
  }
}

bool LiveTasks::step() {
  if (let_one_go()) return true;
  if (reach_changed_ && cancelling()) interrupt();
  if (free_.empty()) return false;
  TaskNode& task = *free_.begin()->second;
  free_.erase(free_.begin());
  detail::Waiter* const waiter = std::exchange(task.held_, nullptr);
  waiter->run();
  return true;
}

// -- dropped Tasks --------------------------------------------------------------------------------

bool LiveTasks::is_below(const TaskNode& task, const TaskNode& top) noexcept {
  const TaskNode* at = &task;
  while (at != nullptr && at != &top) at = at->owner_;
  return at != nullptr;
}

bool LiveTasks::is_protected(const TaskNode& task) const noexcept {
  if (destroying_ || execution_.is_over() || detail::mutant("a_race_cuts_shields")) return false;
  return std::ranges::any_of(shields_, [&](const TaskNode* shield) { return is_below(*shield, task); });
}

/// Outside of its shields nothing of `top` continues.
void LiveTasks::freeze(TaskNode& top, CancelReason reason) noexcept {
  for (auto& [order, task] : tasks_) {
    bool in_shield = false;
    const TaskNode* at = task;
    while (at != nullptr && at != &top) {
      in_shield = in_shield || at->is_shield_;
      at = at->owner_;
    }
    if (at == nullptr || in_shield || top.is_shield_) continue;
    task->frozen_ = true;
    task->held_ = nullptr;
    free_.erase(order);
    if (task->awaiter_ != nullptr) task->awaiter_->operation().drop_leaves(reason);
  }
}

void LiveTasks::abandon(TaskNode& task, detail::TaskBranch& branch, CancelReason reason) {
  freeze(task, reason);
  leaving_.push_back({&task, reason, &branch, {}});
}

void LiveTasks::forget(const detail::TaskBranch& branch) noexcept {
  std::erase_if(leaving_, [&](const Leaving& leaving) { return leaving.branch == &branch; });
}

void LiveTasks::drop(TaskNode& task, std::coroutine_handle<> frame, CancelReason reason) noexcept {
  if (destroying_) destroy_adopted_below(task);
  if (!is_protected(task)) return frame.destroy();
  const bool kept = !task.borrows() || detail::mutant("kept_tasks_refer_to_destroyed_frames");
  if (kept && !detail::mutant("a_dropped_shield_is_destroyed")) return adopt(task, frame, reason);
  warn(task);
  frame.destroy();
}

/// Its owner is the next shield around it: the Tasks in between need not wait for it, and the limit of that
/// shield still ends it.
void LiveTasks::adopt(TaskNode& task, std::coroutine_handle<> frame, CancelReason reason) {
  freeze(task, reason);
  leaving_.push_back({&task, reason, nullptr, frame});
  if (!task.live_) return;
  TaskNode* const old = task.owner_;
  TaskNode* owner = old;
  while (owner != nullptr && !owner->is_shield_) owner = owner->owner_;
  task.owner_ = owner;
  if (owner != nullptr) ++owner->below_;
  if (old != nullptr && --old->below_ == 0 && old->held_ != nullptr) free_.emplace(old->order_, old);
}

void LiveTasks::warn(const TaskNode& task) const {
  for (const TaskNode* shield : shields_) {
    if (!is_below(*shield, task)) continue;
    execution_.warn(
        "a Task was dropped inside the shield " + describe_place(shield->shield_) +
        ", and destroyed there: its parameters refer to objects of the code that dropped it. Await "
        "the Task, or pass its parameters by value");
    return;
  }
}

void LiveTasks::destroy_adopted_below(const TaskNode& top) noexcept {
  std::vector<Leaving> gone;
  std::erase_if(leaving_, [&](const Leaving& leaving) {
    const bool below = leaving.frame && is_below(*leaving.task, top);
    if (below) gone.push_back(leaving);
    return below;
  });
  for (const Leaving& leaving : gone) leaving.frame.destroy();
}

bool LiveTasks::let_one_go() {
  for (std::size_t i = 0; i < leaving_.size(); ++i) {
    const Leaving leaving = leaving_[i];
    if (is_protected(*leaving.task)) continue;
    leaving_.erase(leaving_.begin() + static_cast<std::ptrdiff_t>(i));
    if (leaving.branch != nullptr) {
      leaving.branch->leave(leaving.reason);
    } else {
      detail::DropScope scope(execution_, leaving.reason);
      leaving.frame.destroy();
    }
    return true;
  }
  return false;
}

void LiveTasks::clear() noexcept {
  for (const Leaving& leaving : std::exchange(leaving_, {})) {
    if (leaving.frame) leaving.frame.destroy();
  }
}

// -- the end of the execution ---------------------------------------------------------------------

void LiveTasks::continue_as_new() {
  continues_ = true;
  if (!detail::mutant("only_one_task_continues_as_new") || continuing_.empty())
    continuing_.push_back(running_);
}

/// True if the innermost shield around `task` is not around the code that continues as new.
bool LiveTasks::in_other_shield(const TaskNode& task) const noexcept {
  const TaskNode* shield = &task;
  while (shield != nullptr && !shield->is_shield_) shield = shield->owner_;
  return shield != nullptr && std::ranges::none_of(continuing_, [shield](const TaskNode* continuing) {
           return continuing != nullptr && is_below(*continuing, *shield);
         });
}

bool LiveTasks::holds_end() const noexcept {
  if (!continues_) {
    return std::ranges::any_of(leaving_, [](const Leaving& leaving) { return bool(leaving.frame); });
  }
  if (detail::mutant("a_continue_as_new_cuts_shields")) return false;
  return std::ranges::any_of(shields_, [this](const TaskNode* shield) { return in_other_shield(*shield); });
}

}  // namespace duramen::inline v0::core
