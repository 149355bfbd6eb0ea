#include "base/metric_help.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace duramen::base {

namespace {

using Line = std::pair<std::string_view, std::string_view>;

// Sorted by name, without the prefix that all share.
constexpr std::string_view prefix = "duramen_";
constexpr auto lines = std::to_array<Line>({
    {"activities_abandoned", "Activities that were asked to stop, did not in time, and still run."},
    {"activities_running", "Activities that run on this node now."},
    {"activity_duration_seconds", "How long one attempt of an activity ran."},
    {"activity_executions_total", "Attempts of activities that ended, by outcome."},
    {"activity_poison_total", "Activities that failed because they were handed out too often."},
    {"commit_batch_size", "Turns stored in one commit."},
    {"instances", "Instances in the store, by status."},
    {"orchestration_completions_total", "Executions that ended, by how."},
    {"orchestration_continue_as_new_total", "Executions that continued as new."},
    {"orchestration_duration_seconds", "From the start of an execution to its end."},
    {"orchestration_failures_total", "Executions that failed, by kind of failure."},
    {"orchestration_history_size", "Events in the history of an execution that ended."},
    {"orchestration_poison_total", "Instances that failed because their messages were handed out too often."},
    {"orchestration_starts_total", "Executions that began."},
    {"orchestration_turns", "Turns of an execution that ended."},
    {"orchestrator_queue_depth", "Messages on their way to instances, by state."},
    {"parked_messages", "Messages that wait for an instance that does not exist yet."},
    {"provider_errors_total", "Calls to the store that failed, by error code."},
    {"provider_operation_duration_seconds", "How long a call to the store took."},
    {"sessions", "Sessions that have an owner."},
    {"suborchestration_calls_total", "Sub-orchestrations that ended, by outcome."},
    {"suborchestration_duration_seconds", "From the start of a sub-orchestration to its answer."},
    {"turn_duration_seconds", "How long the code of one turn ran."},
    {"worker_queue_depth", "Activities that wait or run, by state."},
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
