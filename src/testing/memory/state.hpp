// The rules by which a memory provider's tables change. It has no lock: the provider holds one.
//
// state.cpp: instances and leased turns. queue.cpp: the messages of an instance. commit.cpp: stored turns.
// cancel_descent.cpp: cancels of trees. work.cpp: activities and sessions. sweep.cpp: the work of a sweep.
// nodes.cpp: nodes and the write level. management.cpp: finding, counting, removing.
#pragma once

#include "providers/common/notices.hpp"
#include "testing/memory/tables.hpp"
#include <duramen/provider.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace duramen::inline v0::testing {

class MemoryState : public MemoryTables {
 public:
  MemoryState(const Clock& clock, MemoryOptions options);

  StartOutcome start(const StartRequest& request, TimePoint start_at = {});
  EnqueueOutcome deliver(const OutboundMessage& message);
  /// Passes on the cancels from parents that this call delivered.
  void descend();

  TurnBatch fetch_instances(const TurnFetch& request);
  std::vector<CommitResult> commit_all(std::span<const TurnCommit> commits);
  void release(const TurnRelease& entry);
  bool renew(const TurnLease& lease, Duration extend);

  ActivityBatch fetch_work(const ActivityFetch& request);
  AckResult ack(const ActivityAck& ack);
  void release(const ActivityRelease& entry);
  RenewResult renew(const ActivityRenewal& renewal, Duration extend);
  std::vector<StolenLease> read_stolen(const NodeId& node);

  std::size_t renew_sessions(std::span<const std::string> owners, Duration extend, Duration idle_timeout);
  std::size_t release_sessions(const std::string& owner);
  SweepResult sweep(std::size_t limit);

  void write_node(const NodeRecord& record);
  void remove_node(const NodeId& node, const std::string& run);
  [[nodiscard]] std::vector<NodeRecord> list_nodes() const;
  WriteLevelRaise raise_write_level(std::uint32_t level, Duration live_within);

  Instance* find(const InstanceId& id);
  Result<std::vector<Event>> read_history(const HistoryRequest& request);
  InstancePage list(const InstanceQuery& query);
  std::vector<InstanceInfo> tree(const InstanceId& root);
  PendingWork pending(const InstanceId& id);
  DeleteResult remove(const InstanceId& id, DeleteMode mode);
  PruneResult prune(const InstanceId& id, const PruneOptions& options);
  [[nodiscard]] StoreMetrics metrics() const;
  [[nodiscard]] InstanceCount count(Incarnation after, std::size_t limit) const;
  [[nodiscard]] QueueDepths depths() const;
  Snapshot snapshot();

  const Clock& clock;
  const MemoryOptions options;
  providers::Notices notices;

 private:
  struct Overdue {
    LeaseTime at;
    TimeoutKind which;
    bool passed = false;
  };

  Instance* find(Incarnation incarnation);
  Instance* find_leased(const TurnLease& lease);
  WorkRow* find_leased(const ActivityLease& lease);
  [[nodiscard]] bool is_live(LeaseTime until) const { return until > clock.lease_now(); }
  [[nodiscard]] bool is_leased(const Instance& i) const { return i.lease && is_live(i.lease_until); }
  [[nodiscard]] bool is_leased(const WorkRow& row) const { return row.lease && is_live(row.lease_until); }
  [[nodiscard]] TimePoint on_the_wall(LeaseTime t) const { return clock.now() + (t - clock.lease_now()); }
  [[nodiscard]] bool has_due_timer(const Instance& instance) const;
  [[nodiscard]] bool is_takeable(const Instance& instance) const;
  void set_entry(Instance& instance);
  void notice_due_timers();
  [[nodiscard]] std::optional<TimePoint> next_change(const Instance& instance) const;
  LeasedInstance lease_to(const TurnFetch& request, Instance& instance, std::size_t& total_bytes);

