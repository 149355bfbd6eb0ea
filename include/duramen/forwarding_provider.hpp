// A provider that forwards every call to another: the base of providers that observe, count, fail or return
// wrong answers.
//
// Override `before` and `after` to act on every call, or single methods to act on one.
#pragma once

#include <duramen/provider.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace duramen::inline v0 {

/// One call to a provider.
struct ProviderCall {
  std::string_view operation;  ///< the method's name: "commit_turns"
  bool changes = true;         ///< false for pure reads
  std::uint64_t note = 0;      ///< passed from `before` to `after`
};

/// Forwards every call to another provider. Derive from it and override the methods that should differ.
class ForwardingProvider : public Provider {
 public:
  explicit ForwardingProvider(std::shared_ptr<Provider> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  [[nodiscard]] std::string_view store_id() const noexcept override { return inner_->store_id(); }
  [[nodiscard]] const Clock& clock() const noexcept override { return inner_->clock(); }

  [[nodiscard]] Result<std::vector<StartOutcome>> start_instances(
      std::span<const StartRequest> requests) override;
  [[nodiscard]] Result<std::vector<EnqueueOutcome>> enqueue_messages(
      std::span<const OutboundMessage> messages) override;
  [[nodiscard]] Result<TurnBatch> fetch_turns(const TurnFetch& request) override;
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution,
                                                        EventId after) override;
  /// Asks the other provider about tokens, and reads by read_history().
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
  [[nodiscard]] bool wants_maintenance() const noexcept override { return inner_->wants_maintenance(); }
  [[nodiscard]] bool is_contended() const noexcept override { return inner_->is_contended(); }
  void maintain(const std::stop_token& preempt) noexcept override { inner_->maintain(preempt); }
  [[nodiscard]] Result<StoreMetrics> get_metrics() override;
  [[nodiscard]] Result<InstanceCount> count_instances(Incarnation after, std::size_t limit) override;
  [[nodiscard]] Result<QueueDepths> get_queue_depths() override;

  [[nodiscard]] std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override {
    return inner_->subscribe(std::move(node), listener);
  }

 protected:
  /// Called before the inner provider. If it returns an error, that is the answer, and the inner provider is
  /// not called.
  virtual std::optional<Error> before(ProviderCall& /*call*/) { return std::nullopt; }
  /// Called after the inner provider. If it returns an error, that replaces the inner provider's answer.
  virtual std::optional<Error> after(const ProviderCall& /*call*/) { return std::nullopt; }
  /// Receives the inner provider's outcome: null means success.
  virtual void answered(const ProviderCall& /*call*/, const Error* /*error*/) {}

  [[nodiscard]] Provider& inner() noexcept { return *inner_; }

 private:
  template <class Call>
  auto pass(ProviderCall call, Call run) -> decltype(run(std::declval<Provider&>()));

  const std::shared_ptr<Provider> inner_;
};

}  // namespace duramen::inline v0
