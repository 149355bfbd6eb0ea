#include "runtime/refused_turns.hpp"

#include "runtime/fetched_instance.hpp"
#include <duramen/detail/mutant.hpp>

#include <utility>

namespace duramen::inline v0::runtime {

void RefusedTurns::remember(const PendingTurn& turn, const std::string& why) {
  if (refused_.size() > max_remembered_) refused_.clear();
  const TurnCommit& commit = turn.commit;
  const bool forgets = commit.events.empty() && detail::mutant("refused_turns_need_events");
  refused_.insert_or_assign(
      commit.instance, RefusedTurn{commit.incarnation, commit.execution, forgets ? EventId{} : turn.after,
                                   commit.events.empty(), why});
}

std::optional<Failure> RefusedTurns::take(const LeasedInstance& leased) {
  const auto found = refused_.find(leased.instance);
  if (found == refused_.end()) return std::nullopt;
  const RefusedTurn refused = std::move(found->second);
  refused_.erase(found);
  const bool same = refused.incarnation == leased.incarnation &&
                    refused.execution == identity_of(leased).execution &&
                    refused.after == (is_fresh(leased) ? EventId{} : leased.last_event_id) &&
                    // The history does not show whether another node has stored it; the attempts do.
                    (!refused.without_events || leased.attempt > 1);
  if (!same && !detail::mutant("a_refusal_outlives_its_turn")) return std::nullopt;
  Failure failure;
  failure.kind = FailureKind::infrastructure;
  failure.type = "TurnRefused";
  failure.message = "the store cannot hold a turn of \"" + leased.name + "\": " + refused.why;
  return failure;
}

}  // namespace duramen::inline v0::runtime
