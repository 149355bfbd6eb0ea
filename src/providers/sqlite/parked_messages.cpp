#include "providers/sqlite/parked_messages.hpp"

#include <algorithm>

namespace duramen::inline v0::sqlite::detail {

namespace {

constexpr std::int64_t parked_for_ms = 24 * 60 * 60 * 1000;
// Parking a message first drops expired ones, so that a store without sweeps does not grow without limit.
constexpr std::size_t expire_at_once = 64;

}  // namespace

ParkedMessages::ParkedMessages(Connection& connection)
    : known_(connection,
             "SELECT 1 FROM parked_messages WHERE instance_id = ? AND message_id = ? AND expires_at > ?"),
      park_(connection,
            "INSERT INTO parked_messages (instance_id, message_id, visible_at, expires_at, item) "
            "VALUES (?, ?, ?, ?, ?)"),
      list_(
          connection,
          "SELECT message_id, visible_at, item FROM parked_messages WHERE instance_id = ? AND expires_at > ? "
          "ORDER BY visible_at, id"),
      erase_(connection, "DELETE FROM parked_messages WHERE instance_id = ?"),
      any_expired_(connection, "SELECT 1 FROM parked_messages WHERE expires_at <= ? LIMIT 1"),
      expire_(connection,
              "DELETE FROM parked_messages WHERE id IN "
              "(SELECT id FROM parked_messages WHERE expires_at <= ? LIMIT ?)") {}

bool ParkedMessages::any_expired(const TransactionTime& time) { return any_expired_.run(time.now).step(); }

std::size_t ParkedMessages::drop_expired(const TransactionTime& time, std::size_t limit) {
  const auto dropped = static_cast<std::size_t>(expire_.execute(time.now, limit));
  expired_ += dropped;
  return dropped;
}

bool ParkedMessages::park(const TransactionTime& time, const OutboundMessage& message) {
  (void)drop_expired(time, expire_at_once);
  if (message.message_id && known_.run(message.target.value, *message.message_id, time.now).step())
    return false;
  const std::int64_t visible_at = std::max(to_unix_ms(message.visible_at), time.now);
  park_.execute(message.target.value, message.message_id, visible_at, time.now + parked_for_ms,
                to_json(message.body, message.target));
  return true;
}

void ParkedMessages::move_to(const TransactionTime& time, const InstanceId& id, Incarnation key,
                             OrchestratorQueue& queue, providers::Notices& notices) {
  bool found = false;
  {
    Cursor run = list_.run(id.value, time.now);
    while (run.step()) {
      found = true;
      if (!run.is_null(0) && !queue.receive(key, run.text(0))) continue;
      queue.insert(time, key, run.text(2), run.integer(1), notices);
    }
  }
  if (found) erase_.execute(id.value);
}

}  // namespace duramen::inline v0::sqlite::detail
