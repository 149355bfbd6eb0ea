// The table of all kinds of events: JSON `type`, part in a segment, fields in the contract's order.
//
// Stored keys "e", "id", "s" and "t" belong to the event itself, "p" to the parent link, "ran" to the
// attempt.
#pragma once

#include "format/fields.hpp"
#include <duramen/history.hpp>

namespace duramen::format {

#define DURAMEN_EVENT(kind, type, part_of_segment)                  \
  template <>                                                       \
  struct Describe<event::kind> {                                    \
    static constexpr std::string_view tag = type;                   \
    static constexpr EventClass part = EventClass::part_of_segment; \
    template <class Fields, class Body>                             \
    static void visit(Fields& f, Body& e);                          \
  };                                                                \
  template <class Fields, class Body>                               \
  void Describe<event::kind>::visit([[maybe_unused]] Fields& f, [[maybe_unused]] Body& e)

DURAMEN_EVENT(OrchestrationStarted, "OrchestrationStarted", inbound) {
  f.text({"name", "n"}, e.name);
  f.text({"version", "v"}, e.version);
  f.payload({"input", "i"}, e.input);
  f.parent(e.parent);
  f.carried({"carry_forward_events", "cf"}, e.carry_forward);
  f.optional_text({"initial_custom_status", "cs"}, e.initial_custom_status);
  f.engine_version({"engine_version", "ev"}, e.engine_version);
  f.flag({"graceful", "g"}, e.graceful);
  f.object({"cancel", "cancel"}, e.cancel);
  f.optional_text({"requested_by", "rb"}, e.requested_by);
  f.count({"depth", "depth"}, e.depth);
  f.count({"events_before", "eb"}, e.events_before);
  f.limit({"max_depth", "md"}, e.max_depth, default_max_depth);
  f.limit({"max_payload_bytes", "mp"}, e.max_payload_bytes, std::uint64_t{default_payload_limit});
}
DURAMEN_EVENT(OrchestrationCancelRequested, "OrchestrationCancelRequested", inbound) {
  f.text({"reason", "why"}, e.reason);
  f.choice({"mode", "mode"}, e.mode, CancelMode::graceful);
  f.choice({"origin", "by"}, e.origin, CancelOrigin::client);
  f.optional_text({"requested_by", "rb"}, e.requested_by);
}
DURAMEN_EVENT(ActivityCompleted, "ActivityCompleted", inbound) {
  f.payload({"result", "r"}, e.result);
  f.ran(e.ran);
}
DURAMEN_EVENT(ActivityFailed, "ActivityFailed", inbound) {
  f.failure({"details", "d"}, e.details, tag);
  f.ran(e.ran);
  f.optional_payload({"heartbeat", "hb"}, e.heartbeat);
}
DURAMEN_EVENT(TimerFired, "TimerFired", inbound) { f.time({"fire_at_ms", "at"}, e.fire_at); }
DURAMEN_EVENT(SubOrchestrationCompleted, "SubOrchestrationCompleted", inbound) {
  f.payload({"result", "r"}, e.result);
}
DURAMEN_EVENT(SubOrchestrationFailed, "SubOrchestrationFailed", inbound) {
  f.failure({"details", "d"}, e.details, "OrchestrationFailed");
}
DURAMEN_EVENT(ExternalEvent, "ExternalEvent", inbound) {
  f.text({"name", "n"}, e.name);
  f.payload({"data", "i"}, e.data);
  f.optional_text({"requested_by", "rb"}, e.requested_by);
}
DURAMEN_EVENT(QueueEventDelivered, "ExternalEventPersistent", inbound) {
  f.text({"name", "n"}, e.name);
  f.payload({"data", "i"}, e.data);
  f.optional_text({"requested_by", "rb"}, e.requested_by);
}

DURAMEN_EVENT(ActivityScheduled, "ActivityScheduled", action) {
  f.text({"name", "n"}, e.name);
  f.payload({"input", "i"}, e.input);
  f.optional_text({"session_id", "session"}, e.session_id);
  f.optional_text({"tag", "tag"}, e.tag);
  f.options({"options", "options"}, e.options);
  f.number_or_zero({"retry_of", "ro"}, e.retry_of);
  f.count({"attempts_before", "ab"}, e.attempts_before);
  f.optional_payload({"heartbeat", "hb"}, e.heartbeat);
}
DURAMEN_EVENT(TimerCreated, "TimerCreated", action) { f.time({"fire_at_ms", "at"}, e.fire_at); }
DURAMEN_EVENT(ExternalSubscribed, "ExternalSubscribed", action) { f.text({"name", "n"}, e.name); }
DURAMEN_EVENT(QueueSubscribed, "ExternalSubscribedPersistent", action) { f.text({"name", "n"}, e.name); }
DURAMEN_EVENT(SubOrchestrationScheduled, "SubOrchestrationScheduled", action) {
  f.text({"name", "n"}, e.name);
  f.text({"instance", "c"}, e.instance);
  f.payload({"input", "i"}, e.input);
  f.optional_text({"version", "v"}, e.version);
  f.flag({"explicit_id", "x"}, e.explicit_id);
}
DURAMEN_EVENT(OrchestrationChained, "OrchestrationChained", action) {
  f.text({"name", "n"}, e.name);
  f.text({"instance", "c"}, e.instance);
  f.payload({"input", "i"}, e.input);
  f.optional_text({"version", "v"}, e.version);
}
DURAMEN_EVENT(CustomStatusUpdated, "CustomStatusUpdated", action) {
  f.nullable_text({"status", "cs"}, e.status);
}
DURAMEN_EVENT(KeyValueSet, "KeyValueSet", action) {
  f.text({"key", "k"}, e.key);
  f.payload({"value", "v"}, e.value);
  f.time_or_zero({"last_updated_at_ms", "at"}, e.last_updated_at);
}
DURAMEN_EVENT(KeyValueCleared, "KeyValueCleared", action) { f.text({"key", "k"}, e.key); }
DURAMEN_EVENT(KeyValuesCleared, "KeyValuesCleared", action) {}
#ifdef DURAMEN_TEST_LEVEL_2
DURAMEN_EVENT(TestMark, "TestMark", action) { f.text({"name", "n"}, e.name); }
#endif

DURAMEN_EVENT(ActivityCancelRequested, "ActivityCancelRequested", cancel) {
  f.reason({"reason", "why"}, e.reason);
}
DURAMEN_EVENT(SubOrchestrationCancelRequested, "SubOrchestrationCancelRequested", cancel) {
  f.reason({"reason", "why"}, e.reason);
  f.text_or_empty({"text", "m"}, e.text);
  f.choice({"mode", "mode"}, e.mode, CancelMode::graceful);
  f.optional_text({"requested_by", "rb"}, e.requested_by);
}
DURAMEN_EVENT(ExternalSubscribedCancelled, "ExternalSubscribedCancelled", cancel) {
  f.reason({"reason", "why"}, e.reason);
}
DURAMEN_EVENT(QueueSubscriptionCancelled, "ExternalSubscribedPersistentCancelled", cancel) {
  f.reason({"reason", "why"}, e.reason);
}

DURAMEN_EVENT(OrchestrationCompleted, "OrchestrationCompleted", terminal) {
  f.payload({"output", "o"}, e.output);
}
DURAMEN_EVENT(OrchestrationFailed, "OrchestrationFailed", terminal) {
  f.failure({"details", "d"}, e.details, tag);
}
DURAMEN_EVENT(OrchestrationContinuedAsNew, "OrchestrationContinuedAsNew", terminal) {
  f.payload({"input", "i"}, e.input);
}

#undef DURAMEN_EVENT

}  // namespace duramen::format
