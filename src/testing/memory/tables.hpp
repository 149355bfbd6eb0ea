// What a memory provider remembers: the tables of a store, as plain maps.
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

/// The order in which things are handed out: by the time they became visible, then by arrival.
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
  message::StartOrchestration start;            ///< to tell a repeated start from another one
  std::optional<std::uint32_t> engine_version;  ///< absent until the current execution has had a turn
  CommitToken last_commit;
  KeyValues key_values;  ///< as they are now
  KeyValues settled;     ///< as earlier executions left them

  std::map<ExecutionId, Execution> executions;  ///< the current one and those before it that were not pruned
  std::map<QueuePosition, QueuedMessage> inbox;
  std::set<std::string> message_ids;
  /// Put back with a delay, or started for later. Holds back the whole inbox, so that messages keep their
  /// order.
  TimePoint not_before{};

  LeaseToken lease;
  LeaseTime lease_until{};
};

struct WorkRow {
  ActivityRequest request;
  QueuePosition position;
  std::uint32_t attempts = 0;
  std::uint64_t fence = 0;  ///< how often it was leased
  NodeId owner;
  LeaseToken lease;
  LeaseTime lease_until{};
  LeaseTime started_at{};            ///< of the current attempt
  LeaseTime alive_at{};              ///< its last sign of life: its start or a heartbeat
  std::optional<Payload> heartbeat;  ///< the details of the last heartbeat that had some
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

/// A held lease that was taken away.
struct Tombstone {
  StolenLease lease;
  LeaseTime until;
  bool reported = false;  ///< its owner knows: it took the lease itself, or has read about it
};

struct MemoryTables {
  std::map<InstanceId, Incarnation> names;
  std::map<Incarnation, Instance> instances;
  std::map<ActivityKey, WorkRow> work;
  std::map<std::string, Session> sessions;
  std::map<InstanceId, std::vector<ParkedMessage>> parked;
  std::map<LeaseToken, Tombstone> tombstones;
};

/// Runs `look` on a provider's tables, under its lock: for tests that look behind the interface, or break
/// things on purpose.
void with_tables(MemoryProvider& provider, const std::function<void(MemoryTables&)>& look);

}  // namespace duramen::inline v0::testing
