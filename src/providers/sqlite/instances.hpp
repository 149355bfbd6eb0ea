// The table of instances: their ids, states and leases.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/number_allocator.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

/// The columns that decisions about an instance need.
struct InstanceRow {
  Incarnation key;
  std::string name;
  std::string version;
  std::optional<std::string> asked_version;
  Status status = Status::pending;
  ExecutionId execution;
  EventId last_event_id;
  std::uint32_t engine_version = 0;
  CommitToken commit_token;
  CommitToken replay_token;
  LeaseToken lease_token;
  std::int64_t lease_until = 0;
  std::uint32_t attempt = 0;
  std::optional<std::int64_t> entry_place;
  std::optional<CancelMode> cancel_asked;
  std::optional<std::int64_t> cancel_place;
  bool graceful = false;
  bool has_key_values = false;
  std::int64_t start_digest = 0;

  [[nodiscard]] bool leased(const TransactionTime& time) const noexcept {
    return lease_token && lease_until > time.lease_now;
  }
  /// False until the first turn of the current execution is stored.
  [[nodiscard]] bool begun() const noexcept {
    return status != Status::pending && status != Status::continued_as_new;
  }
  /// The level that a node must read to work on it. The beginning of an execution is readable at the lowest.
  [[nodiscard]] std::uint32_t level() const noexcept { return begun() ? engine_version : 1; }
  /// A cancel is queued that any node can decide.
  [[nodiscard]] bool needs_no_code() const noexcept {
    return cancel_place && (cancel_asked == CancelMode::terminate || !graceful || status == Status::pending);
  }
  /// The version that a node must have; empty: any.
  [[nodiscard]] std::string_view needed_version() const noexcept {
    if (begun()) return version;
    return asked_version ? std::string_view(*asked_version) : std::string_view{};
  }
  /// The text that its entry carries: see providers::capability.
  [[nodiscard]] std::string capability() const;
};

/// The columns of InstanceRow, in the order in which read_row reads them from column `first` on.
inline constexpr std::string_view row_columns =
    "i.key, i.name, i.version, i.asked_version, i.status, i.execution, i.last_event_id, i.engine_version, "
    "i.commit_token, i.replay_token, i.lease_token, i.lease_until, i.attempt, i.entry_place, i.cancel_asked, "
    "i.cancel_place, i.graceful, i.has_key_values, i.start_digest";
inline constexpr int row_column_count = 19;
[[nodiscard]] InstanceRow read_row(const Cursor& run, int first = 0);

/// A row to insert; the defaults are those of an instance without a turn.
struct NewInstance {
  const InstanceId& id;
  const message::StartOrchestration& start;
  Status status = Status::pending;
  std::string_view version = {};
  std::optional<std::string> asked_version = {};
  EventId last_event_id = {};
  std::uint32_t engine_version = 0;
  bool graceful = false;
  std::optional<CancelMode> cancel_asked = {};
  std::optional<std::int64_t> cancel_place = {};
  CommitToken commit_token = {};
  CommitToken replay_token = {};
  const std::optional<Payload>* output = nullptr;
  const std::optional<ParentLink>* parent = nullptr;  ///< null: the parent in `start`
};

class Instances {
 public:
  explicit Instances(Connection& connection);

  [[nodiscard]] std::optional<InstanceRow> find(Incarnation key);
  [[nodiscard]] std::optional<InstanceRow> find(const InstanceId& id);

  [[nodiscard]] bool has_queued_cancel(Incarnation key);
  /// The parent that started the instance.
  [[nodiscard]] std::optional<ParentLink> parent(Incarnation key);

  /// Empty if the id is taken.
  [[nodiscard]] std::optional<InstanceRow> insert(const TransactionTime& time, NumberAllocator& numbers,
                                                  const NewInstance& instance);

  /// Stores the state of the instance after a turn, as it stands in `row`, and releases its lease.
  void update(const TransactionTime& time, const InstanceRow& row, const InstanceChange& change);
  void set_failure(Incarnation key, const Failure& failure);
  void set_custom_status(Incarnation key, const CustomStatusChange& change);
  /// Marks that the instance has rows in key_values.
  void mark_key_values(Incarnation key);
  /// Keeps a row of the current execution, which the next update replaces.
  void archive_execution(Incarnation key);
  void append_history(Incarnation key, const TurnCommit& commit, std::string_view events);

  /// Stores that a cancel was asked for: raises the mode, and keeps the place of the queued message.
  void ask_cancel(Incarnation key, CancelMode mode, std::int64_t place);

  /// Leases the instance, counts the attempt and stores the place of the entry.
  void take_lease(Incarnation key, LeaseToken token, std::int64_t until, std::int64_t entry_place);
  [[nodiscard]] bool extend_lease(const TransactionTime& time, const TurnLease& lease, std::int64_t until);
  [[nodiscard]] bool release_lease(const TransactionTime& time, const TurnLease& lease, bool count_attempt);
  /// Stores which row is the entry, or that it is the first message.
  void set_entry(Incarnation key, std::optional<std::int64_t> place);

  /// Erases the instance, except for its queue rows.
  void erase(Incarnation key);

 private:
  Statement find_by_key_;
  Statement find_by_id_;
  Statement queued_cancel_;
  Statement parent_;
  Statement insert_;
  Statement update_;
  Statement set_failure_;
  Statement set_custom_status_;
  Statement mark_key_values_;
  Statement archive_execution_;
  Statement append_history_;
  Statement ask_cancel_;
  Statement take_lease_;
  Statement extend_lease_;
  Statement release_lease_;
  Statement set_entry_;
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
  [[nodiscard]] Result<std::vector<Event>> history(const HistoryRequest& request);

 private:
  /// True if the commit that stored the event `after` has the token of the request.
  [[nodiscard]] bool has_token(const HistoryRequest& request);

  Statement info_;
  Statement key_values_;
  Statement token_;
  Statement history_;
};

}  // namespace duramen::inline v0::sqlite::detail
