#include "providers/postgres/own_stolen_leases.hpp"

#include <algorithm>
#include <chrono>

namespace duramen::inline v0::postgres::detail {

namespace {

// Longer than anybody holds on to a lease that he does not manage to renew.
constexpr Duration kept_for = std::chrono::minutes{10};

}  // namespace

void OwnStolenLeases::add(const StolenLease& stolen) {
  const LeaseTime now = clock_.lease_now();
  const std::lock_guard lock(mutex_);
  if (notes_.size() >= forget_at_) {
    std::erase_if(notes_, [&](const auto& note) { return note.second.until <= now; });
    forget_at_ = std::max<std::size_t>(1024, 2 * notes_.size());
  }
  notes_.insert_or_assign(stolen.lease, Note{stolen.reason, now + kept_for});
}

std::optional<CancelReason> OwnStolenLeases::reason(const ActivityLease& lease) const {
  const std::lock_guard lock(mutex_);
  const auto note = notes_.find(lease);
  if (note == notes_.end() || note->second.until <= clock_.lease_now()) return std::nullopt;
  return note->second.reason;
}

}  // namespace duramen::inline v0::postgres::detail
