// Activities whose time limits have passed: they did not begin in time, run too long or send no heartbeats.
#pragma once

#include "providers/common/notices.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/delivery.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include "providers/sqlite/worker_queue.hpp"
#include <duramen/provider.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

class OverdueWork {
 public:
  OverdueWork(Connection& connection, WorkerQueue& workers, Delivery& delivery);

  /// The time at which an activity becomes, or became, overdue. A hint: may be too early. Only reads.
  [[nodiscard]] std::optional<TimePoint> next(const TransactionTime& time);

  /// The same, unless the time has passed: only a sweep ends such an activity, so a fetch should not wait for
  /// it.
  [[nodiscard]] std::optional<TimePoint> next_in_time(const TransactionTime& time);

  /// Ends at most `limit` of them with a failure, as if their worker had reported it. Returns their number.
  [[nodiscard]] std::size_t fail(const TransactionTime& time, std::size_t limit, providers::Notices& notices);

 private:
  struct Found {
    ActivityKey key;
    TimeoutKind which;
  };
  [[nodiscard]] std::vector<Found> find(const TransactionTime& time, std::size_t limit);
  void fail(const TransactionTime& time, const Found& found, providers::Notices& notices);
  /// Limits on waiting that were set under an earlier boot begin anew.
  void begin_anew(const TransactionTime& time, std::size_t limit);

  WorkerQueue& workers_;
  Delivery& delivery_;
  Statement first_start_by_;
  Statement first_overdue_;
  Statement not_begun_;
  Statement held_too_long_;
  Statement free_;
  Statement look_again_;
  Statement begin_anew_;
};

}  // namespace duramen::inline v0::sqlite::detail
