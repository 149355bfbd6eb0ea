// Events and messages with a value in every field, and with no value in any: the samples of round-trip tests.
#pragma once

#include <duramen/history.hpp>
#include <duramen/message.hpp>

#include <string>
#include <vector>

namespace duramen::samples {

// Quotes, escapes, control characters, and characters of one to four bytes.
inline const std::string awkward = "a\"b\\c/d\b\f\n\r\t\x01\x1f\x7f \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x8C\xB3";

inline TimePoint at(std::int64_t ms) { return from_unix_ms(1767225600000 + ms); }

inline ParentLink parent() {
  return {InstanceId{"order-\"1\""}, Incarnation{77}, ExecutionId{3}, EventId{12}};
}

inline std::vector<Failure> failures() {
  std::vector<Failure> all;
  for (const auto kind :
       {FailureKind::application, FailureKind::timeout, FailureKind::cancelled, FailureKind::poison,
        FailureKind::nondeterminism, FailureKind::limit, FailureKind::infrastructure}) {
    Failure bare;
    bare.kind = kind;
    all.push_back(bare);
    Failure full{kind, "shop::Declined", awkward, true, R"({"code":51})", 4, TimeoutKind::heartbeat};
    all.push_back(full);
    full.retryable = false;
    full.timeout.reset();
    all.push_back(full);
  }
  for (const auto which : {TimeoutKind::schedule_to_start, TimeoutKind::start_to_close,
                           TimeoutKind::heartbeat, TimeoutKind::total}) {
    Failure timeout;
    timeout.kind = FailureKind::timeout;
    timeout.timeout = which;
    all.push_back(timeout);
  }
  all.push_back(Failure::application("Panicked", "oh no"));
  // Poison details that are almost, but not quite, the contract's fields.
  for (const char* details :
       {R"({"max_attempts":10,"message_type":{"Orchestration":{"instance":"i","execution_id":1}}})",
        R"({"max_attempts":10,"message_type":"x","more":1})", R"({"max_attempts": 10})",
        R"({"max_attempts":)", "not json"}) {
    Failure poison;
    poison.kind = FailureKind::poison;
    poison.attempt = 11;
    poison.details = details;
    all.push_back(poison);
  }
  return all;
}

inline std::vector<CarriedEvent> carried() {
  using Kind = CarriedEvent::Kind;
  return {{Kind::queue, "inbox", Payload::text("m1")},
          {Kind::queue, "inbox", Payload::json("{\"a\":1}")},
          {Kind::external, "approved", Payload::text(awkward)},
          {Kind::external, "approved", Payload::json("true")},
          {Kind::queue, "inbox", Payload::text("m2"), "Ada"},
          {Kind::external, "approved", Payload::json("false"), awkward}};
}

inline AttemptInfo ran() { return {at(7), 3, NodeId{"node-\"1\""}}; }

/// At least two bodies of every kind: bare, and with every field set.
inline std::vector<EventBody> event_bodies() {
  const Payload json = Payload::json(R"({"id":7,"note":"x\ny"})");
  const Payload text = Payload::text(awkward);
  const ActivityOptions options{Duration{5}, Duration{60'000}, Duration{1}};
  std::vector<EventBody> all{
      event::OrchestrationStarted{},
      event::OrchestrationStarted{
          "Process", "1.2.3", json, parent(), carried(), "50%", 7, true,
          event::OrchestrationCancelRequested{awkward, CancelMode::terminate, CancelOrigin::parent, "alice"},
          awkward, 3, std::uint64_t{1} << 40U, 2, std::uint64_t{1} << 27U},
      event::OrchestrationStarted{"Process",
                                  "1.2.3",
                                  text,
                                  ParentLink{},
                                  {},
                                  "",
                                  1,
                                  false,
                                  event::OrchestrationCancelRequested{},
                                  "",
                                  0,
                                  0},
      event::OrchestrationCancelRequested{},
      event::OrchestrationCancelRequested{awkward, CancelMode::terminate, CancelOrigin::parent, "alice"},
      event::ActivityCompleted{},
      event::ActivityCompleted{json},
      event::ActivityCompleted{json, ran()},
      event::ActivityCompleted{text, {TimePoint{}, 1, NodeId{}}},
      event::ActivityFailed{{}, ran(), json},
      event::ActivityFailed{{}, {}, text},
      event::ActivityFailed{{}, {}, Payload::none()},
      event::TimerFired{at(0)},
      event::TimerFired{from_unix_ms(-1)},
      event::SubOrchestrationCompleted{text},
      event::SubOrchestrationCompleted{Payload::none()},
      event::ExternalEvent{"Approval", text},
      event::ExternalEvent{awkward, json, "alice"},
      event::QueueEventDelivered{"inbox", text},
      event::QueueEventDelivered{awkward, json, awkward},
      event::ActivityScheduled{"Charge", text, {}, {}, {}},
      event::ActivityScheduled{"Charge", json, "s-1", "gpu", options},
      event::ActivityScheduled{"Charge", json, "s-1", "gpu", options, EventId{2}, 4, json},
      event::ActivityScheduled{"Charge", text, {}, {}, {}, EventId{2}, 1, text},
      event::ActivityScheduled{"", Payload{}, "", "", {Duration{0}, Duration{0}, Duration{9}}},
      event::TimerCreated{at(60'000)},
      event::TimerCreated{TimePoint::max()},
      event::ExternalSubscribed{"Approval"},
      event::ExternalSubscribed{awkward},
      event::QueueSubscribed{"inbox"},
      event::QueueSubscribed{awkward},
      event::SubOrchestrationScheduled{"Ship", "order-1::sub::1.2", text, {}, false},
      event::SubOrchestrationScheduled{"Ship", awkward, json, "2.0.0", true},
      event::OrchestrationChained{"Audit", "audit-1", text, {}},
      event::OrchestrationChained{"Audit", "audit-1", json, "2.0.0"},
      event::CustomStatusUpdated{},
      event::CustomStatusUpdated{""},
      event::CustomStatusUpdated{awkward},
      event::KeyValueSet{"n", text, at(5)},
      event::KeyValueSet{awkward, json, TimePoint{}},
      event::KeyValueCleared{"n"},
      event::KeyValueCleared{""},
      event::KeyValuesCleared{},
      event::OrchestrationCompleted{text},
      event::OrchestrationCompleted{json},
      event::OrchestrationContinuedAsNew{text},
      event::OrchestrationContinuedAsNew{json},
  };
  for (const Failure& failure : failures()) {
    all.emplace_back(event::ActivityFailed{failure});
    all.emplace_back(event::SubOrchestrationFailed{failure});
    all.emplace_back(event::OrchestrationFailed{failure});
  }
  for (int reason = 0; reason <= static_cast<int>(CancelReason::poison); ++reason) {
    const auto why = static_cast<CancelReason>(reason);
    all.emplace_back(event::ActivityCancelRequested{why});
    all.emplace_back(event::SubOrchestrationCancelRequested{why});
    all.emplace_back(event::SubOrchestrationCancelRequested{why, awkward, CancelMode::terminate, awkward});
    all.emplace_back(event::ExternalSubscribedCancelled{why});
    all.emplace_back(event::QueueSubscriptionCancelled{why});
  }
  return all;
}

inline std::vector<MessageBody> work_items() {
  const Payload json = Payload::json("[1,2]");
  const Payload text = Payload::text(awkward);
  std::vector<MessageBody> all{
      message::StartOrchestration{"Process", text, {}, {}},
      message::StartOrchestration{"Process", json, "1.0.0", parent(), "alice", 3},
      message::ContinueAsNew{"Process", text, {}, {}, {}, {}},
      message::ContinueAsNew{"Process", json, "1.0.0", carried(), "50%", parent(), 3, 1000},
      message::ActivityCompleted{ExecutionId{1}, EventId{2}, text},
      message::ActivityCompleted{ExecutionId{~std::uint64_t{0}}, EventId{~std::uint64_t{0}}, json, ran()},
      message::ActivityFailed{ExecutionId{1}, EventId{2}, {}, ran(), json},
      message::ActivityFailed{ExecutionId{1}, EventId{2}, {}, {}, Payload::none()},
      message::TimerFired{ExecutionId{1}, EventId{3}, at(1)},
      message::SubOrchestrationCompleted{parent(), text},
      message::SubOrchestrationCompleted{ParentLink{}, json},
      message::ExternalRaised{"Approval", text},
      message::ExternalRaised{"Approval", json, "alice"},
      message::QueueMessage{"inbox", text},
      message::QueueMessage{"inbox", json, awkward},
      message::CancelInstance{},
      message::CancelInstance{awkward, CancelMode::terminate, CancelOrigin::parent, parent(), "alice"},
  };
  for (const Failure& failure : failures()) {
    all.emplace_back(message::ActivityFailed{ExecutionId{1}, EventId{2}, failure});
    all.emplace_back(message::SubOrchestrationFailed{parent(), failure});
  }
  return all;
}

inline std::vector<ActivityRequest> activities() {
  const ActivityKey key{Incarnation{9}, ExecutionId{1}, EventId{2}};
  return {
      {"order-1",
       {Incarnation{}, ExecutionId{1}, EventId{2}},
       "Charge",
       Payload::text("42"),
       {},
       {},
       {},
       "",
       ""},
      {awkward,
       key,
       awkward,
       Payload::json("{}"),
       "s-1",
       "gpu",
       {Duration{1}, Duration{2}, Duration{3}},
       "Process",
       "1.0.0",
       EventId{2},
       4,
       Payload::json("7"),
       std::uint64_t{1} << 40U},
  };
}

}  // namespace duramen::samples
