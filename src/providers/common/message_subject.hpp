// The event that a message to an instance answers, and the cancel that it asks for.
#pragma once

#include "base/overloaded.hpp"
#include <duramen/message.hpp>

#include <optional>
#include <utility>

namespace duramen::inline v0::providers {

/// The execution and event that scheduled the activity, timer or child of the message; zeros for other
/// messages.
[[nodiscard]] inline std::pair<ExecutionId, EventId> message_subject(const MessageBody& body) {
  using Subject = std::pair<ExecutionId, EventId>;
  return std::visit(Overloaded{
                        [](const message::ActivityCompleted& m) { return Subject{m.execution, m.id}; },
                        [](const message::ActivityFailed& m) { return Subject{m.execution, m.id}; },
                        [](const message::TimerFired& m) { return Subject{m.execution, m.id}; },
                        [](const message::SubOrchestrationCompleted& m) {
                          return Subject{m.parent.execution, m.parent.event};
                        },
                        [](const message::SubOrchestrationFailed& m) {
                          return Subject{m.parent.execution, m.parent.event};
                        },
                        [](const auto&) { return Subject{}; },
                    },
                    body);
}

/// The request of a message that asks its instance to end.
[[nodiscard]] inline std::optional<event::OrchestrationCancelRequested> message_cancel(
    const MessageBody& body) {
  const auto* cancel = std::get_if<message::CancelInstance>(&body);
  if (cancel == nullptr) return std::nullopt;
  return event::OrchestrationCancelRequested{cancel->reason, cancel->mode, cancel->origin,
                                             cancel->requested_by};
}

}  // namespace duramen::inline v0::providers