  std::optional<StartOutcome> refusal(const StartRequest& request);
  Instance& create(const InstanceId& id, const message::StartOrchestration& start);
  void erase(const Instance& instance);
  void enqueue(Instance& target, MessageBody item);
  void enqueue(Instance& target, MessageBody item, TimePoint sent_at);
  void enqueue_timer(Instance& target, const message::TimerFired& timer);
  void enqueue_first(Instance& target, std::span<const MessageBody> items);
  std::optional<EnqueueOutcome> refusal(const message::CancelInstance& cancel, const Instance& target);
  EnqueueOutcome deliver_start(const OutboundMessage& message, const message::StartOrchestration& start);
  EnqueueOutcome park(const OutboundMessage& message);
  void deliver_parked(Instance& target);
  std::size_t drop_expired(std::vector<ParkedMessage>& messages, std::size_t limit);

  CommitResult commit(const TurnCommit& commit);
  bool basis_holds(const TurnCommit& commit, Instance* instance, CommitResult& result);
  static bool continues(const TurnCommit& commit, const Instance* instance);
  void apply(const TurnCommit& commit, Instance& instance, CommitResult& result);
  void insert_activities(const TurnCommit& commit, const Instance& instance);
  void send_messages(const TurnCommit& commit, Instance& instance, CommitResult& result);
  void pass_cancel_on(const Instance& parent, const message::StartOrchestration& start, Instance& child);
  static void drop_timers(const TurnCommit& commit, Instance& instance);
  void cancel(const TurnCommit& commit, const Instance& instance, CommitResult& result);
  std::optional<StolenLease> remove_row(const ActivityKey& key, CancelReason reason, const NodeId& by);
  [[nodiscard]] std::optional<CancelReason> buried(const ActivityLease& lease) const;

  [[nodiscard]] bool may_take(const ActivityFetch& request, const WorkRow& row) const;
  void begin_attempt(WorkRow& row, const NodeId& owner, LeaseToken token, Duration lease);
  void deliver_end(const WorkRow& row, const std::variant<Payload, Failure>& completion, AttemptInfo ran);
  void use_session(const WorkRow& row);
  [[nodiscard]] bool is_live(const Session& session) const { return is_live(session.lease_until); }
  [[nodiscard]] std::optional<Overdue> overdue(const WorkRow& row) const;
  std::size_t fail_overdue(std::size_t limit);
  std::size_t drop_parked(std::size_t limit);
  std::size_t remove_sessions(std::size_t limit);

  [[nodiscard]] bool has_parent(const Instance& instance) const;
  [[nodiscard]] std::vector<PendingMessage> queued(const Instance& instance) const;
  bool matches(const InstanceFilter& filter, const Instance& instance);
  std::vector<Incarnation> descendants(Incarnation root) const;

  LeaseToken new_token();
  void forget_tombstones();

  std::mt19937_64 random_;
  std::uint64_t last_arrival_ = 0;
  std::int64_t last_place_ = 0;
  Incarnation last_incarnation_;
  std::uint64_t commit_calls_ = 0;
  std::uint64_t commits_ = 0;
  std::uint64_t dropped_parked_ = 0;
};

/// True if the instance has a queued cancel that any node can carry out.
[[nodiscard]] bool needs_no_code(const Instance& instance);

inline void lower(std::optional<TimePoint>& earliest, TimePoint t) {
  if (!earliest || t < *earliest) earliest = t;
}

/// An entry that was handed out before and not finished may have crashed its process. It is handed out alone,
/// when it is the longest waiting; until then the entries behind it go first.
template <class T, class IsRetry>
void isolate_retries(std::vector<T*>& ready, IsRetry is_retry) {
  if (ready.empty()) return;
  if (is_retry(*ready.front())) {
    ready.resize(1);
  } else {
    std::erase_if(ready, [&](const T* candidate) { return is_retry(*candidate); });
  }
}

}  // namespace duramen::inline v0::testing
