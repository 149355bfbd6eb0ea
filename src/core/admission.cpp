// Decides which messages become inbound events and which are ignored.
#include "base/overloaded.hpp"
#include "core/cancels.hpp"
#include "core/execution.hpp"
#include "core/failures.hpp"
#include <duramen/detail/mutant.hpp>
#include <duramen/limits.hpp>

#include <string>
#include <utility>

namespace duramen::inline v0::core {

namespace {

event::OrchestrationCancelRequested request_of(const message::CancelInstance& cancel) {
  return {cancel.reason, cancel.mode, cancel.origin, cancel.requested_by};
}

/// Null if the message does not begin an execution.
const std::optional<ParentLink>* parent_in_beginning(const MessageBody& message) {
  if (const auto* start = std::get_if<message::StartOrchestration>(&message)) return &start->parent;
  if (const auto* next = std::get_if<message::ContinueAsNew>(&message)) return &next->parent;
  return nullptr;
}

}  // namespace

bool counts(const message::CancelInstance& cancel, const std::optional<ParentLink>& parent) {
  if (!cancel.parent) return true;
  return parent && parent->instance == cancel.parent->instance &&
         parent->execution == cancel.parent->execution && parent->event == cancel.parent->event &&
         (!parent->incarnation || !cancel.parent->incarnation ||
          parent->incarnation == cancel.parent->incarnation);
}

/// A cancel in one batch with the beginning applies before the code runs, wherever it stands.
void Execution::take_early_cancel(const TurnInput& input) {
  if (last_event_id_) return;
  const std::optional<ParentLink>* parent = nullptr;
  for (const MessageBody& message : input.messages) {
    if (parent == nullptr) parent = parent_in_beginning(message);
  }
  if (parent == nullptr || detail::mutant("a_cancel_waits_for_the_beginning")) return;
  for (std::size_t i = 0; i < input.messages.size(); ++i) {
    const auto* cancel = std::get_if<message::CancelInstance>(&input.messages[i]);
    if (cancel == nullptr || !counts(*cancel, *parent)) continue;
    const bool stronger = !early_cancel_ || (early_cancel_->mode == CancelMode::graceful &&
                                             cancel->mode == CancelMode::terminate);
    if (!stronger) continue;
    early_cancel_ = request_of(*cancel);
    early_cancel_at_ = i;
  }
}

std::optional<Event> Execution::admit(const MessageBody& message) {
  return std::visit(
      Overloaded{
          [this](const message::StartOrchestration& m) -> std::optional<Event> {
            event::OrchestrationStarted started;
            started.name = m.orchestration;
            started.version = handler_ ? handler_->version : m.version.value_or("");
            started.graceful = handler_ && handler_->graceful;
            started.engine_version = options_.write_level;
            started.input = m.input;
            started.parent = m.parent;
            started.cancel = early_cancel_;
            started.depth = m.depth;
            started.requested_by = m.requested_by;
            started.max_depth = options_.max_depth;
            started.max_payload_bytes = options_.max_payload_bytes;
            return Event{{}, {}, {}, std::move(started)};
          },
          [this](const message::ContinueAsNew& m) -> std::optional<Event> {
            event::OrchestrationStarted started;
            started.name = m.orchestration;
            started.version = handler_ ? handler_->version : m.version.value_or("");
            started.graceful = handler_ && handler_->graceful;
            started.engine_version = options_.write_level;
            started.input = m.input;
            started.parent = m.parent;
            started.carry_forward = m.carry_forward;
            started.initial_custom_status = m.initial_custom_status;
            started.cancel = early_cancel_;
            started.depth = m.depth;
            started.events_before = m.events_before;
            started.requested_by = m.requested_by;
            started.max_depth = options_.max_depth;
            started.max_payload_bytes = options_.max_payload_bytes;
            return Event{{}, {}, {}, std::move(started)};
          },
          [this](const message::ActivityCompleted& m) {
            return admit_completion(m.execution, m.id, ScheduleKind::activity,
                                    event::ActivityCompleted{m.result, m.ran});
          },
          [this](const message::ActivityFailed& m) {
            return admit_completion(m.execution, m.id, ScheduleKind::activity,
                                    event::ActivityFailed{m.details, m.ran, kept_details(m)});
          },
          [this](const message::TimerFired& m) -> std::optional<Event> {
            if (schedules_.state(m.id) == ScheduleState::cancelled)
              return std::nullopt;  // a dropped timer is no event
            return admit_completion(m.execution, m.id, ScheduleKind::timer, event::TimerFired{m.fire_at});
          },
          [this](const message::SubOrchestrationCompleted& m) {
            return admit_child(m.parent, event::SubOrchestrationCompleted{m.result});
          },
          [this](const message::SubOrchestrationFailed& m) {
            return admit_child(m.parent, event::SubOrchestrationFailed{m.details});
          },
          [](const message::ExternalRaised& m) -> std::optional<Event> {
            return Event{{}, {}, {}, event::ExternalEvent{m.name, m.data, m.requested_by}};
          },
          [](const message::QueueMessage& m) -> std::optional<Event> {
            return Event{{}, {}, {}, event::QueueEventDelivered{m.name, m.data, m.requested_by}};
          },
          [this](const message::CancelInstance& m) { return admit_cancel(m); },
      },
      message);
}

/// The heartbeat details for the next attempt. Details that are too large are dropped, not the failure: a
/// node sends `null` instead.
std::optional<Payload> Execution::kept_details(const message::ActivityFailed& failed) {
  if (failed.heartbeat == Payload::none()) return std::nullopt;
  if (!failed.heartbeat || failed.heartbeat->data.size() <= max_retry_details_bytes) return failed.heartbeat;
  warnings_.push_back("the heartbeat details of activity " + std::to_string(failed.id.value) + " have " +
                      std::to_string(failed.heartbeat->data.size()) + " bytes; a retry receives at most " +
                      std::to_string(max_retry_details_bytes) + ", so they are dropped");
  return std::nullopt;
}

std::optional<Event> Execution::admit_completion(ExecutionId execution, EventId source, ScheduleKind kind,
                                                 EventBody body) {
  if (execution != identity_.execution) return std::nullopt;  // an answer to an earlier execution
  if (schedules_.kind(source) == kind && schedules_.state(source) == ScheduleState::closed) {
    return std::nullopt;  // delivered before
  }
  Event completion{{}, source, {}, std::move(body)};
  if (schedules_.kind(source) != kind) {
    stop(engine_failure(FailureKind::nondeterminism, "UnmatchedCompletion",
                        std::string(event_type(completion)) + " arrived for event " +
                            std::to_string(source.value) + ", which did not schedule such a thing"));
    return std::nullopt;
  }
  return completion;
}

/// A link matches if it names this very instance; a link made before the incarnation was known has none.
bool Execution::is_mine(const ParentLink& link) const {
  return link.instance == identity_.instance &&
         (!link.incarnation || !identity_.incarnation || link.incarnation == identity_.incarnation);
}

std::optional<Event> Execution::admit_child(const ParentLink& parent, EventBody body) {
  if (!is_mine(parent)) return std::nullopt;
  return admit_completion(parent.execution, parent.event, ScheduleKind::sub_orchestration, std::move(body));
}

std::optional<Event> Execution::admit_cancel(const message::CancelInstance& cancel) {
  if (!counts(cancel, parent_)) return std::nullopt;
  if (cancelling_ && cancel.mode == CancelMode::graceful) return std::nullopt;  // asked before
  // Without the code, only a cancel that needs none can end it.
  if (!handler_ && last_event_id_ && !needs_no_code(cancel, graceful_)) return std::nullopt;
  return Event{{}, {}, {}, request_of(cancel)};
}

bool Execution::decided_without_code(const TurnInput& input) const {
  if (input.history.empty() || input.messages.empty()) return false;
  const auto* cancel = std::get_if<message::CancelInstance>(&input.messages.front());
  const auto* started = std::get_if<event::OrchestrationStarted>(&input.history.front().body);
  return cancel != nullptr && started != nullptr && counts(*cancel, started->parent) &&
         needs_no_code(*cancel, started->graceful);
}

}  // namespace duramen::inline v0::core
