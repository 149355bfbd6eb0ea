// Stores a turn: checks that it may be stored, then applies its changes step by step.
#pragma once

#include "providers/sqlite/delivery.hpp"
#include <duramen/provider.hpp>

#include <optional>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

class TurnWriter {
 public:
  TurnWriter(NumberAllocator& numbers, Instances& instances, OrchestratorQueue& queue, ParkedMessages& parked,
             WorkerQueue& workers, KeyValueTable& key_values, Delivery& delivery)
      : numbers_(numbers),
        instances_(instances),
        queue_(queue),
        parked_(parked),
        workers_(workers),
        key_values_(key_values),
        delivery_(delivery) {}

  /// Stores the turn itself, if it may be stored. For use inside a write transaction, which the caller rolls
  /// back after an SqlError. `events` are the commit's events as they are stored.
  [[nodiscard]] CommitResult commit(const TransactionTime& time, const TurnCommit& commit,
                                    std::string_view events, providers::Notices& notices);
  /// The second step: sends the messages of a stored turn. All turns of a batch are decided before any
  /// message is sent, so that no turn prevents another one.
  void send(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
            providers::Notices& notices);

 private:
  [[nodiscard]] CommitResult commit_start(const TransactionTime& time, const TurnCommit& commit,
                                          const FusedStart& fused, std::string_view events,
                                          providers::Notices& notices);
  [[nodiscard]] CommitResult commit_turn(const TransactionTime& time, const TurnCommit& commit,
                                         std::string_view events, providers::Notices& notices);
  [[nodiscard]] bool may_take(const TransactionTime& time, const InstanceRow& instance,
                              const ConditionalLease& condition);
  [[nodiscard]] bool finish_work(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                                 providers::Notices& notices);
  void fail_condition(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                      providers::Notices& notices);
  void store_status_and_key_values(const InstanceChange& change, Incarnation key, bool has_key_values);
  void store_work(const TransactionTime& time, const TurnCommit& commit, Incarnation key,
                  CommitResult& result, providers::Notices& notices);
  void insert_activities(const TransactionTime& time, const TurnCommit& commit, Incarnation key,
                         providers::Notices& notices);
  /// Changes the instance's own queue: its timers, the beginning of its next execution, what it puts back.
  void store_own_messages(const TransactionTime& time, const TurnCommit& commit, InstanceRow& instance,
                          providers::Notices& notices);
  [[nodiscard]] std::optional<message::CancelInstance> queued_cancel(const message::StartOrchestration& child,
                                                                     Incarnation parent);
  /// Sends one message. A refused start is answered to the instance of this turn, or reported in `result`.
  void send_message(const TransactionTime& time, const TurnCommit& commit, CommitResult& result,
                    const OutboundMessage& message, providers::Notices& notices);

  NumberAllocator& numbers_;
  Instances& instances_;
  OrchestratorQueue& queue_;
  ParkedMessages& parked_;
  WorkerQueue& workers_;
  KeyValueTable& key_values_;
  Delivery& delivery_;
};

}  // namespace duramen::inline v0::sqlite::detail
