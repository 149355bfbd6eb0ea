// Checks after every run. The ledger checks each call as it happens.
#include "core/matching.hpp"
#include "testing/simulation/world.hpp"
#include <duramen/detail/mutant.hpp>
#include <duramen/replay_check.hpp>

#include <algorithm>

namespace duramen::inline v0::testing {

namespace {

std::optional<CancelReason> recorded_reason(const std::vector<Event>& history, EventId activity) {
  for (const Event& event : history) {
    if (event.source != activity) continue;
    if (const auto* cancel = std::get_if<event::ActivityCancelRequested>(&event.body)) return cancel->reason;
  }
  return std::nullopt;
}

bool is_closed(const std::vector<Event>& history, EventId schedule) {
  return std::ranges::any_of(history, [&](const Event& event) { return event.source == schedule; });
}

}  // namespace

void Simulation::World::check_all() {
  for (const Start& start : starts_) {
    const auto info = memory_->get_instance(start.request.instance);
    if (start.acknowledged && (!info || !*info)) {
      violations_.add("the start of " + start.request.instance.value +
                      " was acknowledged, but it does not exist");
    }
  }
  for (const InstanceId& instance : ledger_.all()) {
    const auto info = memory_->get_instance(instance);
    if (!info || !*info) {
      violations_.add("instance " + instance.value + " is gone");
      continue;
    }
    const auto history = memory_->read_history(instance, (*info)->execution, {}).value();
    if (is_final((*info)->status)) {
      check_end(**info, history);
    } else {
      check_waiting(**info, history);
      check_messages(**info);
    }
    check_replay(**info);
    check_activities(**info, history);
  }
}

/// Every message accepted for a running instance is in its history or in its queue.
void Simulation::World::check_messages(const InstanceInfo& info) {
  const auto pending = memory_->list_pending_work(info.instance).value();
  const auto waiting =
      static_cast<std::size_t>(std::ranges::count_if(pending.messages, [](const auto& message) {
        return message.type == "ExternalRaised" || message.type == "QueueMessage" ||
               message.type == "ContinueAsNew";
      }));
  const std::size_t missing = ledger_.undelivered(info.instance);
  if (missing > waiting && !pending.more_messages) {
    violations_.add(std::to_string(missing - waiting) + " messages to " + info.instance.value +
                    " were accepted and are lost");
  }
}

/// An instance that did not end by the deadline must wait for a time, an event or a running activity.
void Simulation::World::check_waiting(const InstanceInfo& info, const std::vector<Event>& history) {
  for (const Event& event : history) {
    if (is_closed(history, event.id)) continue;
    const auto* timer = std::get_if<event::TimerCreated>(&event.body);
    if (timer != nullptr && timer->fire_at + options_.runtime.poll_interval > clock_.now()) return;
    if (std::holds_alternative<event::ExternalSubscribed>(event.body) ||
        std::holds_alternative<event::QueueSubscribed>(event.body)) {
      return;
    }
    const bool runs = std::ranges::any_of(attempts_.all(), [&](const ActivityAttempt& attempt) {
      return attempt.instance == info.instance && attempt.key.activity == event.id && !attempt.ended &&
             !attempt.node_died;
    });
    if (runs) return;
  }
  violations_.add("instance " + info.instance.value + " is " + std::string(to_string(info.status)) +
                  " after event " + std::to_string(info.last_event_id.value) + " and waits for nothing");
}

/// The instance ended once, and every announced end equals the stored one.
void Simulation::World::check_end(const InstanceInfo& info, const std::vector<Event>& history) {
  const std::string& id = info.instance.value;
  const auto ends = std::ranges::count_if(
      history, [](const Event& event) { return event_class(event) == EventClass::terminal; });
  if (ends != 1) return violations_.add(id + " has " + std::to_string(ends) + " terminal events");
  const EventBody& last = history.back().body;
  if (const auto* completed = std::get_if<event::OrchestrationCompleted>(&last)) {
    if (info.status != Status::completed || info.output != completed->output) {
      violations_.add("the output of " + id + " is not the one in its history");
    }
  } else if (const auto* failed = std::get_if<event::OrchestrationFailed>(&last)) {
    if (info.status == Status::completed || info.failure != failed->details) {
      violations_.add("the failure of " + id + " is not the one in its history");
    }
  } else {
    violations_.add("the history of " + id + " does not end with its end");
  }
  const auto announced = announced_.find(info.instance);
  // Without an announcement, the committing node died before it could announce the end.
  if (announced == announced_.end()) return;
  if (announced->second.size() > 1) violations_.add("the end of " + id + " was announced more than once");
  for (const detail::EndedInstance& end : announced->second) {
    if (end.status != info.status || end.output != info.output || end.failure != info.failure) {
      violations_.add("the end of " + id + " that was announced is not the one that is stored");
    }
  }
}

/// The same code replays every stored history to the same end.
void Simulation::World::check_replay(const InstanceInfo& info) {
  const bool differed = info.failure && info.failure->kind == FailureKind::nondeterminism;
  if (differed && !detail::mutant("simulation_accepts_nondeterminism")) {
    violations_.add("the code of " + info.instance.value +
                    " is not deterministic: " + info.failure->describe());
  }
  RecordedInstance recorded{info.instance, {}};
  for (const ExecutionInfo& execution : memory_->list_executions(info.instance).value()) {
    if (detail::mutant("simulation_skips_ended_executions") && execution.ended_at) continue;
    auto events = memory_->read_history(info.instance, execution.execution, {}).value();
    if (!events.empty()) recorded.executions.push_back({execution.execution, std::move(events)});
  }
  // The code has not changed, so differences that a new build may make are violations here.
  for (const ReplayFinding& finding : duramen::check_replay(registry_, recorded).findings) {
    // Without code an instance can only be ended, by a cancel or as poison.
    if (finding.kind != ReplayFinding::Kind::no_code) violations_.add(finding.describe());
  }
}

/// A cancelled attempt was stopped in time with the reason in history; an activity with a result did run.
void Simulation::World::check_activities(const InstanceInfo& info, const std::vector<Event>& history) {
  const Duration in_time = 5 * options_.runtime.activity_lease;
  for (const ActivityAttempt& attempt : attempts_.all()) {
    if (attempt.instance != info.instance || attempt.key.execution != info.execution) continue;
    const std::string what = "activity " + std::to_string(attempt.key.activity.value) + " of " +
                             info.instance.value + " on " + attempt.node.value;
    const auto recorded = recorded_reason(history, attempt.key.activity);
    if (attempt.cause == StopCause::cancelled && attempt.reason != recorded) {
      violations_.add(what + " received another reason than the one in history");
    }
    const auto cancelled =
        ledger_.cancelled().find({info.incarnation, attempt.key.execution, attempt.key.activity});
    if (cancelled == ledger_.cancelled().end()) continue;
    if (recorded != cancelled->second.reason)
      violations_.add(what + " was cancelled with another reason than the one in history");
    // In a run without faults the attempt must receive `cancelled`, not `lease_lost`.
    const bool calm_run = report_.crashes == 0 && report_.faults == 0 && options_.stall_rate == 0;
    const bool held = cancelled->second.holder == attempt.node && attempt.began <= cancelled->second.at;
    if (calm_run && held && attempt.cause == StopCause::lease_lost) {
      violations_.add(what + " was cancelled but received lease_lost");
    }
    const LeaseTime at = cancelled->second.at;
    const LeaseTime stopped = attempt.stopped.value_or(attempt.ended.value_or(clock_.lease_now()));
    if (attempt.began <= at && !attempt.node_died && stopped - at >= in_time) {
      violations_.add(what + " was cancelled but not stopped");
    }
  }
  for (std::size_t i = 0; i < history.size(); ++i) {
    const Event& event = history[i];
    if (!std::holds_alternative<event::ActivityCompleted>(event.body)) continue;
    if (core::completes_recorded_value(history, i)) continue;
    const bool ran = std::ranges::any_of(attempts_.all(), [&](const ActivityAttempt& attempt) {
      return attempt.instance == info.instance && attempt.key.activity == event.source;
    });
    if (!ran)
      violations_.add("activity " + std::to_string(event.source.value) + " has a result but never ran");
  }
}

/// After all leases and tombstones have expired, ended instances leave only their history.
void Simulation::World::check_nothing_left() {
  if (!ledger_.open().empty()) return;
  clock_.advance(options_.runtime.activity_lease + MemoryOptions{}.tombstone_margin + Duration{1});
  const Snapshot left = memory_->snapshot();
  const auto none = [this](std::size_t count, const char* what) {
    if (count > 0) violations_.add(std::to_string(count) + " " + what + " left behind");
  };
  none(left.worker_rows, "worker rows");
  none(left.queued_messages, "messages");
  none(left.parked_messages, "parked messages");
  none(left.tombstones, "tombstones");
}

}  // namespace duramen::inline v0::testing
