#include "runtime/pending_turn.hpp"

#include <duramen/detail/mutant.hpp>

#include <algorithm>

namespace duramen::inline v0::runtime {

namespace {

/// The store's answer to a first turn, as the answer to the start that was stored with it.
Result<StartOutcome> start_outcome(const Result<CommitResult>& result, const InstanceId& instance) {
  if (!result) return result.error();
  switch (result->outcome) {
    case CommitOutcome::committed:
    case CommitOutcome::already_committed:
      return StartOutcome::created;
    case CommitOutcome::start_refused:
      return result->start;
    case CommitOutcome::invalid:
      if (detail::mutant("an_invalid_start_is_created")) return StartOutcome::created;
      return Error{ErrorCode::invalid_argument, "start",
                   "the store cannot hold the first turn of \"" + instance.value +
                       "\", so nothing was started: " + result->message,
                   false};
    case CommitOutcome::lease_lost:
    case CommitOutcome::condition_failed:
      break;
  }
  return Error{ErrorCode::internal, "start",
               "the provider answered the start of \"" + instance.value +
                   "\" with an outcome that only an existing instance can have; correct the provider",
               false};
}

}  // namespace

bool is_stored(const Result<CommitResult>& result) {
  return result &&
         (result->outcome == CommitOutcome::committed || result->outcome == CommitOutcome::already_committed);
}

void PendingTurn::notify_caller(const Result<CommitResult>& result) {
  if (on_started) on_started(start_outcome(result, commit.instance));
  if (on_cancelled) on_cancelled(is_stored(result));
}

}  // namespace duramen::inline v0::runtime
