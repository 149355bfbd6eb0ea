// The store as a simulation's nodes share it: every change is entered in the ledger.
#pragma once

#include "testing/simulation_ledger.hpp"
#include <duramen/provider.hpp>

#include <memory>

namespace duramen::inline v0::testing {

class AuditedStore final : public Provider {
 public:
  AuditedStore(std::shared_ptr<Provider> inner, Ledger& ledger) : inner_(std::move(inner)), ledger_(ledger) {}

  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  [[nodiscard]] const Clock& clock() const noexcept override { return inner_->clock(); }

  [[nodiscard]] Result<std::vector<StartOutcome>> start_instances(
      std::span<const StartRequest> requests) override;
  [[nodiscard]] Result<std::vector<EnqueueOutcome>> enqueue_for_orchestrator(
      std::span<const OutboundMessage> messages) override;

  [[nodiscard]] Result<OrchestrationBatch> fetch_orchestration_items(
      const OrchestrationFetch& request) override;
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution,
                                                        EventId after) override {
    return inner_->read_history(instance, execution, after);
  }
  [[nodiscard]] Result<std::vector<CommitResult>> ack_orchestration_items(
      std::span<const TurnCommit> commits) override;
  [[nodiscard]] Result<void> abandon_orchestration_items(std::span<const TurnAbandon> items) override;
  [[nodiscard]] Result<std::vector<bool>> renew_orchestration_item_locks(std::span<const TurnLease> leases,
                                                                         Duration extend) override;

  [[nodiscard]] Result<WorkBatch> fetch_work_items(const WorkFetch& request) override;
  [[nodiscard]] Result<std::vector<AckResult>> ack_work_items(std::span<const WorkAck> acks) override;
  [[nodiscard]] Result<std::vector<RenewResult>> renew_work_item_locks(std::span<const WorkLease> leases,
                                                                       Duration extend) override;
  [[nodiscard]] Result<void> abandon_work_items(std::span<const WorkAbandon> items) override;
  [[nodiscard]] Result<std::vector<StolenLease>> read_stolen_leases(const NodeId& node) override {
    return inner_->read_stolen_leases(node);
  }

  [[nodiscard]] Result<std::optional<InstanceInfo>> get_instance(const InstanceId& instance) override {
    return inner_->get_instance(instance);
  }
  [[nodiscard]] Result<KeyValues> get_key_values(const InstanceId& instance) override {
    return inner_->get_key_values(instance);
  }
  [[nodiscard]] std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override {
    return inner_->subscribe(std::move(node), listener);
  }

 private:
  const std::shared_ptr<Provider> inner_;
  Ledger& ledger_;
};

}  // namespace duramen::inline v0::testing
