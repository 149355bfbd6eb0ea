// What a storage back end promises the runtime.
//
// A provider keeps instances, their histories, the messages on their way to them (the orchestrator queue) and
// the activities waiting to be run (the worker queue). The runtime decides, the provider stores: nothing here
// looks inside an event or a payload.
//
// Every call is one transaction. Calls are batched: a call takes many entries and answers each. What is wrong
// with one entry (its lease is lost, the store moved on) fails that entry; what is wrong with the store fails
// the call, nothing of it is stored, and the error says whether trying again makes sense (after a deadlock or
// a serialisation failure it does). No exception crosses this interface. Calls may come from any thread.
//
// To write a provider, implement this class and make <duramen/testing/conformance.hpp> pass.
#pragma once

#include <duramen/failure.hpp>
#include <duramen/history.hpp>
#include <duramen/ids.hpp>
#include <duramen/key_values.hpp>
#include <duramen/limits.hpp>
#include <duramen/management.hpp>
#include <duramen/message.hpp>
#include <duramen/payload.hpp>
#include <duramen/result.hpp>
#include <duramen/status.hpp>
#include <duramen/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace duramen::inline v0 {

// -- starting and messaging -----------------------------------------------------------------------

/// What to do when the id of a new instance is taken.
enum class IdReuse : std::uint8_t {
  reject,             ///< an id is used once: `exists`
  replace_when_final  ///< an instance that has ended is replaced by the new one, which gets a new incarnation
};

struct StartRequest {
  InstanceId instance;
  message::StartOrchestration start;
  IdReuse reuse = IdReuse::reject;
};

enum class StartOutcome : std::uint8_t {
  created,
  exists,    ///< an instance of that id exists and was started with the same name and input: the start is a
             ///< repeat
  conflict,  ///< the id belongs to something else
};

/// A message to an instance, now or at a later time.
struct OutboundMessage {
  InstanceId target;
  MessageBody body;
  TimePoint visible_at{};                 ///< in the past or zero: now
  std::optional<std::string> message_id;  ///< unique per instance: a second message of that id is not stored
  /// With a StartOrchestration in a TurnCommit: delivered to the committing instance instead when the id is
  /// taken.
  std::optional<MessageBody> if_refused = std::nullopt;
};

enum class EnqueueOutcome : std::uint8_t {
  enqueued,
  duplicate,  ///< a message with that id was stored before
  not_found,  ///< no such instance, and the message is not one that may wait for it (a cancel)
  parked,     ///< no such instance yet: kept for it for a while (events, queue messages)
  finished,   ///< the instance has ended; nothing was stored
};

// -- turns ----------------------------------------------------------------------------------------

/// An orchestration that a node can run.
struct RegisteredOrchestration {
  std::string name;
  std::vector<std::string> versions = {};  ///< empty: any
};

struct TurnFetch {
  NodeId node;
  std::size_t limit = 16;
  Duration lease{};
  std::uint32_t min_engine_version = 0;  ///< both ends inclusive
  std::uint32_t max_engine_version = duramen::engine_version;
  /// Only instances of these orchestrations; absent: any. The version counts once a turn has resolved it: an
  /// instance that is pending or has continued as new goes by its name alone.
  std::optional<std::vector<RegisteredOrchestration>> orchestrations;
};

/// The events of one execution after `after`.
struct HistoryRequest {
  InstanceId instance;
  ExecutionId execution;
  EventId after;
};

/// A message as delivered.
struct InboxMessage {
  MessageBody body;
  std::uint32_t attempt = 1;  ///< how often it has been handed out, this time included
};

/// An instance with something new to react to, leased to the caller.
struct LeasedInstance {
  InstanceId instance;
  Incarnation incarnation;
  LeaseToken lease;
  LeaseTime lease_until;
  ExecutionId execution;
  Status status = Status::pending;
  std::string name;
  std::string version;                 ///< empty while pending
  EventId last_event_id;               ///< none while pending
  std::uint32_t attempt = 1;           ///< the highest of its messages
  std::vector<InboxMessage> messages;  ///< in queue order
  /// What was wrong with messages that cannot be read. They are not in `messages`, but under the lease, and a
  /// commit deletes them like the others.
  std::optional<std::string> unreadable;
  KeyValues key_values;  ///< as earlier executions left them: replay repeats the changes of this one
};

