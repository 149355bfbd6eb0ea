// Waiting and running activities, and their leases.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/number_allocator.hpp"
#include "providers/sqlite/sessions.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/stolen_leases.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include "providers/sqlite/work_selection.hpp"
#include <duramen/provider.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

class WorkerQueue {
 public:
  WorkerQueue(Connection& connection, NumberAllocator& numbers, StolenLeases& stolen_leases,
              Sessions& sessions);

  [[nodiscard]] StolenLeases& stolen_leases() noexcept { return stolen_leases_; }

  void insert(const TransactionTime& time, Incarnation key, const TurnCommit& commit,
              const NewActivity& item);

  [[nodiscard]] ActivityBatch fetch(const TransactionTime& time, const ActivityFetch& request,
                                    const std::function<LeaseToken()>& new_token);
  /// True if a fetch may find something; sets `next_due` if not. Only reads.
  [[nodiscard]] bool any_available(const TransactionTime& time, const ActivityFetch& request,
                                   std::optional<TimePoint>& next_due);

  /// The row as a worker receives it, with the attempt that a fetch would begin; empty if there is no such
  /// row. The fence is the count of the last lease.
  [[nodiscard]] std::optional<LeasedActivity> read(const ActivityKey& key);

  /// The details of the last heartbeat of a row.
  [[nodiscard]] std::optional<Payload> last_details(const ActivityKey& key);
  /// The running attempt of a row, or the last one.
  [[nodiscard]] AttemptInfo last_attempt(const TransactionTime& time, const ActivityKey& key);

  [[nodiscard]] bool is_held(const TransactionTime& time, const ActivityLease& lease);
  /// Deletes the row if it is held under that lease.
  [[nodiscard]] bool finish(const TransactionTime& time, const ActivityLease& lease);
  [[nodiscard]] bool renew(const TransactionTime& time, const ActivityRenewal& renewal, Duration extend);
  /// Releases the row; false if it is not held under that lease.
  [[nodiscard]] bool release(const TransactionTime& time, const ActivityRelease& entry);

  /// Deletes rows even if they are leased. Leaves a tombstone for each lease and returns the leases. `by` is
  /// the node that takes them.
  void cancel(const TransactionTime& time, Incarnation key, ExecutionId execution,
              std::span<const CancelledActivity> activities, const NodeId& by,
              std::vector<StolenLease>& stolen);
  void cancel_execution(const TransactionTime& time, Incarnation key, ExecutionId execution,
                        CancelReason reason, const NodeId& by, std::vector<StolenLease>& stolen);
  void cancel_instance(const TransactionTime& time, Incarnation key, CancelReason reason,
                       std::vector<StolenLease>& stolen);
  /// The same for one row, without a node that takes it.
  void take_away(const TransactionTime& time, const ActivityKey& key, CancelReason reason,
                 std::vector<StolenLease>& stolen);

 private:
  /// Finds rows, then deletes them. DELETE ... RETURNING would create a temporary table even without a row,
  /// and most executions end without one.
  struct Removal {
    Removal(Connection& connection, const std::string& condition);
    Statement find;
    Statement erase;
  };
  /// Frees rows whose lease has expired: they wait again.
  void release_ended(const TransactionTime& time);
  /// The end of a lease that another node holds. A hint.
  [[nodiscard]] std::optional<TimePoint> next_lease_end(const TransactionTime& time, const NodeId& node);
  template <class ReasonOf, class... Values>
  void steal(const TransactionTime& time, Removal& removal, const ReasonOf& reason_of, const NodeId& by,
             std::vector<StolenLease>& stolen, Incarnation key, const Values&... rest);

  NumberAllocator& numbers_;
  StolenLeases& stolen_leases_;
  Sessions& sessions_;
  WorkSelection selection_;
  Statement insert_;
  Statement read_;
  Statement last_details_;
  Statement last_attempt_;
  Statement take_;
  Statement first_lease_end_;
  Statement lease_ends_;
  Statement release_ended_;
  Statement session_of_;
  Statement finish_without_session_;
  Statement finish_;
  Statement restart_limits_;
  Statement renew_;
  Statement renew_alive_;
  Statement release_;
  Removal cancel_one_;
  Removal cancel_list_;
  Removal cancel_execution_;
  Removal cancel_instance_;
};

}  // namespace duramen::inline v0::sqlite::detail
