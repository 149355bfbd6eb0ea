#include "testing/simulation_store.hpp"

namespace duramen::inline v0::testing {

Result<std::vector<StartOutcome>> AuditedStore::start_instances(std::span<const StartRequest> requests) {
  auto answer = inner().start_instances(requests);
  for (std::size_t i = 0; answer && i < requests.size(); ++i) ledger_.started(requests[i], answer->at(i));
  return answer;
}

Result<std::vector<EnqueueOutcome>> AuditedStore::enqueue_for_orchestrator(
    std::span<const OutboundMessage> messages) {
  auto answer = inner().enqueue_for_orchestrator(messages);
  for (std::size_t i = 0; answer && i < messages.size(); ++i) ledger_.enqueued(messages[i], answer->at(i));
  return answer;
}

Result<OrchestrationBatch> AuditedStore::fetch_orchestration_items(const OrchestrationFetch& request) {
  auto answer = inner().fetch_orchestration_items(request);
  if (answer) {
    for (const OrchestrationItem& item : answer->items) ledger_.fetched(request, item);
  }
  return answer;
}

Result<std::vector<CommitResult>> AuditedStore::ack_orchestration_items(std::span<const TurnCommit> commits,
                                                                        const std::stop_token& hurry) {
  auto answer = inner().ack_orchestration_items(commits, hurry);
  ++untidy_batches_;
  for (std::size_t i = 0; answer && i < answer->size(); ++i) ledger_.committed(commits[i], answer->at(i));
  return answer;
}

Result<void> AuditedStore::abandon_orchestration_items(std::span<const TurnAbandon> items) {
  auto answer = inner().abandon_orchestration_items(items);
  for (std::size_t i = 0; answer && i < items.size(); ++i) ledger_.abandoned(items[i]);
  return answer;
}

Result<std::vector<bool>> AuditedStore::renew_orchestration_item_locks(std::span<const TurnLease> leases,
                                                                       Duration extend) {
  auto answer = inner().renew_orchestration_item_locks(leases, extend);
  for (std::size_t i = 0; answer && i < leases.size(); ++i) ledger_.renewed(leases[i], extend, answer->at(i));
  return answer;
}

Result<WorkBatch> AuditedStore::fetch_work_items(const WorkFetch& request) {
  auto answer = inner().fetch_work_items(request);
  if (answer) {
    for (const WorkItemLeased& item : answer->items) ledger_.fetched(request, item);
  }
  return answer;
}

Result<std::vector<AckResult>> AuditedStore::ack_work_items(std::span<const WorkAck> acks) {
  auto answer = inner().ack_work_items(acks);
  for (std::size_t i = 0; answer && i < acks.size(); ++i) ledger_.acknowledged(acks[i], answer->at(i));
  return answer;
}

Result<std::vector<RenewResult>> AuditedStore::renew_work_item_locks(std::span<const WorkRenewal> leases,
                                                                     Duration extend) {
  auto answer = inner().renew_work_item_locks(leases, extend);
  for (std::size_t i = 0; answer && i < leases.size(); ++i)
    ledger_.renewed(leases[i].lease, extend, answer->at(i));
  return answer;
}

Result<void> AuditedStore::abandon_work_items(std::span<const WorkAbandon> items) {
  auto answer = inner().abandon_work_items(items);
  for (std::size_t i = 0; answer && i < items.size(); ++i) ledger_.abandoned(items[i]);
  return answer;
}

void AuditedStore::tidy(const std::stop_token& hurry) noexcept {
  if (!hurry.stop_requested()) untidy_batches_ = 0;
}

}  // namespace duramen::inline v0::testing
