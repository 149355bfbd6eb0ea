#include "runtime/after_commit.hpp"

#include "base/longest_wait.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace duramen::inline v0::runtime {

namespace {

/// The shortest limit on waiting of the scheduled activities; absent if there is none. Their holders check
/// the other limits.
std::optional<Duration> shortest_of(const std::vector<NewActivity>& activities) {
  std::optional<Duration> shortest;
  for (const NewActivity& activity : activities) {
    const Duration limit = base::no_longer(activity.request.options.schedule_to_start);
    if (limit > Duration{}) shortest = std::min(limit, shortest.value_or(limit));
  }
  return shortest;
}

}  // namespace

void AfterCommit::apply(PendingTurn& turn, const CommitResult& result) {
  const std::optional<Duration> limit = shortest_of(turn.commit.new_activities);
  stop_cancelled(turn, result);
  log_traces(turn);
  log_refused_starts(turn, result);
  if (instruments_.on()) count(turn);
  run_activities(turn, result);
  plan_wake_ups(turn, limit);
  InstanceChange& change = turn.commit.change;
  if (is_final(change.status)) {
    events_.instance_ended(turn.instance(),
                           {change.status, std::move(change.output), std::move(change.failure)});
  }
}

void AfterCommit::stop_cancelled(const PendingTurn& turn, const CommitResult& result) {
  for (const StolenLease& stolen : result.stolen) events_.commit_stole(stolen, turn.sent);
  if (result.outcome != CommitOutcome::already_committed) return;
  // The answer that named the stolen leases was lost. This node knows its own activities without it; the
  // store notifies the other nodes.
  const TurnCommit& commit = turn.commit;
  for (const CancelledActivity& cancelled : commit.cancelled_activities)
    activities_.stop({result.incarnation, commit.execution, cancelled.activity}, cancelled.reason);
  if (commit.cancel_rest)
    activities_.stop_execution(result.incarnation, commit.execution, *commit.cancel_rest);
}

void AfterCommit::log_traces(const PendingTurn& turn) const {
  for (const core::TraceLine& line : turn.traces) {
    log_(line.level, line.text,
         {{"instance_id", turn.instance().value},
          {"execution_id", std::to_string(turn.commit.execution.value)}},
         LogSource::orchestration);
  }
}

void AfterCommit::log_refused_starts(const PendingTurn& turn, const CommitResult& result) const {
  for (const InstanceId& taken : result.refused_starts) {
    if (detail::mutant("a_refused_detached_start_is_silent")) break;
    log_(LogLevel::warning,
         "a detached start had no effect because an instance with that id exists; choose another id",
         {{"instance_id", turn.instance().value}, {"refused_id", taken.value}});
  }
}

void AfterCommit::count(const PendingTurn& turn) const {
  const TurnCommit& commit = turn.commit;
  const TurnLabels labels{turn.stats.name, turn.stats.version};
  bool first = false;
  for (const Event& event : commit.events) {
    const auto* started = std::get_if<event::OrchestrationStarted>(&event.body);
    if (started == nullptr) continue;
    first = true;
    instruments_.execution_began(labels, commit.execution.value > 1 ? "continueAsNew"
                                         : started->parent          ? "parent"
                                                                    : "client");
  }
  instruments_.turn_committed(labels, turn.stats.replayed, first);
  for (const Event& event : commit.events) {
    if (const auto* child = std::get_if<event::SubOrchestrationScheduled>(&event.body))
      instruments_.child_called(labels, child->name);
  }
  const Status status = commit.change.status;
  if (!is_final(status) && status != Status::continued_as_new) return;
  if (commit.events.empty()) return;  // it had ended before
  instruments_.execution_ended(labels, status, commit.change.failure, env_.clock().now() - turn.stats.began,
                               commit.events.back().id.value);
}

void AfterCommit::run_activities(PendingTurn& turn, const CommitResult& result) {
  for (NewActivity& activity : turn.commit.new_activities) {
    if (!activity.born_leased) continue;
    activity.request.key.incarnation = result.incarnation;
    LeasedActivity leased;
    leased.lease = {activity.request.key, *activity.born_leased};
    leased.request = std::move(activity.request);
    // The first of its row: every later lease of the row counts on from here.
    leased.fence = (leased.request.fence_base << 32u) + 1;
    if (detail::mutant("a_fence_at_birth_has_no_base")) leased.fence = 1;
    activities_.run(std::move(leased), turn.sent);
  }
}

void AfterCommit::plan_wake_ups(const PendingTurn& turn, std::optional<Duration> limit) {
  for (const OutboundMessage& message : turn.commit.messages) {
    if (std::holds_alternative<message::TimerFired>(message.body)) events_.timer_created(message.visible_at);
  }
  if (limit) events_.activity_limited(env_.clock().now() + *limit);
}

}  // namespace duramen::inline v0::runtime
