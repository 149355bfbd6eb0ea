// A provider that fails when told to, in front of one that works.
//
// Two things can go wrong between a runtime and its store: the call never got there, or it did and the answer
// was lost. The caller cannot tell them apart, so both are the same retryable error; what the store holds
// differs. Push passes through.
#pragma once

#include <duramen/provider.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace duramen::inline v0::testing {

enum class Fault : std::uint8_t {
  none,
  error,        ///< the inner provider is not called
  lost_answer,  ///< the inner provider is called, and its answer thrown away
};

/// One call on its way to the store.
struct ProviderCall {
  std::string_view operation;  ///< the method's name: "ack_orchestration_items"
  std::uint64_t number = 1;    ///< counted from 1 over all calls of this provider
  bool changes = true;         ///< false for pure reads
};

/// Decides the fate of each call. Called under a lock, one call at a time.
using FaultSchedule = std::function<Fault(const ProviderCall&)>;

/// Each call fails with the chance `rate` (0 to 1), half of them by losing the answer. The same seed gives
/// the same faults to the same sequence of calls.
[[nodiscard]] FaultSchedule random_faults(std::uint64_t seed, double rate);

/// Only the `nth` call (from 1) of `operation` fails.
[[nodiscard]] FaultSchedule single_fault(std::string operation, std::uint64_t nth, Fault fault);

/// Thread-safe if the inner provider is.
class FaultyProvider final : public Provider {
 public:
  FaultyProvider(std::shared_ptr<Provider> inner, FaultSchedule schedule);
  ~FaultyProvider() override;

  /// How many faults have been injected so far.
  [[nodiscard]] std::uint64_t faults() const;

  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] const Clock& clock() const noexcept override;

  [[nodiscard]] Result<std::vector<StartOutcome>> start_instances(
      std::span<const StartRequest> requests) override;
  [[nodiscard]] Result<std::vector<EnqueueOutcome>> enqueue_for_orchestrator(
      std::span<const OutboundMessage> messages) override;

  [[nodiscard]] Result<OrchestrationBatch> fetch_orchestration_items(
      const OrchestrationFetch& request) override;
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution,
                                                        EventId after) override;
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
  [[nodiscard]] Result<std::vector<StolenLease>> read_stolen_leases(const NodeId& node) override;

  [[nodiscard]] Result<std::optional<InstanceInfo>> get_instance(const InstanceId& instance) override;
  [[nodiscard]] Result<KeyValues> get_key_values(const InstanceId& instance) override;

  [[nodiscard]] std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duramen::inline v0::testing
