// Runs a turn of an execution and puts its decisions into a commit.
//
// The caller adds the basis of the commit. All on the loop.
#pragma once

#include "core/execution.hpp"
#include "runtime/activities.hpp"
#include "runtime/instruments.hpp"
#include "runtime/log.hpp"
#include "runtime/pending_turn.hpp"
#include "runtime/watchdog.hpp"
#include <duramen/env.hpp>
#include <duramen/provider.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace duramen::inline v0::runtime {

struct TurnOptions {
  NodeId node;
  std::size_t max_resident = 10'000;
  std::size_t max_actions = 10'000;
  std::size_t max_payload_bytes = default_payload_limit;
  std::uint32_t max_depth = default_max_depth;
  Duration activity_lease{};
  Duration max_turn_time{};
  TagFilter tags;
  std::uint32_t max_attempts = 10;
  Duration unregistered_pause{};
  Duration longest_unregistered_pause{};
  /// The engine version at which new executions begin; null: the newest.
  const std::atomic<std::uint32_t>* write_level = nullptr;
};

class TurnBuilder {
 public:
  /// All of these must outlive the builder.
  TurnBuilder(Env& env, Activities& activities, const TurnOptions& options, const Log& log,
              const Instruments& instruments, Watchdog& watchdog)
      : env_(env),
        activities_(activities),
        options_(options),
        log_(log),
        instruments_(instruments),
        watchdog_(watchdog) {}

  /// An execution that has not run yet. Without a handler it can only be ended from its history.
  [[nodiscard]] std::unique_ptr<core::Execution> make_execution(
      const core::ExecutionIdentity& identity, std::shared_ptr<const OrchestrationHandler> handler,
      KeyValues key_values = {}) const;

  /// Replays `history`, admits `messages` and runs the code. With `condemned` the instance fails instead, and
  /// no code runs.
  [[nodiscard]] PendingTurn run(core::Execution& execution, std::span<const Event> history,
                                std::span<const MessageBody> messages, const Failure* condemned = nullptr);

  /// Gives a commit that was not made by run() its token, its node and the write level.
  void sign(TurnCommit& commit);

  /// From now on this node begins no activity: other nodes fetch the ones its turns schedule.
  void stop_dispatching() noexcept { dispatching_ = false; }

 private:
  [[nodiscard]] std::uint64_t random_token();
  void lease_activities(PendingTurn& turn);

  // Fixed at construction.
  Env& env_;
  Activities& activities_;
  const TurnOptions& options_;
  const Log& log_;
  const Instruments& instruments_;
  Watchdog& watchdog_;

  bool dispatching_ = true;
};

}  // namespace duramen::inline v0::runtime
