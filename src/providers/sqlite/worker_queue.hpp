// Activities waiting to be run, and the leases under which they are.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/moment.hpp"
#include "providers/sqlite/numbers.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/stolen_leases.hpp"
#include <duramen/provider.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

class WorkerQueue {
 public:
  WorkerQueue(Connection& connection, Numbers& numbers, StolenLeases& stolen_leases);

  [[nodiscard]] StolenLeases& stolen_leases() noexcept { return stolen_leases_; }

  void insert(const Moment& moment, Incarnation key, const TurnCommit& commit, const WorkerItem& item);

  [[nodiscard]] WorkBatch fetch(const Moment& moment, const WorkFetch& request,
                                const std::function<LeaseToken()>& new_token);
  /// True if a fetch would have something to look at; sets `next_due` if not.
  [[nodiscard]] bool any_available(const Moment& moment, std::optional<TimePoint>& next_due);

  [[nodiscard]] bool is_held(const Moment& moment, const WorkLease& lease);
  /// Deletes the row if it is held under that lease.
  [[nodiscard]] bool finish(const Moment& moment, const WorkLease& lease);
  [[nodiscard]] bool renew(const Moment& moment, const WorkLease& lease, std::int64_t until);
  /// Gives the row back; false if it is not held under that lease.
  [[nodiscard]] bool abandon(const Moment& moment, const WorkAbandon& entry);

  /// Deletes rows, whoever holds them. Leases that were held are returned and left as tombstones. `by` does
  /// the taking.
  void cancel(const Moment& moment, Incarnation key, ExecutionId execution,
              std::span<const CancelledActivity> activities, const NodeId& by,
              std::vector<StolenLease>& stolen);
  void cancel_execution(const Moment& moment, Incarnation key, ExecutionId execution, CancelReason reason,
                        const NodeId& by, std::vector<StolenLease>& stolen);
  void cancel_instance(const Moment& moment, Incarnation key, CancelReason reason,
                       std::vector<StolenLease>& stolen);

 private:
  /// Finds rows and deletes the same. DELETE ... RETURNING would make a temporary table even when there is no
  /// row, and most executions end with none.
  struct Removal {
    Removal(Connection& connection, const std::string& condition);
    Statement find;
    Statement erase;
  };
  template <class ReasonOf, class... Values>
  void steal(const Moment& moment, Removal& removal, const ReasonOf& reason_of, const NodeId& by,
             std::vector<StolenLease>& stolen, Incarnation key, const Values&... rest);

  Numbers& numbers_;
  StolenLeases& stolen_leases_;
  Statement insert_;
  Statement waiting_;
  Statement ended_;
  Statement next_due_;
  Statement first_end_;
  Statement take_;
  Statement is_held_;
  Statement finish_;
  Statement renew_;
  Statement abandon_;
  Removal cancel_one_;
  Removal cancel_list_;
  Removal cancel_execution_;
  Removal cancel_instance_;
};

}  // namespace duramen::inline v0::sqlite::detail