struct TurnBatch {
  std::vector<LeasedInstance> items;
  /// A hint, may be too early: when the next message becomes visible, or the lease of an instance that has
  /// some ends.
  std::optional<TimePoint> next_due;
};

/// The lease under which a worker runs an activity.
struct ActivityLease {
  ActivityKey key;
  LeaseToken token;
  friend bool operator==(const ActivityLease&, const ActivityLease&) = default;
};

/// The end of one activity. Deletes the worker row held under `lease`; the completion reaches the instance
/// only if the row was still there.
struct ActivityAck {
  ActivityLease lease;
  InstanceId instance;
  std::optional<std::variant<Payload, Failure>> completion;  ///< absent: delete only
};

/// A new row for the worker queue.
struct NewActivity {
  ActivityRequest request;
  /// Present: the row is born leased to the committing node under this token, and no fetch hands it out.
  std::optional<LeaseToken> born_leased;
};

struct CancelledActivity {
  EventId activity;
  CancelReason reason;
};

/// The commit owns a lease that a fetch gave out; it ends with the commit. The messages of that fetch are
/// deleted with it, those that arrived since stay.
struct HeldLease {
  LeaseToken token;
};
/// The commit takes the instance and commits in one step: only if nobody has it leased, its last event is
/// `last_event_id`, no visible message waits for it, and every row of `activity_acks` is still held under its
/// lease.
struct ConditionalLease {
  EventId last_event_id;
};
/// The commit creates the instance: its start and its first turn are one step. Where the new incarnation
/// belongs and none is given (keys of worker rows, parent links in messages), the store fills it in.
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
  Status status = Status::running;     ///< final: messages that are still queued for the instance go unseen
  std::optional<std::string> version;  ///< with the first turn of an execution: what the name resolved to
  std::uint32_t engine_version = duramen::engine_version;
  std::optional<Payload> output;     ///< with completed
  std::optional<Failure> failure;    ///< with failed, cancelled
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
  std::vector<ActivityAck> activity_acks;
  std::vector<Event> events;  ///< appended to the execution's history; ids go on where it ended
  InstanceChange change;
  std::vector<NewActivity> new_activities;
  Duration activity_lease{};              ///< for rows born leased
  std::vector<OutboundMessage> messages;  ///< timers, child starts, cancels, answers to the parent

  /// Removed from the worker queue after `new_activities` was inserted, whoever holds them.
  std::vector<CancelledActivity> cancelled_activities;
  /// Set on terminal turns: every remaining worker row and timer of the execution goes, with this reason.
  std::optional<CancelReason> cancel_rest;
  std::vector<EventId> dropped_timers;  ///< timers whose messages are to be removed unseen
};

enum class CommitOutcome : std::uint8_t {
  committed,
  already_committed,  ///< this token was committed before; nothing was stored again, `stolen` and `acks` are
                      ///< empty
  lease_lost,         ///< HeldLease only: the lease ended; nothing was stored
  condition_failed,  ///< the ConditionalLease does not hold, or the row of a work ack is gone: nothing of the
                     ///< turn was stored; its work acks were performed as ack_activities would have, see
                     ///< `acks`
  start_refused,     ///< FusedStart only: the id is taken, see `start`; nothing was stored
  invalid,  ///< can never be stored (event ids that do not go on where history ended, a wrong execution, a
            ///< value that the store cannot hold); nothing was stored, a held lease is still held, and
            ///< `message` gives the reason
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
  ActivityLease lease;
  CancelReason reason{};
};

struct CommitResult {
  CommitOutcome outcome = CommitOutcome::committed;
  Incarnation incarnation;          ///< of the instance, also when this commit created it
  StartOutcome start{};             ///< with start_refused
  std::vector<AckResult> acks;      ///< with condition_failed: one per work ack
  std::vector<StolenLease> stolen;  ///< with committed: leases this commit took away, whoever held them
  /// With committed: the targets of starts without `if_refused` whose id was taken, so that nothing was
  /// started; one entry per start. For the log alone: a store that looks before it commits may miss one that
  /// was taken in between.
  std::vector<InstanceId> refused_starts = {};
  std::string message = {};  ///< with invalid: the reason, and what to change; never empty then
};

/// The lease under which a runtime works on an instance.
struct TurnLease {
  Incarnation incarnation;
  LeaseToken token;
  friend bool operator==(const TurnLease&, const TurnLease&) = default;
};

