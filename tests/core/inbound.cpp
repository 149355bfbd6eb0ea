#include "core/inbound.hpp"

#include "base/overloaded.hpp"

#include <stdexcept>

namespace duramen::core_test {

MessageBody message_behind(const Event& event, const core::ExecutionIdentity& identity) {
  const ExecutionId execution = identity.execution;
  const ParentLink link{identity.instance, identity.incarnation, execution, event.source};
  return std::visit(
      Overloaded{
          [](const event::OrchestrationStarted& e) -> MessageBody {
            return message::ContinueAsNew{e.name,  e.input, {}, e.carry_forward, e.initial_custom_status,
                                          e.parent};
          },
          [](const event::OrchestrationCancelRequested& e) -> MessageBody {
            return message::CancelInstance{e.reason, e.mode, e.origin, {}};
          },
          [&](const event::ActivityCompleted& e) -> MessageBody {
            return message::ActivityCompleted{execution, event.source, e.result};
          },
          [&](const event::ActivityFailed& e) -> MessageBody {
            return message::ActivityFailed{execution, event.source, e.details};
          },
          [&](const event::TimerFired& e) -> MessageBody {
            return message::TimerFired{execution, event.source, e.fire_at};
          },
          [&](const event::SubOrchestrationCompleted& e) -> MessageBody {
            return message::SubOrchestrationCompleted{link, e.result};
          },
          [&](const event::SubOrchestrationFailed& e) -> MessageBody {
            return message::SubOrchestrationFailed{link, e.details};
          },
          [](const event::ExternalEvent& e) -> MessageBody {
            return message::ExternalRaised{e.name, e.data};
          },
          [](const event::QueueEventDelivered& e) -> MessageBody {
            return message::QueueMessage{e.name, e.data};
          },
          [](const auto&) -> MessageBody { throw std::logic_error("no message makes this event"); },
      },
      event.body);
}

}  // namespace duramen::core_test
