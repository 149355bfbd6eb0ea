// Messages in transit: the contents of the orchestrator queue and of the worker queue.
#pragma once

#include <duramen/failure.hpp>
#include <duramen/history.hpp>
#include <duramen/ids.hpp>
#include <duramen/payload.hpp>
#include <duramen/result.hpp>
#include <duramen/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace duramen::inline v0 {

namespace message {

struct StartOrchestration {
  std::string orchestration;
  Payload input;
  std::optional<std::string> version;
  std::optional<ParentLink> parent;
  std::optional<std::string> requested_by = std::nullopt;
  std::uint32_t depth = 0;  ///< the number of ancestors
  friend bool operator==(const StartOrchestration&, const StartOrchestration&) = default;
};
struct ContinueAsNew {
  std::string orchestration;
  Payload input;
  std::optional<std::string> version;
  std::vector<CarriedEvent> carry_forward;
  std::optional<std::string> initial_custom_status;
  std::optional<ParentLink> parent;
  std::uint32_t depth = 0;
  std::uint64_t events_before = 0;                         ///< of all earlier executions
  std::optional<std::string> requested_by = std::nullopt;  ///< of the start of the instance
  friend bool operator==(const ContinueAsNew&, const ContinueAsNew&) = default;
};
struct ActivityCompleted {
  ExecutionId execution;
  EventId id;
  Payload result;
  AttemptInfo ran = {};
  friend bool operator==(const ActivityCompleted&, const ActivityCompleted&) = default;
};
struct ActivityFailed {
  ExecutionId execution;
  EventId id;
  Failure details;
  AttemptInfo ran = {};
  std::optional<Payload> heartbeat = std::nullopt;
  friend bool operator==(const ActivityFailed&, const ActivityFailed&) = default;
};
struct TimerFired {
  ExecutionId execution;
  EventId id;
  TimePoint fire_at;
  friend bool operator==(const TimerFired&, const TimerFired&) = default;
};
struct SubOrchestrationCompleted {
  ParentLink parent;
  Payload result;
  friend bool operator==(const SubOrchestrationCompleted&, const SubOrchestrationCompleted&) = default;
};
struct SubOrchestrationFailed {
  ParentLink parent;
  Failure details;
  friend bool operator==(const SubOrchestrationFailed&, const SubOrchestrationFailed&) = default;
};
struct ExternalRaised {
  std::string name;
  Payload data;
  std::optional<std::string> requested_by = std::nullopt;
  friend bool operator==(const ExternalRaised&, const ExternalRaised&) = default;
};
struct QueueMessage {
  std::string name;
  Payload data;
  std::optional<std::string> requested_by = std::nullopt;
  friend bool operator==(const QueueMessage&, const QueueMessage&) = default;
};
struct CancelInstance {
  std::string reason;
  CancelMode mode = CancelMode::graceful;
  CancelOrigin origin = CancelOrigin::client;
  /// From a parent: refused unless it started this very instance.
  std::optional<ParentLink> parent;
  std::optional<std::string> requested_by = std::nullopt;
  friend bool operator==(const CancelInstance&, const CancelInstance&) = default;
};

}  // namespace message

/// A message to an instance.
using MessageBody = std::variant<message::StartOrchestration, message::ContinueAsNew,
                                 message::ActivityCompleted, message::ActivityFailed, message::TimerFired,
                                 message::SubOrchestrationCompleted, message::SubOrchestrationFailed,
                                 message::ExternalRaised, message::QueueMessage, message::CancelInstance>;

/// An activity to run, as the worker queue holds it. Contains everything an activity context provides, so
/// that running it needs no other read.
struct ActivityRequest {
  InstanceId instance;
  /// The store fills in the incarnation if the same commit creates the instance.
  ActivityKey key;
  std::string name;
  Payload input;
  std::optional<std::string> session_id;
  std::optional<std::string> tag;
  ActivityOptions options;
  std::string orchestration_name;
  std::string orchestration_version;
  /// With a further attempt of a retry: the event that scheduled the first one.
  EventId retry_of = {};
  /// The number of attempts made before at this step.
  std::uint32_t attempts_before = 0;
  /// The last heartbeat details of the attempt before this activity.
  std::optional<Payload> heartbeat = std::nullopt;
  /// The fences of its leases are above this number << 32. It grows with every activity of the instance.
  std::uint64_t fence_base = 0;
  friend bool operator==(const ActivityRequest&, const ActivityRequest&) = default;
};

/// The JSON tag: "StartOrchestration", ...
[[nodiscard]] std::string_view message_type(const MessageBody& item) noexcept;

/// The interchange form: {"ActivityCompleted":{"instance":...,...}}.
[[nodiscard]] std::string to_json(const MessageBody& item, const InstanceId& target);
[[nodiscard]] std::string to_json(const ActivityRequest& item);
[[nodiscard]] Result<MessageBody> message_from_json(std::string_view json, const InstanceId& target);
[[nodiscard]] Result<ActivityRequest> activity_request_from_json(std::string_view json);

}  // namespace duramen::inline v0
