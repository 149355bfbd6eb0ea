// The engine's side of the awaitables: leaves, and the queries of headers to an Execution.
#include "core/execution.hpp"
#include <duramen/combinators.hpp>
#include <duramen/detail/branches.hpp>
#include <duramen/detail/leaf.hpp>
#include <duramen/detail/mutant.hpp>
#include <duramen/detail/operation.hpp>
#include <duramen/detail/task_node.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace duramen::inline v0::detail {

// -- Operation ------------------------------------------------------------------------------------

void Operation::detach() {
  throw std::logic_error(
      "only what was scheduled can be detached: an activity, a child or a timer, not a combination");
}

void Operation::complete() noexcept {
  completion_order_ = execution_.next_completion_order();
  execution_.make_ready(waiters_);
}

CancelReason drop_reason(const core::Execution& execution) noexcept { return execution.drop_reason(); }
void make_ready(core::Execution& execution, WaiterList& waiters) noexcept { execution.make_ready(waiters); }

Failure cancelled_failure(const core::Execution& execution) {
  return Failure::cancelled(execution.cancelling()->reason);
}
void throw_cancelled(const core::Execution& execution) { throw CancelledError(cancelled_failure(execution)); }
TaskNode* set_running(core::Execution& execution, TaskNode* task) noexcept {
  return execution.tasks().set_running(task);
}

DropScope::DropScope(core::Execution& execution, CancelReason reason) noexcept
    : execution_(execution), previous_(execution.set_drop_reason(reason)) {}
DropScope::~DropScope() { execution_.set_drop_reason(previous_); }

// -- Leaf -----------------------------------------------------------------------------------------

Leaf::~Leaf() {
  if (event_id_ && !done()) execution().forget(*this);
}

void Leaf::do_start() {
  event_id_ = execution().schedule(*this);
  if (record_ != nullptr) record_->event = event_id_;
}

void Leaf::drop(CancelReason reason) noexcept {
  if (!event_id_ || done() || std::exchange(let_go_, true)) return;
  execution().drop(*this, reason);
}

void Leaf::detach() {
  // A wait without a reader would consume arrivals.
  if (std::holds_alternative<event::ExternalSubscribed>(request_) ||
      std::holds_alternative<event::QueueSubscribed>(request_)) {
    return Operation::detach();
  }
  start();
  let_go_ = true;
  // It will not be awaited, so the refusal is thrown here.
  if (const auto* refused = std::get_if<std::exception_ptr>(&outcome_)) std::rethrow_exception(*refused);
}

void Leaf::resolve(Payload result) {
  outcome_ = std::move(result);
  complete();
}

void Leaf::resolve(Failure failure) {
  outcome_ = std::move(failure);
  complete();
}

void Leaf::resolve(event::ActivityFailed failed) {
  if (record_ != nullptr) {
    record_->ran = std::move(failed.ran);
    record_->heartbeat = std::move(failed.heartbeat);
  }
  resolve(std::move(failed.details));
}

void Leaf::refuse(std::exception_ptr why) {
  outcome_ = std::move(why);
  complete();
}

Ended Leaf::ended() const {
  return std::holds_alternative<Payload>(outcome_) ? Ended::with_value : Ended::with_failure;
}

const Payload& Leaf::require() const {
  if (const auto* refused = std::get_if<std::exception_ptr>(&outcome_)) std::rethrow_exception(*refused);
  if (const auto* failure = std::get_if<Failure>(&outcome_)) {
    if (std::holds_alternative<event::SubOrchestrationScheduled>(request_))
      throw SubOrchestrationError(*failure);
    throw ActivityError(*failure);
  }
  return std::get<Payload>(outcome_);
}

// -- Branches -------------------------------------------------------------------------------------

void Branch::run() { owner_.branch_done(index_); }

void Branches::branch_done(std::size_t index) {
  switch (phase_) {
    case Phase::open:
      return open_branch_done(index);
    case Phase::ending:
      note_end(index);
      if (--waiting_ == 0) finish_ending();
      return;
    case Phase::leaving:
      if (--waiting_ == 0) complete();
      return;
  }
}

