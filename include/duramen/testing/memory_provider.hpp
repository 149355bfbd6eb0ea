// The reference provider: plain maps behind one mutex. It defines the behaviour that provider.hpp leaves
// open.
//
// The object is the disk: it holds everything that commits stored. To simulate the crash of a node, destroy
// the runtime and keep the provider; the next runtime on the same object sees what a restarted process would
// see.
#pragma once

#include <duramen/provider.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace duramen::inline v0::testing {

struct MemoryTables;

struct MemoryOptions {
  /// Lease tokens come from a generator with this seed: calls in the same order get the same tokens.
  std::uint64_t seed = 1;
  /// The id of the store; empty: a random one.
  std::string store_id = {};
  /// The time that messages for a missing instance are kept.
  Duration parked_for = std::chrono::hours{1};
  /// The time that a stolen lease is reported as cancelled after its end.
  Duration tombstone_margin = std::chrono::minutes{1};
};

/// The contents of a store and its counters, for tests: leftovers, number of commits.
struct Snapshot {
  std::size_t instances = 0;
  std::size_t queued_messages = 0;
  std::size_t parked_messages = 0;
  std::size_t worker_rows = 0;
  std::size_t tombstones = 0;
  std::size_t sessions = 0;  ///< including ended ones, until a sweep

  std::uint64_t commit_calls = 0;  ///< calls of commit_turns
  std::uint64_t commits = 0;       ///< turns that these calls stored
  /// Parked messages whose instance was never started.
  std::uint64_t dropped_parked = 0;
};

/// Thread-safe; deterministic if called by one thread. Listeners are called on the caller's thread, before
/// the causing call returns.
class MemoryProvider final : public Provider {
 public:
  /// `clock` must outlive the provider.
  explicit MemoryProvider(const Clock& clock, MemoryOptions options = {});
  ~MemoryProvider() override;

  /// The current contents and counters.
  [[nodiscard]] Snapshot snapshot() const;

  [[nodiscard]] std::string_view name() const noexcept override { return "memory"; }
  [[nodiscard]] std::string_view store_id() const noexcept override;
  [[nodiscard]] const Clock& clock() const noexcept override;

  [[nodiscard]] Result<std::vector<StartOutcome>> start_instances(
      std::span<const StartRequest> requests) override;
  [[nodiscard]] Result<std::vector<EnqueueOutcome>> enqueue_messages(
      std::span<const OutboundMessage> messages) override;

  [[nodiscard]] Result<TurnBatch> fetch_turns(const TurnFetch& request) override;
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution,
                                                        EventId after) override;
  [[nodiscard]] std::vector<Result<std::vector<Event>>> read_histories(
      std::span<const HistoryRequest> requests) override;
  using Provider::commit_turns;
  [[nodiscard]] Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                               const std::stop_token& preempt) override;
  [[nodiscard]] Result<void> release_turns(std::span<const TurnRelease> items) override;
  [[nodiscard]] Result<std::vector<bool>> renew_turns(std::span<const TurnLease> leases,
                                                      Duration extend) override;

  [[nodiscard]] Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override;
  [[nodiscard]] Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override;
  [[nodiscard]] Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                                  Duration extend) override;
  [[nodiscard]] Result<void> release_activities(std::span<const ActivityRelease> items) override;
  [[nodiscard]] Result<std::vector<StolenLease>> read_stolen_leases(const NodeId& node) override;

  [[nodiscard]] Result<std::size_t> renew_sessions(std::span<const std::string> owners, Duration extend,
                                                   Duration idle_timeout) override;
  [[nodiscard]] Result<std::size_t> release_sessions(const std::string& owner) override;
  [[nodiscard]] Result<SweepResult> sweep(std::size_t limit) override;
  [[nodiscard]] Result<void> write_node(const NodeRecord& record) override;
  [[nodiscard]] Result<void> remove_node(const NodeId& node, const std::string& run) override;
  [[nodiscard]] Result<std::vector<NodeRecord>> list_nodes() override;
  [[nodiscard]] Result<std::uint32_t> get_write_level() override;
  [[nodiscard]] Result<WriteLevelRaise> raise_write_level(std::uint32_t level, Duration live_within) override;

  [[nodiscard]] Result<std::optional<InstanceInfo>> get_instance(const InstanceId& instance) override;
  [[nodiscard]] Result<KeyValues> get_key_values(const InstanceId& instance) override;
  [[nodiscard]] Result<InstancePage> list_instances(const InstanceQuery& query) override;
  [[nodiscard]] Result<std::vector<ExecutionInfo>> list_executions(const InstanceId& instance) override;
  [[nodiscard]] Result<std::vector<InstanceInfo>> get_instance_tree(const InstanceId& root) override;
  [[nodiscard]] Result<PendingWork> list_pending_work(const InstanceId& instance) override;
  [[nodiscard]] Result<std::vector<DeleteResult>> delete_instances(std::span<const InstanceId> instances,
                                                                   DeleteMode mode) override;
  [[nodiscard]] Result<std::vector<PruneResult>> prune_executions(std::span<const InstanceId> instances,
                                                                  const PruneOptions& options) override;
  [[nodiscard]] Result<StoreMetrics> get_metrics() override;
  [[nodiscard]] Result<InstanceCount> count_instances(Incarnation after, std::size_t limit) override;
  [[nodiscard]] Result<QueueDepths> get_queue_depths() override;

  [[nodiscard]] std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override;

 private:
  friend void with_tables(MemoryProvider& provider, const std::function<void(MemoryTables&)>& look);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duramen::inline v0::testing
