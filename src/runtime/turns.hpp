// Turns: messages and finished activities reach the coroutine here, and its decisions become commits.
//
// An instance that this node works on has a slot (ResidentInstances). A slot holds the live coroutine between
// turns, at most one uncommitted turn, and what arrived meanwhile. All on the loop.
//
// clang-format off
//   finished activity ─┐                               ┌─ committed ─▶ activities begin, waiters are notified,
//   fetched messages ──┼─▶ slot ─▶ run_turn ─▶ commit ─┤               the next turn
//   start, cancel ─────┘                               └─ refused ───▶ the coroutine ran ahead: it is dropped;
//                                                                      the store hands the messages out again
// clang-format on
#pragma once

#include "runtime/activities.hpp"
#include "runtime/after_commit.hpp"
#include "runtime/committer.hpp"
#include "runtime/condemned.hpp"
#include "runtime/instruments.hpp"
#include "runtime/log.hpp"
#include "runtime/lost_attempts.hpp"
#include "runtime/pending_turn.hpp"
#include "runtime/refused_turns.hpp"
#include "runtime/resident_instances.hpp"
#include "runtime/turn_builder.hpp"
#include "runtime/turn_leases.hpp"
#include "runtime/watchdog.hpp"
#include <duramen/env.hpp>
#include <duramen/function.hpp>
#include <duramen/provider.hpp>
#include <duramen/registry.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace duramen::inline v0::runtime {

class Turns final : private CommitEvents {
 public:
  Turns(Env& env, Provider& provider, const Registry& registry, Activities& activities, TurnOptions options,
        Committer::Options commit_options, TurnLeases& leases, TurnEvents& events, const Log& log,
        const Instruments& instruments, Watchdog& watchdog);

  /// Creates the instance and runs its first turn, in one commit.
  void start(StartRequest request, UniqueFunction<void(Result<StartOutcome>)> done);
  /// Runs the turn that cancels a resident instance, and stores the request and the turn in one commit.
  /// `done` receives false if that is not possible: nothing was stored.
  void cancel(const InstanceId& instance, const message::CancelInstance& request,
              UniqueFunction<void(bool stored)> done);
  /// Takes over instances that the store leased to this node; their leases are kept already.
  void take(std::vector<LeasedInstance> fetched);
  /// Takes the result of an activity of this node: into a turn if its instance is resident, otherwise to the
  /// store.
  void take(FinishedActivity activity);

  /// From now on this node begins no activity: other nodes fetch the ones its turns schedule.
  void stop_dispatching() noexcept {
    builder_.stop_dispatching();
    committer_.stop();
  }
  /// Turns that are being prepared or stored.
  [[nodiscard]] std::size_t busy() const noexcept { return residents_.busy(); }
  /// Instances that are kept in memory.
  [[nodiscard]] std::size_t resident() const noexcept { return residents_.size(); }
  /// Nothing is being prepared or stored.
  [[nodiscard]] bool idle() const noexcept { return busy() == 0 && committer_.idle(); }

 private:
  using Slot = ResidentInstances::Slot;
  /// A delivery that the node releases counts towards `max_attempts`, or does not.
  enum class Attempt : bool { uncounted, counted };
  struct HistoryReads {
    std::vector<LeasedInstance> instances;
    std::vector<HistoryRequest> requests;  // one for each instance
  };

  // CommitEvents.
  void turn_answered(PendingTurn turn, Result<CommitResult> result) override;

  void begin_fetched(LeasedInstance leased);
  void read_later(LeasedInstance leased);
  [[nodiscard]] std::shared_ptr<const OrchestrationHandler> find_code(const LeasedInstance& leased) const;
  void run_fetched(LeasedInstance leased, const std::vector<Event>& history);
  void run_finished(Slot& slot, std::vector<FinishedActivity> finished);
  void next(const InstanceId& instance);
  void commit(PendingTurn turn);
  void refused(PendingTurn& turn, const std::string& why);
  void send_to_store(FinishedActivity activity);

  void read_histories();
  void histories_read(HistoryReads reads, std::vector<Result<std::vector<Event>>> histories);
  void history_read(LeasedInstance leased, Result<std::vector<Event>> history);
  void condemn(LeasedInstance leased, Failure failure);
  void run_condemned(LeasedInstance leased, const Condemned& condemned, Failure failure);
  void release(const TurnLease& lease, Duration delay, Attempt attempt);
  void release_and_forget(const LeasedInstance& leased, Duration delay, Attempt attempt);
  [[nodiscard]] bool drop_if_lost(const LeasedInstance& leased);
  [[nodiscard]] std::optional<Failure> poison(const LeasedInstance& leased);
  void note_end(const PendingTurn& turn, const Result<CommitResult>& result);
  [[nodiscard]] Duration unregistered_pause(const InstanceId& instance);

  // On the store's lane.
  void call_start(const StartRequest& request, UniqueFunction<void(Result<StartOutcome>)>& done);
  void call_read_histories(HistoryReads reads);
  void call_read_condemned(LeasedInstance leased, Failure failure);
  void call_release(const TurnRelease& release);

  // Fixed at construction.
  Env& env_;
  Provider& provider_;
  const Registry& registry_;
  Activities& activities_;
  TurnLeases& leases_;
  const TurnOptions options_;
  const std::size_t max_remembered_;
  const Log& log_;

  // The loop's.
  Committer committer_;
  TurnBuilder builder_;
  AfterCommit after_commit_;
  ResidentInstances residents_;
  RefusedTurns refused_;
  LostAttempts lost_;
  HistoryReads to_read_;                                   // gathered until read_histories()
  std::unordered_map<InstanceId, Duration> unregistered_;  // the last pause of each
};

}  // namespace duramen::inline v0::runtime