void Branches::drop(CancelReason reason) noexcept {
  if (done()) return;
  DropScope scope(execution(), reason);
  for (Branch& branch : branches_) {
    branch.unlink();
    branch.operation().drop(reason);
  }
}

bool Branches::has_tasks() const noexcept {
  return std::ranges::any_of(branches_, [](const Branch& b) { return b.operation().has_tasks(); });
}

bool Branches::borrows() const noexcept {
  return std::ranges::any_of(branches_, [](const Branch& b) { return b.operation().borrows(); });
}

void Branches::drop_leaves(CancelReason reason) noexcept {
  if (done()) return;
  for (Branch& branch : branches_) branch.operation().drop_leaves(reason);
}

void Branches::end_with_tasks(CancelReason reason) {
  if (done() || phase_ != Phase::open) return;
  mark_started();
  if (settle()) return;
  phase_ = Phase::ending;
  for (std::size_t i = 0; i < size(); ++i) {
    Operation& operation = branch(i);
    if (!operation.done() && !operation.has_tasks()) {
      branches_[i].unlink();
      operation.drop(reason);
      cut_ = true;
      continue;
    }
    if (!operation.done()) operation.end_with_tasks(reason);
    if (operation.done()) {
      branches_[i].unlink();
      note_end(i);
    } else {
      wait_for(i);
      ++waiting_;
    }
  }
  if (waiting_ == 0) finish_ending();
}

void Branches::finish_ending() {
  fix_result(cut_);
  complete();
}

bool Branches::leave_branches_except(std::size_t keep, CancelReason reason) noexcept {
  DropScope scope(execution(), reason);
  phase_ = Phase::leaving;
  waiting_ = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (i == keep) continue;
    branches_[i].unlink();
    if (branch(i).abandon(reason)) continue;
    wait_for(i);
    ++waiting_;
  }
  return waiting_ == 0;
}

bool Branches::abandon(CancelReason reason) noexcept {
  return done() || leave_branches_except(std::numeric_limits<std::size_t>::max(), reason);
}

std::optional<std::size_t> Branches::first_failure() const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (branch(i).done() && branch(i).ended() == Ended::with_failure) return i;
  }
  return std::nullopt;
}

void Branches::require_result() const {
  if (cancelled_) throw_cancelled(execution());
}

// -- Select ---------------------------------------------------------------------------------------

void Select::do_start() {
  shielded_ = execution().tasks().is_shielded_now();
  if (settle()) return;
  for (std::size_t i = 0; i < size(); ++i) {
    branch(i).start();
    if (branch(i).done()) return resolve(i);
    wait_for(i);
  }
}

/// Several branches were complete before: history order decides. A branch that only the cancellation has
/// ended does not win.
bool Select::settle() {
  const bool cancelling = execution().cancelling() != nullptr && !shielded_;
  std::optional<std::size_t> earliest;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!branch(i).done() || (cancelling && branch(i).ended() == Ended::cancelled)) continue;
    if (!earliest || branch(i).completion_order() < branch(*earliest).completion_order()) earliest = i;
  }
  if (earliest) resolve(*earliest);
  return earliest.has_value();
}

void Select::open_branch_done(std::size_t index) {
  if (execution().cancelling() != nullptr && !shielded_ && branch(index).ended() == Ended::cancelled) {
    end_with_tasks(execution().drop_reason());
  } else {
    resolve(index);
  }
}

void Select::resolve(std::size_t index) {
  winner_ = index;
  const auto scope =
      execution().tasks().destroy_shields(destroys_ && !mutant("inner_shields_outlive_the_limit"));
  if (leave_branches_except(index, losers_)) complete();
}

void Select::note_end(std::size_t index) {
  const bool returned = branch(index).ended() == Ended::with_value || mutant("a_cancelled_branch_wins");
  if (!returned_ && returned) returned_ = index;
}

void Select::fix_result(bool /*cut*/) {
  const std::optional<std::size_t> found = returned_ ? returned_ : first_failure();
  if (found) {
    winner_ = *found;
  } else {
    set_cancelled();
  }
}

Ended Select::ended() const { return is_cancelled() ? Ended::cancelled : branch(winner_).ended(); }

// -- Join -----------------------------------------------------------------------------------------

