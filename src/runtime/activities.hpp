// Runs activities and asks them to stop. All calls and callbacks are on the loop; user code never is.
//
//   run ─▶ queued ─┬─ begins ─▶ runs ─┬─ returns ─▶ finished
//                  │                  └─ asked to stop ─┬─ returns ─▶ dropped, or given back
//                  │                                    └─ grace is over ─▶ destroyed or abandoned
//                  └─ asked to stop, or its lease is over ─▶ dropped, or given back: it never begins
//
// Dropped: it was cancelled or its lease was lost, and nobody waits for a result. Given back: at a shutdown,
// for another node. Destroyed: a coroutine that sleeps. Abandoned: anything else; its place is free, and it
// is counted until it returns. At a shutdown, a function is waited for instead, and the lease of an abandoned
// coroutine is given back.
#pragma once

#include "runtime/activity_state.hpp"
#include "runtime/early_news.hpp"
#include "runtime/instruments.hpp"
#include "runtime/lane_threads.hpp"
#include "runtime/lease_keeper.hpp"
#include "runtime/log.hpp"
#include "runtime/stop_notifier.hpp"
#include <duramen/env.hpp>
#include <duramen/function.hpp>
#include <duramen/provider.hpp>
#include <duramen/registry.hpp>

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace duramen::inline v0::runtime {

/// An activity that came to its end while this node still held it.
struct FinishedActivity {
  InstanceId instance;
  ActivityLease lease;
  std::variant<Payload, Failure> result;
};

/// The first of an activity's time limits that can pass; absent if it has none.
[[nodiscard]] std::optional<Duration> shortest_limit(const ActivityOptions& options);

struct ActivityCapacity {
  std::size_t places = 4096;
  std::size_t max_abandoned = 64;
  Duration grace{};
  std::uint32_t max_attempts = 10;
  Duration lease{};
};

class Activities {
 public:
  struct Events {
    UniqueFunction<void(FinishedActivity)> finished;
    UniqueFunction<void(ActivityRenewal)> given_back;  ///< the runtime is stopping: it is to be run elsewhere
    UniqueFunction<void()> place_free;                 ///< called at each end, before anybody is told of it
  };
  Activities(const detail::ActivityHost& host, const Registry& registry, ActivityCapacity limits,
             const Instruments& instruments, Events events);
  /// After the env has stopped. Destroys coroutines that sleep in one of our awaitables; one that waits in an
  /// awaitable of the user's stays until that resumes it, and is named in the log.
  ~Activities();
  Activities(const Activities&) = delete;
  Activities& operator=(const Activities&) = delete;

  [[nodiscard]] bool can_run(const std::string& name) const {
    return registry_.find_activity(name) != nullptr;
  }
  /// Of those that nothing runs in and that are not reserved.
  [[nodiscard]] std::size_t free_places() const noexcept {
    if (abandoned_.size() >= limits_.max_abandoned) return 0;
    const std::size_t taken = running_.size() + reserved_places_;
    return taken >= limits_.places ? 0 : limits_.places - taken;
  }
  /// For activities that a commit or a fetch on its way may bring. Released when its answer is there, each
  /// right before its activity is run; given up if they will not be.
  void reserve(std::size_t places) noexcept { reserved_places_ += places; }
  void release(std::size_t places) noexcept { reserved_places_ -= places; }
  void give_up(std::size_t places) {
    release(places);
    if (places > 0) events_.place_free();
  }
  [[nodiscard]] std::size_t running() const noexcept { return running_.size(); }
  /// Any thread.
  [[nodiscard]] std::size_t abandoned() const noexcept { return abandoned_count_.load(); }
  /// Sessions that have an activity here.
  [[nodiscard]] std::vector<std::string> active_sessions() const;

  /// `since`: when the call that gave the lease was sent. After stop_all() it is given back instead.
  void run(LeasedActivity work, LeaseTime since);
  /// Asks the activity held under `lease` to stop. One that is not known yet is remembered while a fetch or a
  /// commit that may bring it is under way: the news of a stolen lease can overtake the news that we have it.
  /// `decided`: when, if it was decided here.
  void stop(const ActivityLease& lease, StopCause cause, CancelReason reason,
            std::optional<LeaseTime> decided = std::nullopt);
  /// The same by identity, for what runs here whatever its token.
  void stop(const ActivityKey& key, CancelReason reason);
  void stop_execution(Incarnation incarnation, ExecutionId execution, CancelReason reason);
  /// The runtime is stopping. From now on nothing begins.
  void stop_all();

 private:
  struct Running {
    std::shared_ptr<detail::ActivityState> state;
    std::shared_ptr<const ActivityHandler> handler;
    LeaseTime began;
    LeaseTime asked{};  // to stop
    [[nodiscard]] const ActivityLease& lease() const noexcept { return state->work().lease; }
  };
  using AttemptKey = std::pair<ActivityKey, LeaseToken>;
  struct CoroutineRun;
  void run_function(const Running& running);
  void run_coroutine(const Running& running);
  void coroutine_ended(CoroutineRun& run);
  [[nodiscard]] std::shared_ptr<detail::ActivityState> begin(
      const std::weak_ptr<detail::ActivityState>& queued);
  void ask_to_stop(const ActivityKey& key, StopCause cause, CancelReason reason,
                   std::optional<LeaseTime> decided);
  void ended(const ActivityLease& lease, std::variant<Payload, Failure> result);
  void deliver(const Running& running, std::optional<Heartbeat> unsent,
               std::variant<Payload, Failure> result);
  void condemn(LeasedActivity work);
  void look_after_grace(const ActivityLease& lease, LeaseTime when);
  void grace_over(const ActivityLease& lease);
  void destroy_or_abandon(const ActivityLease& lease);
  void abandon(const ActivityLease& lease);

  // Fixed at construction.
  const detail::ActivityHost host_;
  Env& env_;
  const Registry& registry_;
  const ActivityCapacity limits_;
  const Instruments& instruments_;
  Events events_;
  const std::shared_ptr<detail::ActivityLink> link_;  // for activities; they may outlive us
  StopNotifier notifier_;

  // The loop's.
  std::unordered_map<ActivityKey, Running> running_;
  std::size_t reserved_places_ = 0;
  std::map<std::string, std::size_t> sessions_;  // with how many activities here
  std::map<AttemptKey, Running> abandoned_;
  EarlyNews stolen_early_;
  LaneThreads threads_;
  bool stopping_ = false;
  std::atomic<std::size_t> abandoned_count_{0};  // written by the loop

  // The activity loop's. With the lease token: an activity may be here twice, if its lease was lost and had
  // again.
  std::map<AttemptKey, std::shared_ptr<CoroutineRun>> coroutines_;
};

}  // namespace duramen::inline v0::runtime
