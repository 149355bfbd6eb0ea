// Managing a store: describing, finding, removing and counting instances.
#pragma once

#include <duramen/failure.hpp>
#include <duramen/history.hpp>
#include <duramen/ids.hpp>
#include <duramen/payload.hpp>
#include <duramen/status.hpp>
#include <duramen/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace duramen::inline v0 {

// -- instances ----------------------------------------------------------------------------------

/// An instance as recorded in the store.
struct InstanceInfo {
  InstanceId instance;
  Incarnation incarnation;
  std::string name;
  std::string version;  ///< empty while pending
  ExecutionId execution;
  Status status = Status::pending;
  std::optional<Payload> output;
  std::optional<Failure> failure;
  EventId last_event_id;
  TimePoint created_at;
  /// Time of its last turn; of its end, if it has ended.
  TimePoint updated_at;
  std::optional<ParentLink> parent;
  std::optional<std::string> custom_status;
  /// Increases with every turn that changed it.
  std::uint64_t custom_status_version = 0;
  /// The strongest cancel that was asked for.
  std::optional<CancelMode> cancel_asked;
  /// The current execution cleans up when it is cancelled.
  bool graceful = false;
  std::optional<TimePoint> ended_at;
  /// In lists and trees: the part of the instance that this Duramen cannot read, and what to do. Then
  /// `status` and the result are meaningless. Absent if everything was read.
  std::optional<std::string> unreadable;

  /// The result as a T; throws the failure (DurableError) if there is none, DecodeError if it is not a T.
  /// Defined in <duramen/outcome.hpp>, which <duramen/client.hpp> includes.
  template <class T>
  [[nodiscard]] T output_as() const;
};

/// One run of an instance.
struct ExecutionInfo {
  ExecutionId execution;
  Status status = Status::pending;
  std::string version;
  EventId last_event_id;  ///< equal to the number of its events
  TimePoint started_at;
  std::optional<TimePoint> ended_at;
  std::optional<Payload> output;   ///< completed
  std::optional<Failure> failure;  ///< failed, cancelled
  /// The part of the execution that this Duramen cannot read: then `status` and the result are meaningless.
  std::optional<std::string> unreadable;
};

// -- finding --------------------------------------------------------------------------------------

/// Every given part must match.
struct InstanceFilter {
  std::optional<std::vector<InstanceId>> ids = std::nullopt;  ///< absent: any; empty: none
  std::optional<std::string> id_prefix = std::nullopt;
  std::optional<std::string> name = std::nullopt;  ///< name of the orchestration
  std::optional<std::string> version = std::nullopt;
  std::vector<Status> statuses;                     ///< empty: any
  std::optional<InstanceId> parent = std::nullopt;  ///< only direct children of this instance
  bool roots_only = false;                          ///< only instances without a parent
  std::optional<TimePoint> created_from = std::nullopt;
  std::optional<TimePoint> created_before = std::nullopt;
  /// Only instances that ended before this time.
  std::optional<TimePoint> ended_before = std::nullopt;
};

enum class InstanceOrder : std::uint8_t { newest_first, oldest_first };

struct InstanceQuery {
  InstanceFilter filter;
  InstanceOrder order = InstanceOrder::newest_first;
  std::size_t limit = 100;
  /// `next` of the previous page; none: the first page.
  Incarnation after;
  /// False leaves out outputs and failures, which may be large.
  bool with_results = false;
};

struct InstancePage {
  std::vector<InstanceInfo> instances;
  Incarnation next;  ///< none: this was the last page
};

// -- queued work -----------------------------------------------------------------------------------

/// An activity in the worker queue.
struct PendingActivity {
  ExecutionId execution;
  EventId activity;
  std::string name;
  std::optional<std::string> tag;
  std::optional<std::string> session_id;
  TimePoint visible_at;       ///< not handed out before this time
  std::uint32_t attempt = 0;  ///< number of times it was handed out
  NodeId owner;               ///< the node that runs it; empty: none
  friend bool operator==(const PendingActivity&, const PendingActivity&) = default;
};

