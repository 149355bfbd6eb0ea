#include "runtime/turn_builder.hpp"

#include <duramen/detail/mutant.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

void take_decisions(core::TurnOutcome& outcome, TurnCommit& commit) {
  commit.change.status = outcome.status;
  commit.change.output = std::move(outcome.output);
  commit.change.failure = std::move(outcome.failure);
  commit.change.custom_status = std::move(outcome.custom_status);
  commit.change.key_values = std::move(outcome.key_values);
  if (!outcome.events.empty()) {
    if (const auto* started = std::get_if<event::OrchestrationStarted>(&outcome.events.front().body)) {
      commit.change.version = started->version;
      commit.change.graceful = started->graceful;
      commit.change.parent = started->parent;
    }
  }
  commit.events = std::move(outcome.events);
  commit.messages = std::move(outcome.messages);
  if (outcome.timer_again) commit.messages.push_back(std::move(*outcome.timer_again));
  commit.put_back = std::move(outcome.put_back);
  commit.cancelled_activities = std::move(outcome.cancelled_activities);
  commit.cancel_rest = outcome.cancel_rest;
  commit.dropped_timers = std::move(outcome.dropped_timers);
  commit.new_activities.reserve(outcome.activities.size());
  for (ActivityRequest& activity : outcome.activities)
    commit.new_activities.push_back({std::move(activity), {}});
}

}  // namespace

std::unique_ptr<core::Execution> TurnBuilder::make_execution(
    const core::ExecutionIdentity& identity, std::shared_ptr<const OrchestrationHandler> handler,
    KeyValues key_values) const {
  core::ExecutionOptions options;
  options.max_actions_per_turn = options_.max_actions;
  options.max_depth = options_.max_depth;
  if (!detail::mutant("the_payload_limit_is_fixed")) options.max_payload_bytes = options_.max_payload_bytes;
  if (options_.write_level != nullptr) options.write_level = options_.write_level->load();
  options.key_values = std::move(key_values);
  return std::make_unique<core::Execution>(identity, std::move(handler), std::move(options));
}

PendingTurn TurnBuilder::run(core::Execution& execution, std::span<const Event> history,
                             std::span<const MessageBody> messages, const Failure* condemned) {
  watchdog_.enter(execution.identity().instance);
  const LeaseTime entered = env_.clock().lease_now();
  const auto began = std::chrono::steady_clock::now();
  core::TurnOutcome outcome =
      execution.run_turn({history, messages, env_.clock().now(), env_.random(), condemned});
  watchdog_.leave();
  if (instruments_.on()) {
    instruments_.turn_ran(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  for (const std::string& warning : outcome.warnings) {
    log_(LogLevel::warning, warning, {{"instance_id", execution.identity().instance.value}});
  }
  PendingTurn turn;
  turn.after =
      outcome.events.empty() ? execution.last_event_id() : EventId{outcome.events.front().id.value - 1};
  turn.traces = std::move(outcome.traces);
  turn.taken = std::move(outcome.taken);
  turn.bytes = outcome.bytes;
  turn.took = env_.clock().lease_now() - entered;
  if (instruments_.on()) {
    turn.stats = {.replayed = outcome.replayed_events,
                  .name = execution.name(),
                  .version = execution.version(),
                  .began = execution.started_at()};
  }
  TurnCommit& commit = turn.commit;
  sign(commit);
  commit.instance = execution.identity().instance;
  commit.incarnation = execution.identity().incarnation;
  commit.execution = execution.identity().execution;
  commit.change.engine_version =
      detail::mutant("every_turn_has_the_newest_level") ? engine_version : execution.engine_version();
  commit.activity_lease = options_.activity_lease;
  take_decisions(outcome, commit);
  lease_activities(turn);
  return turn;
}

void TurnBuilder::sign(TurnCommit& commit) {
  commit.token = CommitToken{random_token()};
  commit.node = options_.node;
  if (options_.write_level != nullptr) commit.change.engine_version = options_.write_level->load();
}

/// Never zero, and below 2^63 like every number.
std::uint64_t TurnBuilder::random_token() { return (env_.random() >> 1u) | 1u; }

/// An activity that this node can run at once is born leased to it, and begins without a fetch when the
/// commit returns.
void TurnBuilder::lease_activities(PendingTurn& turn) {
  if (!dispatching_) return;
  for (NewActivity& activity : turn.commit.new_activities) {
    if (activities_.free_places() == 0) break;
    // Another node may own the session: only a fetch finds out.
    if (activity.request.session_id || !options_.tags.accepts(activity.request.tag)) continue;
    if (!activities_.can_run(activity.request.name)) continue;
    const bool function = activities_.is_function(activity.request.name);
    if (function && activities_.free_functions() == 0) continue;
    activity.born_leased = LeaseToken{random_token()};
    const Places place{1, function ? 1u : 0u};
    activities_.reserve(place);
    turn.reserved.all += place.all;
    turn.reserved.functions += place.functions;
  }
}

}  // namespace duramen::inline v0::runtime
