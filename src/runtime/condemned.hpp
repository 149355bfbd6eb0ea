// The end of an instance that cannot continue: it was handed out too often, its history is unreadable, or the
// store cannot hold its next turn.
//
// With a readable history the engine ends the instance from there. Without one, the instance's row names the
// parent and the store lists the children.
#pragma once

#include "core/execution.hpp"
#include "runtime/pending_turn.hpp"
#include "runtime/turn_builder.hpp"
#include <duramen/history.hpp>
#include <duramen/provider.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace duramen::inline v0::runtime {

struct Condemned {
  std::optional<std::vector<Event>> history;  ///< absent: it is unreadable
  std::string why_not;                        ///< without a history
  bool retry_later = false;                   ///< the store failed for now
  std::optional<ParentLink> parent;           ///< without a history
  /// Without a history: those that have not ended.
  std::vector<InstanceInfo> children;
};

/// Returns `history`, read from `after` on, if it reaches the last event of the instance. Otherwise the store
/// has lost rows: running the code from an earlier point would ignore the messages for the later events.
[[nodiscard]] Result<std::vector<Event>> whole_history(Provider& provider, const LeasedInstance& leased,
                                                       EventId after, Result<std::vector<Event>> history);

/// Reads what condemned_turn needs. On the store's lane.
[[nodiscard]] Condemned read_condemned(Provider& provider, const LeasedInstance& leased);

/// The last turn of the instance: no code runs. The caller sets the basis.
[[nodiscard]] PendingTurn condemned_turn(TurnBuilder& builder, LeasedInstance& leased,
                                         const Condemned& condemned, Failure failure, TimePoint now);

}  // namespace duramen::inline v0::runtime
