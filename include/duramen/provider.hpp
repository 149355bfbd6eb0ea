// The contract between a storage back end and the runtime.
//
// A provider stores instances, their histories, the messages to them (the orchestrator queue) and the
// activities waiting to run (the worker queue). The runtime decides, the provider stores: it never interprets
// an event or a payload.
//
// Every call is one transaction over a batch of entries and returns one answer per entry. An invalid entry
// (lease lost, store moved on) fails alone. A store failure fails the call and stores nothing; `retryable`
// states whether to repeat it (true after a deadlock or serialisation failure). No exception crosses this
// interface. Calls may come from any thread.
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

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace duramen::inline v0 {

// -- starting and messaging -----------------------------------------------------------------------

/// The policy when the id of a new instance is taken.
enum class IdReuse : std::uint8_t {
  reject,  ///< an id is used once: `exists`
  /// An instance that has ended is replaced by the new one, which gets a new incarnation.
  replace_when_final
};

struct StartRequest {
  InstanceId instance;
  message::StartOrchestration start;
  IdReuse reuse = IdReuse::reject;
};

enum class StartOutcome : std::uint8_t {
  created,
  /// An instance with that id exists and was started with the same name and input: the start is a repeat.
  exists,
  conflict,  ///< the id belongs to a different start
};

/// A message to an instance, now or at a later time.
///
/// A cancel with a parent link goes down the tree: if it is stored, the same call stores it for the children
/// of its target, then for theirs, with their own links, each by the rules for a cancel. It passes only
/// through instances whose cancel needs no code, and reaches at most 1,024 instances per call; turns reach
/// the others.
struct OutboundMessage {
  InstanceId target;
  MessageBody body;
  /// With a start: no turn before this time; with a timer: its `fire_at`. Any other message is visible at
  /// once.
  TimePoint visible_at{};
  /// Unique per instance: a second message with that id is not stored.
  std::optional<std::string> message_id;
  /// With a StartOrchestration in a TurnCommit: delivered to the committing instance if the id is taken.
  std::optional<MessageBody> if_refused = std::nullopt;
};

enum class EnqueueOutcome : std::uint8_t {
  enqueued,
  /// A message with that id was stored before, or a cancel that was at least as strong.
  duplicate,
  /// The instance does not exist, and the message is of a kind that is not parked (a cancel); or it is meant
  /// for another instance of that id (a cancel that names another parent).
  not_found,
  /// The instance does not exist yet: the message is kept for a limited time (events, queue messages).
  parked,
  /// The instance has ended; nothing was stored.
  finished,
};

// -- turns ----------------------------------------------------------------------------------------

/// An orchestration that a node can run.
struct RegisteredOrchestration {
  std::string name;
  std::vector<std::string> versions = {};  ///< empty: any
  friend bool operator==(const RegisteredOrchestration&, const RegisteredOrchestration&) = default;
};

struct TurnFetch {
  NodeId node;
  std::size_t limit = 16;
  Duration lease{};
  std::uint32_t min_engine_version = 0;  ///< both ends inclusive
  std::uint32_t max_engine_version = duramen::engine_version;
  /// Only instances of these orchestrations; absent: any. An execution that has not begun and asks for no
  /// version is matched by name alone. An instance whose cancel can be decided without its code is returned
  /// to every fetch that reads its engine version.
  std::optional<std::vector<RegisteredOrchestration>> orchestrations;
  /// At most this many messages of one instance, and at most this many bytes of messages of one instance and
  /// of all together. The first message of an instance is returned whatever its size.
  std::size_t max_messages = 1000;
  std::size_t max_bytes = std::size_t{8} << 20u;
  std::size_t max_total_bytes = std::size_t{64} << 20u;
};

/// The events of one execution after `after`.
struct HistoryRequest {
  InstanceId instance;
  ExecutionId execution;
  EventId after;
  /// The token of the commit that stored event `after`; none: any. If another commit stored that event, or
  /// none did, the answer is the error `conflict`.
  CommitToken token = {};
};

/// A message as delivered.
struct InboxMessage {
  MessageBody body;
  /// Its place in the queue of its instance, unique among the queued messages of the instance.
  std::int64_t place = 0;
};

/// An instance with new messages, leased to the caller.
struct LeasedInstance {
  InstanceId instance;
  Incarnation incarnation;
  LeaseToken lease;
  LeaseTime lease_until;
  ExecutionId execution;
  Status status = Status::pending;
  std::string name;
  std::string version;    ///< empty while pending
  EventId last_event_id;  ///< none while pending
  /// Number of times it was handed out since its last commit, including this one.
  std::uint32_t attempt = 1;
  std::vector<InboxMessage> messages;  ///< in queue order
  /// The problems of messages that cannot be read. These messages are not in `messages`, but they are under
  /// the lease, and a commit deletes them like the others.
  std::optional<std::string> unreadable;
  std::vector<std::int64_t> unreadable_places = {};
  /// As left by earlier executions: replay repeats the changes of this one.
  KeyValues key_values;
  /// The token of the commit that stored `last_event_id`.
  CommitToken replay_token = {};
};

struct TurnBatch {
  std::vector<LeasedInstance> items;
  /// A hint, possibly too early: when the next message becomes visible, or the lease of an instance with
  /// messages ends.
  std::optional<TimePoint> next_due;
};

/// The lease under which a worker runs an activity.
struct ActivityLease {
  ActivityKey key;
  LeaseToken token;
  friend bool operator==(const ActivityLease&, const ActivityLease&) = default;
};

/// The end of one activity. Deletes the worker row held under `lease`; the completion is delivered only if
/// the row still existed.
struct ActivityAck {
  ActivityLease lease;
  InstanceId instance;
  std::optional<std::variant<Payload, Failure>> completion;  ///< absent: delete only
  AttemptInfo ran = {};
  /// With a failure: the last details of a heartbeat of the attempt, at most max_retry_details_bytes, or
  /// `null` for none. Absent: those in the row, if they are not larger.
  std::optional<Payload> heartbeat = std::nullopt;
};

/// A new row for the worker queue.
struct NewActivity {
  ActivityRequest request;
  /// If present, the row is born leased to the committing node under this token, and no fetch hands it out.
  std::optional<LeaseToken> born_leased;
};

struct CancelledActivity {
  EventId activity;
  CancelReason reason;
};

/// The commit uses a lease that a fetch granted; the lease ends with the commit. The commit deletes the
/// messages at the places `taken`; all others stay.
struct HeldLease {
  LeaseToken token;
  std::vector<std::int64_t> taken = {};

  /// Takes all messages of the fetch.
  [[nodiscard]] static HeldLease all_of(const LeasedInstance& leased);
};
/// Takes the lease and commits in one step. Requires: the instance is unleased, its last event is
/// `last_event_id` and was stored by the commit `replay_token` (none: any), no message and no due timer is
/// queued for it, and every row of `activity_acks` is still held under its lease.
struct ConditionalLease {
  EventId last_event_id;
  CommitToken replay_token = {};
};
/// The commit creates the instance: its start and its first turn are one step. The store fills in the new
/// incarnation in keys of worker rows and parent links of messages that have none.
struct FusedStart {
  StartRequest request;
};

/// The final custom status of a turn.
struct CustomStatusChange {
  std::optional<std::string> status;  ///< absent: cleared
  friend bool operator==(const CustomStatusChange&, const CustomStatusChange&) = default;
};

/// The state of an instance after the turn. Absent parts do not change.
struct InstanceChange {
  /// Final: messages still in the queue are deleted undelivered.
  Status status = Status::running;
  /// With the first turn of an execution: the version that the name resolved to.
  std::optional<std::string> version;
  std::uint32_t engine_version = duramen::engine_version;
  /// With the first turn of an execution: it cleans up when it is cancelled.
  bool graceful = false;
  /// A cancel that this turn took although none was queued for it.
  std::optional<CancelMode> cancel_asked;
  std::optional<Payload> output;     ///< with completed
  std::optional<Failure> failure;    ///< with failed, cancelled
  std::optional<ParentLink> parent;  ///< with the first turn
  std::optional<CustomStatusChange> custom_status;
  std::vector<KeyValueChange> key_values;
};

/// All decisions of one turn. Stored completely or not at all.
struct TurnCommit {
  CommitToken token;
  /// The committing node; owns the leases of rows born leased.
  NodeId node;
  InstanceId instance;
  Incarnation incarnation;  ///< none with a FusedStart
  std::variant<HeldLease, ConditionalLease, FusedStart> basis;
  ExecutionId execution;

  /// With a ConditionalLease only: the completions that caused this turn, all of this instance.
  std::vector<ActivityAck> activity_acks;
  /// Appended to the execution's history; the ids continue it.
  std::vector<Event> events;
  InstanceChange change;
  std::vector<NewActivity> new_activities;
  Duration activity_lease{};  ///< for rows born leased
  /// Timers, child starts, cancels, answers to the parent, the beginning of the next execution.
  std::vector<OutboundMessage> messages;
  /// Mail of this instance that the next execution takes before everything else in its queue, in this order:
  /// events and queue messages, only with the beginning of that execution in `messages`. There is no limit to
  /// its size.
  std::vector<MessageBody> put_back;

  /// Removed from the worker queue after `new_activities` was inserted, whichever node holds them.
  std::vector<CancelledActivity> cancelled_activities;
  /// Set on terminal turns: all remaining worker rows and timers of the execution are removed with this
  /// reason.
  std::optional<CancelReason> cancel_rest;
  /// Timers whose messages are deleted undelivered.
  std::vector<EventId> dropped_timers;
};

enum class CommitOutcome : std::uint8_t {
  committed,
  /// This token was committed before; nothing was stored again, `stolen` and `acks` are empty.
  already_committed,
  /// HeldLease only: the lease ended; nothing was stored.
  lease_lost,
  /// The ConditionalLease does not hold, or the row of an activity ack is gone. Nothing of the turn was
  /// stored; its activity acks were performed as by ack_activities, see `acks`.
  condition_failed,
  /// FusedStart only: the id is taken, see `start`; nothing was stored.
  start_refused,
  /// Can never be stored (event ids that do not continue the history, a wrong execution, an empty session id,
  /// a value that the store cannot hold). Nothing was stored, a held lease is still held, and `message` gives
  /// the reason.
  invalid,
};

enum class AckOutcome : std::uint8_t {
  /// The row is deleted and the completion, if any, is enqueued.
  done,
  /// The row had been cancelled; nothing was enqueued; `reason` gives the reason.
  cancelled,
  /// The lease had ended or another worker holds the row; nothing was enqueued.
  lease_lost,
};
struct AckResult {
  AckOutcome outcome = AckOutcome::done;
  CancelReason reason{};  ///< with cancelled
};

/// A worker lease that a commit took from its holder.
struct StolenLease {
  NodeId owner;
  ActivityLease lease;
  CancelReason reason{};
};

struct CommitResult {
  CommitOutcome outcome = CommitOutcome::committed;
  /// The incarnation of the instance, even if this commit created it.
  Incarnation incarnation;
  StartOutcome start{};  ///< with start_refused
  /// With condition_failed: one per activity ack.
  std::vector<AckResult> acks;
  /// With committed: leases that this commit took, whichever node held them.
  std::vector<StolenLease> stolen;
  /// With committed: the targets of starts without `if_refused` whose id was taken, so that nothing was
  /// started; one entry per start. Used only for the log: a store that checks before it commits may miss an
  /// id taken in between.
  std::vector<InstanceId> refused_starts = {};
  /// With invalid: the reason and what to change; never empty then.
  std::string message = {};
};

/// The lease under which a runtime works on an instance.
struct TurnLease {
  Incarnation incarnation;
  LeaseToken token;
  friend bool operator==(const TurnLease&, const TurnLease&) = default;
};

/// Releases a leased instance unchanged.
struct TurnRelease {
  TurnLease lease;
  Duration delay{};           ///< time until its messages become visible
  bool count_attempt = true;  ///< false: this delivery did not count
};

// -- activities -----------------------------------------------------------------------------------

/// Selects the activities a worker takes, by tag.
struct TagFilter {
  static constexpr std::size_t max_tags = 5;
  static constexpr std::size_t max_tag_bytes = duramen::max_tag_bytes;

  bool untagged = true;    ///< activities without a tag
  bool every_tag = false;  ///< activities with any tag
  /// Activities with one of these; at most max_tags.
  std::vector<std::string> tags;

  /// The usual filters: untagged activities, some tags, both, all, none.
  [[nodiscard]] static TagFilter default_only() { return {}; }
  [[nodiscard]] static TagFilter only(std::vector<std::string> tags) {
    return {false, false, std::move(tags)};
  }
  [[nodiscard]] static TagFilter default_and(std::vector<std::string> tags) {
    return {true, false, std::move(tags)};
  }
  [[nodiscard]] static TagFilter any() { return {true, true, {}}; }
  [[nodiscard]] static TagFilter none() { return {false, false, {}}; }

  /// True if a worker with this filter takes an activity with this tag.
  [[nodiscard]] bool accepts(const std::optional<std::string>& tag) const;
  friend bool operator==(const TagFilter&, const TagFilter&) = default;
};

/// A worker that keeps sessions: activities of one session run on one owner while it lives.
struct SessionClaim {
  /// May outlive the node id, so that a restarted worker regains its sessions immediately.
  std::string owner;
  Duration lease{};
  /// Sessions whose activities the owner holds.
  std::vector<std::string> active;
  /// The fetch returns activities of at most this many sessions, including `active`.
  std::size_t max_active = 10;
};

struct ActivityFetch {
  NodeId node;
  std::size_t limit = 16;
  Duration lease{};
  /// Only activities of these names; absent: any.
  std::optional<std::vector<std::string>> names;
  TagFilter tags;
  /// Absent: only activities without a session. Present: also activities whose session belongs to the owner
  /// or is unowned; the fetch assigns the session to the owner.
  std::optional<SessionClaim> sessions;
};

struct LeasedActivity {
  ActivityRequest request;
  ActivityLease lease;
  LeaseTime lease_until;
  std::uint32_t attempt = 1;
  /// Increases with every lease on this row, even if the attempt did not count.
  std::uint64_t fence = 1;
  std::optional<Payload> heartbeat;  ///< the details left by an earlier attempt
  /// The problem of a row that cannot be read; only its key is valid.
  std::optional<std::string> unreadable;
};

struct ActivityBatch {
  std::vector<LeasedActivity> items;
  /// A hint, possibly too early: when the next row becomes visible or its lease ends, or an activity becomes
  /// overdue.
  std::optional<TimePoint> next_due;
};

struct ActivityRelease {
  ActivityLease lease;
  Duration delay{};
  bool count_attempt = true;
};

/// A sign of progress from the activity itself.
struct Heartbeat {
  /// Kept for the next attempt; absent: the previous details stay.
  std::optional<Payload> details;
};

/// How far the holder of a lease is with its activity.
enum class ActivityProgress : std::uint8_t {
  /// It has not begun: it waits for a thread. Its limits count from the end of the extended lease.
  waits,
  /// It has begun since the last renewal. Its limits count from now.
  begins,
  runs,  ///< its limits stay as they are
};

struct ActivityRenewal {
  ActivityLease lease;
  std::optional<Heartbeat> heartbeat = std::nullopt;
  ActivityProgress progress = ActivityProgress::runs;
};

enum class RenewOutcome : std::uint8_t { renewed, cancelled, lease_lost };
struct RenewResult {
  RenewOutcome outcome = RenewOutcome::renewed;
  CancelReason reason{};  ///< with cancelled
};

/// The failure of an activity whose time limit has passed; shared by providers, so that all report the same.
[[nodiscard]] Failure overdue_failure(const ActivityRequest& activity, TimeoutKind which,
                                      std::uint32_t attempt);

// -- maintenance ---------------------------------------------------------------------------------

struct SweepResult {
  /// Activities that failed because a time limit had passed.
  std::uint64_t overdue = 0;
  std::uint64_t sessions_removed = 0;  ///< without owner and activities
  /// Messages whose instance was never started.
  std::uint64_t parked_dropped = 0;
  bool more = false;  ///< the limit was reached
  /// A hint, possibly too early: when an activity becomes overdue.
  std::optional<TimePoint> next_due;
};

// -- nodes ----------------------------------------------------------------------------------------

/// A node that is not seen for this long counts as gone. A runtime reports three times as often.
inline constexpr Duration node_live_within = std::chrono::seconds{90};

/// A runtime that works on the store, as it describes itself.
struct NodeRecord {
  NodeId node;
  /// Different for each runtime, also for one that replaces another under the same node id.
  std::string run;
  std::string host;
  std::int64_t pid = 0;
  std::string version;  ///< of the Duramen it is linked with
  std::string build;    ///< of its program: the linker's build id; empty: unknown
  std::uint32_t min_engine_version = 0;
  std::uint32_t max_engine_version = duramen::engine_version;
  std::vector<RegisteredOrchestration> orchestrations;
  std::vector<std::string> activities;  ///< names
  TagFilter tags;
  std::uint64_t capacity = 0;   ///< activities that it holds at most
  std::uint64_t running = 0;    ///< activities that it holds now
  std::uint64_t resident = 0;   ///< instances that it keeps in memory
  std::uint64_t abandoned = 0;  ///< activities that did not stop when asked
  TimePoint started_at{};
  /// The time of its last report; set by the store.
  TimePoint seen_at{};

  /// True if it runs this orchestration. Without a version: any.
  [[nodiscard]] bool runs(std::string_view orchestration, std::string_view with_version) const;
  [[nodiscard]] bool is_live(TimePoint now, Duration within = node_live_within) const {
    return now - seen_at < within;
  }
  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

/// The answer to raise_write_level.
struct WriteLevelRaise {
  std::uint32_t level = 0;  ///< the write level after the call
  /// Live nodes that read less than the wanted level. If there is one, the level was left as it was.
  std::vector<NodeId> held_back_by;
};

// -- push -----------------------------------------------------------------------------------------

struct ChangedInstance {
  InstanceId instance;
  Status status = Status::pending;
  /// The node whose turn changed the instance. Empty after a start or a delete, or if unknown. Waiters in
  /// that node's process are notified by the node and need not read the store.
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

/// Ends when destroyed; after that no callback runs or will run.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

// -- the interface --------------------------------------------------------------------------------

/// The interface of a store. The runtime and the client use a store only through this class.
class Provider {
 public:
  virtual ~Provider() = default;

  /// "sqlite", "memory", ...
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// The id of the store: random, made when the store is created, the same for everyone who opens it. A copy
  /// and a restored backup keep it. Idempotency keys begin with it, so that two stores never make the same.
  [[nodiscard]] virtual std::string_view store_id() const noexcept = 0;
  /// The clock for visibility and leases; if the store has its own clock, an estimate of it.
  [[nodiscard]] virtual const Clock& clock() const noexcept = 0;

  /// Inserts each instance as pending, together with its start message.
  [[nodiscard]] virtual Result<std::vector<StartOutcome>> start_instances(
      std::span<const StartRequest> requests) = 0;
  [[nodiscard]] virtual Result<std::vector<EnqueueOutcome>> enqueue_messages(
      std::span<const OutboundMessage> messages) = 0;

  /// Leases unleased instances that have messages or due timers, longest waiting first, and counts an attempt
  /// for each. An instance that was handed out before without finishing is returned alone.
  [[nodiscard]] virtual Result<TurnBatch> fetch_turns(const TurnFetch& request) = 0;
  /// The events of one execution after `after`, oldest first. Empty for an unknown instance or execution.
  [[nodiscard]] virtual Result<std::vector<Event>> read_history(const InstanceId& instance,
                                                                ExecutionId execution, EventId after) = 0;
  /// Reads several histories, with one answer each. The default reads one after the other; override it if one
  /// transaction or one round trip can serve all.
  [[nodiscard]] virtual std::vector<Result<std::vector<Event>>> read_histories(
      std::span<const HistoryRequest> requests);
  /// Stores turns. One answer per commit, in order; commits in one batch are independent. At most one commit
  /// per instance in a batch; all are decided before any message of the batch is stored.
  ///
  /// When `preempt` is requested, a more urgent call is waiting. The provider may then skip the last commits:
  /// it stores nothing of them and returns fewer answers, possibly none; the caller sends them again. A
  /// `std::stop_callback` on `preempt` runs on the runtime's loop and must be short.
  [[nodiscard]] virtual Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                                       const std::stop_token& preempt) = 0;
  /// Without `preempt`, every commit is attempted: one answer per commit.
  [[nodiscard]] Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits) {
    return commit_turns(commits, {});
  }
  /// Entries whose lease is gone are skipped.
  [[nodiscard]] virtual Result<void> release_turns(std::span<const TurnRelease> items) = 0;
  /// Extends turn leases that still exist; returns false for the others.
  [[nodiscard]] virtual Result<std::vector<bool>> renew_turns(std::span<const TurnLease> leases,
                                                              Duration extend) = 0;

  /// Leases activities to a worker; ends activities, each with its result as a message to its instance. A
  /// lost lease fails only its own entry.
  [[nodiscard]] virtual Result<ActivityBatch> fetch_activities(const ActivityFetch& request) = 0;
  [[nodiscard]] virtual Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) = 0;
  /// Extends leases that still exist and stores their heartbeats.
  ///
  /// The holder of a lease fails its activity itself when `start_to_close` or `heartbeat` has passed since it
  /// began. For a holder that does not, a sweep does: these limits count from the end of the first lease,
  /// until a renewal reports the progress of the activity.
  [[nodiscard]] virtual Result<std::vector<RenewResult>> renew_activities(
      std::span<const ActivityRenewal> leases, Duration extend) = 0;
  [[nodiscard]] virtual Result<void> release_activities(std::span<const ActivityRelease> items) = 0;
  /// Leases of this node that others stole. May return a lease more than once: renew_activities answers
  /// `cancelled` for it until the lease would have ended, whether or not it was read here.
  [[nodiscard]] virtual Result<std::vector<StolenLease>> read_stolen_leases(const NodeId& node) = 0;

  /// Extends the sessions held by one of `owners` and used within `idle_timeout`. A fetch, an acknowledgement
  /// or a renewal of their activities counts as use. A session that has ended is not revived. Returns how
  /// many were extended.
  [[nodiscard]] virtual Result<std::size_t> renew_sessions(std::span<const std::string> owners,
                                                           Duration extend, Duration idle_timeout) = 0;
  /// Ends every session of the owner, so that other owners can take them immediately. Returns how many.
  [[nodiscard]] virtual Result<std::size_t> release_sessions(const std::string& owner) = 0;

  /// Processes at most `limit` entries of each kind: fails activities past a time limit like a failed attempt
  /// (their holders are cancelled with `timeout`), deletes expired parked messages, removes sessions without
  /// owner and activities.
  [[nodiscard]] virtual Result<SweepResult> sweep(std::size_t limit) = 0;

  /// Stores or replaces the record of a node; the store sets `seen_at`. The record need not survive a power
  /// loss. Records of nodes that were not seen for a day are forgotten. The error `invalid_argument` or
  /// `limit_exceeded` for a node id that is empty, longer than max_node_bytes, not UTF-8, or contains NUL.
  [[nodiscard]] virtual Result<void> write_node(const NodeRecord& record) = 0;
  /// Removes the record of a node that ends. Nothing happens if there is none, or if it has another `run`: a
  /// successor with the same id may have stored its own.
  [[nodiscard]] virtual Result<void> remove_node(const NodeId& node, const std::string& run) = 0;
  /// The records, by node id. A node without an end in order is listed until its record is forgotten: see
  /// NodeRecord::is_live.
  [[nodiscard]] virtual Result<std::vector<NodeRecord>> list_nodes() = 0;

  /// The write level: the engine version at which new executions begin. A new store begins with the newest
  /// that the build which created it knows.
  [[nodiscard]] virtual Result<std::uint32_t> get_write_level() = 0;
  /// Raises the write level, unless a node that was seen within `live_within` reads less. It never falls: a
  /// lower level changes nothing.
  [[nodiscard]] virtual Result<WriteLevelRaise> raise_write_level(std::uint32_t level,
                                                                  Duration live_within) = 0;

  /// Absent for an unknown instance; the error `corrupt` for one that cannot be read.
  [[nodiscard]] virtual Result<std::optional<InstanceInfo>> get_instance(const InstanceId& instance) = 0;

  /// The current key-values of the instance; empty for an unknown instance.
  [[nodiscard]] virtual Result<KeyValues> get_key_values(const InstanceId& instance) = 0;

  /// One page of the matching instances, in order of creation. An unreadable instance is listed with its
  /// problem (InstanceInfo::unreadable) and hides no other; the same holds in a tree, and for an execution
  /// among executions.
  [[nodiscard]] virtual Result<InstancePage> list_instances(const InstanceQuery& query) = 0;
  /// All executions of an instance that were not pruned, oldest first; empty for an unknown instance.
  [[nodiscard]] virtual Result<std::vector<ExecutionInfo>> list_executions(const InstanceId& instance) = 0;
  /// The instance and all its descendants, parents before children; empty for an unknown instance. Without
  /// results.
  [[nodiscard]] virtual Result<std::vector<InstanceInfo>> get_instance_tree(const InstanceId& root) = 0;
  /// The queued and leased activities and messages of an instance; empty for an unknown instance.
  [[nodiscard]] virtual Result<PendingWork> list_pending_work(const InstanceId& instance) = 0;
  /// Deletes each instance with all its descendants: rows, messages, activities and key-values. Each tree is
  /// deleted completely or not at all. Nodes that work on it lose their leases.
  [[nodiscard]] virtual Result<std::vector<DeleteResult>> delete_instances(
      std::span<const InstanceId> instances, DeleteMode mode) = 0;
  [[nodiscard]] virtual Result<std::vector<PruneResult>> prune_executions(
      std::span<const InstanceId> instances, const PruneOptions& options) = 0;
  [[nodiscard]] virtual Result<StoreMetrics> get_metrics() = 0;
  /// Counts at most `limit` instances by status, in order of creation, starting after `after` (none: with the
  /// first). The runtime counts all instances part by part, on its own thread and concurrently with its other
  /// calls: a count must not delay them or other readers. The default lists the instances; override it if the
  /// store can count without reading them.
  [[nodiscard]] virtual Result<InstanceCount> count_instances(Incarnation after, std::size_t limit);
  [[nodiscard]] virtual Result<QueueDepths> get_queue_depths() = 0;

  /// Deferred maintenance, such as a checkpoint of a log; ends early when `preempt` is requested. After every
  /// batch of turns the runtime calls wants_maintenance(), which must be nearly free, and calls maintain()
  /// before the next batch. Work that cannot be deferred belongs in the other calls: some callers never call
  /// these.
  [[nodiscard]] virtual bool wants_maintenance() const noexcept;
  virtual void maintain(const std::stop_token& preempt) noexcept;
  /// True if a recent transaction had to wait for another process. The runtime then gathers larger batches.
  /// Called on the loop, also during other calls: must be nearly free.
  [[nodiscard]] virtual bool is_contended() const noexcept;

  /// `node` may be empty for a listener that holds no leases (a client).
  [[nodiscard]] virtual std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) = 0;
};

}  // namespace duramen::inline v0
