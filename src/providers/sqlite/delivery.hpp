// How a message finds its instance: creates it, is queued, waits for it, or reaches nobody.
#pragma once

#include "providers/sqlite/instances.hpp"
#include "providers/sqlite/key_value_table.hpp"
#include "providers/sqlite/listeners.hpp"
#include "providers/sqlite/moment.hpp"
#include "providers/sqlite/numbers.hpp"
#include "providers/sqlite/orchestrator_queue.hpp"
#include "providers/sqlite/parked_messages.hpp"
#include "providers/sqlite/worker_queue.hpp"
#include <duramen/provider.hpp>

#include <optional>

namespace duramen::inline v0::sqlite::detail {

class Delivery {
 public:
  Delivery(Numbers& numbers, Instances& instances, OrchestratorQueue& queue, ParkedMessages& parked,
           WorkerQueue& workers, KeyValueTable& key_values)
      : numbers_(numbers),
        instances_(instances),
        queue_(queue),
        parked_(parked),
        workers_(workers),
        key_values_(key_values) {}

  /// Inserts the instance as pending, with its message and what was parked for it.
  [[nodiscard]] StartOutcome start(const Moment& moment, const StartRequest& request, News& news);
  /// For a start, `duplicate` means that the id is taken.
  [[nodiscard]] EnqueueOutcome deliver(const Moment& moment, const OutboundMessage& message, News& news);

  /// Deletes the worker row and, if it was held under that lease, enqueues the completion.
  [[nodiscard]] AckResult acknowledge(const Moment& moment, const WorkAck& ack, News& news);
  /// For a row that is deleted already.
  void enqueue_completion(const Moment& moment, const WorkAck& ack, News& news);
  /// Why a lease no longer holds.
  [[nodiscard]] AckResult refusal(const Moment& moment, const WorkLease& lease);

  /// Why `taken` stands in the way of a start; empty if it may be replaced.
  [[nodiscard]] static std::optional<StartOutcome> refusal(const InstanceRow& taken,
                                                           const StartRequest& request);
  /// Everything of an instance, so that its id is free.
  void erase_instance(const Moment& moment, Incarnation key, News& news);

 private:
  [[nodiscard]] EnqueueOutcome deliver_start(const Moment& moment, const OutboundMessage& message,
                                             const work::StartOrchestration& start, News& news);

  Numbers& numbers_;
  Instances& instances_;
  OrchestratorQueue& queue_;
  ParkedMessages& parked_;
  WorkerQueue& workers_;
  KeyValueTable& key_values_;
};

}  // namespace duramen::inline v0::sqlite::detail
