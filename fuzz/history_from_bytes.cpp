#include "history_from_bytes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace duramen::fuzz {

namespace {

std::string named(const char* prefix, Bytes& bytes) { return prefix + std::to_string(bytes.below(3)); }

Payload payload(Bytes& bytes) {
  switch (bytes.below(4)) {
    case 0:
      return Payload::none();
    case 1:
      return Payload::json("{\"a\":[1,2");  // invalid JSON
    default:
      return Payload::text("in" + std::to_string(bytes.below(3)));
  }
}

Failure failure(Bytes& bytes) {
  Failure made = Failure::application("E0", "it failed");
  made.kind =
      static_cast<FailureKind>(bytes.below(static_cast<std::size_t>(FailureKind::infrastructure) + 1));
  made.retryable = bytes.below(2) == 0;
  return made;
}

CancelReason reason(Bytes& bytes) {
  return static_cast<CancelReason>(bytes.below(static_cast<std::size_t>(CancelReason::poison) + 1));
}

TimePoint time(Bytes& bytes) {
  return from_unix_ms(1'000'000 + 30 * static_cast<std::int64_t>(bytes.byte()));
}

/// Mostly a small number, sometimes a very large one.
std::uint64_t number(Bytes& bytes) {
  const std::uint8_t small = bytes.byte();
  if (small < 250) return small % 40;
  return small == 255 ? std::numeric_limits<std::uint64_t>::max() : std::uint64_t{1} << (small - 192);
}

ParentLink link(Bytes& bytes) {
  return {InstanceId(bytes.below(4) == 0 ? "other" : "i"), Incarnation{1}, ExecutionId{1},
          EventId{number(bytes)}};
}

std::vector<CarriedEvent> carried(Bytes& bytes) {
  std::vector<CarriedEvent> events;
  const std::size_t count = bytes.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    const bool queue = bytes.below(2) == 0;
    events.push_back({queue ? CarriedEvent::Kind::queue : CarriedEvent::Kind::external,
                      named(queue ? "q" : "e", bytes), payload(bytes)});
  }
  return events;
}

EventBody body(Bytes& bytes) {
  switch (bytes.below(26)) {
    case 0: {
      event::OrchestrationStarted started{"subject", "1.0.0", payload(bytes), {}, carried(bytes), {}};
      started.graceful = bytes.below(2) == 0;
      return started;
    }
    case 1:
      return event::OrchestrationCancelRequested{
          "enough", bytes.below(2) == 0 ? CancelMode::graceful : CancelMode::terminate, CancelOrigin::client};
    case 2:
      return event::ActivityCompleted{payload(bytes)};
    case 3:
      return event::ActivityFailed{failure(bytes)};
    case 4:
      return event::TimerFired{time(bytes)};
    case 5:
      return event::SubOrchestrationCompleted{payload(bytes)};
    case 6:
      return event::SubOrchestrationFailed{failure(bytes)};
    case 7:
      return event::ExternalEvent{named("e", bytes), payload(bytes)};
    case 8:
      return event::QueueEventDelivered{named("q", bytes), payload(bytes)};
    case 9:
      return event::ActivityScheduled{named("A", bytes), payload(bytes), {}, {}, {}};
    case 10:
      return event::ActivityScheduled{
          bytes.below(2) == 0 ? "__duramen:new_guid" : "__duramen:utc_now", Payload::none(), {}, {}, {}};
    case 11:
      return event::TimerCreated{time(bytes)};
    case 12:
      return event::ExternalSubscribed{named("e", bytes)};
    case 13:
      return event::QueueSubscribed{named("q", bytes)};
    case 14:
      return event::SubOrchestrationScheduled{
          named("C", bytes), InstanceId(named("kid", bytes)), payload(bytes), {}, bytes.below(2) == 0};
    case 15:
      return event::OrchestrationChained{
          named("D", bytes), InstanceId(named("detached", bytes)), payload(bytes), {}};
    case 16:
      return event::CustomStatusUpdated{"status"};
    case 17:
      return event::KeyValueSet{named("k", bytes), payload(bytes), time(bytes)};
    case 18:
      return event::KeyValueCleared{named("k", bytes)};
    case 19:
      return event::KeyValuesCleared{};
    case 20:
      return event::ActivityCancelRequested{reason(bytes)};
    case 21:
      return event::SubOrchestrationCancelRequested{reason(bytes)};
    case 22:
      return event::ExternalSubscribedCancelled{reason(bytes)};
    case 23:
      return event::QueueSubscriptionCancelled{reason(bytes)};
    case 24:
      return event::OrchestrationCompleted{payload(bytes)};
    default:
      if (bytes.below(2) == 0) return event::OrchestrationFailed{failure(bytes)};
      return event::OrchestrationContinuedAsNew{payload(bytes)};
  }
}

