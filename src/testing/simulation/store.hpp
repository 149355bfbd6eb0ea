// The store that the nodes of a simulation share: it enters every change in the ledger.
#pragma once

#include "testing/simulation/ledger.hpp"
#include <duramen/testing/forwarding_provider.hpp>

#include <memory>

namespace duramen::inline v0::testing {

class AuditedStore final : public ForwardingProvider {
 public:
  AuditedStore(std::shared_ptr<Provider> inner, Ledger& ledger, std::size_t max_messages_per_fetch)
      : ForwardingProvider(std::move(inner)), ledger_(ledger), max_messages_(max_messages_per_fetch) {}

  [[nodiscard]] Result<std::vector<StartOutcome>> start_instances(
      std::span<const StartRequest> requests) override;
  [[nodiscard]] Result<std::vector<EnqueueOutcome>> enqueue_messages(
      std::span<const OutboundMessage> messages) override;

  [[nodiscard]] Result<TurnBatch> fetch_turns(const TurnFetch& request) override;
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

  /// Due after every few batches. It does nothing: it only runs between other calls.
  [[nodiscard]] bool wants_maintenance() const noexcept override { return batches_since_maintenance_ >= 5; }
  void maintain(const std::stop_token& preempt) noexcept override;
  /// True every other time, as if other processes wrote.
  [[nodiscard]] bool is_contended() const noexcept override { return batches_since_maintenance_ % 2 != 0; }

 private:
  Ledger& ledger_;
  const std::size_t max_messages_;  ///< of one instance in a fetch; 0: as many as the node asks for
  int batches_since_maintenance_ = 0;
};

}  // namespace duramen::inline v0::testing
