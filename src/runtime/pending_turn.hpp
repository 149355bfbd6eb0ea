// A turn that was run and is not stored yet.
//
// TurnBuilder makes it, Committer carries it to the store and back, Turns acts on the answer. It is one
// struct on the whole way: nothing is copied out of it.
#pragma once

#include "core/execution.hpp"
#include "runtime/places.hpp"
#include <duramen/function.hpp>
#include <duramen/provider.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace duramen::inline v0::runtime {

/// Labels and numbers of a turn that its commit does not contain. Filled only while metrics are on.
struct TurnStats {
  std::size_t replayed = 0;
  std::string name;
  std::string version;
  TimePoint began;
};

struct PendingTurn {
  TurnCommit commit;
  std::vector<core::TraceLine> traces;  ///< logged once the turn is stored
  EventId after;                        ///< the last event before the turn; none before the first
  CommitToken token_before;             ///< of the commit that stored `after`; none: unknown
  std::vector<std::size_t> taken;       ///< the indexes of the messages that the turn took
  std::size_t bytes = 0;                ///< about the size of the commit
  Places reserved;                      ///< for activities that this node runs as soon as it is stored
  Duration took{};                      ///< how long it ran
  LeaseTime sent{};                     ///< when it was given to the committer
  bool condemned = false;               ///< it ends the instance without its code
  TurnStats stats;
  UniqueFunction<void(Result<StartOutcome>)> on_started;  ///< the caller of a start, if there is one
  UniqueFunction<void(bool stored)> on_cancelled;         ///< the caller of a cancel, if there is one

  [[nodiscard]] const InstanceId& instance() const noexcept { return commit.instance; }
  /// Notifies the caller of a start or a cancel, if there is one.
  void notify_caller(const Result<CommitResult>& result);
};

[[nodiscard]] bool is_stored(const Result<CommitResult>& result);

}  // namespace duramen::inline v0::runtime
