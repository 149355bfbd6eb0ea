// The end of an instance that cannot go on: handed out too often, its history cannot be read, or the store
// cannot hold its next turn.
//
// Whatever is left readable decides who must be told: with a history the engine ends it from there; without
// one, the instance's row knows its parent and the store its children.
#pragma once

#include "core/execution.hpp"
#include <duramen/history.hpp>
#include <duramen/provider.hpp>

#include <optional>
#include <string>
#include <vector>

namespace duramen::inline v0::runtime {

struct Condemned {
  std::optional<std::vector<Event>> history;  ///< absent: it cannot be read
  std::string why_not;                        ///< without a history
  bool retry_later = false;                   ///< the store failed for now
  std::optional<ParentLink> parent;           ///< without a history
  std::vector<InstanceInfo> children;         ///< likewise: those that have not ended
};

/// A history read from `after` on, if it reaches as far as the instance has come. A store that has lost rows
/// would else have the code run again from an earlier point, and the messages for what came later be ignored.
[[nodiscard]] Result<std::vector<Event>> whole_history(Provider& provider, const LeasedInstance& item,
                                                       EventId after, Result<std::vector<Event>> history);

/// Reads what is needed, on the store's lane.
[[nodiscard]] Condemned read_condemned(Provider& provider, const LeasedInstance& item);

/// The last turn of an instance whose history cannot be read. Token, node and basis are the caller's.
[[nodiscard]] TurnCommit unread_end(const core::ExecutionIdentity& identity, const LeasedInstance& item,
                                    const Condemned& condemned, Failure failure, TimePoint now);

}  // namespace duramen::inline v0::runtime
