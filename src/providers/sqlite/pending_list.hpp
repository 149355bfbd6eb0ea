// The pending messages and activities of one instance, for diagnosis.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/ids.hpp>
#include <duramen/management.hpp>

#include <cstdint>

namespace duramen::inline v0::sqlite::detail {

/// Only reads.
class PendingList {
 public:
  explicit PendingList(Connection& connection);

  [[nodiscard]] PendingWork of(const TransactionTime& time, const InstanceId& instance);

 private:
  void read_messages(const TransactionTime& time, std::uint64_t key, const InstanceId& instance,
                     std::int64_t updated_at, PendingWork& pending);

  Statement instance_;
  Statement activities_;
  Statement entry_;
  Statement messages_;
  Statement timers_;
};

}  // namespace duramen::inline v0::sqlite::detail