/// Gives a leased instance back untouched.
struct TurnRelease {
  TurnLease lease;
  Duration delay{};           ///< its messages stay invisible that long
  bool count_attempt = true;  ///< false: this delivery did not count
};

// -- work items -----------------------------------------------------------------------------------

/// Which activities a worker takes, by their tag.
struct TagFilter {
  static constexpr std::size_t max_tags = 5;
  static constexpr std::size_t max_tag_bytes = duramen::max_tag_bytes;

  bool untagged = true;           ///< those without a tag
  bool every_tag = false;         ///< those with any tag
  std::vector<std::string> tags;  ///< those with one of these; at most max_tags

  /// The usual filters: untagged work, some tags, both, everything, nothing.
  [[nodiscard]] static TagFilter default_only() { return {}; }
  [[nodiscard]] static TagFilter only(std::vector<std::string> tags) {
    return {false, false, std::move(tags)};
  }
  [[nodiscard]] static TagFilter default_and(std::vector<std::string> tags) {
    return {true, false, std::move(tags)};
  }
  [[nodiscard]] static TagFilter any() { return {true, true, {}}; }
  [[nodiscard]] static TagFilter none() { return {false, false, {}}; }

  /// Whether a worker with this filter takes such an activity.
  [[nodiscard]] bool accepts(const std::optional<std::string>& tag) const;
  friend bool operator==(const TagFilter&, const TagFilter&) = default;
};

/// A worker that keeps sessions: activities of one session run on one owner as long as it lives.
struct SessionClaim {
  std::string owner;  ///< may outlive the node id, so that a restarted worker gets its sessions back at once
  Duration lease{};
  std::vector<std::string> active;  ///< sessions the owner has work of in hand
  std::size_t max_active = 10;      ///< the fetch returns work of at most so many sessions, `active` counted
};

struct ActivityFetch {
  NodeId node;
  std::size_t limit = 16;
  Duration lease{};
  /// Only activities of these names; absent: any.
  std::optional<std::vector<std::string>> names;
  TagFilter tags;
  /// Absent: only activities without a session. Present: also those whose session is the owner's or nobody's;
  /// a session becomes the owner's with the fetch.
  std::optional<SessionClaim> sessions;
};

struct LeasedActivity {
  ActivityRequest request;
  ActivityLease lease;
  LeaseTime lease_until;
  std::uint32_t attempt = 1;
  std::uint64_t fence = 1;  ///< grows with every lease on this row, also if the attempt did not count
  std::optional<Payload> heartbeat;  ///< the details an earlier attempt left
  std::optional<std::string>
      unreadable;  ///< what was wrong with a row that cannot be read; only its key is right
};

struct ActivityBatch {
  std::vector<LeasedActivity> items;
  /// A hint, may be too early: when the next row becomes visible or its lease ends, or work becomes overdue.
  std::optional<TimePoint> next_due;
};

struct ActivityRelease {
  ActivityLease lease;
  Duration delay{};
  bool count_attempt = true;
};

/// A sign of life from the activity itself.
struct Heartbeat {
  std::optional<Payload> details;  ///< kept for the next attempt; absent: those before stay
};

struct ActivityRenewal {
  ActivityLease lease;
  std::optional<Heartbeat> heartbeat = std::nullopt;
};

enum class RenewOutcome : std::uint8_t { renewed, cancelled, lease_lost };
struct RenewResult {
  RenewOutcome outcome = RenewOutcome::renewed;
  CancelReason reason{};  ///< with cancelled
};

/// How an activity fails whose time limit has passed; for providers, so that all say the same.
[[nodiscard]] Failure overdue_failure(const ActivityRequest& activity, TimeoutKind which,
                                      std::uint32_t attempt);

// -- what any node does for all -------------------------------------------------------------------

struct SweepResult {
  std::uint64_t overdue = 0;           ///< activities that failed because a time limit of theirs had passed
  std::uint64_t sessions_removed = 0;  ///< nobody's, and without work
  std::uint64_t parked_dropped = 0;    ///< messages whose instance never came
  bool more = false;                   ///< the limit was reached
  /// A hint, may be too early: when something becomes overdue.
  std::optional<TimePoint> next_due;
};

// -- push -----------------------------------------------------------------------------------------

struct ChangedInstance {
  InstanceId instance;
  Status status = Status::pending;
  /// Whose turn it was. Empty: nobody's (a start, a delete), or unknown. Those who wait in the process of
  /// that node hear the end from the node itself and need not ask the store.
  NodeId decided_by;
};

