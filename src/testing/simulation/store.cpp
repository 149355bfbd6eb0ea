#include "testing/simulation/store.hpp"

#include <algorithm>

namespace duramen::inline v0::testing {

Result<std::vector<StartOutcome>> AuditedStore::start_instances(std::span<const StartRequest> requests) {
  auto answer = inner().start_instances(requests);
  for (std::size_t i = 0; answer && i < requests.size(); ++i) ledger_.started(requests[i], answer->at(i));
  return answer;
}

Result<std::vector<EnqueueOutcome>> AuditedStore::enqueue_messages(
    std::span<const OutboundMessage> messages) {
  auto answer = inner().enqueue_messages(messages);
  for (std::size_t i = 0; answer && i < messages.size(); ++i) ledger_.enqueued(messages[i], answer->at(i));
  return answer;
}

Result<TurnBatch> AuditedStore::fetch_turns(const TurnFetch& request) {
  TurnFetch limited = request;
  if (max_messages_ > 0) limited.max_messages = std::min(limited.max_messages, max_messages_);
  auto answer = inner().fetch_turns(limited);
  if (answer) {
    for (const LeasedInstance& item : answer->items) ledger_.fetched(request, item);
  }
  return answer;
}

Result<std::vector<CommitResult>> AuditedStore::commit_turns(std::span<const TurnCommit> commits,
                                                             const std::stop_token& preempt) {
  auto answer = inner().commit_turns(commits, preempt);
  ++batches_since_maintenance_;
  for (std::size_t i = 0; answer && i < answer->size(); ++i) ledger_.committed(commits[i], answer->at(i));
  return answer;
}

Result<void> AuditedStore::release_turns(std::span<const TurnRelease> items) {
  auto answer = inner().release_turns(items);
  for (std::size_t i = 0; answer && i < items.size(); ++i) ledger_.released(items[i]);
  return answer;
}

Result<std::vector<bool>> AuditedStore::renew_turns(std::span<const TurnLease> leases, Duration extend) {
  auto answer = inner().renew_turns(leases, extend);
  for (std::size_t i = 0; answer && i < leases.size(); ++i) ledger_.renewed(leases[i], extend, answer->at(i));
  return answer;
}

Result<ActivityBatch> AuditedStore::fetch_activities(const ActivityFetch& request) {
  auto answer = inner().fetch_activities(request);
  if (answer) {
    for (const LeasedActivity& item : answer->items) ledger_.fetched(request, item);
  }
  return answer;
}

Result<std::vector<AckResult>> AuditedStore::ack_activities(std::span<const ActivityAck> acks) {
  auto answer = inner().ack_activities(acks);
  for (std::size_t i = 0; answer && i < acks.size(); ++i) ledger_.acknowledged(acks[i], answer->at(i));
  return answer;
}

Result<std::vector<RenewResult>> AuditedStore::renew_activities(std::span<const ActivityRenewal> leases,
                                                                Duration extend) {
  auto answer = inner().renew_activities(leases, extend);
  for (std::size_t i = 0; answer && i < leases.size(); ++i)
    ledger_.renewed(leases[i].lease, extend, answer->at(i));
  return answer;
}

Result<void> AuditedStore::release_activities(std::span<const ActivityRelease> items) {
  auto answer = inner().release_activities(items);
  for (std::size_t i = 0; answer && i < items.size(); ++i) ledger_.released(items[i]);
  return answer;
}

void AuditedStore::maintain(const std::stop_token& preempt) noexcept {
  if (!preempt.stop_requested()) batches_since_maintenance_ = 0;
}

}  // namespace duramen::inline v0::testing
