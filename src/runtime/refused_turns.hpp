// Turns that the store can never hold.
//
// Running such a turn again would have the same result. So the instance fails as soon as it is fetched again,
// with the store's reason. All on the loop.
#pragma once

#include "runtime/pending_turn.hpp"
#include <duramen/failure.hpp>
#include <duramen/provider.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

namespace duramen::inline v0::runtime {

class RefusedTurns {
 public:
  /// Forgets all above `max_remembered`: only a store full of broken instances gets there.
  explicit RefusedTurns(std::size_t max_remembered) : max_remembered_(max_remembered) {}

  void remember(const PendingTurn& turn, const std::string& why);
  /// The failure of an instance whose last turn was refused; then forgets it. Absent if there was none, or if
  /// another node has stored another turn since.
  [[nodiscard]] std::optional<Failure> take(const LeasedInstance& leased);

 private:
  struct RefusedTurn {
    Incarnation incarnation;
    ExecutionId execution;
    EventId after;  // the last event before the turn
    bool without_events = false;
    std::string why;
  };
  const std::size_t max_remembered_;
  std::unordered_map<InstanceId, RefusedTurn> refused_;
};

}  // namespace duramen::inline v0::runtime
