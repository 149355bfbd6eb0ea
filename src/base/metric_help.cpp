#include "base/metric_help.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace duramen::base {

namespace {

using Line = std::pair<std::string_view, std::string_view>;

// Sorted by name, without the common prefix.
constexpr std::string_view prefix = "duramen_";
constexpr auto lines = std::to_array<Line>({
    {"active_orchestrations", "Instances in the store that have not ended."},
    {"activity_abandoned", "Activities that were asked to stop, did not in time, and still run."},
    {"activity_duration_seconds", "How long one attempt of an activity ran."},
    {"activity_executions_total", "Attempts of activities that ended on this node, by outcome."},
    {"activity_poison_total", "Activities that failed because they were handed out too often."},
    {"cancel_delivery_seconds",
     "From the decision to cancel an activity, or from when this node received it, until its stop token "
     "fired."},
    {"commit_batch_size", "Turns that one commit stored."},
    {"commit_duration_seconds", "How long a commit took."},
    {"orchestration_completions_total", "Executions that ended, by how."},
    {"orchestration_continue_as_new_total", "Executions that ended by continuing as new."},
    {"orchestration_dispatcher_items_fetched_total",
     "Instances that this node took from the store to run a turn."},
    {"orchestration_duration_seconds", "From the start of an execution to its end."},
    {"orchestration_failures_total", "Executions that failed, by kind of failure."},
    {"orchestration_history_size", "Events in the history of an execution that ended."},
    {"orchestration_poison_total", "Instances that failed because their messages were handed out too often."},
    {"orchestration_starts_total", "Executions that began."},
    {"orchestration_turns_total", "Turns that were stored."},
    {"orchestrator_queue_depth", "Messages to instances that could be delivered now."},
    {"orchestrator_queue_later", "Messages to instances that are not due yet: timers, above all."},
    {"parked_messages", "Messages that wait for an instance that does not exist yet."},
    {"provider_errors_total", "Calls to the store that failed, by error code."},
    {"provider_operation_duration_seconds", "How long a call to the store took."},
    {"replayed_events_total", "Events of histories that were replayed."},
    {"resident_hits_total", "Turns whose coroutine was in memory."},
    {"resident_misses_total", "Turns that had to replay history first; first turns are not counted."},
    {"suborchestration_calls_total", "Sub-orchestrations that were started."},
    {"turn_duration_seconds", "How long the code of one turn ran."},
    {"worker_dispatcher_items_fetched_total", "Activities that this node took from the store."},
    {"worker_queue_depth", "Activities that could be taken by a worker now."},
});
static_assert(std::ranges::is_sorted(lines, {}, &Line::first));

}  // namespace

std::string_view metric_help(std::string_view name) noexcept {
  if (!name.starts_with(prefix)) return "Reported by the host program.";
  name.remove_prefix(prefix.size());
  const auto* const found = std::ranges::lower_bound(lines, name, {}, &Line::first);
  return found != lines.end() && found->first == name ? found->second : "Reported by Duramen.";
}

}  // namespace duramen::base
