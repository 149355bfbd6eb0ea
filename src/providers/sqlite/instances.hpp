// The table of instances: their ids, states and leases.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/number_allocator.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <optional>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

/// The columns that decisions about an instance need.
struct InstanceRow {
  Incarnation key;
  Status status = Status::pending;
  ExecutionId execution;
  EventId last_event_id;
  CommitToken commit_token;
  LeaseToken lease_token;
  std::int64_t lease_until = 0;
  std::int64_t start_digest = 0;
  bool has_key_values = false;

  [[nodiscard]] bool leased(const TransactionTime& time) const noexcept {
    return lease_token && lease_until > time.lease_now;
  }
};

/// A row to insert; the defaults are those of an instance without a turn.
struct NewInstance {
  const InstanceId& id;
  const message::StartOrchestration& start;
  Status status = Status::pending;
  std::string_view version = {};
  EventId last_event_id = {};
  std::uint32_t engine_version = 0;
  CommitToken commit_token = {};
  const std::optional<Payload>* output = nullptr;
  const std::optional<ParentLink>* parent = nullptr;  ///< null: the parent in `start`
  std::optional<std::int64_t> not_before = {};
};

class Instances {
 public:
  explicit Instances(Connection& connection);

  [[nodiscard]] std::optional<InstanceRow> find(Incarnation key);
  [[nodiscard]] std::optional<InstanceRow> find(const InstanceId& id);

  /// Empty if the id is taken.
  [[nodiscard]] std::optional<Incarnation> insert(const TransactionTime& time, NumberAllocator& numbers,
                                                  const NewInstance& instance);

  /// Stores the new state of the instance after a turn and releases its lease.
  void update(const TransactionTime& time, Incarnation key, const TurnCommit& commit, EventId last_event_id);
  void set_failure(Incarnation key, const Failure& failure);
  void set_parent(Incarnation key, const ParentLink& parent);
  void set_custom_status(Incarnation key, const CustomStatusChange& change);
  /// Marks that the instance has rows in key_values.
  void mark_key_values(Incarnation key);
  /// Keeps a row of the current execution, which the next update replaces.
  void archive_execution(Incarnation key);
  void append_history(Incarnation key, ExecutionId execution, EventId first, EventId last,
                      std::string_view events);

  void take_lease(Incarnation key, LeaseToken token, std::int64_t until);
  [[nodiscard]] bool extend_lease(const TransactionTime& time, const TurnLease& lease, std::int64_t until);
  [[nodiscard]] bool release_lease(const TransactionTime& time, const TurnLease& lease,
                                   std::optional<std::int64_t> not_before);

  /// Erases the instance, except for its queue rows.
  void erase(Incarnation key);

 private:
  Statement find_by_key_;
  Statement find_by_id_;
  Statement insert_;
  Statement update_;
  Statement set_failure_;
  Statement set_parent_;
  Statement set_custom_status_;
  Statement mark_key_values_;
  Statement archive_execution_;
  Statement append_history_;
  Statement take_lease_;
  Statement extend_lease_;
  Statement release_lease_;
  Statement erase_instance_;
  Statement erase_executions_;
  Statement erase_history_;
};

/// Reads for clients and for replay, on a connection of their own.
class InstanceReader {
 public:
  explicit InstanceReader(Connection& connection);

  [[nodiscard]] std::optional<InstanceInfo> info(const InstanceId& id);
  [[nodiscard]] KeyValues key_values(const InstanceId& id);
  [[nodiscard]] Result<std::vector<Event>> history(const InstanceId& id, ExecutionId execution,
                                                   EventId after);

 private:
  Statement info_;
  Statement key_values_;
  Statement history_;
};

}  // namespace duramen::inline v0::sqlite::detail
