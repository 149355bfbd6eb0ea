// How much there is of everything.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/management.hpp>

namespace duramen::inline v0::sqlite::detail {

/// Reads only; every answer comes from one statement, so that its numbers fit together. The statements read
/// whole tables: whoever has one of these gives it a connection of its own.
class StoreCounts {
 public:
  explicit StoreCounts(Connection& connection);

  [[nodiscard]] StoreMetrics metrics();
  [[nodiscard]] InstanceCount instances(Incarnation after, std::size_t limit);
  [[nodiscard]] QueueDepths depths(const TransactionTime& time);

 private:
  Statement metrics_;
  Statement instances_;
  Statement depths_;
};

}  // namespace duramen::inline v0::sqlite::detail
