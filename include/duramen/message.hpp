// Messages on their way: what waits in the orchestrator queue and in the worker queue.
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
  friend bool operator==(const StartOrchestration&, const StartOrchestration&) = default;
};
struct ContinueAsNew {
  std::string orchestration;
  Payload input;
  std::optional<std::string> version;
  std::vector<CarriedEvent> carry_forward;
  std::optional<std::string> initial_custom_status;
  std::optional<ParentLink> parent;
  friend bool operator==(const ContinueAsNew&, const ContinueAsNew&) = default;
};
struct ActivityCompleted {
  ExecutionId execution;
  EventId id;
  Payload result;
  friend bool operator==(const ActivityCompleted&, const ActivityCompleted&) = default;
};
struct ActivityFailed {
  ExecutionId execution;
  EventId id;
  Failure details;
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
  friend bool operator==(const ExternalRaised&, const ExternalRaised&) = default;
};
struct QueueMessage {
  std::string name;
  Payload data;
  friend bool operator==(const QueueMessage&, const QueueMessage&) = default;
};
struct CancelInstance {
  std::string reason;
  CancelMode mode = CancelMode::graceful;
  CancelOrigin origin = CancelOrigin::client;
  std::optional<ParentLink> parent;  ///< from a parent: ignored unless it started this very instance
  friend bool operator==(const CancelInstance&, const CancelInstance&) = default;
};

}  // namespace message

/// A message to an instance.
using MessageBody = std::variant<message::StartOrchestration, message::ContinueAsNew,
                                 message::ActivityCompleted, message::ActivityFailed, message::TimerFired,
                                 message::SubOrchestrationCompleted, message::SubOrchestrationFailed,
                                 message::ExternalRaised, message::QueueMessage, message::CancelInstance>;

/// An activity to be run: what the worker queue holds. Carries all an activity context tells, so that running
/// one reads nothing else.
struct ActivityRequest {
  InstanceId instance;
  ActivityKey key;  ///< its incarnation is filled in by the store when the same commit creates the instance
  std::string name;
  Payload input;
  std::optional<std::string> session_id;
  std::optional<std::string> tag;
  ActivityOptions options;
  std::string orchestration_name;
  std::string orchestration_version;
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
