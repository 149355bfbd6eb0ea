// The table of all kinds of messages: JSON tag and fields in the contract's order, after `instance`.
#pragma once

#include "format/fields.hpp"
#include <duramen/message.hpp>

namespace duramen::format {

#define DURAMEN_MESSAGE(type, kind, says_instance)                               \
  template <>                                                                    \
  struct Describe<type> {                                                        \
    static constexpr std::string_view tag = kind;                                \
    static constexpr bool has_instance = says_instance; /* as its first field */ \
    template <class Fields, class Body>                                          \
    static void visit(Fields& f, Body& w);                                       \
  };                                                                             \
  template <class Fields, class Body>                                            \
  void Describe<type>::visit(Fields& f, Body& w)

DURAMEN_MESSAGE(message::StartOrchestration, "StartOrchestration", true) {
  f.text({"orchestration"}, w.orchestration);
  f.payload({"input"}, w.input);
  f.nullable_text({"version"}, w.version);
  f.parent(w.parent);
  f.constant({"execution_id"}, 1);
  f.optional_text({"requested_by"}, w.requested_by);
  f.count({"depth"}, w.depth);
}
DURAMEN_MESSAGE(message::ContinueAsNew, "ContinueAsNew", true) {
  f.text({"orchestration"}, w.orchestration);
  f.payload({"input"}, w.input);
  f.nullable_text({"version"}, w.version);
  f.carried_always({"carry_forward_events"}, w.carry_forward);
  f.optional_text({"initial_custom_status"}, w.initial_custom_status);
  f.optional_parent(w.parent);
  f.count({"depth"}, w.depth);
  f.count({"events_before"}, w.events_before);
  f.optional_text({"requested_by"}, w.requested_by);
}
DURAMEN_MESSAGE(message::ActivityCompleted, "ActivityCompleted", true) {
  f.number({"execution_id"}, w.execution);
  f.number({"id"}, w.id);
  f.payload({"result"}, w.result);
  f.ran(w.ran);
}
DURAMEN_MESSAGE(message::ActivityFailed, "ActivityFailed", true) {
  f.number({"execution_id"}, w.execution);
  f.number({"id"}, w.id);
  f.failure({"details"}, w.details, "ActivityFailed");
  f.ran(w.ran);
  f.optional_payload({"heartbeat"}, w.heartbeat);
}
DURAMEN_MESSAGE(message::TimerFired, "TimerFired", true) {
  f.number({"execution_id"}, w.execution);
  f.number({"id"}, w.id);
  f.time({"fire_at_ms"}, w.fire_at);
}
DURAMEN_MESSAGE(message::SubOrchestrationCompleted, "SubOrchCompleted", false) {
  f.text({"parent_instance"}, w.parent.instance);
  f.number({"parent_execution_id"}, w.parent.execution);
  f.number({"parent_id"}, w.parent.event);
  f.payload({"result"}, w.result);
  f.number_or_zero({"parent_incarnation"}, w.parent.incarnation);
}
DURAMEN_MESSAGE(message::SubOrchestrationFailed, "SubOrchFailed", false) {
  f.text({"parent_instance"}, w.parent.instance);
  f.number({"parent_execution_id"}, w.parent.execution);
  f.number({"parent_id"}, w.parent.event);
  f.failure({"details"}, w.details, "OrchestrationFailed");
  f.number_or_zero({"parent_incarnation"}, w.parent.incarnation);
}
DURAMEN_MESSAGE(message::ExternalRaised, "ExternalRaised", true) {
  f.text({"name"}, w.name);
  f.payload({"data"}, w.data);
  f.optional_text({"requested_by"}, w.requested_by);
}
DURAMEN_MESSAGE(message::QueueMessage, "QueueMessage", true) {
  f.text({"name"}, w.name);
  f.payload({"data"}, w.data);
  f.optional_text({"requested_by"}, w.requested_by);
}
DURAMEN_MESSAGE(message::CancelInstance, "CancelInstance", true) {
  f.text({"reason"}, w.reason);
  f.choice({"mode"}, w.mode, CancelMode::graceful);
  f.choice({"origin"}, w.origin, CancelOrigin::client);
  f.optional_parent(w.parent);
  f.optional_text({"requested_by"}, w.requested_by);
}
DURAMEN_MESSAGE(ActivityRequest, "ActivityExecute", true) {
  f.number({"execution_id"}, w.key.execution);
  f.number({"id"}, w.key.activity);
  f.text({"name"}, w.name);
  f.payload({"input"}, w.input);
  f.optional_text({"session_id"}, w.session_id);
  f.optional_text({"tag"}, w.tag);
  f.options({"options"}, w.options);
  f.number_or_zero({"incarnation"}, w.key.incarnation);
  f.text_or_empty({"orchestration_name"}, w.orchestration_name);
  f.text_or_empty({"orchestration_version"}, w.orchestration_version);
  f.number_or_zero({"retry_of"}, w.retry_of);
  f.count({"attempts_before"}, w.attempts_before);
  f.optional_payload({"heartbeat"}, w.heartbeat);
  f.count({"fence_base"}, w.fence_base);
}

#undef DURAMEN_MESSAGE

}  // namespace duramen::format
