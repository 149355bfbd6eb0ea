// The two turns of a hello, as the engine makes them, with other names: for workloads that call the store
// directly.
#pragma once

#include <duramen/provider.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

class HelloTurns {
 public:
  /// Runs one hello on a store in memory and keeps its commits.
  HelloTurns();

  /// Creates instance `number`, with its activity born leased.
  [[nodiscard]] duramen::TurnCommit first(std::uint64_t number) const;
  /// Ends the instance after the activity has returned.
  [[nodiscard]] duramen::TurnCommit second(std::uint64_t number, duramen::Incarnation incarnation) const;
  /// The end of the activity alone.
  [[nodiscard]] duramen::ActivityAck ack(std::uint64_t number, duramen::Incarnation incarnation) const;

  [[nodiscard]] static std::string name(std::uint64_t number) { return "run-" + std::to_string(number); }

 private:
  std::vector<duramen::TurnCommit> turns_;
};

/// Commits; throws unless every turn was stored.
std::vector<duramen::CommitResult> commit_all(duramen::Provider& provider,
                                              const std::vector<duramen::TurnCommit>& batch);

}  // namespace bench