/// Notifications from a provider. They arrive on a thread of the provider or of a committer, never under a
/// lock of the provider. A listener must only post and return. A notification may be wrong, late or lost;
/// polling covers that.
class ProviderListener {
 public:
  virtual ~ProviderListener() = default;
  /// There may be something to fetch: messages for instances, or activities.
  virtual void turns_ready() = 0;
  virtual void activities_ready() = 0;
  /// Leases of this listener's node were stolen: by another node's commit, a delete or a sweep.
  virtual void leases_stolen(std::span<const StolenLease> stolen) = 0;
  /// Leases of this listener's node may have been stolen by another process: call `read_stolen_leases`.
  virtual void stolen_leases_pending() = 0;
  /// These instances were created, committed to or deleted (then the status is the last they had).
  virtual void instances_changed(std::span<const ChangedInstance> instances) = 0;
  /// Another process may have changed instances; it is unknown which.
  virtual void unknown_instances_changed() = 0;
};

/// Ends when destroyed; after that no callback is running or will come.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

// -- the interface --------------------------------------------------------------------------------

/// What a store must be able to do. Everything the runtime and the client know of a store is this class.
class Provider {
 public:
  virtual ~Provider() = default;

  /// "sqlite", "memory", ...
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// The clock that rules visibility and leases; for a store with a clock of its own, an estimate of it.
  [[nodiscard]] virtual const Clock& clock() const noexcept = 0;

  /// Inserts each instance as pending together with its start message.
  [[nodiscard]] virtual Result<std::vector<StartOutcome>> start_instances(
      std::span<const StartRequest> requests) = 0;
  [[nodiscard]] virtual Result<std::vector<EnqueueOutcome>> enqueue_messages(
      std::span<const OutboundMessage> messages) = 0;

