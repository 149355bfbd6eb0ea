// What a storage back end promises the runtime.
//
// A provider keeps instances, their histories, the messages on their way to them (the orchestrator queue) and the
// activities waiting to be run (the worker queue). The runtime decides, the provider stores: nothing here looks inside
// an event or a payload.
//
// Every call is one transaction. Calls are batched: a call takes many entries and answers each. What is wrong with one
// entry (its lease is lost, the store moved on) fails that entry; what is wrong with the store fails the call, nothing
// of it is stored, and the error says whether trying again makes sense (after a deadlock or a serialisation failure it
// does). No exception crosses this interface.
// Calls may come from any thread.
//
// To write a provider, implement this class and make <duramen/testing/conformance.hpp> pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <duramen/failure.hpp>
#include <duramen/history.hpp>
#include <duramen/ids.hpp>
#include <duramen/key_values.hpp>
#include <duramen/payload.hpp>
#include <duramen/result.hpp>
#include <duramen/status.hpp>
#include <duramen/time.hpp>
#include <duramen/work_item.hpp>

namespace duramen::inline v0 {

// -- starting and messaging ------------------------------------------------------------------------------------------

/// What to do when the id of a new instance is taken.
enum class IdReuse : std::uint8_t {
  reject,             ///< an id is used once: `exists`
  replace_when_final  ///< an instance that has ended is replaced by the new one, which gets a new incarnation
};

struct StartRequest {
  InstanceId instance;
  work::StartOrchestration start;
  IdReuse reuse = IdReuse::reject;
};

enum class StartOutcome : std::uint8_t {
  created,
  exists,    ///< an instance of that id exists and was started with the same name and input: the start is a repeat
  conflict,  ///< the id belongs to something else
};

/// A message to an instance, now or at a later time.
struct OutboundMessage {
  InstanceId target;
  WorkItem item;
  TimePoint visible_at{};                 ///< in the past or zero: now
  std::optional<std::string> message_id;  ///< unique per instance: a second message of that id is not stored
  /// With a StartOrchestration in a TurnCommit: delivered to the committing instance instead when the id is taken.
  std::optional<WorkItem> if_refused = std::nullopt;
};

enum class EnqueueOutcome : std::uint8_t {
  enqueued,
  duplicate,  ///< a message with that id was stored before
  not_found,  ///< no such instance, and the message is not one that may wait for it (a cancel)
  parked,     ///< no such instance yet: kept for it for a while (events, queue messages)
  finished,   ///< the instance has ended; nothing was stored
};

// -- turns -----------------------------------------------------------------------------------------------------------

struct OrchestrationFetch {
  NodeId node;
  std::size_t limit = 16;
  Duration lease{};
  std::uint32_t min_engine_version = 0;  ///< both ends inclusive
  std::uint32_t max_engine_version = duramen::engine_version;
  /// Only instances of these orchestrations; absent: any.
  std::optional<std::vector<std::string>> names;
};

/// A message as delivered.
struct InboxMessage {
  WorkItem item;
  std::uint32_t attempt = 1;  ///< how often it has been handed out, this time included
};

/// An instance with something new to react to, leased to the caller.
struct OrchestrationItem {
  InstanceId instance;
  Incarnation incarnation;
  LeaseToken lease;
  LeaseTime lease_until;
  ExecutionId execution;
  Status status = Status::pending;
  std::string name;
  std::string version;    ///< empty while pending
  EventId last_event_id;  ///< none while pending
  std::uint32_t attempt = 1;  ///< the highest of its messages
  std::vector<InboxMessage> messages;  ///< in queue order
  KeyValues key_values;  ///< as earlier executions left them: replay repeats the changes of this one
};

struct OrchestrationBatch {
  std::vector<OrchestrationItem> items;
  std::optional<TimePoint> next_due;  ///< a hint: when the next message becomes visible; may be too early
};

/// The lease under which a worker runs an activity.
struct WorkLease {
  ActivityKey key;
  LeaseToken token;
  friend bool operator==(const WorkLease&, const WorkLease&) = default;
};

/// The end of one activity. Deletes the worker row held under `lease`; the completion reaches the instance only if the
/// row was still there.
struct WorkAck {
  WorkLease lease;
  InstanceId instance;
  std::optional<std::variant<Payload, Failure>> completion;  ///< absent: delete only
};

/// A new row for the worker queue.
struct WorkerItem {
  ActivityExecute activity;
  /// Present: the row is born leased to the committing node under this token, and no fetch hands it out.
  std::optional<LeaseToken> born_leased;
};

struct CancelledActivity {
  EventId activity;
  CancelReason reason;
};

/// The commit owns a lease that a fetch gave out; it ends with the commit. The messages of that fetch are deleted with
/// it, those that arrived since stay.
struct HeldLease {
  LeaseToken token;
};
/// The commit takes the instance and commits in one step: only if nobody has it leased, its last event is
/// `last_event_id`, no visible message waits for it, and every row of `work_acks` is still held under its lease.
struct ConditionalLease {
  EventId last_event_id;
};
/// The commit creates the instance: its start and its first turn are one step. Where the new incarnation belongs and
/// none is given (keys of worker rows, parent links in messages), the store fills it in.
struct FusedStart {
  StartRequest request;
};

/// The last word of a turn on its custom status.
struct CustomStatusChange {
  std::optional<std::string> status;  ///< absent: cleared
  friend bool operator==(const CustomStatusChange&, const CustomStatusChange&) = default;
};

/// What an instance is after the turn. Absent parts stay as they are.
struct InstanceChange {
  Status status = Status::running;  ///< final: messages that are still queued for the instance go unseen
  std::optional<std::string> version;  ///< with the first turn of an execution: what the name resolved to
  std::uint32_t engine_version = duramen::engine_version;
  std::optional<Payload> output;    ///< with completed
  std::optional<Failure> failure;   ///< with failed, cancelled
  std::optional<ParentLink> parent;  ///< with the first turn
  std::optional<CustomStatusChange> custom_status;
  std::vector<KeyValueChange> key_values;
};

/// Everything one turn decided. Stored whole, or not at all.
struct TurnCommit {
  CommitToken token;
  NodeId node;  ///< who commits; owner of the leases it is born with
  InstanceId instance;
  Incarnation incarnation;  ///< none with a FusedStart
  std::variant<HeldLease, ConditionalLease, FusedStart> basis;
  ExecutionId execution;

