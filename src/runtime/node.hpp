// A node: everything one runtime does on its loop, put together.
//
// It decides when to fetch work, and passes on what arrives: instances to Turns, activities to Activities,
// stolen and lost leases to Activities::stop. Production and simulator run the same code; only the Env
// differs.
#pragma once

#include "runtime/activities.hpp"
#include "runtime/fetch_gate.hpp"
#include "runtime/gauges.hpp"
#include "runtime/instruments.hpp"
#include "runtime/lease_keeper.hpp"
#include "runtime/log.hpp"
#include "runtime/node_record.hpp"
#include "runtime/session_keeper.hpp"
#include "runtime/turn_leases.hpp"
#include "runtime/turns.hpp"
#include "runtime/watchdog.hpp"
#include "store/local_hub.hpp"
#include <duramen/env.hpp>
#include <duramen/provider.hpp>
#include <duramen/registry.hpp>
#include <duramen/runtime.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace duramen::inline v0::runtime {

class Node final : public ProviderListener,
                   public detail::LocalRuntime,
                   private TurnEvents,
                   private ActivityEvents,
                   private LeaseEvents {
 public:
  /// `options` must be complete: node id and log set.
  Node(Env& env, Store store, Registry registry, RuntimeOptions options);
  ~Node() override;

  /// Begins to take work. Called once, from any thread.
  void run();
  /// Logs turns that take too long by the real clock. Not called in a simulation.
  void watch_turns() { watchdog_.start(); }
  /// Any thread.
  [[nodiscard]] std::size_t abandoned_activities() const noexcept { return activities_.abandoned(); }
  /// Takes no more work. Calls `done` on the loop when nothing of this node is under way. After `deadline`
  /// running activities are asked to stop.
  void shut_down(Duration deadline, UniqueFunction<void()> done);

  // ProviderListener: any thread.
  void turns_ready() override;
  void activities_ready() override;
  void leases_stolen(std::span<const StolenLease> stolen) override;
  void stolen_leases_pending() override;
  void instances_changed(std::span<const ChangedInstance> /*instances*/) override {}  // for clients
  void unknown_instances_changed() override {}                                        // for clients

  // LocalRuntime: any thread.
  [[nodiscard]] const NodeId& node() const override { return options_.node; }
  [[nodiscard]] bool runs(const message::StartOrchestration& start) const override;
  void start(StartRequest request, UniqueFunction<void(Result<StartOutcome>)> done) override;
  void cancel(std::shared_ptr<detail::LocalCancel> request) override;
  void counted(const detail::StoreGauges& gauges) override;

 private:
  // TurnEvents: the loop.
  void timer_created(TimePoint due) override;
  void activity_limited(TimePoint due) override;
  void commit_stole(const StolenLease& stolen, LeaseTime decided) override;
  void instance_ended(const InstanceId& instance, const detail::EndedInstance& end) override;

  // ActivityEvents: the loop.
  void activity_finished(FinishedActivity activity) override;
  void activity_released(ActivityRenewal activity) override;
  void place_freed() override;

  // LeaseEvents: the lease loop, or the lane `leases`.
  void lease_gone(const std::shared_ptr<detail::ActivityState>& holder, const RenewResult& why) override;
  void limit_passed(const std::shared_ptr<detail::ActivityState>& holder, TimeoutKind which) override;

  // Fetching work: the loop.
  void begin_work(LeaseTime listed);
  [[nodiscard]] bool may_work() const noexcept;
  void poll();
  void follow_turn_hint();
  void follow_activity_hint();
  void fetch_turns();
  void fetch_turns_later();
  void fetch_postponed_turns();
  void turns_arrived(Result<TurnBatch> batch);
  void turn_fetch_finished(bool more);
  void fetch_activities();
  void activities_arrived(Result<ActivityBatch> batch, LeaseTime sent, Places reserved);
  void take_activity(LeasedActivity leased, LeaseTime sent);
  void activity_fetch_finished(bool more);
  /// The next planned fetch of turns, or of activities.
  struct WakeUp {
    void (Node::*fetch)();
    std::optional<TimePoint> at = {};
  };
  void wake_at(WakeUp& wake_up, TimePoint due);
  void wake(WakeUp& wake_up, TimePoint due);

  // Other work: the loop.
  void release_gathered();
  void stop_stolen(const std::vector<StolenLease>& stolen);
  void run_cancel(detail::LocalCancel& request);
  void sweep_at(TimePoint due);
  void sweep_if_due(TimePoint due);
  void sweep();
  void swept(const Result<SweepResult>& result);
  void report_gauges(const detail::StoreGauges& gauges);
  void report_node();
  void reported(LeaseTime began);
  void report_later(LeaseTime last);
  void begin_shutdown(Duration deadline, UniqueFunction<void()> done);
  void check_drained();
  void finish_if_drained();
  [[nodiscard]] bool is_drained() const;

  // On the store's lane.
  void call_fetch_turns();
  void release_late(std::vector<LeasedInstance>& items);
  void call_fetch_activities(const Places& places, const std::optional<SessionClaim>& claim);
  [[nodiscard]] Result<ActivityBatch> fetch_kinds(const Places& places, ActivityFetch request);
  void call_read_stolen_leases();
  void call_sweep();
  void call_release_activities(const std::vector<ActivityRenewal>& released);
  void call_release_sessions(UniqueFunction<void()> done);
  void check_drained_later();

  [[nodiscard]] std::string session_owner() const;
  [[nodiscard]] TurnOptions turn_options() const;

  // Fixed at construction.
  Env& env_;
  const Store store_;
  const Instruments instruments_;
  const std::shared_ptr<Provider> metered_;  // null without metrics
  Provider& provider_;
  const Registry registry_;
  const RuntimeOptions options_;
  const Log log_;
  const std::vector<RegisteredOrchestration> orchestrations_;
  const std::vector<std::string> activity_names_;
  const std::vector<std::string> function_names_;
  const std::vector<std::string> coroutine_names_;

  NodeReporter reporter_;  // any thread

  // The loop's.
  Watchdog watchdog_;
  LeaseKeeper leases_;
  TurnLeases turn_leases_;
  SessionKeeper sessions_;
  Activities activities_;
  Turns turns_;
  Gauges gauges_;
  FetchGate turn_gate_;
  FetchGate activity_gate_;
  bool functions_wait_ = false;    // the last fetch left them out, because all their places are taken
  bool coroutines_first_ = false;  // the store lane's: the kinds take turns
  // A timer will fetch turns, when fewer are being stored.
  bool fetching_later_ = false;
  WakeUp for_turns_{&Node::fetch_turns};
  WakeUp for_activities_{&Node::fetch_activities};
  std::optional<TimePoint> sweep_;         // when the next sweep is due
  std::vector<ActivityRenewal> released_;  // not sent to the store yet
  bool sweeping_ = false;
  bool reporting_ = false;
  bool was_listed_ = false;  // after the last report
  bool stopping_ = false;
  UniqueFunction<void()> drained_;

  std::unique_ptr<Subscription> subscription_;
};

}  // namespace duramen::inline v0::runtime