  /// Leases instances that have visible messages and are not leased, longest waiting first, and counts an
  /// attempt for each message. An instance whose messages were handed out before without an end is returned
  /// alone.
  [[nodiscard]] virtual Result<TurnBatch> fetch_turns(const TurnFetch& request) = 0;
  /// The events of one execution after `after`, oldest first. Empty for an unknown instance or execution.
  [[nodiscard]] virtual Result<std::vector<Event>> read_history(const InstanceId& instance,
                                                                ExecutionId execution, EventId after) = 0;
  /// Several at once, an answer for each. As it is here it asks for one after the other; a provider that can
  /// do better in one transaction or one round trip should.
  [[nodiscard]] virtual std::vector<Result<std::vector<Event>>> read_histories(
      std::span<const HistoryRequest> requests);
  /// Stores turns. One answer per commit, in order; commits in one batch are independent of each other. At
  /// most one commit per instance in a batch; all are decided before any message of the batch is stored.
  ///
  /// Once `preempt` is requested, something urgent waits behind this call. Then the last commits may be left
  /// out: nothing of them is done, and there are fewer answers, perhaps none. The caller brings them again.
  /// What a `std::stop_callback` does then it does on the runtime's loop, so it must be quick.
  [[nodiscard]] virtual Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                                       const std::stop_token& preempt) = 0;
  /// For who is in no hurry: as many answers as commits.
  [[nodiscard]] Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits) {
    return commit_turns(commits, {});
  }
  /// Entries whose lease is gone are skipped.
  [[nodiscard]] virtual Result<void> release_turns(std::span<const TurnRelease> items) = 0;
  /// Extends turn leases that still exist; false for those that do not.
  [[nodiscard]] virtual Result<std::vector<bool>> renew_turns(std::span<const TurnLease> leases,
                                                              Duration extend) = 0;

  /// Leases activities to a worker; ends them, each with its result as a message to its instance. A lease
  /// that is gone fails its own entry.
  [[nodiscard]] virtual Result<ActivityBatch> fetch_activities(const ActivityFetch& request) = 0;
  [[nodiscard]] virtual Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) = 0;
  /// Extends leases that still exist and keeps their heartbeats.
  [[nodiscard]] virtual Result<std::vector<RenewResult>> renew_activities(
      std::span<const ActivityRenewal> leases, Duration extend) = 0;
  [[nodiscard]] virtual Result<void> release_activities(std::span<const ActivityRelease> items) = 0;
  /// Leases of this node that were stolen by others. May return one more than once: renew answers `cancelled`
  /// for it until the lease would have ended, whether it was read here or not.
  [[nodiscard]] virtual Result<std::vector<StolenLease>> read_stolen_leases(const NodeId& node) = 0;

  /// Extends the sessions that one of `owners` holds and that were used within `idle_timeout`: a fetch, an
  /// acknowledgement or a renewal of their work uses them. A session that has ended is not revived. Answers
  /// how many were extended.
  [[nodiscard]] virtual Result<std::size_t> renew_sessions(std::span<const std::string> owners,
                                                           Duration extend, Duration idle_timeout) = 0;
  /// Ends every session of the owner, so that others may take them at once. Answers how many.
  [[nodiscard]] virtual Result<std::size_t> release_sessions(const std::string& owner) = 0;

  /// Does at most `limit` of each of these: fails activities whose time limits have passed (they end like a
  /// failed attempt, whoever holds them, who is told `timeout`), drops parked messages whose time is over,
  /// and removes sessions that are nobody's and have no work.
  [[nodiscard]] virtual Result<SweepResult> sweep(std::size_t limit) = 0;

  /// Absent for an unknown instance; the error `corrupt` for one that cannot be read.
  [[nodiscard]] virtual Result<std::optional<InstanceInfo>> get_instance(const InstanceId& instance) = 0;

  /// What the instance's key-value store holds now; empty for an unknown instance.
  [[nodiscard]] virtual Result<KeyValues> get_key_values(const InstanceId& instance) = 0;

  /// One page of the instances that match, in the order of their creation. One that cannot be read is listed
  /// with what is wrong with it (InstanceInfo::unreadable) and hides no other; so it is in a tree, and an
  /// execution among executions.
  [[nodiscard]] virtual Result<InstancePage> list_instances(const InstanceQuery& query) = 0;
  /// All executions of an instance that were not pruned, oldest first; empty for an unknown instance.
  [[nodiscard]] virtual Result<std::vector<ExecutionInfo>> list_executions(const InstanceId& instance) = 0;
  /// The instance and everything below it, parents before children; empty for an unknown instance. Without
  /// results.
  [[nodiscard]] virtual Result<std::vector<InstanceInfo>> get_instance_tree(const InstanceId& root) = 0;
  /// The activities and messages of an instance that wait or are being worked on; empty for an unknown
  /// instance.
  [[nodiscard]] virtual Result<PendingWork> list_pending_work(const InstanceId& instance) = 0;
  /// Deletes each instance with everything below it: rows, messages, activities and key-values. Each tree
  /// goes whole or not at all. Who works on one loses its lease.
  [[nodiscard]] virtual Result<std::vector<DeleteResult>> delete_instances(
      std::span<const InstanceId> instances, DeleteMode mode) = 0;
  [[nodiscard]] virtual Result<std::vector<PruneResult>> prune_executions(
      std::span<const InstanceId> instances, const PruneOptions& options) = 0;
  [[nodiscard]] virtual Result<StoreMetrics> get_metrics() = 0;
  /// Counts at most `limit` instances by status, in the order of their creation, beginning behind `after`
  /// (none: with the first). The runtime asks for all of them so, part by part, on a thread of its own and
  /// beside its other calls: this must hold up none of them, and no other reader.
  /// As it is here it lists the instances; a provider that can count without reading them should.
  [[nodiscard]] virtual Result<InstanceCount> count_instances(Incarnation after, std::size_t limit);
  [[nodiscard]] virtual Result<QueueDepths> get_queue_depths() = 0;

  /// Housekeeping that need not hold up an answer, such as moving a log into its file; ends early once
  /// `preempt` is requested. The runtime asks after every batch of turns whether it is due, which must cost
  /// next to nothing, and does it before the next batch. What cannot wait for that, a provider does in its
  /// other calls: some callers never call these.
  [[nodiscard]] virtual bool wants_maintenance() const noexcept;
  virtual void maintain(const std::stop_token& preempt) noexcept;
  /// Whether a transaction had to wait lately because another process was writing. Then the runtime rather
  /// gathers what it is about to have than send less at once. It asks on its loop, also during other calls:
  /// this must cost next to nothing.
  [[nodiscard]] virtual bool is_contended() const noexcept;

  /// `node` may be empty for a listener that holds no leases (a client).
  [[nodiscard]] virtual std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) = 0;
};

}  // namespace duramen::inline v0
