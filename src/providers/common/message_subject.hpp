// The event that a message to an instance answers.
#pragma once

#include "base/overloaded.hpp"
#include <duramen/message.hpp>

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

}  // namespace duramen::inline v0::providers
