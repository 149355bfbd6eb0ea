#include "bench/forwarding_provider.hpp"

namespace bench {

namespace dm = duramen;

std::string_view ForwardingProvider::name() const noexcept { return inner_->name(); }
const dm::Clock& ForwardingProvider::clock() const noexcept { return inner_->clock(); }

dm::Result<std::vector<dm::StartOutcome>> ForwardingProvider::start_instances(
    std::span<const dm::StartRequest> requests) {
  return inner_->start_instances(requests);
}
dm::Result<std::vector<dm::EnqueueOutcome>> ForwardingProvider::enqueue_for_orchestrator(
    std::span<const dm::OutboundMessage> messages) {
  return inner_->enqueue_for_orchestrator(messages);
}
dm::Result<dm::OrchestrationBatch> ForwardingProvider::fetch_orchestration_items(
    const dm::OrchestrationFetch& request) {
  return inner_->fetch_orchestration_items(request);
}
dm::Result<std::vector<dm::Event>> ForwardingProvider::read_history(const dm::InstanceId& instance,
                                                                    dm::ExecutionId execution,
                                                                    dm::EventId after) {
  return inner_->read_history(instance, execution, after);
}
dm::Result<std::vector<dm::CommitResult>> ForwardingProvider::ack_orchestration_items(
    std::span<const dm::TurnCommit> commits) {
  return inner_->ack_orchestration_items(commits);
}
dm::Result<void> ForwardingProvider::abandon_orchestration_items(std::span<const dm::TurnAbandon> items) {
  return inner_->abandon_orchestration_items(items);
}
dm::Result<std::vector<bool>> ForwardingProvider::renew_orchestration_item_locks(
    std::span<const dm::TurnLease> leases, dm::Duration extend) {
  return inner_->renew_orchestration_item_locks(leases, extend);
}
dm::Result<dm::WorkBatch> ForwardingProvider::fetch_work_items(const dm::WorkFetch& request) {
  return inner_->fetch_work_items(request);
}
dm::Result<std::vector<dm::AckResult>> ForwardingProvider::ack_work_items(std::span<const dm::WorkAck> acks) {
  return inner_->ack_work_items(acks);
}
dm::Result<std::vector<dm::RenewResult>> ForwardingProvider::renew_work_item_locks(
    std::span<const dm::WorkLease> leases, dm::Duration extend) {
  return inner_->renew_work_item_locks(leases, extend);
}
dm::Result<void> ForwardingProvider::abandon_work_items(std::span<const dm::WorkAbandon> items) {
  return inner_->abandon_work_items(items);
}
dm::Result<std::vector<dm::StolenLease>> ForwardingProvider::read_stolen_leases(const dm::NodeId& node) {
  return inner_->read_stolen_leases(node);
}
dm::Result<std::optional<dm::InstanceInfo>> ForwardingProvider::get_instance(const dm::InstanceId& instance) {
  return inner_->get_instance(instance);
}
dm::Result<dm::KeyValues> ForwardingProvider::get_key_values(const dm::InstanceId& instance) {
  return inner_->get_key_values(instance);
}
std::unique_ptr<dm::Subscription> ForwardingProvider::subscribe(dm::NodeId node,
                                                                dm::ProviderListener& listener) {
  return inner_->subscribe(std::move(node), listener);
}

}  // namespace bench
