// Counts the rows of a store.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/management.hpp>

namespace duramen::inline v0::sqlite::detail {

/// Only reads. One statement makes each answer, so that its numbers fit together. The statements read whole
/// tables, so the owner provides a separate connection.
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
