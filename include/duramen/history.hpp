// The durable data model: the events of an execution's history.
//
// A history is a sequence of segments. A segment is one inbound event, the actions the code took because of
// it in call order, the cancellations that followed (sorted by the event they cancel), and in the last
// segment the terminal event. Only the engine writes and numbers events; a store keeps them without
// interpreting them.
#pragma once

#include <duramen/failure.hpp>
#include <duramen/ids.hpp>
#include <duramen/limits.hpp>
#include <duramen/payload.hpp>
#include <duramen/result.hpp>
#include <duramen/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::inline v0 {

/// The version of the replay rules of this build. An execution is pinned to the number it started with; a
/// node takes only executions whose number it supports. Increases when replay changes its meaning, not with
/// every release.
#ifdef DURAMEN_TEST_LEVEL_2  // a build for tests only: version 2 has one more kind of event, TestMark
inline constexpr std::uint32_t engine_version = 2;
#else
inline constexpr std::uint32_t engine_version = 1;
#endif

/// The way a client wants an instance to end.
enum class CancelMode : std::uint8_t {
  /// An orchestration registered as graceful cleans up first; any other ends immediately.
  graceful,
  terminate,  ///< end immediately
};

/// The origin of a cancellation.
enum class CancelOrigin : std::uint8_t { client, parent };

/// The schedule event that a child orchestration answers. All fields are compared: an answer to an earlier
/// execution, or to a deleted instance of the same name, is discarded.
struct ParentLink {
  InstanceId instance;
  Incarnation incarnation;
  ExecutionId execution;
  EventId event;
  friend bool operator==(const ParentLink&, const ParentLink&) = default;
};

/// A message that outlived its execution and is delivered first to the next one.
struct CarriedEvent {
  enum class Kind : std::uint8_t { external, queue };
  Kind kind = Kind::queue;
  std::string name;
  Payload data;
  /// The person or program that sent it, if it said so.
  std::optional<std::string> requested_by = std::nullopt;
  friend bool operator==(const CarriedEvent&, const CarriedEvent&) = default;
};

/// How to run an activity. Zero durations mean "no limit".
struct ActivityOptions {
  Duration schedule_to_start{0};
  Duration start_to_close{0};
  Duration heartbeat{0};
  friend bool operator==(const ActivityOptions&, const ActivityOptions&) = default;
};

/// The attempt that an activity's end came from. Empty if the activity ended without one.
struct AttemptInfo {
  TimePoint started_at{};
  std::uint32_t attempt = 0;  ///< counted over the retries of a step
  NodeId node;
  friend bool operator==(const AttemptInfo&, const AttemptInfo&) = default;
};

