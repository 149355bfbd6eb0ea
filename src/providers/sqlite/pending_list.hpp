// The pending messages and activities of one instance, for diagnosis.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/ids.hpp>
#include <duramen/management.hpp>

namespace duramen::inline v0::sqlite::detail {

/// Only reads.
class PendingList {
 public:
  explicit PendingList(Connection& connection);

  [[nodiscard]] PendingWork of(const TransactionTime& time, const InstanceId& instance);

 private:
  Statement instance_;
  Statement activities_;
  Statement messages_;
};

}  // namespace duramen::inline v0::sqlite::detail
