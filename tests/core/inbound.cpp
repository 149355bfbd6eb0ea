#include "core/inbound.hpp"

#include "base/overloaded.hpp"

#include <stdexcept>

namespace duramen::core_test {

namespace {

MessageBody message_behind(const Event& event, const core::ExecutionIdentity& identity) {
  const ExecutionId execution = identity.execution;
  const ParentLink link{identity.instance, identity.incarnation, execution, event.source};
  return std::visit(
      Overloaded{
          [](const event::OrchestrationStarted& e) -> MessageBody {
            return message::ContinueAsNew{e.name,
                                          e.input,
                                          {},
                                          e.carry_forward,
                                          e.initial_custom_status,
                                          e.parent,
                                          e.depth,
                                          e.events_before,
                                          e.requested_by};
          },
          [](const event::OrchestrationCancelRequested& e) -> MessageBody {
            return message::CancelInstance{e.reason, e.mode, e.origin, {}, e.requested_by};
          },
          [&](const event::ActivityCompleted& e) -> MessageBody {
            return message::ActivityCompleted{execution, event.source, e.result, e.ran};
          },
          [&](const event::ActivityFailed& e) -> MessageBody {
            return message::ActivityFailed{execution, event.source, e.details, e.ran, e.heartbeat};
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
            return message::ExternalRaised{e.name, e.data, e.requested_by};
          },
          [](const event::QueueEventDelivered& e) -> MessageBody {
            return message::QueueMessage{e.name, e.data, e.requested_by};
          },
          [](const auto&) -> MessageBody { throw std::logic_error("no message makes this event"); },
      },
      event.body);
}

}  // namespace

std::vector<MessageBody> messages_behind(const Event& event, const core::ExecutionIdentity& identity) {
  std::vector<MessageBody> messages{message_behind(event, identity)};
  const auto* started = std::get_if<event::OrchestrationStarted>(&event.body);
  if (started != nullptr && started->cancel) {
    const event::OrchestrationCancelRequested& cancel = *started->cancel;
    messages.emplace_back(
        message::CancelInstance{cancel.reason, cancel.mode, cancel.origin, {}, cancel.requested_by});
  }
  return messages;
}

}  // namespace duramen::core_test
