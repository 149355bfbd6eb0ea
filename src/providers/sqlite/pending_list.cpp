#include "providers/sqlite/pending_list.hpp"

#include "providers/common/message_subject.hpp"
#include <duramen/message.hpp>

#include <tuple>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

PendingMessage read_message(std::string_view json, const InstanceId& target) {
  PendingMessage message;
  if (const auto item = message_from_json(json, target)) {
    message.type = message_type(*item);
    std::tie(message.execution, message.event) = providers::message_subject(*item);
  } else {
    message.unreadable = item.error().message;
  }
  return message;
}

}  // namespace

PendingList::PendingList(Connection& connection)
    : instance_(connection,
                "SELECT key, lease_token IS NOT NULL AND lease_until > ?2, coalesce(not_before, 0) "
                "FROM instances WHERE instance_id = ?1"),
      activities_(connection,
                  "SELECT execution, activity, name, tag, session_id, visible_at, attempt, "
                  "CASE WHEN lease_token IS NOT NULL AND lease_until > ?2 THEN lease_owner ELSE '' END "
                  "FROM worker_queue WHERE instance_key = ?1 ORDER BY execution, activity"),
      messages_(connection,
                "SELECT item, visible_at, attempt FROM orchestrator_queue WHERE instance_key = ? "
                "ORDER BY visible_at, id LIMIT ?") {}

PendingWork PendingList::of(const TransactionTime& time, const InstanceId& instance) {
  PendingWork pending;
  // While this cursor is open, the other statements read the same state of the file.
  Cursor row = instance_.run(instance.value, time.lease_now);
  if (!row.step()) return pending;
  const std::uint64_t key = row.number(0);
  pending.leased = row.integer(1) != 0;
  pending.not_before = from_unix_ms(row.integer(2));

  Cursor activities = activities_.run(key, time.lease_now);
  while (activities.step()) {
    pending.activities.push_back({.execution = ExecutionId{activities.number(0)},
                                  .activity = EventId{activities.number(1)},
                                  .name = activities.string(2),
                                  .tag = activities.optional_string(3),
                                  .session_id = activities.optional_string(4),
                                  .visible_at = from_unix_ms(activities.integer(5)),
                                  .attempt = static_cast<std::uint32_t>(activities.integer(6)),
                                  .owner = NodeId{activities.string(7)}});
  }

  Cursor messages = messages_.run(key, static_cast<std::uint64_t>(PendingWork::max_messages + 1));
  while (messages.step()) {
    pending.more_messages = pending.messages.size() == PendingWork::max_messages;
    if (pending.more_messages) break;
    PendingMessage message = read_message(messages.text(0), instance);
    message.visible_at = from_unix_ms(messages.integer(1));
    message.attempt = static_cast<std::uint32_t>(messages.integer(2));
    pending.messages.push_back(std::move(message));
  }
  return pending;
}

}  // namespace duramen::inline v0::sqlite::detail
