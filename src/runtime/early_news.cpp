#include "runtime/early_news.hpp"

#include <duramen/detail/mutant.hpp>

namespace duramen::inline v0::runtime {

namespace {
// Above this the oldest are dropped. An activity whose news is lost stops at the next renewal of its lease.
constexpr std::size_t most = 65'536;
}  // namespace

void EarlyNews::remember(const ActivityLease& lease, CancelReason reason, LeaseTime now) {
  forget_old(now);
  if (!reasons_.emplace(lease, reason).second) return;
  ends_.emplace_back(now + keep_, lease);
  if (ends_.size() <= (detail::mutant("early_news_push_out_others") ? 4096 : most)) return;
  reasons_.erase(ends_.front().second);
  ends_.pop_front();
}

std::optional<CancelReason> EarlyNews::take(const ActivityLease& lease, LeaseTime now) {
  forget_old(now);
  const auto found = reasons_.find(lease);
  if (found == reasons_.end()) return std::nullopt;
  const CancelReason reason = found->second;
  reasons_.erase(found);
  return reason;
}

void EarlyNews::forget_old(LeaseTime now) {
  if (detail::mutant("early_news_are_never_forgotten")) return;
  while (!ends_.empty() && ends_.front().first <= now) {
    reasons_.erase(ends_.front().second);
    ends_.pop_front();
  }
}

}  // namespace duramen::inline v0::runtime
