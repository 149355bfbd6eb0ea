// Runs activities and asks them to stop. All calls and callbacks are on the loop; user code never is.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include <duramen/env.hpp>
#include <duramen/function.hpp>
#include <duramen/log.hpp>
#include <duramen/provider.hpp>
#include <duramen/registry.hpp>

#include "runtime/activity_state.hpp"
#include "runtime/lease_keeper.hpp"

namespace duramen::inline v0::runtime {

/// An activity that came to its end while this node still held it.
struct FinishedActivity {
  InstanceId instance;
  WorkLease lease;
  std::variant<Payload, Failure> result;
};

class Activities {
 public:
  struct Events {
    UniqueFunction<void(FinishedActivity)> finished;
    UniqueFunction<void(const WorkLease&)> given_back;  ///< not run to its end because the runtime is stopping
    UniqueFunction<void()> place_free;                  ///< called after each end, whatever became of it
  };
  Activities(Env& env, const Registry& registry, LeaseKeeper& leases, std::size_t places, Events events);
  /// Frames of coroutine activities that have not ended are destroyed where they are suspended.
  ~Activities();
  Activities(const Activities&) = delete;
  Activities& operator=(const Activities&) = delete;

  [[nodiscard]] bool can_run(const std::string& name) const { return registry_.find_activity(name) != nullptr; }
  [[nodiscard]] std::size_t free_places() const noexcept {
    return running_.size() >= places_ ? 0 : places_ - running_.size();
  }
  [[nodiscard]] std::size_t running() const noexcept { return running_.size(); }

  /// `since`: when the call that gave the lease was sent.
  void run(ActivityExecute item, const WorkLease& lease, std::uint32_t attempt, LeaseTime since);
  /// Asks the activity held under `lease` to stop. One that is not known yet is remembered: the news of a stolen lease
  /// can overtake the news that we have it.
  void stop(const WorkLease& lease, StopCause cause, CancelReason reason);
  /// The same by identity, for what runs here whatever its token.
  void stop(const ActivityKey& key, CancelReason reason);
  void stop_execution(Incarnation incarnation, ExecutionId execution, CancelReason reason);
  void stop_all(StopCause cause);

 private:
  struct Running {
    WorkLease lease;
    std::shared_ptr<detail::ActivityState> state;
    std::shared_ptr<const ActivityHandler> handler;
  };
  struct CoroutineRun;
  void run_function(const Running& running);
  void run_coroutine(const Running& running);
  void ended(const ActivityKey& key, LeaseToken token, std::variant<Payload, Failure> result);

  // Fixed at construction.
  Env& env_;
  const Registry& registry_;
  LeaseKeeper& leases_;
  const std::size_t places_;
  Events events_;

  // The loop's.
  std::unordered_map<ActivityKey, Running> running_;
  std::deque<std::pair<WorkLease, CancelReason>> stolen_early_;

  // The activity loop's. With the lease token: an activity may be here twice, if its lease was lost and had again.
  std::map<std::pair<ActivityKey, LeaseToken>, std::unique_ptr<CoroutineRun>> coroutines_;
};

}  // namespace duramen::v0::runtime
