// A log of every activity attempt: the node, the attempt number, and why it was stopped.
#pragma once

#include <duramen/registry.hpp>
#include <duramen/testing/simulation.hpp>

#include <deque>

namespace duramen::inline v0::testing {

class AttemptLog {
 public:
  explicit AttemptLog(const Clock& clock) : clock_(clock) {}

  /// The same code for `node`, with every activity watched.
  [[nodiscard]] Registry watched(const Registry& registry, const NodeId& node);
  /// Attempts that still run on `node` end with it.
  void node_died(const NodeId& node);
  [[nodiscard]] bool running() const;
  [[nodiscard]] const std::deque<ActivityAttempt>& all() const noexcept { return attempts_; }

 private:
  class Watch;
  const Clock& clock_;
  std::deque<ActivityAttempt> attempts_;
};

}  // namespace duramen::inline v0::testing
