#include "providers/sqlite/parked_messages.hpp"

namespace duramen::inline v0::sqlite::detail {

namespace {

constexpr std::int64_t parked_for_ms = 24 * 60 * 60 * 1000;
// Parking a message first drops expired ones, so that a store without sweeps does not grow without limit.
constexpr std::size_t expire_at_once = 64;

}  // namespace

ParkedMessages::ParkedMessages(Connection& connection)
    : known_(connection,
             "SELECT 1 FROM duramen_parked_messages WHERE instance_id = ? AND message_id = ? AND expires_at "
             "> ?"),
      park_(connection,
            "INSERT INTO duramen_parked_messages (instance_id, message_id, sent_at, expires_at, item) "
            "VALUES (?, ?, ?, ?, ?)"),
      list_(connection,
            "SELECT message_id, sent_at, item FROM duramen_parked_messages WHERE instance_id = ? AND "
            "expires_at > ? "
            "ORDER BY id"),
      erase_(connection, "DELETE FROM duramen_parked_messages WHERE instance_id = ?"),
      any_expired_(connection, "SELECT 1 FROM duramen_parked_messages WHERE expires_at <= ? LIMIT 1"),
      expire_(connection,
              "DELETE FROM duramen_parked_messages WHERE id IN "
              "(SELECT id FROM duramen_parked_messages WHERE expires_at <= ? LIMIT ?)") {}

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
  park_.execute(message.target.value, message.message_id, time.now, time.now + parked_for_ms,
                to_json(message.body, message.target));
  return true;
}

void ParkedMessages::move_to(const TransactionTime& time, const InstanceId& id, const InstanceRow& instance,
                             OrchestratorQueue& queue, providers::Notices& notices) {
  bool found = false;
  {
    Cursor run = list_.run(id.value, time.now);
    while (run.step()) {
      found = true;
      if (!run.is_null(0) && !queue.receive(instance.key, run.text(0))) continue;
      queue.append(time, instance, run.text(2), run.integer(1), notices);
    }
  }
  if (found) erase_.execute(id.value);
}

}  // namespace duramen::inline v0::sqlite::detail
