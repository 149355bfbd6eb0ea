// What a memory provider remembers, and the rules by which it changes. No lock: the provider holds one around
// it.
#pragma once

#include "testing/memory_listeners.hpp"
#include <duramen/provider.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace duramen::inline v0::testing {

/// The order in which things are handed out: by the time they became visible, then by arrival.
struct QueuePosition {
  TimePoint visible_at;
  std::uint64_t arrival = 0;
  friend auto operator<=>(const QueuePosition&, const QueuePosition&) = default;
};

struct QueuedMessage {
  WorkItem item;
  std::uint32_t attempts = 0;
  LeaseToken fetched_under;  ///< the last fetch that returned it
};

struct Instance {
  InstanceInfo info;
  work::StartOrchestration start;               ///< to tell a repeated start from another one
  std::optional<std::uint32_t> engine_version;  ///< absent until the current execution has had a turn
  CommitToken last_commit;
  KeyValues key_values;  ///< as they are now
  KeyValues settled;     ///< as earlier executions left them

  std::map<ExecutionId, std::vector<Event>> histories;
  std::map<QueuePosition, QueuedMessage> inbox;
  std::set<std::string> message_ids;
  /// Put back with a delay, or started for later. Holds back the whole inbox, so that messages keep their
  /// order.
  TimePoint not_before{};

  LeaseToken lease;
  LeaseTime lease_until{};
};

struct WorkRow {
  ActivityExecute activity;
  QueuePosition position;
  std::uint32_t attempts = 0;
  NodeId owner;
  LeaseToken lease;
  LeaseTime lease_until{};
};

struct ParkedMessage {
  OutboundMessage message;
  LeaseTime until;
};

/// A held lease that was taken away.
struct Tombstone {
  StolenLease lease;
  LeaseTime until;
  bool reported = false;  ///< its owner knows: it took the lease itself, or has read about it
};

class MemoryState {
 public:
  MemoryState(const Clock& clock, MemoryOptions options);

  StartOutcome start(const StartRequest& request);
  EnqueueOutcome deliver(const OutboundMessage& message);

  OrchestrationBatch fetch_instances(const OrchestrationFetch& request);
  std::vector<CommitResult> commit_all(std::span<const TurnCommit> commits);
  void abandon(const TurnAbandon& entry);
  bool renew(const TurnLease& lease, Duration extend);

  WorkBatch fetch_work(const WorkFetch& request);
  AckResult ack(const WorkAck& ack);
  void abandon(const WorkAbandon& entry);
  RenewResult renew(const WorkRenewal& renewal, Duration extend);
  std::vector<StolenLease> read_stolen(const NodeId& node);

  Instance* find(const InstanceId& id);
  Snapshot snapshot();

  const Clock& clock;
  const MemoryOptions options;
  News news;

 private:
  Instance* find(Incarnation incarnation);
  Instance* find_leased(const TurnLease& lease);
  WorkRow* find_leased(const WorkLease& lease);
  [[nodiscard]] bool is_live(LeaseToken token, LeaseTime until) const {
    return token && until > clock.lease_now();
  }
  [[nodiscard]] bool has_visible_message(const Instance& instance) const;

  std::optional<StartOutcome> refusal(const StartRequest& request);
  Instance& create(const InstanceId& id, const work::StartOrchestration& start);
  void erase(const Instance& instance);
  void enqueue(Instance& target, WorkItem item, TimePoint visible_at);
  EnqueueOutcome deliver_start(const OutboundMessage& message, const work::StartOrchestration& start);
  EnqueueOutcome park(const OutboundMessage& message);

  CommitResult commit(const TurnCommit& commit);
  bool basis_holds(const TurnCommit& commit, Instance* instance, CommitResult& result);
  static bool continues(const TurnCommit& commit, const Instance* instance);
  void apply(const TurnCommit& commit, Instance& instance, CommitResult& result);
  void insert_worker_items(const TurnCommit& commit, const Instance& instance);
  void send_messages(const TurnCommit& commit, Instance& instance);
  static void drop_timers(const TurnCommit& commit, Instance& instance);
  void cancel(const TurnCommit& commit, const Instance& instance, CommitResult& result);
  std::optional<StolenLease> remove_row(const ActivityKey& key, CancelReason reason, const NodeId& by);
  [[nodiscard]] std::optional<CancelReason> buried(const WorkLease& lease) const;
  LeaseToken new_token();
  void sweep();

  std::mt19937_64 random_;
  std::uint64_t last_arrival_ = 0;
  Incarnation last_incarnation_;
  std::map<InstanceId, Incarnation> names_;
  std::map<Incarnation, Instance> instances_;
  std::map<ActivityKey, WorkRow> work_;
  std::map<InstanceId, std::vector<ParkedMessage>> parked_;
  std::map<LeaseToken, Tombstone> tombstones_;
  std::uint64_t commit_calls_ = 0;
  std::uint64_t commits_ = 0;
  std::uint64_t dropped_parked_ = 0;
};

}  // namespace duramen::inline v0::testing