  /// With a ConditionalLease only: the completions that caused this turn, all of this instance.
  std::vector<WorkAck> work_acks;
  std::vector<Event> events;       ///< appended to the execution's history; ids go on where it ended
  InstanceChange change;
  std::vector<WorkerItem> worker_items;
  Duration worker_lease{};  ///< for rows born leased
  std::vector<OutboundMessage> messages;  ///< timers, child starts, cancels, answers to the parent

  /// Removed from the worker queue after `worker_items` was inserted, whoever holds them.
  std::vector<CancelledActivity> cancelled_activities;
  /// Set on terminal turns: every remaining worker row and timer of the execution goes, with this reason.
  std::optional<CancelReason> cancel_rest;
  std::vector<EventId> dropped_timers;  ///< timers whose messages are to be removed unseen
};

enum class CommitOutcome : std::uint8_t {
  committed,
  already_committed,  ///< this token was committed before; nothing was stored again, `stolen` and `acks` are empty
  lease_lost,         ///< HeldLease only: the lease ended; nothing was stored
  condition_failed,   ///< the ConditionalLease does not hold, or the row of a work ack is gone: nothing of the turn was
                      ///< stored; its work acks were performed as ack_work_items would have, see `acks`
  start_refused,      ///< FusedStart only: the id is taken, see `start`; nothing was stored
  invalid,            ///< can never be stored (event ids that do not go on where history ended, a wrong execution);
                      ///< nothing was stored, a held lease is still held
};

enum class AckOutcome : std::uint8_t {
  done,        ///< the row is gone and the completion, if any, is on its way
  cancelled,   ///< the row had been cancelled; nothing was enqueued; `reason` says why
  lease_lost,  ///< the lease had ended or the row was somebody else's; nothing was enqueued
};
struct AckResult {
  AckOutcome outcome = AckOutcome::done;
  CancelReason reason{};  ///< with cancelled
};

/// A worker lease that a commit took away from its holder.
struct StolenLease {
  NodeId owner;
  WorkLease lease;
  CancelReason reason{};
};

struct CommitResult {
  CommitOutcome outcome = CommitOutcome::committed;
  Incarnation incarnation;           ///< of the instance, also when this commit created it
  StartOutcome start{};              ///< with start_refused
  std::vector<AckResult> acks;       ///< with condition_failed: one per work ack
  std::vector<StolenLease> stolen;   ///< with committed: leases this commit took away, whoever held them
};

/// The lease under which a runtime works on an instance.
struct TurnLease {
  Incarnation incarnation;
  LeaseToken token;
  friend bool operator==(const TurnLease&, const TurnLease&) = default;
};

/// Gives a leased instance back untouched.
struct TurnAbandon {
  TurnLease lease;
  Duration delay{};           ///< its messages stay invisible that long
  bool count_attempt = true;  ///< false: this delivery did not count
};

// -- work items ------------------------------------------------------------------------------------------------------

struct WorkFetch {
  NodeId node;
  std::size_t limit = 16;
  Duration lease{};
  /// Only activities of these names; absent: any.
  std::optional<std::vector<std::string>> names;
};

struct WorkItemLeased {
  ActivityExecute activity;
  WorkLease lease;
  LeaseTime lease_until;
  std::uint32_t attempt = 1;
};

struct WorkBatch {
  std::vector<WorkItemLeased> items;
  std::optional<TimePoint> next_due;
};

struct WorkAbandon {
  WorkLease lease;
  Duration delay{};
  bool count_attempt = true;
};

enum class RenewOutcome : std::uint8_t { renewed, cancelled, lease_lost };
struct RenewResult {
  RenewOutcome outcome = RenewOutcome::renewed;
  CancelReason reason{};  ///< with cancelled
};

// -- reading ---------------------------------------------------------------------------------------------------------

struct InstanceInfo {
  InstanceId instance;
  Incarnation incarnation;
  std::string name;
  std::string version;
  ExecutionId execution;
  Status status = Status::pending;
  std::optional<Payload> output;
  std::optional<Failure> failure;
  EventId last_event_id;
  TimePoint created_at;
  TimePoint updated_at;
  std::optional<ParentLink> parent;
  std::optional<std::string> custom_status;
  std::uint64_t custom_status_version = 0;  ///< grows with every turn that changed it
};

// -- push ------------------------------------------------------------------------------------------------------------

/// What a provider tells those who listen. Called on a provider's or a committer's thread, never under a provider's
/// lock, and only to post: a listener must return at once and not call back. A hint may be wrong or late; polling at a
/// slow interval finds what a lost one would have told. Hints may be sent after the commit and be lost with the process.
class ProviderListener {
 public:
  virtual ~ProviderListener() = default;
  virtual void orchestrator_work_ready() = 0;
  virtual void worker_work_ready() = 0;
  /// Leases held by this listener's node were stolen by somebody else's commit. Empty: ask `read_stolen_leases`.
  virtual void leases_stolen(std::span<const StolenLease> stolen) = 0;
  /// These instances were committed to. Empty: some may have been, by another process.
  virtual void instances_changed(std::span<const InstanceId> instances) = 0;
};

/// Ends when destroyed; after that no callback is running or will come.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

// -- the interface ---------------------------------------------------------------------------------------------------

class Provider {
 public:
  virtual ~Provider() = default;

