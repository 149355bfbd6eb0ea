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

/// The order in which entries are handed out: by the time they became visible, then by arrival.
struct QueuePosition {
  TimePoint visible_at;
  std::uint64_t arrival = 0;
  friend auto operator<=>(const QueuePosition&, const QueuePosition&) = default;
};

struct QueuedMessage {
  MessageBody body;
  std::uint32_t attempts = 0;
  LeaseToken fetched_under;  ///< the last fetch that returned it
};

struct Execution {
  ExecutionInfo info;
  std::vector<Event> history;
};

struct Instance {
  InstanceInfo info;
  /// Distinguishes a repeated start from another one.
  message::StartOrchestration start;
  /// Absent until the current execution has had a turn.
  std::optional<std::uint32_t> engine_version;
  CommitToken last_commit;
  KeyValues key_values;  ///< as they are now
  KeyValues settled;     ///< as earlier executions left them

  /// The current one, and earlier ones that were not pruned.
  std::map<ExecutionId, Execution> executions;
  std::map<QueuePosition, QueuedMessage> inbox;
  std::set<std::string> message_ids;
  /// Set by a release or a start with a delay. Delays the whole inbox, so that messages keep their order.
  TimePoint not_before{};

  LeaseToken lease;
  LeaseTime lease_until{};
};

struct WorkRow {
  ActivityRequest request;
  QueuePosition position;
  std::uint32_t attempts = 0;
  std::uint64_t fence = 0;  ///< the number of its leases
  NodeId owner;
  LeaseToken lease;
  LeaseTime lease_until{};
  LeaseTime started_at{};            ///< of the current attempt
  LeaseTime alive_at{};              ///< its start or its last heartbeat
  std::optional<Payload> heartbeat;  ///< the last details of a heartbeat
};

struct Session {
  std::string owner;
  LeaseTime lease_until{};
  LeaseTime used_at{};
};

struct ParkedMessage {
  OutboundMessage message;
  LeaseTime until;
};

/// A stolen lease.
struct Tombstone {
  StolenLease lease;
  LeaseTime until;
  /// The owner knows: it took the lease itself, or has read this.
  bool reported = false;
};

struct MemoryTables {
  std::map<InstanceId, Incarnation> names;
  std::map<Incarnation, Instance> instances;
  std::map<ActivityKey, WorkRow> work;
  std::map<std::string, Session> sessions;
  std::map<InstanceId, std::vector<ParkedMessage>> parked;
  std::map<LeaseToken, Tombstone> tombstones;
};

/// Runs `look` on a provider's tables, under its lock: for tests that inspect or damage them.
void with_tables(MemoryProvider& provider, const std::function<void(MemoryTables&)>& look);

}  // namespace duramen::inline v0::testing
