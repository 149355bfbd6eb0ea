#include <duramen/retry.hpp>

#include "core/execution.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace duramen::inline v0 {

Duration Backoff::pause_after(std::uint32_t attempt) const noexcept {
  double pause = 0;
  switch (kind_) {
    case Kind::none:
      return Duration{0};
    case Kind::fixed:
      return base_;
    case Kind::linear:
      pause = static_cast<double>(base_.count()) * attempt;
      break;
    case Kind::exponential:
      pause = static_cast<double>(base_.count()) * std::pow(factor_, attempt - 1.0);
      break;
  }
  // Compared as a double: a large power does not fit an integer.
  if (!(pause < static_cast<double>(longest_.count()))) return longest_;
  return Duration{static_cast<Duration::rep>(std::ceil(std::max(pause, 0.0)))};
}

RetryPolicy& RetryPolicy::attempts(std::uint32_t count) {
  if (count == 0) throw std::invalid_argument("a retry policy makes at least one attempt");
  attempts_ = count;
  return *this;
}

bool RetryPolicy::tries_again(const Failure& failure, std::uint32_t attempt) const {
  if (attempt >= attempts_) return false;
  if (failure.kind == FailureKind::cancelled) return false;
  if (failure.kind != FailureKind::timeout && !failure.retryable) return false;
  return std::find(final_types_.begin(), final_types_.end(), failure.type) == final_types_.end();
}

namespace detail {

namespace {

/// True if no worker took the activity in time.
bool never_ran(const AttemptRecord& attempt, const Failure& failure) {
  return attempt.ran.attempt == 0 && failure.kind == FailureKind::timeout &&
         failure.timeout == TimeoutKind::schedule_to_start && !mutant("a_try_that_never_ran_is_an_attempt");
}

/// Makes `request` the next attempt at the step that began with `first`.
void follow(event::ActivityScheduled& request, EventId first, AttemptRecord failed, const Failure& failure) {
  if (!mutant("a_retry_is_a_step_of_its_own")) request.retry_of = first;
  // An attempt that the orchestration gave up has reported nothing about itself.
  const std::uint32_t least = request.attempts_before + (never_ran(failed, failure) ? 0 : 1);
  if (!mutant("attempts_start_again_with_a_retry"))
    request.attempts_before = std::max(least, failed.ran.attempt);
  const bool keeps = !failed.heartbeat && mutant("older_details_outlive_a_try");
  if (!keeps && !mutant("a_retry_forgets_the_details")) request.heartbeat = std::move(failed.heartbeat);
}

/// One attempt after the other. Each is a separate activity; a limit on one attempt is a timer next to it.
Task<Payload> try_repeatedly(core::Execution& execution, event::ActivityScheduled request, RetryPolicy policy,
                             std::source_location where) {
  OrchestrationContext& ctx = execution.context();
  EventId first;
  for (std::uint32_t attempt = 1;; ++attempt) {
    // Its failure replaces the details. An attempt that is given up leaves those that it received.
    AttemptRecord record{.event = {}, .heartbeat = request.heartbeat};
    auto activity = DurableFuture<Payload>(std::make_unique<Leaf>(execution, request, where, &record),
                                           &read_leaf<Payload>);
    if (policy.attempt_timeout()) activity = ctx.with_timeout(*policy.attempt_timeout(), std::move(activity));
    Failure failure;
    try {
      co_return co_await std::move(activity);
    } catch (const CancelledError&) {
      // Not a failure of the attempt: the orchestration ends.
      throw;
    } catch (const LimitError& error) {
      // The engine refused to schedule it; every further attempt would be refused as well.
      if (detail::mutant("retries_hide_refused_names")) throw ActivityError(error.failure());
      throw;
    } catch (...) {
      failure = failure_from(std::current_exception());
    }
    failure.attempt = attempt;
    if (failure.kind == FailureKind::timeout && failure.timeout == TimeoutKind::total) {
      failure.timeout = TimeoutKind::start_to_close;  // the limit of one attempt
    }
    if (!policy.tries_again(failure, attempt)) throw ActivityError(std::move(failure));
    if (attempt == 1) first = record.event;
    follow(request, first, std::move(record), failure);
    const Duration pause = policy.pause_after(attempt);
    if (pause > Duration::zero()) {
      auto timer = ctx.schedule_timer(pause, where);
      co_await std::move(timer);
    }
  }
}

Task<Payload> retry(core::Execution& execution, event::ActivityScheduled request, RetryPolicy policy,
                    std::source_location where) {
  const std::optional<Duration> limit = policy.total_timeout();
  auto attempts = try_repeatedly(execution, std::move(request), std::move(policy), where);
  if (!limit) co_return co_await std::move(attempts);
  auto limited = execution.context().with_timeout(*limit, std::move(attempts));
  try {
    co_return co_await std::move(limited);
  } catch (const CancelledError&) {
    throw;
  } catch (const LimitError&) {
    throw;
  } catch (const DurableError& error) {
    throw ActivityError(error.failure());
  }
}

}  // namespace

std::unique_ptr<Operation> make_retry(core::Execution& execution, event::ActivityScheduled request,
                                      RetryPolicy policy, std::source_location where) {
  return std::make_unique<TaskOperation<Payload>>(
      execution, retry(execution, std::move(request), std::move(policy), where));
}

Payload take_retry(Operation& operation) { return TaskOperation<Payload>::take(operation, nullptr); }

}  // namespace detail
}  // namespace duramen::inline v0
