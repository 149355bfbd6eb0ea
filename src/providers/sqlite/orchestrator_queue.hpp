// The messages and timers of instances, and the entry of each instance: the one row by which fetches find it.
#pragma once

#include "providers/common/notices.hpp"
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/instances.hpp"
#include "providers/sqlite/number_allocator.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

/// For use inside a write transaction.
class OrchestratorQueue {
 public:
  OrchestratorQueue(Connection& connection, NumberAllocator& numbers);

  /// The place of a start, and of a message to an instance that has none.
  static constexpr std::int64_t start_place = 1;

  /// Adds the beginning of a new instance. With `due_at`, no turn begins before that time.
  void insert_start(const TransactionTime& time, const InstanceRow& instance, std::string_view item,
                    std::optional<std::int64_t> due_at, providers::Notices& notices);
  /// Adds a message behind all others and returns its place. It was sent at `sent_at`, or when the message in
  /// front of it was sent, whichever is later.
  std::int64_t append(const TransactionTime& time, const InstanceRow& target, std::string_view item,
                      std::int64_t sent_at, providers::Notices& notices);
  /// The first of `count` places in front of all messages.
  [[nodiscard]] std::int64_t first_free_places(Incarnation key, std::size_t count);
  /// Adds a message at a free place. The caller promotes.
  void insert_at(Incarnation key, std::int64_t place, std::string_view item);
  /// Adds a message of another sender than the instance in front of all others.
  void prepend(const TransactionTime& time, const InstanceRow& target, const std::string& item,
               providers::Notices& notices);
  void insert_timer(const TransactionTime& time, Incarnation key, const message::TimerFired& timer,
                    providers::Notices& notices);

  /// Records the id of a message to `key`; false if it was recorded before.
  [[nodiscard]] bool receive(Incarnation key, std::string_view message_id);
  [[nodiscard]] bool has_received(Incarnation key, std::string_view message_id);

  /// True if a message or a due timer is queued.
  [[nodiscard]] bool any_takeable(const TransactionTime& time, Incarnation key);
  /// The message at a place, as JSON.
  [[nodiscard]] std::optional<std::string> item_at(Incarnation key, std::int64_t place);

  /// A cancel was stored: the entry gets the instance's new capability.
  void update_capability(const InstanceRow& instance);
  /// A lease was released: the entry can be taken from `ready_at` on.
  void release(Incarnation key, std::int64_t ready_at);
  /// The last step of a commit under a lease: makes the first message the entry. Returns whether there is
  /// one. `old_entry` is the entry under the lease, if the commit did not delete it.
  bool promote(const TransactionTime& time, const InstanceRow& instance,
               std::optional<std::int64_t> old_entry);
  /// Lets fetches find the first timer of the instance again, if one noticed it.
  void watch_first_timer(Incarnation key);

  void erase(Incarnation key, std::span<const std::int64_t> places);
  void erase_timer(Incarnation key, EventId timer);
  void erase_timers(Incarnation key, ExecutionId execution);
  void erase_all(Incarnation key);
  void erase_received(Incarnation key);

  /// A fetch reports when the next timer is due: an earlier one is worth a notice.
  void report_due(std::optional<std::int64_t> due_at) {
    reported_due_ = due_at.value_or(std::numeric_limits<std::int64_t>::max());
  }
  /// True if an entry that can be taken at once was made since the last call. Any thread may call.
  [[nodiscard]] bool take_made_entry() noexcept { return made_entry_.exchange(false); }

 private:
  [[nodiscard]] std::optional<std::int64_t> first_place(Incarnation key);

  std::int64_t reported_due_ = std::numeric_limits<std::int64_t>::max();
  std::atomic<bool> made_entry_ = false;
  NumberAllocator& numbers_;

  Statement insert_;
  Statement insert_timer_;
  Statement last_;
  Statement first_;
  Statement first_timer_;
  Statement due_timer_;
  Statement item_at_;
  Statement set_entry_;
  Statement clear_entry_;
  Statement watch_;
  Statement update_capability_;
  Statement release_;
  Statement erase_one_;
  Statement erase_list_;
  Statement erase_timers_;
  Statement erase_all_;
  Statement receive_;
  Statement has_received_;
  Statement erase_received_;
};

}  // namespace duramen::inline v0::sqlite::detail
