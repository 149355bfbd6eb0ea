// Decides which messages become inbound events and which are ignored.
#include "base/overloaded.hpp"
#include "core/execution.hpp"
#include "core/failures.hpp"

#include <string>
#include <utility>

namespace duramen::inline v0::core {

std::optional<Event> Execution::admit(const MessageBody& message) {
  return std::visit(Overloaded{
                        [this](const message::StartOrchestration& m) -> std::optional<Event> {
                          event::OrchestrationStarted started;
                          started.name = m.orchestration;
                          started.version = handler_ ? handler_->version : m.version.value_or("");
                          started.graceful = handler_ && handler_->graceful;
                          started.input = m.input;
                          started.parent = m.parent;
                          return Event{{}, {}, {}, std::move(started)};
                        },
                        [this](const message::ContinueAsNew& m) -> std::optional<Event> {
                          event::OrchestrationStarted started;
                          started.name = m.orchestration;
                          started.version = handler_ ? handler_->version : m.version.value_or("");
                          started.graceful = handler_ && handler_->graceful;
                          started.input = m.input;
                          started.parent = m.parent;
                          started.carry_forward = m.carry_forward;
                          started.initial_custom_status = m.initial_custom_status;
                          return Event{{}, {}, {}, std::move(started)};
                        },
                        [this](const message::ActivityCompleted& m) {
                          return admit_completion(m.execution, m.id, ScheduleKind::activity,
                                                  event::ActivityCompleted{m.result});
                        },
                        [this](const message::ActivityFailed& m) {
                          return admit_completion(m.execution, m.id, ScheduleKind::activity,
                                                  event::ActivityFailed{m.details});
                        },
                        [this](const message::TimerFired& m) -> std::optional<Event> {
                          if (schedules_.state(m.id) == ScheduleState::cancelled)
                            return std::nullopt;  // a dropped timer is no event
                          return admit_completion(m.execution, m.id, ScheduleKind::timer,
                                                  event::TimerFired{m.fire_at});
                        },
                        [this](const message::SubOrchestrationCompleted& m) {
                          return admit_child(m.parent, event::SubOrchestrationCompleted{m.result});
                        },
                        [this](const message::SubOrchestrationFailed& m) {
                          return admit_child(m.parent, event::SubOrchestrationFailed{m.details});
                        },
                        [](const message::ExternalRaised& m) -> std::optional<Event> {
                          return Event{{}, {}, {}, event::ExternalEvent{m.name, m.data}};
                        },
                        [](const message::QueueMessage& m) -> std::optional<Event> {
                          return Event{{}, {}, {}, event::QueueEventDelivered{m.name, m.data}};
                        },
                        [this](const message::CancelInstance& m) { return admit_cancel(m); },
                    },
                    message);
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
  if (cancel.parent) {
    // Accepted from a parent only if it started this instance.
    const bool own_parent = parent_ && parent_->instance == cancel.parent->instance &&
                            parent_->execution == cancel.parent->execution &&
                            parent_->event == cancel.parent->event &&
                            (!parent_->incarnation || !cancel.parent->incarnation ||
                             parent_->incarnation == cancel.parent->incarnation);
    if (!own_parent) return std::nullopt;
  }
  if (cancelling_ && cancel.mode == CancelMode::graceful) return std::nullopt;  // asked before
  return Event{{}, {}, {}, event::OrchestrationCancelRequested{cancel.reason, cancel.mode, cancel.origin}};
}

bool Execution::decided_without_code(const TurnInput& input) const {
  if (input.history.empty() || input.messages.empty()) return false;
  const auto* cancel = std::get_if<message::CancelInstance>(&input.messages.front());
  const auto* started = std::get_if<event::OrchestrationStarted>(&input.history.front().body);
  return cancel != nullptr && started != nullptr && !cancel->parent &&
         (!started->graceful || cancel->mode == CancelMode::terminate);
}

}  // namespace duramen::inline v0::core
