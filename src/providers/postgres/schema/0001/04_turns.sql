-- Turns: handing out instances that have messages, and storing what was decided about them.

-- Leases instances that have visible messages, longest waiting first, and counts an attempt for each message. One whose
-- messages were handed out before goes alone. p_token is where their tokens are counted from. The last row has no key, only
-- the time when there may be more.
CREATE FUNCTION fetch_turns(
  p_now bigint, p_lease_now bigint, p_limit integer, p_lease bigint, p_token bigint,
  p_min_engine integer, p_max_engine integer, p_names text[], p_versions text[])
RETURNS TABLE (
  o_key bigint, o_instance_id text, o_name text, o_version text, o_status text, o_execution bigint,
  o_last_event_id bigint, o_message_ids bigint[], o_attempts integer[], o_items text[],
  o_keys text[], o_values text[], o_encodings text[], o_updated_at bigint[], o_token bigint, o_next_due bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
-- Along the index and no further than needed, never all that waits first: the limit is out of the planner's sight.
SET enable_material = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint := coalesce(p_now, now_ms());
  v_lease_now bigint := coalesce(p_lease_now, v_now);
  v_keys bigint[];
  v_retried boolean;
  v_tids tid[];
  v_next bigint;
  v_due bigint;
BEGIN
  -- The longest waiting decides: if it was handed out before, it goes alone. A row that another fetch is just taking is
  -- passed over. LATERAL: message by message, and only then its instance, whatever the server believes about tables it
  -- has not looked at yet; so no instance is locked that is not taken. No EXISTS: the server might gather all messages
  -- there are to answer it.
  SELECT ARRAY[i.key], (SELECT o.id FROM orchestrator_queue o
                          WHERE o.instance_key = i.key AND o.visible_at <= v_now AND o.attempt > 0 LIMIT 1) IS NOT NULL
    INTO v_keys, v_retried
    FROM (SELECT m.instance_key, m.visible_at + 0 AS due, m.id FROM orchestrator_queue m WHERE m.visible_at + 0 <= v_now
            ORDER BY m.visible_at + 0, m.id OFFSET 0) q
      CROSS JOIN LATERAL (
        SELECT j.key FROM instances j
          WHERE j.key = q.instance_key
            AND (j.lease_token IS NULL OR j.lease_until <= v_lease_now) AND coalesce(j.not_before, 0) <= v_now
            AND (j.status IN ('Pending', 'ContinuedAsNew') OR j.engine_version BETWEEN p_min_engine AND p_max_engine)
            AND (p_names IS NULL OR EXISTS (
              SELECT 1 FROM unnest(p_names, p_versions) AS r (name, version)
                WHERE r.name = j.name
                  AND (r.version IS NULL OR r.version = j.version OR j.status IN ('Pending', 'ContinuedAsNew'))))
          FOR UPDATE SKIP LOCKED) i
    ORDER BY q.due, q.id LIMIT 1;
  IF v_keys IS NOT NULL AND NOT v_retried AND p_limit > 1 THEN
    SELECT array_agg(f.key) INTO v_keys FROM (
      SELECT i.key
        FROM (SELECT m.instance_key, m.visible_at + 0 AS due, m.id FROM orchestrator_queue m
                WHERE m.visible_at + 0 <= v_now
                  -- Each instance once, by its first message; those that were handed out before wait for their turn
                  -- alone. In this order: an instance may have very many messages, and only for the first of them all
                  -- are looked at.
                  AND CASE WHEN (SELECT o.id FROM orchestrator_queue o
                                   WHERE o.instance_key = m.instance_key
                                     AND (o.visible_at, o.id) < (m.visible_at, m.id) LIMIT 1) IS NOT NULL
                           THEN false
                           ELSE (SELECT o.id FROM orchestrator_queue o
                                   WHERE o.instance_key = m.instance_key AND o.visible_at <= v_now
                                     AND o.attempt > 0 LIMIT 1) IS NULL
                      END
                ORDER BY m.visible_at + 0, m.id OFFSET 0) q
          CROSS JOIN LATERAL (
            SELECT j.key FROM instances j
              WHERE j.key = q.instance_key
                AND (j.lease_token IS NULL OR j.lease_until <= v_lease_now) AND coalesce(j.not_before, 0) <= v_now
                AND (j.status IN ('Pending', 'ContinuedAsNew')
                     OR j.engine_version BETWEEN p_min_engine AND p_max_engine)
                AND (p_names IS NULL OR EXISTS (
                  SELECT 1 FROM unnest(p_names, p_versions) AS r (name, version)
                    WHERE r.name = j.name
                      AND (r.version IS NULL OR r.version = j.version OR j.status IN ('Pending', 'ContinuedAsNew'))))
              FOR UPDATE SKIP LOCKED) i
        ORDER BY q.due, q.id LIMIT p_limit) f;
  END IF;

  IF v_keys IS NOT NULL THEN
    v_tids := ARRAY(
      SELECT q.tid FROM unnest(v_keys) AS u (key)
        CROSS JOIN LATERAL (
          SELECT m.ctid AS tid FROM orchestrator_queue m
            WHERE m.instance_key = u.key AND m.visible_at <= v_now OFFSET 0) q);
    RETURN QUERY
      WITH tagged AS (
        UPDATE orchestrator_queue q SET attempt = q.attempt + 1, lease_token = p_token + q.instance_key
          WHERE q.ctid = ANY (v_tids)
          RETURNING q.instance_key, q.visible_at, q.id, q.attempt, q.item),
      gathered AS (
        SELECT t.instance_key, min(t.visible_at) AS waiting_since, min(t.id) AS first_id,
               array_agg(t.id ORDER BY t.visible_at, t.id) AS ids,
               array_agg(t.attempt ORDER BY t.visible_at, t.id) AS attempts,
               array_agg(t.item ORDER BY t.visible_at, t.id) AS items
          FROM tagged t GROUP BY t.instance_key),
      -- Whose messages another turn has taken meanwhile is not leased.
      leased AS (
        UPDATE instances i SET lease_token = p_token + i.key, lease_until = v_lease_now + p_lease, not_before = NULL
          FROM (SELECT a.*, j.tid FROM gathered a
                  CROSS JOIN LATERAL (
                    SELECT k.ctid AS tid FROM instances k WHERE k.key = a.instance_key OFFSET 0) j
                  LIMIT cardinality(v_keys)) g
          WHERE i.ctid = g.tid
          RETURNING i.key, i.instance_id, i.name, i.version, i.status, i.execution, i.last_event_id, i.has_key_values,
                    i.lease_token,
                    g.waiting_since, g.first_id, g.ids, g.attempts, g.items)
      SELECT l.key, l.instance_id, l.name, l.version, l.status, l.execution, l.last_event_id, l.ids, l.attempts, l.items,
             k.keys, k.vals, k.encodings, k.times, l.lease_token, NULL::bigint
        FROM leased l LEFT JOIN LATERAL (
          SELECT array_agg(v.key) AS keys, array_agg(v.settled_value) AS vals,
                 array_agg(v.settled_encoding) AS encodings, array_agg(v.settled_updated_at) AS times
            FROM key_values v
            WHERE l.has_key_values AND v.instance_key = l.key AND v.settled_value IS NOT NULL) k ON true
        ORDER BY l.waiting_since, l.first_id;
  END IF;

  -- When to come back. Who got all it asked for comes back at once.
  IF coalesce(cardinality(v_keys), 0) < p_limit THEN
    SELECT q.visible_at INTO v_next FROM orchestrator_queue q
      WHERE q.visible_at + 0 > v_now ORDER BY q.visible_at + 0, q.id LIMIT 1;
    SELECT min(CASE WHEN b.lease_until > v_lease_now THEN v_now + b.lease_until - v_lease_now ELSE b.not_before END)
      INTO v_due
      FROM (SELECT i.lease_until, i.not_before
              FROM (SELECT m.instance_key, m.visible_at + 0 AS due, m.id FROM orchestrator_queue m
                      WHERE m.visible_at + 0 <= v_now ORDER BY m.visible_at + 0, m.id OFFSET 0) q
                CROSS JOIN LATERAL (
                  SELECT j.lease_until, j.not_before FROM instances j
                    WHERE j.key = q.instance_key
                      AND (j.lease_until > v_lease_now OR j.not_before > v_now)
                      AND j.lease_token IS DISTINCT FROM p_token + j.key  -- not leased just now
                    OFFSET 0) i
              ORDER BY q.due, q.id LIMIT 256) b;
    v_next := least(v_next, v_due);
  END IF;
  o_key := NULL;
  o_next_due := v_next;
  RETURN NEXT;
END $$;

-- Gives leased instances back untouched; how many.
CREATE FUNCTION abandon_turns(
  p_now bigint, p_lease_now bigint, r_key bigint[], r_token bigint[], r_delay bigint[], r_uncount integer[])
RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint;
  v_count bigint;
  v_tids tid[];
  v_keys bigint[];
  v_tokens bigint[];
  v_delays bigint[];
  v_uncounts integer[];
  v_all CONSTANT bigint := 1000000000;  -- messages: more than there can be
BEGIN
  PERFORM lock_instances(r_key, NULL);
  v_now := coalesce(p_now, now_ms());
  SELECT array_agg(i.tid), array_agg(r.key), array_agg(r.token), array_agg(r.delay), array_agg(r.uncount)
    INTO v_tids, v_keys, v_tokens, v_delays, v_uncounts
    FROM unnest(r_key, r_token, r_delay, r_uncount) AS r (key, token, delay, uncount)
      CROSS JOIN LATERAL (
        SELECT j.ctid AS tid, j.lease_token, j.lease_until FROM instances j WHERE j.key = r.key OFFSET 0) i
    WHERE i.lease_token = r.token AND i.lease_until > coalesce(p_lease_now, v_now);
  UPDATE instances i SET
      lease_token = NULL, lease_until = NULL, not_before = CASE WHEN r.delay > 0 THEN v_now + r.delay END
    FROM (SELECT * FROM unnest(v_tids, v_delays) AS u (tid, delay) LIMIT cardinality(v_tids)) r
    WHERE i.ctid = r.tid;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  UPDATE orchestrator_queue q SET lease_token = NULL, attempt = greatest(q.attempt - r.uncount, 0)
    FROM (SELECT m.tid, u.uncount FROM unnest(v_keys, v_tokens, v_uncounts) AS u (key, token, uncount)
            CROSS JOIN LATERAL (
              SELECT o.ctid AS tid, o.lease_token FROM orchestrator_queue o WHERE o.instance_key = u.key OFFSET 0) m
            WHERE m.lease_token = u.token LIMIT v_all) r
    WHERE q.ctid = r.tid;
  RETURN v_count;
END $$;

CREATE FUNCTION renew_turns(p_lease_now bigint, p_extend bigint, r_key bigint[], r_token bigint[]) RETURNS boolean[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint;
  v_renewed boolean[];
  v_tids tid[];
BEGIN
  PERFORM lock_instances(r_key, NULL);
  v_now := coalesce(p_lease_now, now_ms());
  SELECT array_agg(i.tid IS NOT NULL ORDER BY r.n), array_agg(i.tid) INTO v_renewed, v_tids
    FROM unnest(r_key, r_token) WITH ORDINALITY AS r (key, token, n)
      LEFT JOIN LATERAL (
        SELECT j.ctid AS tid, j.lease_token, j.lease_until FROM instances j WHERE j.key = r.key OFFSET 0) i
        ON i.lease_token = r.token AND i.lease_until > v_now;
  UPDATE instances i SET lease_until = v_now + p_extend WHERE i.ctid = ANY (v_tids);
  RETURN v_renewed;
END $$;

-- Takes every lock that storing turns needs, see commit_turns(): instances that are committed or sent to or whose ids are
-- wanted, then the work that ends. For turns that are stored one by one in one transaction, p_alone has nobody else
-- create instances meanwhile: then none of them finds one that was not locked for all.
CREATE FUNCTION lock_turns(
  p_alone boolean,
  c_basis smallint[], c_instance text[], c_key bigint[], c_execution bigint[], c_cancel_rest text[],
  a_key bigint[], a_execution bigint[], a_activity bigint[],
  m_turn integer[], m_kind smallint[], m_target text[], x_turn integer[], x_activity bigint[])
RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF p_alone THEN PERFORM pg_advisory_xact_lock(parking_lock()); END IF;
  IF 2 = ANY (c_basis) THEN
    -- A fused start is sent along with its turn.
    PERFORM lock_parking(m_turn || array_agg(c.turn::integer), m_kind || array_agg(2::smallint),
                         m_target || array_agg(c.id))
      FROM unnest(c_basis, c_instance) WITH ORDINALITY AS c (basis, id, turn) WHERE c.basis = 2;
    PERFORM lock_instances(
      ARRAY(SELECT c.key FROM unnest(c_basis, c_key) AS c (basis, key) WHERE c.basis < 2),
      m_target || ARRAY(SELECT c.id FROM unnest(c_basis, c_instance) AS c (basis, id) WHERE c.basis = 2));
  ELSE
    PERFORM lock_parking(m_turn, m_kind, m_target);
    PERFORM lock_instances(c_key, m_target);
  END IF;
  IF cardinality(a_key) + cardinality(x_turn) > 0 OR cardinality(array_remove(c_cancel_rest, NULL)) > 0 THEN
    PERFORM lock_work(array_agg(k.key), array_agg(k.execution), array_agg(k.activity)) FROM (
      SELECT a.key, a.execution, a.activity FROM unnest(a_key, a_execution, a_activity) AS a (key, execution, activity)
      UNION ALL
      SELECT c_key[x.turn], c_execution[x.turn], x.activity FROM unnest(x_turn, x_activity) AS x (turn, activity)
      UNION ALL
      SELECT c.key, c.execution, w.activity
        FROM unnest(c_key, c_execution, c_cancel_rest) AS c (key, execution, reason)
          CROSS JOIN LATERAL (SELECT o.activity FROM worker_queue o
                                WHERE o.instance_key = c.key AND o.execution = c.execution OFFSET 0) w
        WHERE c.reason IS NOT NULL) k;
  END IF;
END $$;

-- Stores turns. Everything is an array; what belongs to a turn names it by its place among the turns (*_turn).
--
--   c_*  the turns: basis 0 held, 1 conditional, 2 fused; c_fits says that the event ids follow one another (and, of a
--        fused start, that it is a first turn); a c_key of 0 in a fused start asks for a number
--   a_*  the work that ended and caused the turn; its completion, should the turn not be stored
--   w_*  new work; a token means: born leased
--   t_*  timers, to the instance itself
--   m_*  other messages, see deliver(); m_refused goes to the sender if the id of a start is taken
--   x_*  cancelled activities, d_* dropped timers, k_* changes of key-values in their order (no key: all are cleared)
--
-- Outcomes: 0 committed, 1 already committed, 2 lease lost, 3 condition failed, 4 start refused, 5 invalid.
CREATE FUNCTION commit_turns(
  p_now bigint, p_lease_now bigint,
  c_basis smallint[], c_token bigint[], c_node text[], c_instance text[], c_key bigint[], c_lease bigint[],
  c_seen bigint[], c_execution bigint[], c_fits boolean[], c_first bigint[], c_last bigint[], c_events text[],
  c_status text[], c_version text[], c_engine integer[], c_output text[], c_output_encoding text[], c_failure text[],
  c_parent_instance text[], c_parent_key bigint[], c_parent_execution bigint[], c_parent_event bigint[],
  c_sets_status boolean[], c_custom_status text[], c_sets_values boolean[], c_worker_lease bigint[],
  c_cancel_rest text[], c_name text[], c_digest bigint[], c_reuse boolean[],
  a_turn integer[], a_key bigint[], a_execution bigint[], a_activity bigint[], a_token bigint[], a_item text[],
  w_turn integer[], w_execution bigint[], w_activity bigint[], w_token bigint[], w_name text[], w_input text[],
  w_encoding text[], w_session text[], w_tag text[], w_start bigint[], w_close bigint[], w_heartbeat bigint[],
  w_orchestration text[], w_version text[], w_owner text[],
  t_turn integer[], t_execution bigint[], t_event bigint[], t_at bigint[], t_item text[],
  m_turn integer[], m_kind smallint[], m_target text[], m_item text[], m_at bigint[], m_id text[], m_for bigint[],
  m_name text[], m_digest bigint[], m_parent_instance text[], m_parent_key bigint[], m_parent_execution bigint[],
  m_parent_event bigint[], m_refused text[],
  x_turn integer[], x_activity bigint[], x_reason text[],
  d_turn integer[], d_event bigint[],
  k_turn integer[], k_key text[], k_value text[], k_encoding text[], k_at bigint[],
  OUT outcomes smallint[], OUT keys bigint[], OUT starts smallint[], OUT ack_outcomes smallint[], OUT ack_reasons text[],
  OUT stolen_turn bigint[], OUT stolen stolen_lease[], OUT erased stolen_lease[], OUT work_ready boolean)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_count integer := cardinality(c_basis);
  v_now bigint;
  v_lease_now bigint;
  v_acks_hold boolean[] := array_fill(true, ARRAY[v_count]);
  v_next boolean[];           -- the turn begins the next execution
  v_has_values boolean[];
  v_final boolean[];
  v_stored boolean[];
  v_failed_acks boolean[];
  v_places bigint[];
  v_keys bigint[];
  v_ids text[];
  v_made bigint;
  v_sent bigint;
  v_message_outcomes smallint[];
  v_tids tid[];
  v_sessions text[];
  v_row record;
BEGIN
  work_ready := false;
  erased := '{}';
  starts := array_fill(0::smallint, ARRAY[v_count]);

  -- 1. Locks.
  PERFORM lock_turns(false, c_basis, c_instance, c_key, c_execution, c_cancel_rest, a_key, a_execution, a_activity,
                     m_turn, m_kind, m_target, x_turn, x_activity);
  v_now := coalesce(p_now, now_ms());
  v_lease_now := coalesce(p_lease_now, v_now);

  -- 2. Decide each turn.
  IF cardinality(a_turn) > 0 THEN
    FOR v_row IN
      SELECT DISTINCT a.turn
        FROM unnest(a_turn, a_key, a_execution, a_activity, a_token) AS a (turn, key, execution, activity, token)
          LEFT JOIN LATERAL (
            SELECT h.lease_token, h.lease_until FROM worker_queue h
              WHERE h.instance_key = a.key AND h.execution = a.execution AND h.activity = a.activity OFFSET 0) w
            ON w.lease_token = a.token AND w.lease_until > v_lease_now
        WHERE w.lease_token IS NULL
    LOOP
      v_acks_hold[v_row.turn] := false;
    END LOOP;
  END IF;
  SELECT array_agg(d.outcome::smallint ORDER BY d.n), array_agg(coalesce(d.key, 0) ORDER BY d.n),
         array_agg(d.is_next ORDER BY d.n), array_agg(coalesce(d.has_key_values, false) ORDER BY d.n),
         array_agg(is_final(d.new_status) ORDER BY d.n)
    INTO outcomes, keys, v_next, v_has_values, v_final
    FROM (
      SELECT e.n, e.key, e.is_next, e.has_key_values, e.new_status,
             CASE WHEN e.basis = 2 THEN 0
                  WHEN e.key IS NULL THEN CASE WHEN e.basis = 0 THEN 2 ELSE 3 END
                  WHEN e.token <> 0 AND e.commit_token = e.token THEN 1
                  WHEN e.basis = 0 AND (e.lease_token IS DISTINCT FROM e.lease OR e.lease_until <= v_lease_now) THEN 2
                  WHEN e.basis = 1 AND (
                      e.lease_until > v_lease_now OR is_final(e.status) OR e.last_event_id <> e.seen OR (
                        SELECT q.id FROM orchestrator_queue q
                          WHERE q.instance_key = e.key AND q.visible_at <= v_now LIMIT 1) IS NOT NULL) THEN 3
                  WHEN NOT v_acks_hold[e.n] THEN 3
                  WHEN NOT (e.fits AND (e.is_next OR e.turn_execution = e.execution)
                            AND (e.first = 0 OR e.first = CASE WHEN e.is_next THEN 1 ELSE e.last_event_id + 1 END)) THEN 5
                  ELSE 0 END AS outcome
        FROM (
          SELECT c.n, c.basis, c.token, c.lease, c.seen, c.execution AS turn_execution, c.fits, c.first, c.new_status,
                 i.key, i.commit_token, i.lease_token, i.lease_until, i.status, i.execution, i.last_event_id,
                 i.has_key_values,
                 coalesce(i.status = 'ContinuedAsNew' AND c.execution = i.execution + 1, false) AS is_next
            FROM unnest(c_basis, c_token, c_key, c_lease, c_seen, c_execution, c_fits, c_first, c_status)
              WITH ORDINALITY AS c (basis, token, wanted_key, lease, seen, execution, fits, first, new_status, n)
              LEFT JOIN LATERAL (SELECT j.* FROM instances j WHERE j.key = c.wanted_key OFFSET 0) i ON c.basis < 2) e) d;

  -- 3. Instances that their first turn creates.
  IF 2 = ANY (c_basis) THEN
    FOR v_row IN
      SELECT c.n, c.token, c.fits, c.digest, c.reuse, i.key, i.commit_token, i.status, i.start_digest
        FROM unnest(c_basis, c_instance, c_token, c_fits, c_digest, c_reuse)
          WITH ORDINALITY AS c (basis, id, token, fits, digest, reuse, n)
          LEFT JOIN LATERAL (SELECT j.* FROM instances j WHERE j.instance_id = c.id OFFSET 0) i ON true
        WHERE c.basis = 2 AND (i.key IS NOT NULL OR NOT c.fits)
    LOOP
      IF v_row.key IS NOT NULL THEN
        keys[v_row.n] := v_row.key;
        IF v_row.token <> 0 AND v_row.commit_token = v_row.token THEN
          outcomes[v_row.n] := 1;
        ELSIF NOT (v_row.reuse AND is_final(v_row.status)) THEN
          outcomes[v_row.n] := 4;
          starts[v_row.n] := CASE WHEN v_row.start_digest = v_row.digest THEN 1 ELSE 2 END;
        ELSIF v_row.fits THEN
          erased := erased || erase_instances(v_lease_now, ARRAY[v_row.key]);
        ELSE
          outcomes[v_row.n] := 5;
        END IF;
      ELSE
        outcomes[v_row.n] := 5;
      END IF;
    END LOOP;
    WITH numbered AS MATERIALIZED (
      SELECT c.*, CASE WHEN c.wanted_key <> 0 THEN c.wanted_key ELSE nextval('numbers') END AS key
        FROM unnest(outcomes, c_basis, c_key, c_instance, c_name, c_version, c_status, c_last, c_engine, c_digest, c_token,
                    c_sets_values, c_parent_instance, c_parent_key, c_parent_execution, c_parent_event,
                    c_sets_status, c_custom_status, c_failure, c_output, c_output_encoding)
          WITH ORDINALITY AS c (outcome, basis, wanted_key, id, name, version, status, last, engine, digest, token,
                                sets_values, parent_instance, parent_key, parent_execution, parent_event,
                                sets_status, custom_status, failure, output, output_encoding, n)
        WHERE c.basis = 2 AND c.outcome = 0 ORDER BY c.n),
    made AS (
      INSERT INTO instances (key, instance_id, name, version, status, last_event_id, engine_version, created_at,
                             updated_at, execution_started_at, start_digest, commit_token, has_key_values,
                             parent_instance, parent_key, parent_execution, parent_event,
                             custom_status_version, custom_status, failure, output, output_encoding)
        SELECT s.key, s.id, s.name, coalesce(s.version, ''), s.status, s.last, s.engine, v_now,
               v_now, v_now, s.digest, nullif(s.token, 0), s.sets_values,
               s.parent_instance, s.parent_key, s.parent_execution, s.parent_event,
               CASE WHEN s.sets_status THEN 1 ELSE 0 END, s.custom_status, s.failure, s.output, s.output_encoding
          FROM numbered s ORDER BY s.id
        ON CONFLICT (instance_id) DO NOTHING RETURNING 1)
    SELECT array_agg(s.n), array_agg(s.key), array_agg(s.id), (SELECT count(*) FROM made)
      INTO v_places, v_keys, v_ids, v_made FROM numbered s;
    -- Some ids were taken, which is rare: where one was, nobody has the number.
    IF v_made < cardinality(v_places) THEN
      SELECT array_agg(s.n), array_agg(s.key), array_agg(s.id) INTO v_places, v_keys, v_ids
        FROM unnest(v_places, v_keys, v_ids) AS s (n, key, id)
          CROSS JOIN LATERAL (SELECT 1 FROM instances i WHERE i.key = s.key OFFSET 0) made;
    END IF;
    IF v_places IS NOT NULL THEN
      FOR p IN 1 .. cardinality(v_places) LOOP keys[v_places[p]] := v_keys[p]; END LOOP;
      PERFORM unpark(v_now, v_keys, v_ids);
    END IF;
    -- Somebody else was faster, since we looked.
    FOR v_row IN
      SELECT c.n, c.token, c.digest, i.key, i.commit_token, i.start_digest
        FROM unnest(c_basis, outcomes, keys, c_instance, c_token, c_digest)
          WITH ORDINALITY AS c (basis, outcome, key, id, token, digest, n)
          CROSS JOIN LATERAL (SELECT j.* FROM instances j WHERE j.instance_id = c.id OFFSET 0) i
        WHERE c.basis = 2 AND c.outcome = 0 AND c.key <> i.key
    LOOP
      keys[v_row.n] := v_row.key;
      IF v_row.token <> 0 AND v_row.commit_token = v_row.token THEN
        outcomes[v_row.n] := 1;
      ELSE
        outcomes[v_row.n] := 4;
        starts[v_row.n] := CASE WHEN v_row.start_digest = v_row.digest THEN 1 ELSE 2 END;
      END IF;
    END LOOP;
  END IF;
  SELECT array_agg(o = 0 ORDER BY n), array_agg(o = 3 ORDER BY n) INTO v_stored, v_failed_acks
    FROM unnest(outcomes) WITH ORDINALITY AS u (o, n);

  -- 4. The instances themselves.
  IF true = ANY (v_stored) AND (0 = ANY (c_basis) OR 1 = ANY (c_basis)) THEN
    IF 0 = ANY (c_basis) THEN
      DELETE FROM orchestrator_queue q WHERE q.ctid = ANY (ARRAY(
        SELECT m.tid FROM unnest(v_stored, c_basis, keys, c_lease) AS c (stored, basis, key, lease)
          CROSS JOIN LATERAL (
            SELECT o.ctid AS tid, o.lease_token FROM orchestrator_queue o WHERE o.instance_key = c.key OFFSET 0) m
          WHERE c.stored AND c.basis = 0 AND m.lease_token = c.lease));
    END IF;
    IF true = ANY (v_next) THEN
      INSERT INTO executions (instance_key, execution, version, status, last_event_id, started_at, ended_at)
        SELECT i.key, i.execution, i.version, i.status, i.last_event_id, i.execution_started_at, i.updated_at
          FROM unnest(v_stored, v_next, keys) AS c (stored, is_next, key)
            CROSS JOIN LATERAL (SELECT j.* FROM instances j WHERE j.key = c.key OFFSET 0) i
          WHERE c.stored AND c.is_next;
    END IF;
    UPDATE instances i SET
        status = c.status,
        version = coalesce(c.version, i.version),
        execution = c.execution,
        execution_started_at = CASE WHEN i.execution = c.execution THEN i.execution_started_at ELSE v_now END,
        last_event_id = CASE WHEN c.last > 0 THEN c.last WHEN c.is_next THEN 0 ELSE i.last_event_id END,
        engine_version = c.engine,
        updated_at = v_now,
        commit_token = nullif(c.token, 0),
        lease_token = NULL, lease_until = NULL, not_before = NULL,
        has_key_values = i.has_key_values OR c.sets_values,
        parent_instance = coalesce(c.parent_instance, i.parent_instance),
        parent_key = coalesce(c.parent_key, i.parent_key),
        parent_execution = coalesce(c.parent_execution, i.parent_execution),
        parent_event = coalesce(c.parent_event, i.parent_event),
        custom_status_version = i.custom_status_version + CASE WHEN c.sets_status THEN 1 ELSE 0 END,
        custom_status = CASE WHEN c.sets_status THEN c.custom_status ELSE i.custom_status END,
        failure = coalesce(c.failure, i.failure),
        output_encoding = coalesce(c.output_encoding, i.output_encoding),
        output = coalesce(c.output, i.output)
      FROM (
        SELECT u.*, j.tid
          FROM unnest(v_stored, c_basis, keys, v_next, c_status, c_version, c_execution, c_last, c_engine, c_token,
                      c_sets_values, c_parent_instance, c_parent_key, c_parent_execution, c_parent_event,
                      c_sets_status, c_custom_status, c_failure, c_output_encoding, c_output)
            AS u (stored, basis, key, is_next, status, version, execution, last, engine, token,
                  sets_values, parent_instance, parent_key, parent_execution, parent_event,
                  sets_status, custom_status, failure, output_encoding, output)
            CROSS JOIN LATERAL (SELECT k.ctid AS tid FROM instances k WHERE k.key = u.key OFFSET 0) j
          WHERE u.stored AND u.basis < 2 LIMIT v_count) c
      WHERE i.ctid = c.tid;
  END IF;
  INSERT INTO history (instance_key, execution, first_event_id, last_event_id, events)
    SELECT c.key, c.execution, c.first, c.last, c.events
      FROM unnest(v_stored, keys, c_execution, c_first, c_last, c_events) AS c (stored, key, execution, first, last, events)
      WHERE c.stored AND c.first > 0;

  -- 5. Work that ended: with its turn, or without it.
  IF cardinality(a_turn) > 0 THEN
    IF true = ANY (v_stored) THEN
      SELECT array_agg(w.tid), coalesce(array_agg(w.session_id) FILTER (WHERE w.session_id IS NOT NULL), '{}')
        INTO v_tids, v_sessions
        FROM unnest(a_turn, a_key, a_execution, a_activity) AS a (turn, key, execution, activity)
          CROSS JOIN LATERAL (
            SELECT h.ctid AS tid, h.session_id FROM worker_queue h
              WHERE h.instance_key = a.key AND h.execution = a.execution AND h.activity = a.activity OFFSET 0) w
        WHERE v_stored[a.turn];
      DELETE FROM worker_queue w WHERE w.ctid = ANY (v_tids);
      PERFORM use_sessions(v_lease_now, v_sessions);
    END IF;
    IF true = ANY (v_failed_acks) THEN
      SELECT f.outcomes, f.reasons, f.sent INTO ack_outcomes, ack_reasons, v_sent
        FROM finish_work(v_now, v_lease_now, (SELECT array_agg(v_failed_acks[u.turn] ORDER BY u.n)
                                                FROM unnest(a_turn) WITH ORDINALITY AS u (turn, n)),
                         a_key, a_execution, a_activity, a_token, a_item) f;
      work_ready := v_sent > 0;
    END IF;
  END IF;
  IF NOT true = ANY (v_stored) THEN RETURN; END IF;

  -- 6. Key-values, one change after the other; settled when the execution ends.
  FOR p IN 1 .. cardinality(k_turn) LOOP
    CONTINUE WHEN NOT v_stored[k_turn[p]];
    PERFORM change_key_value(keys[k_turn[p]], k_key[p], k_value[p], k_encoding[p], k_at[p]);
  END LOOP;
  IF cardinality(k_turn) > 0 OR true = ANY (v_has_values) THEN
    PERFORM settle_key_values(c.key)
      FROM unnest(v_stored, keys, v_has_values, c_sets_values, c_status)
        AS c (stored, key, has_values, sets_values, status)
      WHERE c.stored AND (c.has_values OR c.sets_values) AND (is_final(c.status) OR c.status = 'ContinuedAsNew');
  END IF;

  -- 7. Work: first what is new, then what is taken back.
  IF cardinality(w_turn) > 0 THEN
    INSERT INTO worker_queue (
        instance_key, execution, activity, visible_at, attempt, lease_token, lease_until, lease_owner, fence,
        name, session_id, tag, schedule_to_start, start_to_close, heartbeat, start_by, close_by, overdue_at,
        orchestration_name, orchestration_version, encoding, input)
      SELECT keys[w.turn], w.execution, w.activity, v_now,
             CASE WHEN w.token IS NULL THEN 0 ELSE 1 END,
             w.token,
             CASE WHEN w.token IS NOT NULL THEN v_lease_now + c_worker_lease[w.turn] END,
             w.owner,
             CASE WHEN w.token IS NULL THEN 0 ELSE 1 END,
             w.name, w.session, w.tag, w.start, w.close, w.heartbeat, v_now + w.start,
             CASE WHEN w.token IS NOT NULL THEN v_lease_now + w.close END,
             CASE WHEN w.token IS NOT NULL THEN least(v_lease_now + w.close, v_lease_now + w.heartbeat) END,
             w.orchestration, w.version, w.encoding, w.input
        FROM unnest(w_turn, w_execution, w_activity, w_token, w_name, w_input, w_encoding, w_session, w_tag, w_start,
                    w_close, w_heartbeat, w_orchestration, w_version, w_owner)
          WITH ORDINALITY AS w (turn, execution, activity, token, name, input, encoding, session, tag, start, close,
                                heartbeat, orchestration, version, owner, n)
        WHERE v_stored[w.turn] ORDER BY w.n;
  END IF;
  IF cardinality(x_turn) > 0 OR cardinality(array_remove(c_cancel_rest, NULL)) > 0 THEN
    WITH wanted AS (
      SELECT x.turn, x.reason, w.*
        FROM unnest(x_turn, x_activity, x_reason) AS x (turn, activity, reason)
          CROSS JOIN LATERAL (
            SELECT o.ctid AS tid, o.instance_key, o.execution, o.activity, o.lease_token, o.lease_until, o.lease_owner
              FROM worker_queue o
              WHERE o.instance_key = keys[x.turn] AND o.execution = c_execution[x.turn] AND o.activity = x.activity
              OFFSET 0) w
        WHERE v_stored[x.turn]
      UNION ALL
      SELECT c.turn, c.reason, w.*
        FROM unnest(v_stored, keys, c_execution, c_cancel_rest)
          WITH ORDINALITY AS c (stored, key, execution, reason, turn)
          CROSS JOIN LATERAL (
            SELECT o.ctid AS tid, o.instance_key, o.execution, o.activity, o.lease_token, o.lease_until, o.lease_owner
              FROM worker_queue o
              WHERE o.instance_key = c.key AND o.execution = c.execution OFFSET 0) w
        WHERE c.stored AND c.reason IS NOT NULL),
    -- The reason that names the activity wins over the one for the rest.
    gone AS MATERIALIZED (
      SELECT DISTINCT ON (w.instance_key, w.execution, w.activity) w.* FROM (
        SELECT u.*, row_number() OVER () AS place FROM wanted u) w
        ORDER BY w.instance_key, w.execution, w.activity, w.place),
    removed AS (
      DELETE FROM worker_queue w WHERE w.ctid = ANY (ARRAY(SELECT g.tid FROM gone g))),
    held AS (SELECT * FROM gone g WHERE g.lease_token IS NOT NULL AND g.lease_until > v_lease_now),
    -- The committing node hears of its own from the answer.
    kept AS (
      INSERT INTO stolen_leases (instance_key, execution, activity, lease_token, owner, reason, until)
        SELECT h.instance_key, h.execution, h.activity, h.lease_token, h.lease_owner, h.reason, h.lease_until + 60000
          FROM held h WHERE h.lease_owner <> c_node[h.turn]
        ON CONFLICT (instance_key, execution, activity, lease_token) DO UPDATE SET reason = excluded.reason)
    SELECT array_agg(h.turn ORDER BY h.turn, h.activity),
           array_agg(ROW(h.lease_owner, h.instance_key, h.execution, h.activity, h.lease_token, h.reason)::stolen_lease
                     ORDER BY h.turn, h.activity)
      INTO stolen_turn, stolen FROM held h;
  END IF;

  -- 8. Messages: every turn has been decided.
  IF cardinality(t_turn) > 0 THEN
    INSERT INTO orchestrator_queue (instance_key, visible_at, execution, event_id, item)
      SELECT keys[t.turn], greatest(t.at, v_now), t.execution, t.event, t.item
        FROM unnest(t_turn, t_execution, t_event, t_at, t_item) WITH ORDINALITY AS t (turn, execution, event, at, item, n)
        WHERE v_stored[t.turn] AND NOT v_final[t.turn] ORDER BY t.n;
  END IF;
  IF cardinality(m_turn) > 0 THEN
    v_message_outcomes := deliver(
      v_now, (SELECT array_agg(v_stored[u.turn] ORDER BY u.n) FROM unnest(m_turn) WITH ORDINALITY AS u (turn, n)),
      m_kind, m_target, m_item, m_at, m_id, m_for, m_name, m_digest,
      m_parent_instance, m_parent_key, m_parent_execution, m_parent_event);
    IF 0 = ANY (v_message_outcomes) THEN work_ready := true; END IF;
    IF 1 = ANY (v_message_outcomes) THEN
      INSERT INTO orchestrator_queue (instance_key, visible_at, item)
        SELECT keys[m.turn], v_now, m.refused
          FROM unnest(m_turn, m_kind, m_refused, v_message_outcomes)
            WITH ORDINALITY AS m (turn, kind, refused, outcome, n)
          WHERE m.kind = 2 AND m.outcome = 1 AND m.refused IS NOT NULL AND NOT v_final[m.turn] ORDER BY m.n;
      work_ready := work_ready OR FOUND;
    END IF;
  END IF;

  -- 9. Messages that nobody is to see.
  IF true = ANY (v_final) THEN
    DELETE FROM orchestrator_queue q WHERE q.instance_key = ANY (ARRAY(
      SELECT c.key FROM unnest(v_stored, v_final, keys) AS c (stored, final, key) WHERE c.stored AND c.final));
  END IF;
  IF cardinality(array_remove(c_cancel_rest, NULL)) > 0 THEN
    DELETE FROM orchestrator_queue q WHERE q.ctid = ANY (ARRAY(
      SELECT m.tid
        FROM unnest(v_stored, v_final, keys, c_execution, c_cancel_rest) AS c (stored, final, key, execution, reason)
          CROSS JOIN LATERAL (
            SELECT o.ctid AS tid, o.execution, o.event_id FROM orchestrator_queue o
              WHERE o.instance_key = c.key OFFSET 0) m
        WHERE c.stored AND NOT c.final AND c.reason IS NOT NULL
          AND m.execution = c.execution AND m.event_id IS NOT NULL));
  END IF;
  IF cardinality(d_turn) > 0 THEN
    DELETE FROM orchestrator_queue q WHERE q.ctid = ANY (ARRAY(
      SELECT m.tid FROM unnest(d_turn, d_event) AS d (turn, event)
        CROSS JOIN LATERAL (
          SELECT o.ctid AS tid, o.instance_key, o.execution, o.event_id FROM orchestrator_queue o
            WHERE timer_number(o.instance_key, o.execution, o.event_id)
                  = timer_number(keys[d.turn], c_execution[d.turn], d.event) AND o.event_id IS NOT NULL OFFSET 0) m
        WHERE v_stored[d.turn] AND m.instance_key = keys[d.turn] AND m.execution = c_execution[d.turn]
          AND m.event_id = d.event));
  END IF;
  -- What arrived while a lease was held waits for whoever is next.
  IF NOT work_ready AND 0 = ANY (c_basis) THEN
    work_ready := EXISTS (
      SELECT 1 FROM unnest(v_stored, c_basis, v_final, keys) AS c (stored, basis, final, key)
        CROSS JOIN LATERAL (
          SELECT 1 FROM orchestrator_queue o
            WHERE o.instance_key = c.key AND o.visible_at <= v_now LIMIT 1) q
        WHERE c.stored AND c.basis = 0 AND NOT c.final);
  END IF;
END $$;

-- One change: no key clears all, no value clears that key. A key that no earlier execution knew leaves no row behind; any
-- other is remembered until this one ends.
CREATE FUNCTION change_key_value(p_instance bigint, p_key text, p_value text, p_encoding text, p_at bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF p_key IS NOT NULL AND p_value IS NOT NULL THEN
    INSERT INTO key_values (instance_key, key, value, encoding, updated_at)
      VALUES (p_instance, p_key, p_value, p_encoding, p_at)
      ON CONFLICT (instance_key, key) DO UPDATE
        SET value = excluded.value, encoding = excluded.encoding, updated_at = excluded.updated_at;
    RETURN;
  END IF;
  DELETE FROM key_values v
    WHERE v.instance_key = p_instance AND (p_key IS NULL OR v.key = p_key) AND v.settled_value IS NULL;
  UPDATE key_values v SET value = NULL, encoding = NULL, updated_at = NULL
    WHERE v.instance_key = p_instance AND (p_key IS NULL OR v.key = p_key) AND v.value IS NOT NULL;
END $$;

-- The execution has ended: what is current is what the next one begins with.
CREATE FUNCTION settle_key_values(p_instance bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  DELETE FROM key_values v WHERE v.instance_key = p_instance AND v.value IS NULL;
  UPDATE key_values v SET settled_value = v.value, settled_encoding = v.encoding, settled_updated_at = v.updated_at
    WHERE v.instance_key = p_instance
      AND (v.settled_value, v.settled_encoding, v.settled_updated_at)
        IS DISTINCT FROM (v.value, v.encoding, v.updated_at);
END $$;