  /// "sqlite", "memory", ...
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// The clock that rules visibility and leases; for a store with a clock of its own, an estimate of it.
  [[nodiscard]] virtual const Clock& clock() const noexcept = 0;

  /// Inserts each instance as pending together with its start message.
  [[nodiscard]] virtual Result<std::vector<StartOutcome>> start_instances(std::span<const StartRequest> requests) = 0;
  [[nodiscard]] virtual Result<std::vector<EnqueueOutcome>> enqueue_for_orchestrator(
      std::span<const OutboundMessage> messages) = 0;

  /// Leases instances that have visible messages and are not leased, longest waiting first, and counts an attempt for
  /// each message. An instance whose messages were handed out before without an end is returned alone.
  [[nodiscard]] virtual Result<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& request) = 0;
  /// The events of one execution after `after`, oldest first. Empty for an unknown instance or execution.
  [[nodiscard]] virtual Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution,
                                                                EventId after) = 0;
  /// Stores turns. One answer per commit, in order; commits in one batch are independent of each other. At most one
  /// commit per instance in a batch; all are decided before any message of the batch is stored.
  [[nodiscard]] virtual Result<std::vector<CommitResult>> ack_orchestration_items(
      std::span<const TurnCommit> commits) = 0;
  /// Entries whose lease is gone are skipped.
  [[nodiscard]] virtual Result<void> abandon_orchestration_items(std::span<const TurnAbandon> items) = 0;
  /// Extends turn leases that still exist; false for those that do not.
  [[nodiscard]] virtual Result<std::vector<bool>> renew_orchestration_item_locks(std::span<const TurnLease> leases,
                                                                                 Duration extend) = 0;

  [[nodiscard]] virtual Result<WorkBatch> fetch_work_items(const WorkFetch& request) = 0;
  [[nodiscard]] virtual Result<std::vector<AckResult>> ack_work_items(std::span<const WorkAck> acks) = 0;
  [[nodiscard]] virtual Result<std::vector<RenewResult>> renew_work_item_locks(std::span<const WorkLease> leases,
                                                                               Duration extend) = 0;
  [[nodiscard]] virtual Result<void> abandon_work_items(std::span<const WorkAbandon> items) = 0;
  /// Leases of this node that were stolen by others. May return one more than once: renew answers `cancelled` for it
  /// until the lease would have ended, whether it was read here or not.
  [[nodiscard]] virtual Result<std::vector<StolenLease>> read_stolen_leases(const NodeId& node) = 0;

  /// Absent for an unknown instance.
  [[nodiscard]] virtual Result<std::optional<InstanceInfo>> get_instance(const InstanceId& instance) = 0;

  /// What the instance's key-value store holds now; empty for an unknown instance.
  [[nodiscard]] virtual Result<KeyValues> get_key_values(const InstanceId& instance) = 0;

  /// `node` may be empty for a listener that holds no leases (a client).
  [[nodiscard]] virtual std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) = 0;
};

}  // namespace duramen::v0