/// The kinds of events. Comments state when each is written.
namespace event {

// -- inbound: something reached the instance ------------------------------------------------------

/// A cancel reached the instance.
struct OrchestrationCancelRequested {
  std::string reason;
  CancelMode mode = CancelMode::graceful;
  CancelOrigin origin = CancelOrigin::client;
  /// The person or program that asked, if it said so.
  std::optional<std::string> requested_by;
  friend bool operator==(const OrchestrationCancelRequested&, const OrchestrationCancelRequested&) = default;
};
/// First event of every execution.
struct OrchestrationStarted {
  std::string name;
  std::string version;
  Payload input;
  std::optional<ParentLink> parent;
  std::vector<CarriedEvent> carry_forward;
  std::optional<std::string> initial_custom_status;
  std::uint32_t engine_version = duramen::engine_version;
  /// The orchestration cleans up when it is cancelled.
  bool graceful = false;
  /// A cancel that arrived before the execution began: it applies before the code runs.
  std::optional<OrchestrationCancelRequested> cancel = std::nullopt;
  /// The person or program that started the instance, if it said so.
  std::optional<std::string> requested_by = std::nullopt;
  /// The number of ancestors: 0 for an instance without a parent.
  std::uint32_t depth = 0;
  /// The number of events of all earlier executions of the instance.
  std::uint64_t events_before = 0;
  /// RuntimeOptions::max_depth of the node on which the execution began: all its turns follow this one.
  std::uint32_t max_depth = default_max_depth;
  /// Likewise RuntimeOptions::max_payload_bytes.
  std::uint64_t max_payload_bytes = default_payload_limit;
  friend bool operator==(const OrchestrationStarted&, const OrchestrationStarted&) = default;
};
struct ActivityCompleted {
  Payload result;
  AttemptInfo ran;
  friend bool operator==(const ActivityCompleted&, const ActivityCompleted&) = default;
};
struct ActivityFailed {
  Failure details;
  AttemptInfo ran;
  /// The last details of a heartbeat of the failed attempt; the next attempt receives them.
  std::optional<Payload> heartbeat;
  friend bool operator==(const ActivityFailed&, const ActivityFailed&) = default;
};
struct TimerFired {
  TimePoint fire_at;
  friend bool operator==(const TimerFired&, const TimerFired&) = default;
};
struct SubOrchestrationCompleted {
  Payload result;
  friend bool operator==(const SubOrchestrationCompleted&, const SubOrchestrationCompleted&) = default;
};
struct SubOrchestrationFailed {
  Failure details;
  friend bool operator==(const SubOrchestrationFailed&, const SubOrchestrationFailed&) = default;
};
struct ExternalEvent {
  std::string name;
  Payload data;
  std::optional<std::string> requested_by = std::nullopt;
  friend bool operator==(const ExternalEvent&, const ExternalEvent&) = default;
};
/// JSON type "ExternalEventPersistent".
struct QueueEventDelivered {
  std::string name;
  Payload data;
  std::optional<std::string> requested_by = std::nullopt;
  friend bool operator==(const QueueEventDelivered&, const QueueEventDelivered&) = default;
};

// -- actions: the code did something --------------------------------------------------------------

struct ActivityScheduled {
  std::string name;
  Payload input;
  std::optional<std::string> session_id;
  std::optional<std::string> tag;
  ActivityOptions options;
  // The following are not compared on replay.
  /// With a further attempt of a retry: the event that scheduled the first one.
  EventId retry_of = {};
  /// The number of attempts made before at this step.
  std::uint32_t attempts_before = 0;
  /// The last heartbeat details of the attempt that failed before this one.
  std::optional<Payload> heartbeat = std::nullopt;
  friend bool operator==(const ActivityScheduled&, const ActivityScheduled&) = default;
};
struct TimerCreated {
  TimePoint fire_at;
  friend bool operator==(const TimerCreated&, const TimerCreated&) = default;
};
struct ExternalSubscribed {
  std::string name;
  friend bool operator==(const ExternalSubscribed&, const ExternalSubscribed&) = default;
};
/// JSON type "ExternalSubscribedPersistent".
struct QueueSubscribed {
  std::string name;
  friend bool operator==(const QueueSubscribed&, const QueueSubscribed&) = default;
};
struct SubOrchestrationScheduled {
  std::string name;
  InstanceId instance;  ///< the child's full id
  Payload input;
  std::optional<std::string> version;  ///< as requested by the code
  bool explicit_id = false;            ///< the code chose the id
  friend bool operator==(const SubOrchestrationScheduled&, const SubOrchestrationScheduled&) = default;
};
/// A detached orchestration was started.
struct OrchestrationChained {
  std::string name;
  InstanceId instance;
  Payload input;
  std::optional<std::string> version;
  friend bool operator==(const OrchestrationChained&, const OrchestrationChained&) = default;
};
struct CustomStatusUpdated {
  std::optional<std::string> status;  ///< absent: cleared
  friend bool operator==(const CustomStatusUpdated&, const CustomStatusUpdated&) = default;
};
struct KeyValueSet {
  std::string key;
  Payload value;
  TimePoint last_updated_at;
  friend bool operator==(const KeyValueSet&, const KeyValueSet&) = default;
};
struct KeyValueCleared {
  std::string key;
  friend bool operator==(const KeyValueCleared&, const KeyValueCleared&) = default;
};
struct KeyValuesCleared {
  friend bool operator==(const KeyValuesCleared&, const KeyValuesCleared&) = default;
};
#ifdef DURAMEN_TEST_LEVEL_2
struct TestMark {
  std::string name;
  friend bool operator==(const TestMark&, const TestMark&) = default;
};
#endif

// -- cancel decisions: the code no longer wants something -----------------------------------------

struct ActivityCancelRequested {
  CancelReason reason;
  friend bool operator==(const ActivityCancelRequested&, const ActivityCancelRequested&) = default;
};
struct SubOrchestrationCancelRequested {
  CancelReason reason;
  /// The words and the mode that the child receives.
  std::string text = {};
  CancelMode mode = CancelMode::graceful;
  /// If the parent was cancelled: the requester of that cancel.
  std::optional<std::string> requested_by = std::nullopt;
  friend bool operator==(const SubOrchestrationCancelRequested&,
                         const SubOrchestrationCancelRequested&) = default;
};
struct ExternalSubscribedCancelled {
  CancelReason reason;
  friend bool operator==(const ExternalSubscribedCancelled&, const ExternalSubscribedCancelled&) = default;
};
/// JSON type "ExternalSubscribedPersistentCancelled".
struct QueueSubscriptionCancelled {
  CancelReason reason;
  friend bool operator==(const QueueSubscriptionCancelled&, const QueueSubscriptionCancelled&) = default;
};

// -- terminal: the execution is over --------------------------------------------------------------

struct OrchestrationCompleted {
  Payload output;
  friend bool operator==(const OrchestrationCompleted&, const OrchestrationCompleted&) = default;
};
struct OrchestrationFailed {
  Failure details;
  friend bool operator==(const OrchestrationFailed&, const OrchestrationFailed&) = default;
};
struct OrchestrationContinuedAsNew {
  Payload input;
  friend bool operator==(const OrchestrationContinuedAsNew&, const OrchestrationContinuedAsNew&) = default;
};

}  // namespace event

