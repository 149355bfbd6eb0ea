// A provider that passes every call on: the base of those that watch.
#pragma once

#include <duramen/provider.hpp>

#include <memory>
#include <utility>

namespace bench {

class ForwardingProvider : public duramen::Provider {
 public:
  explicit ForwardingProvider(std::shared_ptr<duramen::Provider> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] const duramen::Clock& clock() const noexcept override;
  [[nodiscard]] duramen::Result<std::vector<duramen::StartOutcome>> start_instances(
      std::span<const duramen::StartRequest> requests) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::EnqueueOutcome>> enqueue_for_orchestrator(
      std::span<const duramen::OutboundMessage> messages) override;
  [[nodiscard]] duramen::Result<duramen::OrchestrationBatch> fetch_orchestration_items(
      const duramen::OrchestrationFetch& request) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::Event>> read_history(const duramen::InstanceId& instance,
                                                                          duramen::ExecutionId execution,
                                                                          duramen::EventId after) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::CommitResult>> ack_orchestration_items(
      std::span<const duramen::TurnCommit> commits) override;
  [[nodiscard]] duramen::Result<void> abandon_orchestration_items(
      std::span<const duramen::TurnAbandon> items) override;
  [[nodiscard]] duramen::Result<std::vector<bool>> renew_orchestration_item_locks(
      std::span<const duramen::TurnLease> leases, duramen::Duration extend) override;
  [[nodiscard]] duramen::Result<duramen::WorkBatch> fetch_work_items(
      const duramen::WorkFetch& request) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::AckResult>> ack_work_items(
      std::span<const duramen::WorkAck> acks) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::RenewResult>> renew_work_item_locks(
      std::span<const duramen::WorkLease> leases, duramen::Duration extend) override;
  [[nodiscard]] duramen::Result<void> abandon_work_items(
      std::span<const duramen::WorkAbandon> items) override;
  [[nodiscard]] duramen::Result<std::vector<duramen::StolenLease>> read_stolen_leases(
      const duramen::NodeId& node) override;
  [[nodiscard]] duramen::Result<std::optional<duramen::InstanceInfo>> get_instance(
      const duramen::InstanceId& instance) override;
  [[nodiscard]] duramen::Result<duramen::KeyValues> get_key_values(
      const duramen::InstanceId& instance) override;
  [[nodiscard]] std::unique_ptr<duramen::Subscription> subscribe(
      duramen::NodeId node, duramen::ProviderListener& listener) override;

 protected:
  [[nodiscard]] duramen::Provider& inner() noexcept { return *inner_; }

 private:
  const std::shared_ptr<duramen::Provider> inner_;
};

}  // namespace bench
