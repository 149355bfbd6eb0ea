#include "providers/sqlite/pending_list.hpp"

#include "providers/common/inbox.hpp"
#include "providers/common/message_subject.hpp"
#include <duramen/message.hpp>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

using providers::first_timer_place;

PendingMessage read_message(std::string_view json, const InstanceId& target) {
  PendingMessage message;
  if (const auto item = message_from_json(json, target)) {
    message.type = message_type(*item);
    std::tie(message.execution, message.event) = providers::message_subject(*item);
    message.cancel = providers::message_cancel(*item);
  } else {
    message.unreadable = item.error().message;
  }
  return message;
}

}  // namespace

PendingList::PendingList(Connection& connection)
    : instance_(connection,
                "SELECT key, lease_token IS NOT NULL AND lease_until > ?2, attempt, entry_place, "
                "updated_at FROM duramen_instances WHERE instance_id = ?1"),
      activities_(connection,
                  "SELECT execution, activity, name, tag, session_id, visible_at, attempt, "
                  "CASE WHEN lease_token IS NOT NULL AND lease_until > ?2 THEN lease_owner ELSE '' END "
                  "FROM duramen_worker_queue WHERE instance_key = ?1 ORDER BY execution, activity"),
      entry_(connection,
             "SELECT capability IS NOT NULL, ready_at, due_at FROM duramen_queue "
             "WHERE instance_key = ?1 AND place = coalesce(?2, "
             "(SELECT min(place) FROM duramen_queue WHERE instance_key = ?1 AND place < ?3))"),
      messages_(connection,
                "SELECT place, sent_at, item FROM duramen_queue WHERE instance_key = ? AND place < ? "
                "ORDER BY place LIMIT ?"),
      timers_(connection,
              "SELECT place, fire_at, execution FROM duramen_queue INDEXED BY duramen_queue_timers "
              "WHERE instance_key = ? AND fire_at IS NOT NULL ORDER BY fire_at, place LIMIT ?") {}

PendingWork PendingList::of(const TransactionTime& time, const InstanceId& instance) {
  PendingWork pending;
  // While this cursor is open, the other statements read the same state of the file.
  Cursor row = instance_.run(instance.value, time.lease_now);
  if (!row.step()) return pending;
  const std::uint64_t key = row.number(0);
  pending.leased = row.integer(1) != 0;
  pending.attempt = static_cast<std::uint32_t>(row.integer(2));
  std::optional<std::int64_t> entry_place;
  if (!row.is_null(3)) entry_place = row.integer(3);

  if (Cursor entry = entry_.run(key, entry_place, first_timer_place); !pending.leased && entry.step()) {
    const bool is_entry = entry.integer(0) != 0;
    if (is_entry && entry.integer(1) > time.lease_now) pending.not_before = time.wall_time(entry.integer(1));
    if (!is_entry && !entry.is_null(2)) pending.not_before = from_unix_ms(entry.integer(2));
  }

  Cursor activities = activities_.run(key, time.lease_now);
  while (activities.step()) {
    pending.activities.push_back({.execution = ExecutionId{activities.number(0)},
                                  .activity = EventId{activities.number(1)},
                                  .name = activities.string(2),
                                  .tag = activities.optional_string(3),
                                  .session_id = activities.optional_string(4),
                                  .visible_at = time.past_or_future(activities.integer(5)),
                                  .attempt = static_cast<std::uint32_t>(activities.integer(6)),
                                  .owner = NodeId{activities.string(7)}});
  }
  read_messages(time, key, instance, row.integer(4), pending);
  return pending;
}

/// In the order of delivery: a timer goes before the first message that was sent at its time or later.
void PendingList::read_messages(const TransactionTime& time, std::uint64_t key, const InstanceId& instance,
                                std::int64_t updated_at, PendingWork& pending) {
  constexpr auto most = static_cast<std::uint64_t>(PendingWork::max_messages + 1);
  const auto add = [&](PendingMessage message) {
    pending.more_messages = pending.messages.size() == PendingWork::max_messages;
    if (!pending.more_messages) pending.messages.push_back(std::move(message));
  };
  Cursor timers = timers_.run(key, most);
  bool has_timer = timers.step();
  const auto add_timers_until = [&](std::int64_t sent_at) {
    while (has_timer && timers.integer(1) <= sent_at && !pending.more_messages) {
      PendingMessage message;
      message.type = message_type(message::TimerFired{});
      message.execution = ExecutionId{timers.number(2)};
      message.event = EventId{static_cast<std::uint64_t>(timers.integer(0) - first_timer_place)};
      message.visible_at = from_unix_ms(timers.integer(1));
      add(std::move(message));
      has_timer = timers.step();
    }
  };
  Cursor messages = messages_.run(key, first_timer_place, most);
  while (!pending.more_messages && messages.step()) {
    add_timers_until(std::min(messages.integer(1), time.now));
    PendingMessage message = read_message(messages.text(2), instance);
    // The beginning of an execution has no time of its own: the last turn sent it.
    message.visible_at = from_unix_ms(messages.integer(1) == 0 ? updated_at : messages.integer(1));
    add(std::move(message));
  }
  add_timers_until(std::numeric_limits<std::int64_t>::max());
}

}  // namespace duramen::inline v0::sqlite::detail
