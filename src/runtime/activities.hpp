// Runs activities and asks them to stop. All calls and callbacks are on the loop; user code never is.
//
//   run ─▶ queued ─┬─ begins ─▶ runs ─┬─ returns ─▶ finished
//                  │                  └─ asked to stop ─┬─ returns ─▶ dropped or released
//                  │                                    └─ grace is over ─▶ destroyed or abandoned
//                  └─ asked to stop, or its lease is over ─▶ dropped or released: it never begins
//
// Dropped: it was cancelled or its lease was lost, so its result is not awaited. Released: at a shutdown, for
// another node. Destroyed: a coroutine that sleeps. Abandoned: any other; its place is free, and it is
// counted until it returns. A shutdown waits for functions instead, and releases the leases of abandoned
// coroutines when nothing else is left.
#pragma once

#include "runtime/activity_state.hpp"
#include "runtime/early_news.hpp"
#include "runtime/instruments.hpp"
#include "runtime/lane_threads.hpp"
#include "runtime/lease_keeper.hpp"
#include "runtime/log.hpp"
#include "runtime/places.hpp"
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

/// An activity that ended while this node still held its lease.
struct FinishedActivity {
  InstanceId instance;
  ActivityLease lease;
  std::variant<Payload, Failure> result;
  AttemptInfo ran = {};
  std::optional<Payload> heartbeat = std::nullopt;  ///< with a failure: its last details
};

struct ActivityCapacity {
  std::size_t places = 4096;
  /// For functions. Zero: functions need no threads.
  std::size_t threads = 0;
  std::size_t max_abandoned = 64;
  Duration grace{};
  std::uint32_t max_attempts = 10;
  Duration lease{};
};

/// The reactions of the node to activities. On the loop.
class ActivityEvents {
 public:
  virtual void activity_finished(FinishedActivity activity) = 0;
  /// Another node is to run the activity: the runtime is stopping, or the activity lost its lease before it
  /// began.
  virtual void activity_released(ActivityRenewal activity) = 0;
  /// A place became free. Called before activity_finished().
  virtual void place_freed() = 0;

 protected:
  ~ActivityEvents() = default;
};

class Activities {
 public:
  Activities(const detail::ActivityHost& host, const Registry& registry, ActivityCapacity capacity,
             const Instruments& instruments, ActivityEvents& events);
  /// After the env has stopped. Destroys coroutines that sleep in an awaitable of Duramen. A coroutine that
  /// waits in an awaitable of the user stays until that resumes it; the log names it.
  ~Activities();
  Activities(const Activities&) = delete;
  Activities& operator=(const Activities&) = delete;

  [[nodiscard]] bool can_run(const std::string& name) const {
    return registry_.find_activity(name) != nullptr;
  }
  /// Places that are neither used nor reserved.
  [[nodiscard]] std::size_t free_places() const noexcept {
    if (abandoned_.size() >= capacity_.max_abandoned) return 0;
    const std::size_t taken = running_.size() + reserved_places_;
    return taken >= capacity_.places ? 0 : capacity_.places - taken;
  }
  [[nodiscard]] bool is_function(const std::string& name) const;
  /// The part of them that functions may take: as many as there are threads, and a few that begin soon. More
  /// would wait here while other nodes are idle.
  [[nodiscard]] std::size_t free_functions() const noexcept;
  /// The same, or none if a fetch would bring too few.
  [[nodiscard]] std::size_t functions_to_fetch() const noexcept;
  /// Places for activities that a commit or a fetch under way may bring. Each is released right before its
  /// activity runs, and cancelled if none comes.
  void reserve(const Places& places) noexcept {
    reserved_places_ += places.all;
    reserved_functions_ += places.functions;
  }
  void release(const Places& places) noexcept {
    reserved_places_ -= places.all;
    reserved_functions_ -= places.functions;
  }
  void cancel_reservation(const Places& places) {
    release(places);
    if (places.all > 0) events_.place_freed();
  }
  [[nodiscard]] std::size_t running() const noexcept { return running_.size(); }
  /// Any thread.
  [[nodiscard]] std::size_t abandoned() const noexcept { return abandoned_count_.load(); }
  /// Sessions with an activity on this node.
  [[nodiscard]] std::vector<std::string> active_sessions() const;

