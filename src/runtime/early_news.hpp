// News of cancelled activities that overtook the news that this node has them.
//
// Each is kept for the length of a lease. A lease that arrives later than that is over, and its activity does
// not begin.
#pragma once

#include <duramen/failure.hpp>
#include <duramen/provider.hpp>
#include <duramen/time.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

namespace duramen::inline v0::runtime {

class EarlyNews {
 public:
  /// `keep`: the length of a lease.
  explicit EarlyNews(Duration keep) : keep_(keep) {}

  void remember(const ActivityLease& lease, CancelReason reason, LeaseTime now);
  /// The reason why `lease` was stolen, if it is known; then forgets it.
  [[nodiscard]] std::optional<CancelReason> take(const ActivityLease& lease, LeaseTime now);
  [[nodiscard]] std::size_t size() const noexcept { return reasons_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const ActivityLease& lease) const noexcept {
      return std::hash<ActivityKey>{}(lease.key) ^ std::hash<LeaseToken>{}(lease.token);
    }
  };
  void forget_old(LeaseTime now);

  const Duration keep_;
  std::unordered_map<ActivityLease, CancelReason, Hash> reasons_;
  std::deque<std::pair<LeaseTime, ActivityLease>> ends_;  // when each is forgotten, in order
};

}  // namespace duramen::inline v0::runtime