void Join::do_start() {
  shielded_ = execution().tasks().is_shielded_now();
  open_ = size();
  for (std::size_t i = 0; i < size(); ++i) {
    branch(i).start();
    if (branch(i).done()) {
      --open_;
    } else {
      wait_for(i);
    }
  }
  if (open_ == 0) complete();
}

void Join::open_branch_done(std::size_t /*index*/) {
  if (--open_ != 0) return;
  // The cancellation may have ended its branches before an await has reached it.
  if (execution().cancelling() != nullptr && !shielded_ && !mutant("a_started_join_hides_failures"))
    fix_result(false);
  complete();
}

void Join::fix_result(bool cut) {
  for (std::size_t i = 0; i < size() && !cut; ++i) cut = branch(i).ended() == Ended::cancelled;
  if (!cut) return;
  failed_ = first_failure();
  if (!failed_) set_cancelled();
}

Ended Join::ended() const {
  if (is_cancelled()) return Ended::cancelled;
  if (failed_) return Ended::with_failure;
  for (std::size_t i = 0; i < size(); ++i) {
    if (branch(i).ended() != Ended::with_value) return branch(i).ended();
  }
  return Ended::with_value;
}

// -- others ---------------------------------------------------------------------------------------

void Reference::do_start() {
  target_.start();
  if (target_.done()) {
    complete();
  } else {
    target_.add_waiter(*this);
  }
}

void throw_timed_out() {
  Failure failure;
  failure.kind = FailureKind::timeout;
  failure.timeout = TimeoutKind::total;
  failure.type = "Timeout";
  failure.message = "it took longer than it was given";
  failure.retryable = true;
  throw DurableError(std::move(failure));
}

// -- Task -----------------------------------------------------------------------------------------

void TaskNode::begin(core::Execution& execution) {
  execution_ = &execution;
  execution.tasks().begin(*this);
}

void TaskNode::end() noexcept {
  if (live_) execution_->tasks().end(*this);
}

void TaskNode::begin_shield(std::source_location where) noexcept {
  execution_->tasks().begin_shield(*this, where);
}

bool TaskNode::may_resume(Waiter& waiter) noexcept { return execution_->tasks().may_resume(*this, waiter); }

bool TaskNode::begin_await(Operation& operation, std::source_location where, bool& interrupted) {
  if (shielded_ || execution_->cancelling() == nullptr) {
    operation.start();
  } else if (operation.has_tasks() && !mutant("late_compensation_does_not_begin")) {
    operation.end_with_tasks(execution_->drop_reason());
    // One that ended at once counts like an interrupted one: code may try again in a loop.
    const bool counts = operation.done() && !mutant("awaits_with_tasks_do_not_count");
    if (counts && !execution_->count_interruption(where)) return false;
  } else {
    interrupted = execution_->count_interruption(where);
    return interrupted;
  }
  return operation.done();
}

void TaskBranch::do_start() {
  run_task();
  if (task_done()) {
    complete();
  } else {
    wait_for_task(*this);
  }
}

void TaskBranch::drop(CancelReason reason) noexcept {
  TaskNode* const node = task();
  if (done() || node == nullptr) return;
  Waiter::unlink();
  if (std::exchange(leaving_, false)) execution().tasks().forget(*this);
  DropScope scope(execution(), reason);
  execution().tasks().drop(*node, release_frame(), reason);
}

bool TaskBranch::abandon(CancelReason reason) noexcept {
  if (leaving_) return false;
  TaskNode* const node = done() ? nullptr : task();
  if (node == nullptr || !execution().tasks().is_protected(*node)) {
    drop(reason);
    return true;
  }
  Waiter::unlink();
  leaving_ = true;
  execution().tasks().abandon(*node, *this, reason);
  return false;
}

void TaskBranch::leave(CancelReason reason) noexcept {
  leaving_ = false;
  {
    DropScope scope(execution(), reason);
    release_frame().destroy();
  }
  complete();
}

Ended how_ended(const std::exception_ptr& error) {
  if (!error) return Ended::with_value;
  try {
    std::rethrow_exception(error);
  } catch (const CancelledError&) {
    return Ended::cancelled;
  } catch (...) {
    return Ended::with_failure;
  }
}

}  // namespace duramen::inline v0::detail
