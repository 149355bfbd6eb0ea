// Leases that a commit of this process took from the same node that committed.
#pragma once

#include <duramen/provider.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace duramen::inline v0::providers {

/// A node that cancels its own activity learns of it from the answer to its own commit. So a note in memory
/// is enough for such a lease, and ten thousand select losers cost no row. Leases of other nodes leave a row.
/// Callable from any thread.
class OwnStolenLeases {
 public:
  /// The note is kept until `until`.
  void add(const ActivityLease& lease, CancelReason reason, LeaseTime until, LeaseTime now);
  [[nodiscard]] std::optional<CancelReason> reason(const ActivityLease& lease, LeaseTime now) const;

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

  mutable std::mutex mutex_;
  std::unordered_map<ActivityLease, Note, Hash> notes_;
  std::size_t forget_at_ = 1024;
};

}  // namespace duramen::inline v0::providers
