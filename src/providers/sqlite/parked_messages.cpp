#include "providers/sqlite/parked_messages.hpp"

#include <duramen/detail/mutant.hpp>

namespace duramen::inline v0::sqlite::detail {

namespace {

constexpr std::int64_t parked_for_ms = 24 * 60 * 60 * 1000;
// Parking a message first drops expired ones, so that a store without sweeps does not grow without limit.
constexpr std::size_t expire_at_once = 64;

/// Lease time: the wall clock may jump. A row of an earlier boot gets its whole time anew, so a message is
/// never dropped early.
std::int64_t clock_of(const TransactionTime& time) {
  return duramen::detail::mutant("parked_mail_expires_by_the_wall_clock") ? time.now : time.lease_now;
}
std::int64_t first_of_boot(const TransactionTime& time) {
  return duramen::detail::mutant("parked_mail_expires_by_the_wall_clock") ? 0 : time.first_of_boot();
}

}  // namespace

ParkedMessages::ParkedMessages(Connection& connection)
    : known_(connection,
             "SELECT 1 FROM duramen_parked_messages WHERE instance_id = ?1 AND message_id = ?2 AND "
             "(expires_at > ?3 OR expires_at < ?4)"),
      park_(connection,
            "INSERT INTO duramen_parked_messages (instance_id, message_id, sent_at, expires_at, item) "
            "VALUES (?, ?, ?, ?, ?)"),
      list_(connection,
            "SELECT message_id, sent_at, item FROM duramen_parked_messages WHERE instance_id = ?1 AND "
            "(expires_at > ?2 OR expires_at < ?3) ORDER BY id"),
      erase_(connection, "DELETE FROM duramen_parked_messages WHERE instance_id = ?"),
      any_expired_(connection, "SELECT 1 FROM duramen_parked_messages WHERE expires_at <= ? LIMIT 1"),
      begin_anew_(connection,
                  "UPDATE duramen_parked_messages SET expires_at = ?1 WHERE id IN "
                  "(SELECT id FROM duramen_parked_messages WHERE expires_at < ?2 LIMIT ?3)"),
      expire_(connection,
              "DELETE FROM duramen_parked_messages WHERE id IN "
              "(SELECT id FROM duramen_parked_messages WHERE expires_at BETWEEN ?1 AND ?2 LIMIT ?3)") {}

bool ParkedMessages::any_expired(const TransactionTime& time) {
  return any_expired_.run(clock_of(time)).step();
}

std::size_t ParkedMessages::drop_expired(const TransactionTime& time, std::size_t limit) {
  begin_anew_.execute(clock_of(time) + parked_for_ms, first_of_boot(time), limit);
  const auto dropped = static_cast<std::size_t>(expire_.execute(first_of_boot(time), clock_of(time), limit));
  expired_ += dropped;
  return dropped;
}

bool ParkedMessages::park(const TransactionTime& time, const OutboundMessage& message) {
  (void)drop_expired(time, expire_at_once);
  if (message.message_id &&
      known_.run(message.target.value, *message.message_id, clock_of(time), first_of_boot(time)).step())
    return false;
  park_.execute(message.target.value, message.message_id, time.now, clock_of(time) + parked_for_ms,
                to_json(message.body, message.target));
  return true;
}

void ParkedMessages::move_to(const TransactionTime& time, const InstanceId& id, const InstanceRow& instance,
                             OrchestratorQueue& queue, providers::Notices& notices) {
  bool found = false;
  {
    Cursor run = list_.run(id.value, clock_of(time), first_of_boot(time));
    while (run.step()) {
      found = true;
      if (!run.is_null(0) && !queue.receive(instance.key, run.text(0))) continue;
      queue.append(time, instance, run.text(2), run.integer(1), notices);
    }
  }
  if (found) erase_.execute(id.value);
}

}  // namespace duramen::inline v0::sqlite::detail
