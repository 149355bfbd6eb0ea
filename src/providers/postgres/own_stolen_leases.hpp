// Leases that commits made here took away from the very node that committed.
#pragma once

#include <duramen/provider.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace duramen::inline v0::postgres::detail {

/// A node that cancels its own activity hears of it from its own commit; for such a lease a note in memory is
/// enough, and ten thousand select losers cost no row. Leases of other nodes leave a row. Callable from any
/// thread.
class OwnStolenLeases {
 public:
  explicit OwnStolenLeases(const Clock& clock) : clock_(clock) {}

  void add(const StolenLease& stolen);
  [[nodiscard]] std::optional<CancelReason> reason(const ActivityLease& lease) const;

 private:
  struct Hash {
    std::size_t operator()(const ActivityLease& lease) const noexcept {
      return std::hash<ActivityKey>{}(lease.key) ^ std::hash<LeaseToken>{}(lease.token);
    }
  };
  struct Note {
    CancelReason reason;
    LeaseTime until;
  };

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::unordered_map<ActivityLease, Note, Hash> notes_;
  std::size_t forget_at_ = 1024;
};

}  // namespace duramen::inline v0::postgres::detail
