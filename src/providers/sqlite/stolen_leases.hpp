// Tombstones of stolen leases: the holder of a stolen lease can learn why.
#pragma once

#include "providers/common/own_stolen_leases.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <optional>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

/// A lease of another node leaves a row; for a lease of the committing node a note in memory is enough.
class StolenLeases {
 public:
  explicit StolenLeases(Connection& connection);

  /// `until` is the end of the lease, in row form; `by` is the node that took it.
  void add(const TransactionTime& time, const StolenLease& stolen, std::int64_t until, const NodeId& by);
  [[nodiscard]] std::optional<CancelReason> reason(const TransactionTime& time, const ActivityLease& lease);
  [[nodiscard]] bool any_unreported(const NodeId& node);
  /// Stolen leases of `node` that were not read yet.
  [[nodiscard]] std::vector<StolenLease> take_unreported(const NodeId& node);

  /// Removes expired tombstones.
  void sweep(const TransactionTime& time);

 private:
  providers::OwnStolenLeases own_;
  std::int64_t next_sweep_ = 0;
  Statement add_;
  Statement reason_;
  Statement unreported_;
  Statement mark_reported_;
  Statement sweep_;
};

}  // namespace duramen::inline v0::sqlite::detail