using EventBody = std::variant<
    event::OrchestrationStarted, event::OrchestrationCancelRequested, event::ActivityCompleted,
    event::ActivityFailed, event::TimerFired, event::SubOrchestrationCompleted, event::SubOrchestrationFailed,
    event::ExternalEvent, event::QueueEventDelivered, event::ActivityScheduled, event::TimerCreated,
    event::ExternalSubscribed, event::QueueSubscribed, event::SubOrchestrationScheduled,
    event::OrchestrationChained, event::CustomStatusUpdated, event::KeyValueSet, event::KeyValueCleared,
    event::KeyValuesCleared, event::ActivityCancelRequested, event::SubOrchestrationCancelRequested,
    event::ExternalSubscribedCancelled, event::QueueSubscriptionCancelled, event::OrchestrationCompleted,
    event::OrchestrationFailed, event::OrchestrationContinuedAsNew
#ifdef DURAMEN_TEST_LEVEL_2
    ,
    event::TestMark
#endif
    >;

/// One step of a history. Its place in the store determines the instance and the execution.
struct Event {
  EventId id;
  /// The schedule event this one completes or cancels; none otherwise.
  EventId source;
  TimePoint timestamp;
  EventBody body;
  friend bool operator==(const Event&, const Event&) = default;
};

/// The part of a segment that an event belongs to.
enum class EventClass : std::uint8_t { inbound, action, cancel, terminal };
/// The class of an event.
[[nodiscard]] EventClass event_class(const Event& event) noexcept;

/// The JSON `type`: "ActivityScheduled", ...
[[nodiscard]] std::string_view event_type(const Event& event) noexcept;

/// The position of an event; identifies it in interchange JSON and in error messages.
struct EventContext {
  const InstanceId& instance;
  ExecutionId execution;
};

/// The interchange form (export, CLI, HTTP): one flat JSON object.
[[nodiscard]] std::string to_json(const Event& event, const EventContext& where);
/// Reads the interchange form. Unknown fields are ignored; an unknown type or malformed JSON is `corrupt`,
/// and the error names the instance, execution, event id and problem.
[[nodiscard]] Result<Event> event_from_json(std::string_view json, const EventContext& where);

/// The stored form: the events of one turn as one JSON array, without the fields of the row's key.
[[nodiscard]] std::string encode_events(const std::vector<Event>& events);
/// Appends to `out`. `where` is used only in the error message.
[[nodiscard]] Result<void> decode_events(std::string_view stored, const EventContext& where,
                                         std::vector<Event>& out);

}  // namespace duramen::inline v0
