#include "providers/sqlite/store_counts.hpp"

#include <duramen/status.hpp>

#include <algorithm>

namespace duramen::inline v0::sqlite::detail {

StoreCounts::StoreCounts(Connection& connection)
    : metrics_(connection,
               // Past executions are returned as one row without a status.
               "SELECT status, count(*), sum(last_event_id) FROM duramen_instances GROUP BY status UNION ALL "
               "SELECT NULL, count(*), coalesce(sum(last_event_id), 0) FROM duramen_executions"),
      instances_(
          connection,
          "SELECT status, count(*), max(key) FROM (SELECT key, status FROM duramen_instances WHERE key > ?1 "
          "ORDER BY key LIMIT ?2) GROUP BY status"),
      depths_(
          connection,
          // ?1: wall clock, ?2: lease clock, ?3: its first moment of this boot
          "WITH delayed AS (SELECT instance_key FROM duramen_queue WHERE capability IS NOT NULL "
          "AND ready_at > ?2 UNION SELECT instance_key FROM duramen_queue WHERE due_at > ?1 AND fire_at IS "
          "NULL), "
          "messages AS (SELECT i.lease_token IS NOT NULL AND i.lease_until > ?2 AS leased, "
          "coalesce(q.fire_at, 0) > ?1 OR (q.instance_key IN delayed AND "
          "(i.lease_token IS NULL OR i.lease_until <= ?2)) AS later "
          "FROM duramen_queue q CROSS JOIN duramen_instances i ON i.key = q.instance_key), "
          "work AS (SELECT visible_at > ?2 AS later, lease_token IS NOT NULL AND lease_until > ?2 AS leased "
          "FROM duramen_worker_queue) "
          "SELECT * FROM (SELECT count(*) FILTER (WHERE NOT later AND NOT leased), "
          "count(*) FILTER (WHERE later), count(*) FILTER (WHERE leased AND NOT later) FROM messages), "
          "(SELECT count(*) FILTER (WHERE NOT later AND NOT leased), "
          "count(*) FILTER (WHERE later AND NOT leased), count(*) FILTER (WHERE leased) FROM work), "
          "(SELECT count(*) FROM duramen_parked_messages WHERE expires_at > ?2 OR expires_at < ?3), "
          "(SELECT count(*) FROM duramen_sessions WHERE lease_until > ?2)") {}

StoreMetrics StoreCounts::metrics() {
  StoreMetrics metrics;
  Cursor run = metrics_.run();
  while (run.step()) {
    metrics.executions += run.number(1);
    metrics.events += run.number(2);
    if (run.is_null(0)) continue;
    if (const auto status = parse_status(run.text(0))) {
      metrics.instances.at(static_cast<std::size_t>(*status)) += run.number(1);
    } else {
      metrics.unreadable += run.number(1);
    }
  }
  return metrics;
}

InstanceCount StoreCounts::instances(Incarnation after, std::size_t limit) {
  InstanceCount count;
  Incarnation last;
  std::uint64_t counted = 0;
  const std::uint64_t most = std::min<std::size_t>(limit, 1u << 30);
  Cursor run = instances_.run(after.value, most);
  while (run.step()) {
    counted += run.number(1);
    last = std::max(last, Incarnation{run.number(2)});
    if (const auto status = parse_status(run.text(0))) {
      count.instances.at(static_cast<std::size_t>(*status)) += run.number(1);
    }
  }
  if (counted > 0 && counted == most) count.next = last;
  return count;
}

QueueDepths StoreCounts::depths(const TransactionTime& time) {
  Cursor run = depths_.run(time.now, time.lease_now, time.first_of_boot());
  run.step();
  return {.orchestrator_due = run.number(0),
          .orchestrator_later = run.number(1),
          .orchestrator_leased = run.number(2),
          .worker_due = run.number(3),
          .worker_later = run.number(4),
          .worker_leased = run.number(5),
          .parked = run.number(6),
          .sessions = run.number(7)};
}

}  // namespace duramen::inline v0::sqlite::detail
