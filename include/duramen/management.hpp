// Looking after a store: what its instances are, finding them, removing them, counting.
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

// -- what an instance is --------------------------------------------------------------------------

/// An instance as the store knows it.
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
  TimePoint updated_at;  ///< of its last turn; for one that has ended: when it did
  std::optional<ParentLink> parent;
  std::optional<std::string> custom_status;
  std::uint64_t custom_status_version = 0;  ///< grows with every turn that changed it
  /// In lists and trees: what this Duramen cannot read of the instance, and what to do. Then `status` and the
  /// result mean nothing. Absent if all of it was read.
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
  EventId last_event_id;  ///< also the number of its events
  TimePoint started_at;
  std::optional<TimePoint> ended_at;
  std::optional<Payload> output;   ///< completed
  std::optional<Failure> failure;  ///< failed, cancelled
  /// What this Duramen cannot read of the execution: then `status` and the result mean nothing.
  std::optional<std::string> unreadable;
};

// -- finding --------------------------------------------------------------------------------------

/// Every part that is given must hold.
struct InstanceFilter {
  std::optional<std::vector<InstanceId>> ids;  ///< absent: any; empty: none
  std::optional<std::string> id_prefix;
  std::optional<std::string> name;  ///< of the orchestration
  std::optional<std::string> version;
  std::vector<Status> statuses;      ///< empty: any
  std::optional<InstanceId> parent;  ///< its direct children
  bool roots_only = false;           ///< only instances without a parent
  std::optional<TimePoint> created_from;
  std::optional<TimePoint> created_before;
  std::optional<TimePoint> ended_before;  ///< only instances that ended before this moment
};

enum class InstanceOrder : std::uint8_t { newest_first, oldest_first };

struct InstanceQuery {
  InstanceFilter filter;
  InstanceOrder order = InstanceOrder::newest_first;
  std::size_t limit = 100;
  Incarnation after;          ///< `next` of the page before; none: the first page
  bool with_results = false;  ///< outputs and failures may be large; without this they are left out
};

struct InstancePage {
  std::vector<InstanceInfo> instances;
  Incarnation next;  ///< none: this was the last page
};

// -- what is on its way to an instance ------------------------------------------------------------

/// An activity in the worker queue.
struct PendingActivity {
  ExecutionId execution;
  EventId activity;
  std::string name;
  std::optional<std::string> tag;
  std::optional<std::string> session_id;
  TimePoint visible_at;       ///< not handed out before this
  std::uint32_t attempt = 0;  ///< how often it has been handed out
  NodeId owner;               ///< who runs it; empty: nobody
  friend bool operator==(const PendingActivity&, const PendingActivity&) = default;
};

/// A message in the orchestrator queue.
struct PendingMessage {
  std::string type;       ///< message_type(); empty if it cannot be read
  ExecutionId execution;  ///< of a timer or a completion: which execution,
  EventId event;          ///< and which event of it scheduled what this is about
  TimePoint visible_at;
  std::uint32_t attempt = 0;              ///< how often it has been handed out
  std::optional<std::string> unreadable;  ///< what is wrong with it
  friend bool operator==(const PendingMessage&, const PendingMessage&) = default;
};

struct PendingWork {
  static constexpr std::size_t max_messages = 1000;

  std::vector<PendingActivity> activities;  ///< in the order in which they were scheduled
  std::vector<PendingMessage> messages;     ///< the first max_messages, in queue order
  bool more_messages = false;
  bool leased = false;     ///< a node works on the instance
  TimePoint not_before{};  ///< the instance was given back with a delay: no turn before this
};

// -- removing -------------------------------------------------------------------------------------

enum class DeleteMode : std::uint8_t {
  finished,  ///< only if the instance and everything below it has ended
  force,     ///< whatever it is doing: running activities are told `instance_deleted`
};

enum class DeleteOutcome : std::uint8_t {
  deleted,
  not_found,
  has_parent,    ///< a sub-orchestration goes with its root
  not_finished,  ///< something in its tree has not ended; nothing was deleted
};

struct DeleteResult {
  DeleteOutcome outcome = DeleteOutcome::deleted;
  std::uint64_t instances = 0;  ///< deleted: the whole tree
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;  ///< rows of both queues
  friend bool operator==(const DeleteResult&, const DeleteResult&) = default;
};

/// Which executions of an instance to remove. The current one always stays, and so do the instance's
/// key-values. At least one part must be given; an execution goes if all given parts allow it.
struct PruneOptions {
  std::optional<std::uint32_t> keep_last;  ///< the newest, the current one included; 0 means 1
  std::optional<TimePoint> ended_before;
};

struct PruneResult {
  bool found = false;  ///< false: no such instance
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
  friend bool operator==(const PruneResult&, const PruneResult&) = default;
};

// -- counting -------------------------------------------------------------------------------------

/// How much a store holds.
struct StoreMetrics {
  /// Indexed by Status.
  std::array<std::uint64_t, status_count> instances{};
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
  std::uint64_t unreadable = 0;  ///< instances in a status that this Duramen does not know

  /// How many instances have that status; how many there are in all.
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
  Incarnation next;  ///< where the next part begins; none: this was the last part

  /// How many instances of this part have not ended.
  [[nodiscard]] std::uint64_t open() const {
    std::uint64_t open = 0;
    for (std::size_t i = 0; i < status_count; ++i) {
      if (!is_final(static_cast<Status>(i))) open += instances.at(i);
    }
    return open;
  }
};

/// Which form of its tables a store has, and which this Duramen knows.
struct SchemaVersion {
  std::int64_t stored = 0;
  std::int64_t known = 0;  ///< the newest that this Duramen can make
};

struct QueueDepths {
  std::uint64_t orchestrator_due = 0;     ///< messages that could be delivered now
  std::uint64_t orchestrator_later = 0;   ///< timers and delayed messages
  std::uint64_t orchestrator_leased = 0;  ///< messages of instances that a node is working on
  std::uint64_t worker_due = 0;           ///< activities that wait for a worker
  std::uint64_t worker_later = 0;
  std::uint64_t worker_leased = 0;  ///< activities that run
  std::uint64_t parked = 0;         ///< messages for instances that do not exist yet
  std::uint64_t sessions = 0;       ///< that have an owner
};

}  // namespace duramen::inline v0