  /// `since`: when the call that returned the lease was sent. After stop_all() the lease is released instead.
  void run(LeasedActivity leased, LeaseTime since);
  /// Asks the activity held under `lease` to stop. The news of a stolen lease can overtake the lease itself:
  /// while a fetch or a commit that may bring it is under way, it is remembered. `decided`: when this node
  /// decided the stop, if it did.
  void stop(const ActivityLease& lease, StopCause cause, CancelReason reason,
            std::optional<LeaseTime> decided = std::nullopt);
  /// Asks the activity to stop, whatever its lease token.
  void stop(const ActivityKey& key, CancelReason reason);
  /// The lease of the activity is gone. Its stop token fires without the loop, which may be blocked. Any
  /// thread.
  void lease_gone(const std::shared_ptr<detail::ActivityState>& state, StopCause cause, CancelReason reason);
  /// A time limit of the running activity has passed: fails it, and asks it to stop. Any thread.
  void limit_passed(const std::shared_ptr<detail::ActivityState>& state, TimeoutKind which);
  void stop_execution(Incarnation incarnation, ExecutionId execution, CancelReason reason);
  /// The runtime is stopping: from now on no activity begins.
  void stop_all();
  /// No other activity runs any more, and nothing will renew the leases of those that a shutdown abandoned.
  void release_abandoned();

 private:
  struct Running {
    std::shared_ptr<detail::ActivityState> state;
    std::shared_ptr<const ActivityHandler> handler;
    LeaseTime began;
    LeaseTime stop_asked{};
    bool timed_out = false;  // its failure was reported
    [[nodiscard]] const ActivityLease& lease() const noexcept { return state->work().lease; }
    [[nodiscard]] bool is_function() const noexcept {
      return std::holds_alternative<ActivityHandler::Function>(handler->run);
    }
  };
  static constexpr double unknown_function = 10;
  using AttemptKey = std::pair<ActivityKey, LeaseToken>;
  struct CoroutineRun;
  using Outcome = std::variant<Payload, Failure>;
  void run_function(const Running& running);
  void run_coroutine(const Running& running);
  [[nodiscard]] std::shared_ptr<detail::ActivityState> begin(
      const std::weak_ptr<detail::ActivityState>& queued);
  void ask_to_stop(const ActivityKey& key, StopCause cause, CancelReason reason,
                   std::optional<LeaseTime> decided);
  detail::StopAnswer request_stop(const std::shared_ptr<detail::ActivityState>& state, StopCause cause,
                                  CancelReason reason, const StopNotifier::Cancel& cancel);
  void asked_to_stop(const detail::ActivityState& state, detail::StopAnswer answer, LeaseTime asked);
  void fail_overdue(const detail::ActivityState& state, detail::StopAnswer answer, LeaseTime asked);
  void report_timeout(Running& running);
  void note_function_time(Duration took) noexcept;
  [[nodiscard]] std::size_t prefetch() const noexcept;
  void ended(const ActivityLease& lease, Outcome result);
  void deliver(Running& running, std::optional<Heartbeat> unsent, Outcome result);
  [[nodiscard]] std::optional<Payload> details_for_retry(const detail::ActivityState& state) const;
  void condemn(LeasedActivity leased);
  void check_grace_at(const ActivityLease& lease, LeaseTime when);
  void check_grace(const ActivityLease& lease);
  void abandon(const ActivityLease& lease);
  void release_lease(const Running& running);
  void leave_session(const Running& running);
  void count_abandoned();
  void count_lost(const ActivityKey& key);

  // On a thread of the activities' lane.
  void call_function(const std::weak_ptr<detail::ActivityState>& queued, const ActivityHandler& handler);
  // On the activity loop.
  void begin_coroutine(const std::weak_ptr<detail::ActivityState>& queued,
                       const std::shared_ptr<const ActivityHandler>& handler);
  void coroutine_ended(CoroutineRun& run);
  void destroy_or_abandon(const ActivityLease& lease);
  // On the thread that ends the coroutine, perhaps after the end of this object.
  static void coroutine_returned(Activities* self, detail::ActivityLink& link,
                                 std::shared_ptr<CoroutineRun>& run);

  // Fixed at construction.
  const detail::ActivityHost host_;
  Env& env_;
  const Registry& registry_;
  const ActivityCapacity capacity_;
  const Instruments& instruments_;
  ActivityEvents& events_;
  const std::shared_ptr<detail::ActivityLink> link_;  // activities share it: they may outlive us
  StopNotifier notifier_;

  // The loop's.
  std::unordered_map<ActivityKey, Running> running_;
  std::size_t reserved_places_ = 0;
  std::size_t reserved_functions_ = 0;
  std::size_t functions_ = 0;                    // of running_
  double function_ms_ = unknown_function;        // about how long a function runs
  std::map<std::string, std::size_t> sessions_;  // how many activities each has here
  std::map<AttemptKey, Running> abandoned_;
  std::unordered_map<ActivityKey, std::uint32_t> lost_;  // leases, while their activities have not ended
  EarlyNews stolen_early_;
  LaneThreads threads_;
  bool stopping_ = false;
  std::atomic<std::size_t> abandoned_count_{0};  // written by the loop

  // The activity loop's. The key includes the lease token: an activity whose lease was lost and returned is
  // here twice.
  std::map<AttemptKey, std::shared_ptr<CoroutineRun>> coroutines_;
};

}  // namespace duramen::inline v0::runtime
