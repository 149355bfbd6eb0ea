// Tombstones: leases that were taken from their holders, so that a holder who asks is told why.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <optional>
#include <unordered_map>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

/// A node that cancels its own activity hears of it from its own commit; for such a lease a note in memory is
/// enough, and ten thousand select losers cost no row. Leases of other nodes leave a row.
class StolenLeases {
 public:
  explicit StolenLeases(Connection& connection);

  /// `until` is the end of the lease, in row form; `by` the node that took it.
  void add(const TransactionTime& moment, const StolenLease& stolen, std::int64_t until, const NodeId& by);
  [[nodiscard]] std::optional<CancelReason> reason(const TransactionTime& moment, const ActivityLease& lease);
  [[nodiscard]] bool any_unreported(const NodeId& node);
  /// Those of `node` that were not read yet.
  [[nodiscard]] std::vector<StolenLease> take_unreported(const NodeId& node);

  /// Removes what nobody can ask for any more.
  void sweep(const TransactionTime& moment);

 private:
  struct Hash {
    std::size_t operator()(const ActivityLease& lease) const noexcept {
      return std::hash<ActivityKey>{}(lease.key) ^ std::hash<LeaseToken>{}(lease.token);
    }
  };
  struct Note {
    CancelReason reason;
    std::int64_t until;
  };

  std::unordered_map<ActivityLease, Note, Hash> own_;
  std::size_t sweep_own_at_ = 1024;
  std::int64_t next_sweep_ = 0;
  Statement add_;
  Statement reason_;
  Statement unreported_;
  Statement mark_reported_;
  Statement sweep_;
};

}  // namespace duramen::inline v0::sqlite::detail
