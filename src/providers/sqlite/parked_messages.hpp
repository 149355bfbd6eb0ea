// Messages that arrived before their instance; kept for a day.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/orchestrator_queue.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <atomic>
#include <cstdint>

namespace duramen::inline v0::sqlite::detail {

class ParkedMessages {
 public:
  explicit ParkedMessages(Connection& connection);

  /// False if a message with that id is already parked for that instance.
  [[nodiscard]] bool park(const TransactionTime& time, const OutboundMessage& message);
  /// Moves the messages parked for `id` into the queue of the instance that was just created. They keep the
  /// times at which they were parked.
  void move_to(const TransactionTime& time, const InstanceId& id, const InstanceRow& instance,
               OrchestratorQueue& queue, providers::Notices& notices);

  [[nodiscard]] bool any_expired(const TransactionTime& time);
  /// Drops at most `limit` expired messages and returns their number.
  [[nodiscard]] std::size_t drop_expired(const TransactionTime& time, std::size_t limit);

  /// Messages dropped because their instance was never created.
  [[nodiscard]] std::uint64_t expired() const noexcept { return expired_; }

 private:
  std::atomic<std::uint64_t> expired_ = 0;
  Statement known_;
  Statement park_;
  Statement list_;
  Statement erase_;
  Statement any_expired_;
  Statement begin_anew_;
  Statement expire_;
};

}  // namespace duramen::inline v0::sqlite::detail
