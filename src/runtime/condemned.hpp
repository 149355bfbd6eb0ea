// The end of an instance that cannot go on: handed out too often, or its history cannot be read.
//
// Whatever is left readable decides who must be told: with a history the engine ends it from there; without
// one, the instance's row knows its parent and the store its children.
#pragma once

#include "core/execution.hpp"
#include <duramen/history.hpp>
#include <duramen/provider.hpp>

#include <optional>
#include <vector>

namespace duramen::inline v0::runtime {

struct Condemned {
  std::optional<std::vector<Event>> history;  ///< absent: it cannot be read
  bool retry_later = false;                   ///< the store failed for now
  std::optional<ParentLink> parent;           ///< without a history
  std::vector<InstanceInfo> children;         ///< likewise: those that have not ended
};

/// Reads what is needed, on the store's lane.
[[nodiscard]] Condemned read_condemned(Provider& provider, const OrchestrationItem& item);

/// The last turn of an instance whose history cannot be read. Token, node and basis are the caller's.
[[nodiscard]] TurnCommit unread_end(const core::ExecutionIdentity& identity, const OrchestrationItem& item,
                                    const Condemned& condemned, Failure failure, TimePoint now);

}  // namespace duramen::inline v0::runtime