bool has_source(const EventBody& what) {
  const Event event{{}, {}, {}, what};
  if (event_class(event) == EventClass::cancel) return true;
  return std::holds_alternative<event::ActivityCompleted>(what) ||
         std::holds_alternative<event::ActivityFailed>(what) ||
         std::holds_alternative<event::TimerFired>(what) ||
         std::holds_alternative<event::SubOrchestrationCompleted>(what) ||
         std::holds_alternative<event::SubOrchestrationFailed>(what);
}

}  // namespace

Event make_event(Bytes& bytes, EventId id) {
  Event event{id, {}, time(bytes), body(bytes)};
  const bool odd = bytes.below(16) == 15;
  if (has_source(event.body) != odd) event.source = EventId{number(bytes)};
  return event;
}

MessageBody make_message(Bytes& bytes) {
  const ExecutionId execution{bytes.below(8) == 7 ? 2u : 1u};
  switch (bytes.below(12)) {
    case 0:
      return message::StartOrchestration{"subject", payload(bytes), {}, {}};
    case 1:
      return message::ContinueAsNew{"subject", payload(bytes), {}, carried(bytes), "status", link(bytes)};
    case 2:
    case 3:
      return message::ActivityCompleted{execution, EventId{number(bytes)}, payload(bytes)};
    case 4:
      return message::ActivityFailed{execution, EventId{number(bytes)}, failure(bytes)};
    case 5:
    case 6:
      return message::TimerFired{execution, EventId{number(bytes)}, time(bytes)};
    case 7:
      return message::SubOrchestrationCompleted{link(bytes), payload(bytes)};
    case 8:
      return message::SubOrchestrationFailed{link(bytes), failure(bytes)};
    case 9:
      return message::ExternalRaised{named("e", bytes), payload(bytes)};
    case 10:
      return message::QueueMessage{named("q", bytes), payload(bytes)};
    default: {
      message::CancelInstance cancel{"enough",
                                     bytes.below(2) == 0 ? CancelMode::graceful : CancelMode::terminate};
      if (bytes.below(3) == 0) cancel.parent = link(bytes);
      return cancel;
    }
  }
}

void damage(Bytes& bytes, std::vector<Event>& history) {
  const std::size_t times = bytes.below(4);
  for (std::size_t i = 0; i < times && !history.empty(); ++i) {
    const auto at = history.begin() + static_cast<std::ptrdiff_t>(bytes.below(history.size()));
    switch (bytes.below(8)) {
      case 0:
        history.erase(at, history.end());
        break;
      case 1:  // removed; later events move up
        for (auto later = history.erase(at); later != history.end(); ++later) --later->id.value;
        break;
      case 2:  // removed, with a gap
        history.erase(at);
        break;
      case 3: {
        auto other = history.begin() + static_cast<std::ptrdiff_t>(bytes.below(history.size()));
        std::swap(at->body, other->body);
        std::swap(at->source, other->source);
        break;
      }
      case 4:
        at->id = EventId{number(bytes)};
        break;
      case 5:
        at->source = EventId{number(bytes)};
        break;
      case 6:
        at->body = body(bytes);
        break;
      default: {
        const EventId id = at->id;
        const auto added = history.insert(at, make_event(bytes, id));
        for (auto later = added + 1; later != history.end(); ++later) ++later->id.value;
        break;
      }
    }
  }
}

}  // namespace duramen::fuzz
