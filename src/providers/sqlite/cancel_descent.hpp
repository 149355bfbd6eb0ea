// Passes cancels from parents on to the descendants: see providers/common/cancel_descent.hpp.
#pragma once

#include "providers/common/cancel_descent.hpp"
#include "providers/common/notices.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/delivery.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"

#include <cstddef>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

class CancelDescent {
 public:
  CancelDescent(Connection& connection, Delivery& delivery);

  /// The last step of a call: passes on the cancels in `notices.descending`, level by level.
  void run(const TransactionTime& time, providers::Notices& notices);

 private:
  struct Child {
    InstanceRow row;
    InstanceId id;
    ParentLink link;
  };
  /// The youngest children of an instance.
  [[nodiscard]] std::vector<Child> children(Incarnation parent, std::size_t limit);

  Delivery& delivery_;
  Statement children_;
};

}  // namespace duramen::inline v0::sqlite::detail
