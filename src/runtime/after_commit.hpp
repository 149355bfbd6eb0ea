// The effects of a stored turn. No decision of a turn takes effect before the turn is stored.
#pragma once

#include "runtime/activities.hpp"
#include "runtime/instruments.hpp"
#include "runtime/log.hpp"
#include "runtime/pending_turn.hpp"
#include "store/local_hub.hpp"
#include <duramen/env.hpp>
#include <duramen/provider.hpp>

#include <optional>

namespace duramen::inline v0::runtime {

/// The reactions of the node to a stored turn. On the loop.
class TurnEvents {
 public:
  virtual void timer_created(TimePoint due) = 0;
  /// An activity that the turn scheduled may be overdue then.
  virtual void activity_limited(TimePoint due) = 0;
  /// The commit cancelled an activity that a node held. `decided`: when the commit was sent.
  virtual void commit_stole(const StolenLease& stolen, LeaseTime decided) = 0;
  virtual void instance_ended(const InstanceId& instance, const detail::EndedInstance& end) = 0;

 protected:
  ~TurnEvents() = default;
};

class AfterCommit {
 public:
  AfterCommit(Env& env, Activities& activities, TurnEvents& events, const Log& log,
              const Instruments& instruments)
      : env_(env), activities_(activities), events_(events), log_(log), instruments_(instruments) {}

  /// Carries out the decisions of the turn. Moves activities and result out of `turn`.
  void apply(PendingTurn& turn, const CommitResult& result);

 private:
  void stop_cancelled(const PendingTurn& turn, const CommitResult& result);
  void log_traces(const PendingTurn& turn) const;
  void log_refused_starts(const PendingTurn& turn, const CommitResult& result) const;
  void count(const PendingTurn& turn) const;
  void run_activities(PendingTurn& turn, const CommitResult& result);
  void plan_wake_ups(const PendingTurn& turn, std::optional<Duration> limit);

  // Fixed at construction.
  Env& env_;
  Activities& activities_;
  TurnEvents& events_;
  const Log& log_;
  const Instruments& instruments_;
};

}  // namespace duramen::inline v0::runtime
