// A diary of every activity that ran: which node, how often, and what it was told.
#pragma once

#include <duramen/registry.hpp>
#include <duramen/testing/simulation.hpp>

#include <deque>

namespace duramen::inline v0::testing {

class AttemptLog {
 public:
  explicit AttemptLog(const Clock& clock) : clock_(clock) {}

  /// The same code for `node`, with every activity watched. Of each orchestration the highest version.
  [[nodiscard]] Registry watched(const Registry& registry, const NodeId& node);
  /// What still runs there ends with it.
  void node_died(const NodeId& node);
  [[nodiscard]] bool running() const;
  [[nodiscard]] const std::deque<ActivityAttempt>& all() const noexcept { return attempts_; }

 private:
  class Watch;
  const Clock& clock_;
  std::deque<ActivityAttempt> attempts_;
};

}  // namespace duramen::inline v0::testing
