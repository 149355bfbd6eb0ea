// A second record of what a store must hold: the ledger receives every changing call with its answer, and a
// wrong answer is a violation at once.
//
// It records the holder and the end of each lease, the worker rows, the accepted results and the length of
// each history. It sits between the faults and the store, so it sees real answers, not those that a node
// received.
#pragma once

#include <duramen/provider.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace duramen::inline v0::testing {

/// Violations in the order they were found, each once. Keeps the first few: the others follow from them.
class Violations {
 public:
  void add(std::string what);
  [[nodiscard]] const std::vector<std::string>& list() const noexcept { return list_; }

 private:
  std::vector<std::string> list_;
};

/// An activity that a commit cancelled.
struct CancelledRow {
  CancelReason reason;
  LeaseTime at;
  std::optional<NodeId> holder;  ///< of its lease at that time
};

class Ledger {
 public:
  Ledger(const Clock& clock, Violations& violations) : clock_(clock), violations_(violations) {}

  void started(const StartRequest& request, StartOutcome outcome);
  void enqueued(const OutboundMessage& message, EnqueueOutcome outcome);
  void fetched(const TurnFetch& request, const LeasedInstance& item);
  void committed(const TurnCommit& commit, const CommitResult& result);
  void released(const TurnRelease& entry);
  void renewed(const TurnLease& lease, Duration extend, bool held);
  void fetched(const ActivityFetch& request, const LeasedActivity& item);
  void acknowledged(const ActivityAck& ack, const AckResult& result);
  void released(const ActivityRelease& entry);
  void renewed(const ActivityLease& lease, Duration extend, const RenewResult& result);

  /// Instances that exist and have not ended.
  [[nodiscard]] const std::set<InstanceId>& open() const noexcept { return open_; }
  [[nodiscard]] const std::set<InstanceId>& all() const noexcept { return all_; }
  [[nodiscard]] const std::map<ActivityKey, CancelledRow>& cancelled() const noexcept { return cancelled_; }
  /// Events and queue messages that were accepted for the instance and are in none of its histories.
  [[nodiscard]] std::size_t undelivered(const InstanceId& instance) const;

 private:
  struct Held {
    LeaseToken token;
    NodeId node;
    LeaseTime until{};
  };
  enum class Progress : std::uint8_t { open, cancelled, closed };
  struct Execution {
    EventId last;
    bool ended = false;
    std::map<EventId, Progress> schedules;
  };
  /// A message accepted for one event name or queue of an instance.
  struct Sent {
    Payload data;
    bool delivered = false;
  };
  using Mailbox = std::pair<CarriedEvent::Kind, std::string>;
  struct Known {
    InstanceId id;
    std::map<ExecutionId, Execution> executions;
    std::set<CommitToken> tokens;
    Held lease;
  };

  [[nodiscard]] bool live(const Held& held) const { return held.token && held.until > clock_.lease_now(); }
  [[nodiscard]] bool holds(const ActivityLease& lease) const;
  void stored(const TurnCommit& commit, const CommitResult& result, Known& known);
  void append(const TurnCommit& commit, Incarnation incarnation, Known& known);
  void complete(const ActivityKey& key, const Event& event);
  void take_back(const ActivityKey& key, CancelReason reason, const CommitResult& result);
  void create(const InstanceId& instance);
  void deliver(const InstanceId& instance, const Event& event);
  void deliver(const InstanceId& instance, const CarriedEvent& message, bool carried);

  const Clock& clock_;
  Violations& violations_;
  std::set<InstanceId> all_;
  std::set<InstanceId> open_;
  std::map<Incarnation, Known> known_;
  std::map<ActivityKey, Held> rows_;
  std::map<ActivityKey, std::variant<Payload, Failure>> accepted_;
  std::map<ActivityKey, CancelledRow> cancelled_;
  std::map<InstanceId, std::map<Mailbox, std::vector<Sent>>> sent_;
};

}  // namespace duramen::inline v0::testing
