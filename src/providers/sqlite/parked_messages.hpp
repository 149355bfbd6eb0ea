// Messages that came before their instance: kept for it for a day.
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

  /// False if a message of that id is parked for that instance already.
  [[nodiscard]] bool park(const TransactionTime& time, const OutboundMessage& message);
  /// Moves what is parked for `id` into the queue of the instance that has just been created.
  void move_to(const TransactionTime& time, const InstanceId& id, Incarnation key, OrchestratorQueue& queue,
               providers::Notices& notices);

  [[nodiscard]] bool any_expired(const TransactionTime& time);
  /// Drops at most `limit` messages whose time is over. Returns how many.
  [[nodiscard]] std::size_t drop_expired(const TransactionTime& time, std::size_t limit);

  /// Messages dropped because their instance never came.
  [[nodiscard]] std::uint64_t expired() const noexcept { return expired_; }

 private:
  std::atomic<std::uint64_t> expired_ = 0;
  Statement known_;
  Statement park_;
  Statement list_;
  Statement erase_;
  Statement any_expired_;
  Statement expire_;
};

}  // namespace duramen::inline v0::sqlite::detail
