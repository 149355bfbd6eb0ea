// The engine's side of the awaitables: leaves, and the queries of headers to an Execution.
#include "core/execution.hpp"
#include <duramen/combinators.hpp>
#include <duramen/detail/branches.hpp>
#include <duramen/detail/leaf.hpp>
#include <duramen/detail/operation.hpp>

#include <algorithm>
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

bool is_cancelling(const core::Execution& execution) noexcept { return execution.cancelling() != nullptr; }
Failure cancelled_failure(const core::Execution& execution) {
  return Failure::cancelled(execution.cancelling()->reason);
}
void throw_cancelled(const core::Execution& execution) { throw CancelledError(cancelled_failure(execution)); }
bool shielded_now(const core::Execution& execution) noexcept { return execution.shielded_now(); }
bool set_shielded_now(core::Execution& execution, bool shielded) noexcept {
  return execution.set_shielded_now(shielded);
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

void Branches::drop_branches_except(std::size_t keep, CancelReason reason) noexcept {
  DropScope scope(execution(), reason);
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    if (i == keep) continue;
    branches_[i].unlink();
    branches_[i].operation().drop(reason);
  }
}

void Branches::drop(CancelReason reason) noexcept {
  if (!done()) drop_branches_except(std::numeric_limits<std::size_t>::max(), reason);
}

void Select::do_start() {
  // Several branches were complete before the select began: history order decides.
  std::optional<std::size_t> earliest;
  for (std::size_t i = 0; i < size(); ++i) {
    if (branch(i).done() &&
        (!earliest || branch(i).completion_order() < branch(*earliest).completion_order())) {
      earliest = i;
    }
  }
  if (earliest) return resolve(*earliest);

  for (std::size_t i = 0; i < size(); ++i) {
    branch(i).start();
    if (branch(i).done()) return resolve(i);
    wait_for(i);
  }
}

void Select::branch_done(std::size_t index) {
  if (!done()) resolve(index);
}

void Select::resolve(std::size_t index) {
  winner_ = index;
  drop_branches_except(index, losers_);
  complete();
}

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

void Join::do_start() {
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

void Join::branch_done(std::size_t /*index*/) {
  if (--open_ == 0) complete();
}

}  // namespace duramen::inline v0::detail
