#include "runtime/lost_attempts.hpp"

#include "runtime/fetched_instance.hpp"
#include "runtime/pending_turn.hpp"

namespace duramen::inline v0::runtime {

LostAttempts::Turn LostAttempts::turn_of(const LeasedInstance& leased) {
  return {leased.incarnation, identity_of(leased).execution,
          is_fresh(leased) ? EventId{} : leased.last_event_id};
}

LostAttempts::Counts& LostAttempts::at(const InstanceId& instance, const Turn& turn) {
  if (lost_.size() > max_remembered_) lost_.clear();
  Entry& entry = lost_[instance];
  if (entry.turn != turn) entry = Entry{turn, {}};
  return entry.counts;
}

void LostAttempts::lost(const LeasedInstance& leased) { ++at(leased.instance, turn_of(leased)).lost; }

void LostAttempts::lost(const PendingTurn& turn, bool blocked) {
  const TurnCommit& commit = turn.commit;
  Counts& counts = at(commit.instance, {commit.incarnation, commit.execution, turn.after});
  ++(blocked ? counts.blocked : counts.lost);
}

LostAttempts::Counts LostAttempts::of(const LeasedInstance& leased) const {
  const auto found = lost_.find(leased.instance);
  return found != lost_.end() && found->second.turn == turn_of(leased) ? found->second.counts : Counts{};
}

}  // namespace duramen::inline v0::runtime
