// Messages to instances, and the fetch that leases instances with messages to a node.
#pragma once

#include "providers/common/notices.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/instances.hpp"
#include "providers/sqlite/key_value_table.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

class OrchestratorQueue {
 public:
  explicit OrchestratorQueue(Connection& connection);

  /// `visible_at` in the past means now. Sets `turns_ready` if a sleeping node should fetch.
  void insert(const TransactionTime& time, Incarnation key, const InstanceId& target, const MessageBody& item,
              TimePoint visible_at, providers::Notices& notices);
  /// The same for a message that is already JSON and not a timer.
  void insert(const TransactionTime& time, Incarnation key, std::string_view item, std::int64_t visible_at,
              providers::Notices& notices);
  /// Records the id of a message to `key`; false if it was recorded before.
  [[nodiscard]] bool receive(Incarnation key, std::string_view message_id);

  [[nodiscard]] bool has_received(Incarnation key, std::string_view message_id);

  /// The time at which the first message of an instance becomes, or became, visible.
  [[nodiscard]] std::optional<std::int64_t> first_visible_at(Incarnation key);
  /// True if a fetch may find something; sets `next_due` if not.
  [[nodiscard]] bool any_visible(const TransactionTime& time, std::optional<TimePoint>& next_due);

  /// Leases instances and counts an attempt for each of their visible messages.
  [[nodiscard]] TurnBatch fetch(const TransactionTime& time, const TurnFetch& request, Instances& instances,
                                KeyValueTable& key_values, const std::function<LeaseToken()>& new_token);
  /// Undoes the changes of a fetch to the messages that it returned.
  void release(Incarnation key, LeaseToken token, bool count_attempt);

  void erase_fetched(Incarnation key, LeaseToken token);
  void erase_timer(Incarnation key, ExecutionId execution, EventId timer);
  void erase_timers(Incarnation key, ExecutionId execution);
  void erase_all(Incarnation key);
  void erase_received(Incarnation key);

  /// Messages found that this build cannot read.
  [[nodiscard]] std::uint64_t unreadable() const noexcept { return unreadable_; }

 private:
  void load_messages(const TransactionTime& time, LeasedInstance& item);
  [[nodiscard]] std::optional<TimePoint> next_due(const TransactionTime& time);
  void note_due(const TransactionTime& time, std::int64_t visible_at, providers::Notices& notices) const;

  // The `next_due` of the last fetch: a message that is due earlier is worth a notice.
  std::int64_t reported_due_ = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::uint64_t> unreadable_ = 0;

  Statement insert_;
  Statement receive_;
  Statement has_received_;
  Statement first_visible_at_;
  Statement earliest_;
  Statement next_due_;
  Statement candidates_;
  Statement messages_;
  Statement tag_;
  Statement release_;
  Statement erase_fetched_;
  Statement erase_timer_;
  Statement erase_timers_;
  Statement erase_all_;
  Statement erase_received_;
};

}  // namespace duramen::inline v0::sqlite::detail
