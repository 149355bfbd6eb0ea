// A node: everything one runtime does on its loop, put together.
//
// Decides when to ask the store for work, and passes on what comes: instances to Turns, activities to
// Activities, ends of leases to whoever held them. It is the same code in production and in the simulator;
// only the Env differs.
#pragma once

#include "runtime/activities.hpp"
#include "runtime/committer.hpp"
#include "runtime/gauges.hpp"
#include "runtime/instruments.hpp"
#include "runtime/lease_keeper.hpp"
#include "runtime/log.hpp"
#include "runtime/session_keeper.hpp"
#include "runtime/turns.hpp"
#include "runtime/watchdog.hpp"
#include "store/local_hub.hpp"
#include <duramen/env.hpp>
#include <duramen/provider.hpp>
#include <duramen/registry.hpp>
#include <duramen/runtime.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace duramen::inline v0::runtime {

class Node final : public ProviderListener, public detail::LocalRuntime {
 public:
  /// `options` must be complete: node id and log set.
  Node(Env& env, Store store, Registry registry, RuntimeOptions options);
  ~Node() override;

  /// Begins to take work. Called once, from any thread.
  void run();
  /// Names turns that take too long, by the clock on the wall: nothing for a simulated one.
  void watch_turns() { watchdog_.start(); }
  /// Any thread.
  [[nodiscard]] std::size_t abandoned_activities() const noexcept { return activities_.abandoned(); }
  /// Takes no more work; `done` is called on the loop when nothing of this node is under way. After
  /// `deadline` running activities are told to stop.
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
  /// Asking for one kind of work: at most one question at a time, and one more if something came up
  /// meanwhile.
  struct Asking {
    bool under_way = false;
    bool again = false;
    std::atomic<bool> hinted{false};  // a hint is on its way to the loop
  };
  void hint(Asking& asking, void (Node::*ask)());
  [[nodiscard]] bool begin(Asking& asking) const;
  void ask_for_turns();
  void ask_for_activities();
  void turns_arrived(Result<TurnBatch> batch);
  void activities_arrived(Result<ActivityBatch> batch, LeaseTime sent, std::size_t reserved);
  void answered(Asking& asking, bool ask_again, void (Node::*ask)());
  void wake_at(TimePoint due);
  void poll();
  void sweep_at(TimePoint due);
  void sweep();
  void read_stolen();
  void lease_gone(const ActivityLease& lease, const RenewResult& why);
  void give_back(ActivityRenewal work);
  void check_drained();
  [[nodiscard]] std::string session_owner() const;

  // Fixed at construction.
  Env& env_;
  const Store store_;
  const Instruments instruments_;
  const std::shared_ptr<Provider> metered_;  // if anybody counts
  Provider& provider_;
  const Registry registry_;
  const RuntimeOptions options_;
  const Log log_;
  const std::vector<RegisteredOrchestration> orchestrations_;
  const std::vector<std::string> activity_names_;

  // The loop's.
  Watchdog watchdog_;
  LeaseKeeper leases_;
  SessionKeeper sessions_;
  Committer committer_;
  Activities activities_;
  Turns turns_;
  Gauges gauges_;
  Asking asking_turns_;
  Asking asking_activities_;
  bool asking_later_ = false;       // a timer will ask for turns, when fewer are being stored
  std::optional<TimePoint> wake_;   // when the next timer is looked for
  std::optional<TimePoint> sweep_;  // when overdue work is looked for
  bool sweeping_ = false;
  bool stopping_ = false;
  UniqueFunction<void()> drained_;

  std::unique_ptr<Subscription> subscription_;
};

}  // namespace duramen::inline v0::runtime
