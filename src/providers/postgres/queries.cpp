#include "providers/postgres/queries.hpp"

#include "providers/postgres/identifier.hpp"
#include "providers/postgres/instance_info.hpp"

namespace duramen::inline v0::postgres::detail {

namespace {

/// A call of one of the schema's functions.
Query call(const std::string& schema, const std::string& function, int parameters) {
  std::string sql = "SELECT * FROM " + schema + "." + function + "(";
  for (int i = 1; i <= parameters; ++i) sql += (i > 1 ? ",$" : "$") + std::to_string(i);
  return {.name = function, .sql = sql + ")"};
}

/// A call that only gives or extends leases.
Query leasing(const std::string& schema, const std::string& function, int parameters) {
  Query query = call(schema, function, parameters);
  query.cancellable = true;
  return query;
}

Query read(const std::string& schema, const std::string& name, const std::string& sql) {
  return {.name = name, .sql = in_schema(sql, schema)};
}

}  // namespace

Queries::Queries(const std::string& s)
    : start_instances(call(s, "start_instances", 12)),
      enqueue_messages(call(s, "enqueue_messages", 16)),
      fetch_turns(leasing(s, "fetch_turns", 16)),
      lock_turns(call(s, "lock_turns", 14)),
      commit_turns(call(s, "commit_turns", 97)),
      put_back(call(s, "put_back", 3)),
      abandon_turns(call(s, "abandon_turns", 5)),
      renew_turns(leasing(s, "renew_turns", 4)),
      fetch_work(leasing(s, "fetch_work", 16)),
      ack_work(call(s, "ack_work", 7)),
      renew_work(leasing(s, "renew_work", 10)),
      abandon_work(call(s, "abandon_work", 7)),
      look_for_overdue(call(s, "look_for_overdue", 3)),
      sweep(call(s, "sweep", 8)),
      renew_sessions(leasing(s, "renew_sessions", 4)),
      release_sessions(call(s, "release_sessions", 2)),
      delete_instances(call(s, "delete_instances", 3)),
      prune_executions(call(s, "prune_executions", 3)),
      write_node(call(s, "write_node", 7)),
      raise_write_level(call(s, "raise_write_level", 3)),
      remove_node(read(s, "remove_node", "DELETE FROM @nodes WHERE node_id = $1 AND run = $2")),
      reserve_numbers{"reserve_numbers", "SELECT nextval(" + quoted_literal(s + ".numbers") +
                                             "::regclass) FROM generate_series(1, $1)"},
      taken_ids(read(s, "taken_ids",
                     "SELECT i.instance_id FROM unnest($1) AS w (id) CROSS JOIN LATERAL ("
                     "SELECT j.instance_id FROM @instances j WHERE j.instance_id = w.id OFFSET 0) i")),
      stolen_leases(read(s, "stolen_leases",
                         "SELECT instance_key, execution, activity, lease_token, reason FROM @stolen_leases "
                         "WHERE owner = $1 AND until > coalesce($2, @now_ms())")),
      // A row contains a whole turn, so the first row may begin before the first wanted event.
      history(
          read(s, "history",
               "SELECT h.events FROM @instances i CROSS JOIN LATERAL (SELECT t.events, t.first_event_id "
               "FROM @history t WHERE t.instance_key = i.key AND t.execution = $2 AND t.last_event_id > $3 "
               "AND t.first_event_id >= coalesce((SELECT max(b.first_event_id) FROM @history b "
               "WHERE b.instance_key = i.key AND b.execution = $2 AND b.first_event_id <= $3 + 1), 0) "
               "OFFSET 0) h WHERE i.instance_id = $1 ORDER BY h.first_event_id")),
      // Row by row, so that each is found through the index, even if there are many. The first row of each
      // says whether the commit that stored the last known event is the expected one.
      histories(read(
          s, "histories",
          "SELECT h.events, r.n, h.fits FROM unnest($1, $2, $3, $4) WITH ORDINALITY "
          "AS r (id, execution, after, token, n) "
          "LEFT JOIN LATERAL (SELECT i.key FROM @instances i WHERE i.instance_id = r.id OFFSET 0) k ON true "
          "CROSS JOIN LATERAL (SELECT NULL::text AS events, 0::bigint AS first_event_id, r.token = 0 OR "
          "coalesce((SELECT b.last_event_id = r.after AND b.token = r.token FROM @history b "
          "WHERE b.instance_key = k.key AND b.execution = r.execution AND b.first_event_id <= r.after "
          "ORDER BY b.first_event_id DESC LIMIT 1), false) AS fits "
          "UNION ALL (SELECT t.events, t.first_event_id, true FROM @history t "
          "WHERE t.instance_key = k.key AND t.execution = r.execution AND t.last_event_id > r.after "
          "AND t.first_event_id >= coalesce((SELECT max(b.first_event_id) FROM @history b "
          "WHERE b.instance_key = k.key AND b.execution = r.execution AND b.first_event_id <= r.after + "
          "1), 0))) h ORDER BY r.n, h.first_event_id")),
      instance(read(s, "instance",
                    "SELECT " + std::string(info_columns) + std::string(result_columns) +
                        " FROM @instances i WHERE i.instance_id = $1")),
      key_values(read(s, "key_values",
                      "SELECT v.key, v.value, v.encoding, v.updated_at FROM @instances i CROSS JOIN LATERAL ("
                      "SELECT * FROM @key_values k WHERE k.instance_key = i.key OFFSET 0) v "
                      "WHERE i.instance_id = $1 AND v.value IS NOT NULL")),
      // Only the last execution has a result: the earlier ones ended by continue-as-new.
      executions(read(
          s, "executions",
          "SELECT e.execution, e.status, e.version, e.last_event_id, e.started_at, e.ended_at, NULL::text, "
          "NULL::text, NULL::text FROM @instances i CROSS JOIN LATERAL ("
          "SELECT * FROM @executions x WHERE x.instance_key = i.key OFFSET 0) e WHERE i.instance_id = $1 "
          "UNION ALL "
          "SELECT i.execution, i.status, i.version, i.last_event_id, i.execution_started_at, "
          "CASE WHEN i.status = 'ContinuedAsNew' THEN i.updated_at ELSE i.ended_at END" +
              std::string(result_columns) + " FROM @instances i WHERE i.instance_id = $1 ORDER BY 1")),
      tree(read(
          s, "tree",
          // Child by child, because the planner cannot estimate their number. A damaged row could make the
          // root its own descendant.
          "WITH RECURSIVE tree (key, depth, root) AS (SELECT key, 0, key FROM @instances "
          "WHERE instance_id = $1 UNION "
          "SELECT c.key, t.depth + 1, t.root FROM tree t CROSS JOIN LATERAL (SELECT b.key FROM @instances b "
          "WHERE b.parent_key = t.key AND b.parent_key IS NOT NULL AND b.key <> t.root OFFSET 0) c) SELECT " +
              std::string(info_columns) +
              " FROM tree CROSS JOIN LATERAL (SELECT * FROM @instances o WHERE o.key = tree.key OFFSET 0) i "
              "ORDER BY tree.depth, i.key")),
      // The end of a delay stands at the entry of the instance.
      pending_instance(
          read(s, "pending_instance",
               "WITH t AS (SELECT coalesce($2, @now_ms()) AS now, coalesce($3, @now_ms()) AS lease_now) "
               "SELECT i.key, i.lease_token IS NOT NULL AND i.lease_until > t.lease_now, "
               "coalesce(CASE WHEN i.lease_token IS NULL THEN t.now + e.wake_at - t.lease_now END, "
               "CASE WHEN e.item IS NOT NULL THEN e.waits_until END, 0), i.attempt, i.updated_at "
               "FROM t CROSS JOIN @instances i LEFT JOIN LATERAL (SELECT q.wake_at, q.waits_until, q.item "
               "FROM @queue q WHERE q.instance_key = i.key AND q.place = i.entry_place OFFSET 0) e ON true "
               "WHERE i.instance_id = $1")),
      pending_activities(read(
          s, "pending_activities",
          "WITH t AS (SELECT coalesce($2, @now_ms()) AS now, coalesce($3, @now_ms()) AS lease_now) "
          "SELECT w.execution, w.activity, w.name, w.tag, w.session_id, t.now + w.waits_since - t.lease_now, "
          "w.attempt, CASE WHEN w.lease_token IS NOT NULL AND w.lease_until > t.lease_now "
          "THEN w.lease_owner ELSE '' END "
          "FROM t CROSS JOIN @worker_queue w WHERE w.instance_key = $1 ORDER BY w.execution, w.activity")),
      // A timer stands before the first message that was sent at its time or later.
      pending_messages(read(
          s, "pending_messages",
          "SELECT q.place, q.item, q.sent_at, q.fire_at, q.execution, coalesce(q.fire_at, max(q.sent_at) "
          "OVER ("
          "ORDER BY q.fire_at IS NOT NULL, q.place)) AS at FROM (SELECT * FROM (SELECT m.* FROM @queue m "
          "WHERE m.instance_key = $1 AND m.fire_at IS NULL ORDER BY m.place LIMIT $2) a "
          "UNION ALL SELECT * FROM (SELECT m.* FROM @queue m "
          "WHERE m.instance_key = $1 AND m.fire_at IS NOT NULL ORDER BY m.fire_at, m.place LIMIT $2) b) q "
          "ORDER BY at, q.fire_at IS NULL, q.place LIMIT $2")),
      // Past executions are returned as one row without a status.
      metrics(read(
          s, "metrics",
          "SELECT status, count(*), coalesce(sum(last_event_id), 0)::bigint FROM @instances GROUP BY status "
          "UNION ALL SELECT NULL, count(*), coalesce(sum(last_event_id), 0)::bigint FROM @executions")),
      count_instances(read(s, "count_instances",
                           "SELECT status, count(*), max(key) FROM (SELECT key, status FROM @instances "
                           "WHERE key > $1 ORDER BY key LIMIT $2) part GROUP BY status")),
      depths(read(
          s, "depths",
          "WITH t AS (SELECT coalesce($1, @now_ms()) AS now, coalesce($2, @now_ms()) AS lease_now), "
          "messages AS (SELECT q.fire_at > t.now OR coalesce(e.waits_until, 0) > t.now "
          "OR (i.lease_token IS NULL AND coalesce(e.wake_at, 0) > t.lease_now) AS later, "
          "i.lease_token IS NOT NULL AND i.lease_until > t.lease_now AS leased "
          "FROM t, @queue q JOIN @instances i ON i.key = q.instance_key "
          "LEFT JOIN @queue e ON e.instance_key = i.key AND e.place = i.entry_place), "
          "work AS (SELECT w.visible_at > t.lease_now AS later, "
          "w.lease_token IS NOT NULL AND w.lease_until > t.lease_now AS leased FROM t, @worker_queue w) "
          "SELECT m.*, v.*, (SELECT count(*) FROM t, @parked_messages p WHERE p.until > t.lease_now), "
          "(SELECT count(*) FROM t, @sessions s WHERE s.lease_until > t.lease_now) FROM "
          "(SELECT count(*) FILTER (WHERE later IS NOT TRUE AND NOT leased), count(*) FILTER (WHERE later), "
          "count(*) FILTER (WHERE leased AND later IS NOT TRUE) FROM messages) m, "
          "(SELECT count(*) FILTER (WHERE NOT later AND NOT leased), count(*) FILTER (WHERE later AND "
          "NOT leased), "
          "count(*) FILTER (WHERE leased) FROM work) v")),
      nodes(read(s, "nodes",
                 "SELECT node_id, min_level, max_level, coalesce($1, @now_ms()) - (coalesce($2, @now_ms()) - "
                 "seen), record, run FROM @nodes ORDER BY node_id")),
      write_level(read(s, "write_level", "SELECT value FROM @settings WHERE name = 'write_level'")) {}

}  // namespace duramen::inline v0::postgres::detail
