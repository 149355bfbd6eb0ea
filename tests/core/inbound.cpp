#include "core/inbound.hpp"

#include "base/overloaded.hpp"

#include <stdexcept>

namespace duramen::core_test {

WorkItem message_behind(const Event& event, const core::ExecutionIdentity& identity) {
  const ExecutionId execution = identity.execution;
  const ParentLink link{identity.instance, identity.incarnation, execution, event.source};
  return std::visit(
      Overloaded{
          [](const event::OrchestrationStarted& e) -> WorkItem {
            return work::ContinueAsNew{e.name,  e.input, {}, e.carry_forward, e.initial_custom_status,
                                       e.parent};
          },
          [](const event::OrchestrationCancelRequested& e) -> WorkItem {
            return work::CancelInstance{e.reason, e.mode, e.origin, {}};
          },
          [&](const event::ActivityCompleted& e) -> WorkItem {
            return work::ActivityCompleted{execution, event.source, e.result};
          },
          [&](const event::ActivityFailed& e) -> WorkItem {
            return work::ActivityFailed{execution, event.source, e.details};
          },
          [&](const event::TimerFired& e) -> WorkItem {
            return work::TimerFired{execution, event.source, e.fire_at};
          },
          [&](const event::SubOrchestrationCompleted& e) -> WorkItem {
            return work::SubOrchCompleted{link, e.result};
          },
          [&](const event::SubOrchestrationFailed& e) -> WorkItem {
            return work::SubOrchFailed{link, e.details};
          },
          [](const event::ExternalEvent& e) -> WorkItem { return work::ExternalRaised{e.name, e.data}; },
          [](const event::QueueEventDelivered& e) -> WorkItem { return work::QueueMessage{e.name, e.data}; },
          [](const auto&) -> WorkItem { throw std::logic_error("no message makes this event"); },
      },
      event.body);
}

}  // namespace duramen::core_test
