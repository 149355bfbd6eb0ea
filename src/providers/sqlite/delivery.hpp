// Delivers a message: it creates its instance, is queued, is parked or is dropped.
#pragma once

#include "providers/common/notices.hpp"
#include "providers/sqlite/instances.hpp"
#include "providers/sqlite/key_value_table.hpp"
#include "providers/sqlite/number_allocator.hpp"
#include "providers/sqlite/orchestrator_queue.hpp"
#include "providers/sqlite/parked_messages.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include "providers/sqlite/worker_queue.hpp"
#include <duramen/provider.hpp>

#include <cstdint>
#include <optional>

namespace duramen::inline v0::sqlite::detail {

class Delivery {
 public:
  Delivery(NumberAllocator& numbers, Instances& instances, OrchestratorQueue& queue, ParkedMessages& parked,
           WorkerQueue& workers, KeyValueTable& key_values)
      : numbers_(numbers),
        instances_(instances),
        queue_(queue),
        parked_(parked),
        workers_(workers),
        key_values_(key_values) {}

  /// Inserts the instance as pending, with its message and its parked messages.
  [[nodiscard]] StartOutcome start(const TransactionTime& time, const StartRequest& request,
                                   providers::Notices& notices);
  /// Any message but a start.
  [[nodiscard]] EnqueueOutcome deliver(const TransactionTime& time, const OutboundMessage& message,
                                       providers::Notices& notices);
  /// False: the id is taken. A child is born with `cancel`: it is queued behind the start.
  [[nodiscard]] bool deliver_start(const TransactionTime& time, const OutboundMessage& message,
                                   const message::StartOrchestration& start,
                                   const std::optional<message::CancelInstance>& cancel,
                                   providers::Notices& notices);

  /// Stores a cancel that counts. One from a parent is noted as descending if any node can decide it.
  void store_cancel(const TransactionTime& time, InstanceRow& target, const InstanceId& id,
                    const message::CancelInstance& cancel, providers::Notices& notices);

  /// Deletes the worker row and, if it was held under that lease, enqueues the completion.
  [[nodiscard]] AckResult acknowledge(const TransactionTime& time, const ActivityAck& ack,
                                      providers::Notices& notices);
  /// The same for a row that is already deleted. `heartbeat` are the last details of a failed attempt.
  void enqueue_completion(const TransactionTime& time, const ActivityAck& ack,
                          std::optional<Payload> heartbeat, providers::Notices& notices);
  /// The last heartbeat details of a failed attempt. Read before the row is deleted.
  [[nodiscard]] std::optional<Payload> heartbeat_of(const ActivityAck& ack);
  /// The reason why a lease no longer holds.
  [[nodiscard]] AckResult refusal(const TransactionTime& time, const ActivityLease& lease);

  /// The outcome of a start that `taken` prevents; empty if `taken` may be replaced.
  [[nodiscard]] static std::optional<StartOutcome> refusal(const InstanceRow& taken,
                                                           const StartRequest& request);
  /// Erases all rows of an instance: its id becomes free.
  void erase_instance(const TransactionTime& time, Incarnation key, providers::Notices& notices);

 private:
  [[nodiscard]] bool is_child_of(Incarnation key, const ParentLink& link);
  std::int64_t enqueue(const TransactionTime& time, const InstanceRow& target, const InstanceId& id,
                       const MessageBody& item, providers::Notices& notices);

  NumberAllocator& numbers_;
  Instances& instances_;
  OrchestratorQueue& queue_;
  ParkedMessages& parked_;
  WorkerQueue& workers_;
  KeyValueTable& key_values_;
};

}  // namespace duramen::inline v0::sqlite::detail
