// The store as a simulation's nodes share it: every change is entered in the ledger.
#pragma once

#include "testing/simulation_ledger.hpp"
#include <duramen/testing/forwarding_provider.hpp>

#include <memory>

namespace duramen::inline v0::testing {

class AuditedStore final : public ForwardingProvider {
 public:
  AuditedStore(std::shared_ptr<Provider> inner, Ledger& ledger)
      : ForwardingProvider(std::move(inner)), ledger_(ledger) {}

  [[nodiscard]] Result<std::vector<StartOutcome>> start_instances(
      std::span<const StartRequest> requests) override;
  [[nodiscard]] Result<std::vector<EnqueueOutcome>> enqueue_for_orchestrator(
      std::span<const OutboundMessage> messages) override;

  [[nodiscard]] Result<OrchestrationBatch> fetch_orchestration_items(
      const OrchestrationFetch& request) override;
  [[nodiscard]] Result<std::vector<CommitResult>> ack_orchestration_items(
      std::span<const TurnCommit> commits, const std::stop_token& hurry) override;
  [[nodiscard]] Result<void> abandon_orchestration_items(std::span<const TurnAbandon> items) override;
  [[nodiscard]] Result<std::vector<bool>> renew_orchestration_item_locks(std::span<const TurnLease> leases,
                                                                         Duration extend) override;

  [[nodiscard]] Result<WorkBatch> fetch_work_items(const WorkFetch& request) override;
  [[nodiscard]] Result<std::vector<AckResult>> ack_work_items(std::span<const WorkAck> acks) override;
  [[nodiscard]] Result<std::vector<RenewResult>> renew_work_item_locks(std::span<const WorkRenewal> leases,
                                                                       Duration extend) override;
  [[nodiscard]] Result<void> abandon_work_items(std::span<const WorkAbandon> items) override;

  /// Due after every few batches. There is nothing to do: it is there to come between other calls.
  [[nodiscard]] bool wants_tidying() const noexcept override { return untidy_batches_ >= 5; }
  void tidy(const std::stop_token& hurry) noexcept override;
  /// As if others wrote, too, every other time.
  [[nodiscard]] bool is_contended() const noexcept override { return untidy_batches_ % 2 != 0; }

 private:
  Ledger& ledger_;
  int untidy_batches_ = 0;
};

}  // namespace duramen::inline v0::testing
