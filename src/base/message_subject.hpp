// What a message to an instance is about.
#pragma once

#include "base/overloaded.hpp"
#include <duramen/work_item.hpp>

#include <utility>

namespace duramen::base {

/// The execution and event that scheduled what the message completes or fires; none for messages that answer
/// nothing.
[[nodiscard]] inline std::pair<ExecutionId, EventId> message_subject(const WorkItem& item) {
  using Subject = std::pair<ExecutionId, EventId>;
  return std::visit(
      Overloaded{
          [](const work::ActivityCompleted& m) { return Subject{m.execution, m.id}; },
          [](const work::ActivityFailed& m) { return Subject{m.execution, m.id}; },
          [](const work::TimerFired& m) { return Subject{m.execution, m.id}; },
          [](const work::SubOrchCompleted& m) { return Subject{m.parent.execution, m.parent.event}; },
          [](const work::SubOrchFailed& m) { return Subject{m.parent.execution, m.parent.event}; },
          [](const auto&) { return Subject{}; },
      },
      item);
}

}  // namespace duramen::base
