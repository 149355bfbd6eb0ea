// The tables of a memory provider, as plain maps.
#pragma once

#include <duramen/provider.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace duramen::inline v0::testing {

class MemoryProvider;

/// Orders what waits to be handed out: by the time since when it waits, then by arrival.
struct WaitPosition {
  LeaseTime since;
  std::uint64_t arrival = 0;
  friend auto operator<=>(const WaitPosition&, const WaitPosition&) = default;
};

struct QueuedMessage {
  MessageBody body;
  TimePoint sent_at;
};

struct QueuedTimer {
  ExecutionId execution;
  TimePoint fire_at;
};

struct Execution {
  ExecutionInfo info;
  std::vector<Event> history;
  /// The commits that stored the history, each by its last event.
  std::map<EventId, CommitToken> commits;
};

struct Instance {
  InstanceInfo info;
  /// Distinguishes a repeated start from another one.
  message::StartOrchestration start;
  /// The version that the execution which has not begun asks for.
  std::optional<std::string> asked_version;
  /// Absent until the current execution has had a turn.
  std::optional<std::uint32_t> engine_version;
  CommitToken last_commit;
  CommitToken replay_token;  ///< of the commit that stored the last event
  KeyValues key_values;      ///< as they are now
  KeyValues settled;         ///< as earlier executions left them

  /// The current one, and earlier ones that were not pruned.
  std::map<ExecutionId, Execution> executions;
  std::map<std::int64_t, QueuedMessage> inbox;  ///< by place
  std::map<EventId, QueuedTimer> timers;
  std::set<std::string> message_ids;
  /// The place of a queued cancel that no turn has taken yet: the strongest.
  std::optional<std::int64_t> cancel_place;
  TimePoint start_at{};    ///< a delayed start: no turn before this time
  LeaseTime not_before{};  ///< set by a release with a delay
  /// The entry of the instance: since when it has something to take.
  std::optional<WaitPosition> waits;

  std::uint32_t attempts = 0;  ///< fetches since the last commit
  LeaseToken lease;
  LeaseTime lease_until{};
};

struct WorkRow {
  ActivityRequest request;
  WaitPosition position;  ///< not handed out before its time
  std::uint32_t attempts = 0;
  std::uint64_t leases = 0;  ///< the number of its leases
  NodeId owner;
  LeaseToken lease;
  LeaseTime lease_until{};
  LeaseTime limits_from{};           ///< when `start_to_close` of the current attempt begins to count
  LeaseTime started_at{};            ///< of the current attempt
  LeaseTime alive_at{};              ///< its start or its last heartbeat
  LeaseTime renewed_at{};            ///< its start or its last renewal
  std::optional<Payload> heartbeat;  ///< the last details of a heartbeat
};

struct Session {
  std::string owner;
  LeaseTime lease_until{};
  LeaseTime used_at{};
};

struct ParkedMessage {
  OutboundMessage message;
  TimePoint sent_at;
  LeaseTime until;
};

/// A stolen lease.
struct Tombstone {
  StolenLease lease;
  LeaseTime until;
  /// The owner knows: it took the lease itself, or has read this.
  bool reported = false;
};

struct SeenNode {
  NodeRecord record;
  LeaseTime seen;
};

struct MemoryTables {
  std::map<InstanceId, Incarnation> names;
  std::map<Incarnation, Instance> instances;
  std::map<ActivityKey, WorkRow> work;
  std::map<std::string, Session> sessions;
  std::map<InstanceId, std::vector<ParkedMessage>> parked;
  std::map<LeaseToken, Tombstone> tombstones;
  std::map<NodeId, SeenNode> nodes;
  std::uint32_t write_level = duramen::engine_version;
};

/// Runs `look` on a provider's tables, under its lock: for tests that inspect or damage them.
void with_tables(MemoryProvider& provider, const std::function<void(MemoryTables&)>& look);

}  // namespace duramen::inline v0::testing