/// A message in the orchestrator queue.
struct PendingMessage {
  /// From message_type(); empty if it cannot be read.
  std::string type;
  /// With a timer or a completion: the execution concerned.
  ExecutionId execution;
  /// With a timer or a completion: the schedule event in that execution.
  EventId event;
  TimePoint visible_at;
  std::optional<std::string> unreadable;  ///< the reason, if it cannot be read
  /// With a request to end the instance: its reason, its mode and its requester.
  std::optional<event::OrchestrationCancelRequested> cancel = std::nullopt;
  friend bool operator==(const PendingMessage&, const PendingMessage&) = default;
};

struct PendingWork {
  static constexpr std::size_t max_messages = 1000;

  std::vector<PendingActivity> activities;  ///< in the order they were scheduled
  std::vector<PendingMessage> messages;     ///< the first max_messages, in queue order
  bool more_messages = false;
  bool leased = false;  ///< a node holds its turn lease
  /// Number of times the instance was handed out since its last commit.
  std::uint32_t attempt = 0;
  /// The instance was released with a delay: no turn before this time.
  TimePoint not_before{};
};

// -- removing -------------------------------------------------------------------------------------

enum class DeleteMode : std::uint8_t {
  /// Only if the instance and all its descendants have ended.
  finished,
  /// Even if it is running: its activities are cancelled with `instance_deleted`.
  force,
};

enum class DeleteOutcome : std::uint8_t {
  deleted,
  not_found,
  /// A sub-orchestration is deleted with its root.
  has_parent,
  /// An instance in its tree has not ended; nothing was deleted.
  not_finished,
};

struct DeleteResult {
  DeleteOutcome outcome = DeleteOutcome::deleted;
  std::uint64_t instances = 0;  ///< deleted instances, the whole tree
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;  ///< rows of both queues
  friend bool operator==(const DeleteResult&, const DeleteResult&) = default;
};

/// Selects the executions of an instance to remove. The current one always stays, as do the instance's
/// key-values. At least one part must be given; an execution is removed if all given parts allow it.
struct PruneOptions {
  /// Number of newest executions to keep, including the current one; 0 means 1.
  std::optional<std::uint32_t> keep_last;
  std::optional<TimePoint> ended_before;
};

struct PruneResult {
  bool found = false;  ///< false: the instance does not exist
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
  friend bool operator==(const PruneResult&, const PruneResult&) = default;
};

// -- counting -------------------------------------------------------------------------------------

/// The contents of a store in numbers.
struct StoreMetrics {
  /// Indexed by Status.
  std::array<std::uint64_t, status_count> instances{};
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
  /// Instances in a status that this Duramen does not know.
  std::uint64_t unreadable = 0;

  /// The number of instances with that status; the total number.
  [[nodiscard]] std::uint64_t count(Status status) const {
    return instances.at(static_cast<std::size_t>(status));
  }
  [[nodiscard]] std::uint64_t total_instances() const {
    std::uint64_t total = unreadable;
    for (const auto n : instances) total += n;
    return total;
  }
};

/// One part of a count of all instances.
struct InstanceCount {
  /// Indexed by Status.
  std::array<std::uint64_t, status_count> instances{};
  /// Start of the next part; none: this was the last part.
  Incarnation next;

  /// The number of instances of this part that have not ended.
  [[nodiscard]] std::uint64_t open() const {
    std::uint64_t open = 0;
    for (std::size_t i = 0; i < status_count; ++i) {
      if (!is_final(static_cast<Status>(i))) open += instances.at(i);
    }
    return open;
  }
};

/// The schema version of a store, and the versions this Duramen supports.
struct SchemaVersion {
  std::int64_t stored = 0;
  std::int64_t known = 0;  ///< the newest that this Duramen can create
};

struct QueueDepths {
  std::uint64_t orchestrator_due = 0;    ///< messages that can be delivered now
  std::uint64_t orchestrator_later = 0;  ///< timers and delayed messages
  /// Messages of instances that a node is working on.
  std::uint64_t orchestrator_leased = 0;
  std::uint64_t worker_due = 0;  ///< activities waiting for a worker
  std::uint64_t worker_later = 0;
  std::uint64_t worker_leased = 0;  ///< running activities
  /// Messages for instances that do not exist yet.
  std::uint64_t parked = 0;
  std::uint64_t sessions = 0;  ///< sessions with an owner
};

}  // namespace duramen::inline v0
