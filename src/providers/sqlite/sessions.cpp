#include "providers/sqlite/sessions.hpp"

#include "providers/sqlite/json_list.hpp"

#include <algorithm>

namespace duramen::inline v0::sqlite::detail {

namespace {

constexpr std::string_view orphaned =
    "SELECT s.session_id FROM duramen_sessions s INDEXED BY duramen_sessions_by_lease WHERE s.lease_until <= "
    "?1 AND NOT "
    "EXISTS "
    "(SELECT 1 FROM duramen_worker_queue w INDEXED BY duramen_worker_queue_by_session WHERE w.session_id = "
    "s.session_id) "
    "LIMIT ?2";

}  // namespace

Sessions::Sessions(Connection& connection)
    : taken_until_(connection,
                   "SELECT lease_until FROM duramen_sessions WHERE session_id = ?1 AND owner <> ?2 AND "
                   "lease_until > ?3"),
      claim_(connection,
             "INSERT INTO duramen_sessions (session_id, owner, lease_until, used_at) VALUES (?1, ?2, ?3, ?4) "
             "ON CONFLICT (session_id) DO UPDATE SET owner = ?2, lease_until = ?3, used_at = ?4"),
      use_(connection, "UPDATE duramen_sessions SET used_at = ?2 WHERE session_id = ?1 AND lease_until > ?2"),
      renew_(connection,
             "UPDATE duramen_sessions SET lease_until = ?3 WHERE owner IN (SELECT value FROM json_each(?1)) "
             "AND lease_until > ?2 AND used_at > ?4"),
      release_(connection, "DELETE FROM duramen_sessions WHERE owner = ?1 AND lease_until > ?2"),
      any_orphaned_(connection, orphaned),
      remove_orphaned_(connection,
                       "DELETE FROM duramen_sessions WHERE session_id IN (" + std::string(orphaned) + ")") {}

std::optional<std::int64_t> Sessions::taken_until(const TransactionTime& time, std::string_view session,
                                                  std::string_view owner) {
  Cursor run = taken_until_.run(session, owner, time.lease_now);
  return run.step() ? std::optional(run.integer(0)) : std::nullopt;
}

void Sessions::claim(const TransactionTime& time, std::string_view session, const SessionClaim& claim) {
  claim_.execute(session, claim.owner, time.lease_end(claim.lease), time.lease_now);
}

void Sessions::use(const TransactionTime& time, std::string_view session) {
  use_.execute(session, time.lease_now);
}

std::size_t Sessions::renew(const TransactionTime& time, std::span<const std::string> owners, Duration extend,
                            Duration idle_timeout) {
  if (owners.empty()) return 0;
  const std::int64_t used_after =
      time.lease_now - std::clamp<std::int64_t>(idle_timeout.count(), 0, TransactionTime::longest_ms);
  return static_cast<std::size_t>(
      renew_.execute(json_list(owners), time.lease_now, time.lease_end(extend), used_after));
}

std::size_t Sessions::release(const TransactionTime& time, const std::string& owner) {
  return static_cast<std::size_t>(release_.execute(owner, time.lease_now));
}

bool Sessions::any_orphaned(const TransactionTime& time) {
  return any_orphaned_.run(time.lease_now, 1).step();
}

std::size_t Sessions::remove_orphaned(const TransactionTime& time, std::size_t limit) {
  return static_cast<std::size_t>(remove_orphaned_.execute(time.lease_now, limit));
}

}  // namespace duramen::inline v0::sqlite::detail
