#include "providers/common/own_stolen_leases.hpp"

#include <algorithm>

namespace duramen::inline v0::providers {

void OwnStolenLeases::add(const ActivityLease& lease, CancelReason reason, LeaseTime until, LeaseTime now) {
  const std::lock_guard lock(mutex_);
  if (notes_.size() >= forget_at_) {
    std::erase_if(notes_, [&](const auto& note) { return note.second.until <= now; });
    forget_at_ = std::max<std::size_t>(1024, 2 * notes_.size());
  }
  notes_.insert_or_assign(lease, Note{reason, until});
}

std::optional<CancelReason> OwnStolenLeases::reason(const ActivityLease& lease, LeaseTime now) const {
  const std::lock_guard lock(mutex_);
  const auto note = notes_.find(lease);
  if (note == notes_.end() || note->second.until <= now) return std::nullopt;
  return note->second.reason;
}

}  // namespace duramen::inline v0::providers
