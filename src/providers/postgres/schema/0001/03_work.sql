-- Activities: handing them out, ending them, and the leases in between.
--
-- Worker rows are locked in the order of their keys by whoever waits for them, and after the instances.

CREATE FUNCTION lock_work(p_keys bigint[], p_executions bigint[], p_activities bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1
    FROM (SELECT DISTINCT k.key, k.execution, k.activity
            FROM unnest(p_keys, p_executions, p_activities) AS k (key, execution, activity) ORDER BY 1, 2, 3) u
      CROSS JOIN LATERAL (
        SELECT 1 FROM worker_queue w
          WHERE w.instance_key = u.key AND w.execution = u.execution AND w.activity = u.activity FOR UPDATE) locked;
END $$;

-- Notes that sessions are in use, as far as their leases last.
CREATE FUNCTION use_sessions(p_lease_now bigint, p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(p_ids) = 0 THEN RETURN; END IF;
  PERFORM 1 FROM sessions s WHERE s.session_id = ANY (p_ids) ORDER BY s.session_id FOR UPDATE;
  UPDATE sessions s SET used_at = p_lease_now WHERE s.ctid = ANY (ARRAY(
    SELECT l.tid FROM unnest(p_ids) AS u (id)
      CROSS JOIN LATERAL (
        SELECT k.ctid AS tid, k.lease_until FROM sessions k WHERE k.session_id = u.id OFFSET 0) l
      WHERE l.lease_until > p_lease_now));
END $$;

-- Ends activities: deletes the rows that are held under their leases, and sends their completions. The rows and their
-- instances are locked by the caller. Outcomes: 0 done, 1 cancelled for that reason, 2 lease lost.
CREATE FUNCTION finish_work(
  p_now bigint, p_lease_now bigint,
  a_wanted boolean[], a_key bigint[], a_execution bigint[], a_activity bigint[], a_token bigint[], a_item text[],
  OUT outcomes smallint[], OUT reasons text[], OUT sent bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_sessions text[];
BEGIN
  WITH a AS MATERIALIZED (
    SELECT u.n, u.wanted, u.key, u.item, w.tid, w.session_id, i.status, s.reason,
           u.wanted AND w.tid IS NOT NULL AND row_number() OVER (
             PARTITION BY u.key, u.execution, u.activity, u.token, u.wanted ORDER BY u.n) = 1 AS done
      FROM unnest(a_wanted, a_key, a_execution, a_activity, a_token, a_item)
        WITH ORDINALITY AS u (wanted, key, execution, activity, token, item, n)
        LEFT JOIN LATERAL (
          SELECT h.ctid AS tid, h.session_id, h.lease_token, h.lease_until FROM worker_queue h
            WHERE h.instance_key = u.key AND h.execution = u.execution AND h.activity = u.activity OFFSET 0) w
          ON w.lease_token = u.token AND w.lease_until > p_lease_now
        LEFT JOIN LATERAL (SELECT j.status FROM instances j WHERE j.key = u.key OFFSET 0) i ON true
        LEFT JOIN LATERAL (
          SELECT t.reason, t.until FROM stolen_leases t
            WHERE t.instance_key = u.key AND t.execution = u.execution AND t.activity = u.activity
              AND t.lease_token = u.token OFFSET 0) s ON s.until > p_lease_now),
  gone AS (
    DELETE FROM worker_queue w WHERE w.ctid = ANY (ARRAY(SELECT a.tid FROM a WHERE a.done))),
  told AS (
    INSERT INTO orchestrator_queue (instance_key, visible_at, item)
      SELECT a.key, p_now, a.item FROM a WHERE a.done AND a.item IS NOT NULL AND NOT is_final(a.status) ORDER BY a.n
      RETURNING 1)
  SELECT array_agg(CASE WHEN NOT a.wanted OR a.done THEN 0 WHEN a.reason IS NOT NULL THEN 1 ELSE 2 END::smallint
                   ORDER BY a.n),
         array_agg(coalesce(a.reason, '') ORDER BY a.n),
         (SELECT count(*) FROM told),
         coalesce(array_agg(a.session_id) FILTER (WHERE a.done AND a.session_id IS NOT NULL), '{}')
    INTO outcomes, reasons, sent, v_sessions FROM a;
  PERFORM use_sessions(p_lease_now, v_sessions);
END $$;

CREATE FUNCTION ack_work(
  p_now bigint, p_lease_now bigint,
  a_key bigint[], a_execution bigint[], a_activity bigint[], a_token bigint[], a_item text[],
  OUT outcomes smallint[], OUT reasons text[], OUT sent bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint;
BEGIN
  PERFORM 1 FROM instances i WHERE i.key = ANY (a_key) ORDER BY i.key FOR UPDATE;
  PERFORM lock_work(a_key, a_execution, a_activity);
  v_now := coalesce(p_now, now_ms());
  SELECT f.outcomes, f.reasons, f.sent INTO outcomes, reasons, sent
    FROM finish_work(v_now, coalesce(p_lease_now, v_now), array_fill(true, ARRAY[cardinality(a_key)]),
                     a_key, a_execution, a_activity, a_token, a_item) f;
END $$;

-- Extends leases. With a sign of life the next one is put off; when the attempt must have ended stays. Outcomes: 0
-- renewed, 1 cancelled for that reason, 2 lease lost.
CREATE FUNCTION renew_work(
  p_lease_now bigint, p_extend bigint,
  r_key bigint[], r_execution bigint[], r_activity bigint[], r_token bigint[],
  r_alive boolean[], r_details text[], r_encoding text[],
  OUT outcomes smallint[], OUT reasons text[])
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint;
  v_tids tid[];
  v_sessions text[];
BEGIN
  PERFORM lock_work(r_key, r_execution, r_activity);
  v_now := coalesce(p_lease_now, now_ms());
  SELECT array_agg(CASE WHEN w.tid IS NOT NULL THEN 0 WHEN s.reason IS NOT NULL THEN 1 ELSE 2 END::smallint ORDER BY r.n),
         array_agg(coalesce(s.reason, '') ORDER BY r.n),
         array_agg(w.tid ORDER BY r.n),
         coalesce(array_agg(w.session_id) FILTER (WHERE w.session_id IS NOT NULL), '{}')
    INTO outcomes, reasons, v_tids, v_sessions
    FROM unnest(r_key, r_execution, r_activity, r_token) WITH ORDINALITY AS r (key, execution, activity, token, n)
      LEFT JOIN LATERAL (
        SELECT h.ctid AS tid, h.session_id, h.lease_token, h.lease_until FROM worker_queue h
          WHERE h.instance_key = r.key AND h.execution = r.execution AND h.activity = r.activity OFFSET 0) w
        ON w.lease_token = r.token AND w.lease_until > v_now
      LEFT JOIN LATERAL (
        SELECT t.reason, t.until FROM stolen_leases t
          WHERE t.instance_key = r.key AND t.execution = r.execution AND t.activity = r.activity
            AND t.lease_token = r.token OFFSET 0) s ON s.until > v_now;
  UPDATE worker_queue w SET
      lease_until = v_now + p_extend,
      details = CASE WHEN r.alive THEN coalesce(r.details, w.details) ELSE w.details END,
      details_encoding = CASE WHEN r.alive THEN coalesce(r.encoding, w.details_encoding) ELSE w.details_encoding END,
      overdue_at = CASE WHEN r.alive AND w.heartbeat IS NOT NULL THEN least(w.close_by, v_now + w.heartbeat)
                        ELSE w.overdue_at END
    FROM (SELECT * FROM unnest(v_tids, r_alive, r_details, r_encoding) AS u (tid, alive, details, encoding)
            LIMIT cardinality(v_tids)) r
    WHERE w.ctid = r.tid;
  PERFORM use_sessions(v_now, v_sessions);
END $$;

-- Gives rows back; how many.
CREATE FUNCTION abandon_work(
  p_now bigint, p_lease_now bigint,
  r_key bigint[], r_execution bigint[], r_activity bigint[], r_token bigint[], r_delay bigint[], r_uncount integer[])
RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint;
  v_count bigint;
BEGIN
  PERFORM lock_work(r_key, r_execution, r_activity);
  v_now := coalesce(p_now, now_ms());
  UPDATE worker_queue w SET
      lease_token = NULL, lease_until = NULL, lease_owner = NULL, close_by = NULL, overdue_at = NULL,
      attempt = greatest(w.attempt - r.uncount, 0),
      visible_at = CASE WHEN r.delay > 0 THEN v_now + r.delay ELSE w.visible_at END,
      start_by = CASE WHEN r.delay > 0 THEN v_now + r.delay ELSE w.visible_at END + w.schedule_to_start
    FROM (SELECT h.tid, u.delay, u.uncount
            FROM unnest(r_key, r_execution, r_activity, r_token, r_delay, r_uncount)
              AS u (key, execution, activity, token, delay, uncount)
              CROSS JOIN LATERAL (
                SELECT k.ctid AS tid, k.lease_token, k.lease_until FROM worker_queue k
                  WHERE k.instance_key = u.key AND k.execution = u.execution AND k.activity = u.activity OFFSET 0) h
            WHERE h.lease_token = u.token AND h.lease_until > coalesce(p_lease_now, v_now)
            LIMIT cardinality(r_key)) r
    WHERE w.ctid = r.tid;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;

-- Hands out waiting activities, longest waiting first; one that was handed out before goes alone. p_token is where their
-- tokens are counted from. The last row has no key, only the time when there may be more.
CREATE FUNCTION fetch_work(
  p_now bigint, p_lease_now bigint, p_node text, p_limit integer, p_lease bigint, p_token bigint,
  p_names text[], p_untagged boolean, p_every_tag boolean, p_tags text[],
  p_owner text, p_session_lease bigint, p_active text[], p_max_active integer)
RETURNS TABLE (
  o_key bigint, o_execution bigint, o_activity bigint, o_attempt integer, o_fence bigint, o_instance_id text,
  o_name text, o_input text, o_encoding text, o_session_id text, o_tag text,
  o_schedule_to_start bigint, o_start_to_close bigint, o_heartbeat bigint,
  o_orchestration_name text, o_orchestration_version text, o_details text, o_details_encoding text, o_token bigint,
  o_next_due bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
-- Along an index and no further than needed, never all that waits first: the limit is out of the planner's sight.
SET enable_material = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint := coalesce(p_now, now_ms());
  v_lease_now bigint := coalesce(p_lease_now, v_now);
  v_take work_candidate[];
  v_retried work_candidate;
  v_admitted text[] := p_active;
  v_of_sessions integer := 0;
  v_claimed text[];
  v_tids tid[];
  v_next bigint;
  v_due bigint;
  v_row record;
BEGIN
  -- Rows whose holder has gone silent wait like any other. As an array, here and below: then the server cannot think
  -- of reading the whole table to find the few.
  UPDATE worker_queue w SET lease_token = NULL, lease_until = NULL, lease_owner = NULL, close_by = NULL, overdue_at = NULL
    WHERE w.ctid = ANY (ARRAY(SELECT e.ctid FROM worker_queue e
                                WHERE e.lease_token IS NOT NULL AND e.lease_until <= v_lease_now
                                ORDER BY e.lease_until LIMIT 1000 FOR UPDATE SKIP LOCKED));

  SELECT array_agg(ROW(f.instance_key, f.execution, f.activity, f.visible_at, f.place, NULL)::work_candidate
                   ORDER BY f.visible_at, f.place) INTO v_take
    FROM (SELECT w.instance_key, w.execution, w.activity, w.visible_at, w.place FROM worker_queue w
            WHERE w.lease_token IS NULL AND w.session_id IS NULL AND w.attempt = 0 AND w.visible_at <= v_now
              AND (p_names IS NULL OR w.name = ANY (p_names))
              AND CASE WHEN w.tag IS NULL THEN p_untagged ELSE p_every_tag OR w.tag = ANY (p_tags) END
            ORDER BY w.visible_at, w.place LIMIT p_limit FOR UPDATE SKIP LOCKED) f;
  SELECT w.instance_key, w.execution, w.activity, w.visible_at, w.place, NULL INTO v_retried FROM worker_queue w
    WHERE w.lease_token IS NULL AND w.session_id IS NULL AND w.attempt > 0 AND w.visible_at <= v_now
      AND (p_names IS NULL OR w.name = ANY (p_names))
      AND CASE WHEN w.tag IS NULL THEN p_untagged ELSE p_every_tag OR w.tag = ANY (p_tags) END
    ORDER BY w.visible_at, w.place LIMIT 1 FOR UPDATE SKIP LOCKED;

  IF p_owner IS NOT NULL THEN
    FOR v_row IN
      SELECT w.instance_key, w.execution, w.activity, w.visible_at, w.place, w.session_id, w.attempt,
             s.lease_until AS taken_until
        FROM (SELECT k.* FROM worker_queue k
                WHERE k.lease_token IS NULL AND k.session_id IS NOT NULL AND k.visible_at <= v_now
                  AND (p_names IS NULL OR k.name = ANY (p_names))
                  AND CASE WHEN k.tag IS NULL THEN p_untagged ELSE p_every_tag OR k.tag = ANY (p_tags) END
                ORDER BY k.visible_at, k.place OFFSET 0) w
          LEFT JOIN LATERAL (
            SELECT l.owner, l.lease_until FROM sessions l WHERE l.session_id = w.session_id OFFSET 0) s
            ON s.owner <> p_owner AND s.lease_until > v_lease_now
        ORDER BY w.visible_at, w.place
    LOOP
      IF v_row.taken_until IS NOT NULL THEN
        v_next := least(v_next, v_now + v_row.taken_until - v_lease_now);
        CONTINUE;
      END IF;
      CONTINUE WHEN NOT (v_row.session_id = ANY (v_admitted) OR cardinality(v_admitted) < p_max_active);
      IF v_row.attempt > 0 THEN
        -- One that goes alone, or not at all, takes no place from those behind it.
        IF v_retried.instance_key IS NULL
          OR (v_row.visible_at, v_row.place) < (v_retried.visible_at, v_retried.place) THEN
          v_retried := ROW(v_row.instance_key, v_row.execution, v_row.activity, v_row.visible_at, v_row.place,
                           v_row.session_id)::work_candidate;
        END IF;
        CONTINUE;
      END IF;
      EXIT WHEN v_of_sessions = p_limit;
      v_of_sessions := v_of_sessions + 1;
      IF NOT v_row.session_id = ANY (v_admitted) THEN v_admitted := v_admitted || v_row.session_id; END IF;
      v_take := v_take || ROW(v_row.instance_key, v_row.execution, v_row.activity, v_row.visible_at, v_row.place,
                              v_row.session_id)::work_candidate;
    END LOOP;
    IF v_of_sessions > 0 THEN
      SELECT array_agg(ROW(t.instance_key, t.execution, t.activity, t.visible_at, t.place, t.session_id)::work_candidate
                       ORDER BY t.visible_at, t.place) INTO v_take
        FROM (SELECT * FROM unnest(v_take) u ORDER BY u.visible_at, u.place LIMIT p_limit) t;
    END IF;
  END IF;

  -- What was handed out before without an end may be what brought its worker down: it goes alone, when it is the
  -- longest waiting; until then those behind it go first.
  IF v_retried.instance_key IS NOT NULL AND (v_take IS NULL
      OR (v_retried.visible_at, v_retried.place) < ((v_take[1]).visible_at, (v_take[1]).place)) THEN
    v_take := ARRAY[v_retried];
  END IF;

  IF v_take IS NOT NULL THEN
    IF EXISTS (SELECT 1 FROM unnest(v_take) t WHERE t.session_id IS NOT NULL) THEN
      WITH claimed AS (
        INSERT INTO sessions AS s (session_id, owner, lease_until, used_at)
          SELECT DISTINCT t.session_id, p_owner, v_lease_now + p_session_lease, v_lease_now
            FROM unnest(v_take) t WHERE t.session_id IS NOT NULL ORDER BY t.session_id
          ON CONFLICT (session_id) DO UPDATE
            SET owner = excluded.owner, lease_until = excluded.lease_until, used_at = excluded.used_at
            WHERE s.owner = excluded.owner OR s.lease_until <= v_lease_now
          RETURNING s.session_id)
      SELECT array_agg(c.session_id) INTO v_claimed FROM claimed c;
    END IF;
    v_tids := ARRAY(
      SELECT w.tid
        FROM unnest(v_take) t
          CROSS JOIN LATERAL (
            SELECT k.ctid AS tid, k.lease_token FROM worker_queue k
              WHERE k.instance_key = t.instance_key AND k.execution = t.execution AND k.activity = t.activity
              FOR UPDATE SKIP LOCKED) w
        WHERE w.lease_token IS NULL AND (t.session_id IS NULL OR t.session_id = ANY (v_claimed)));
    RETURN QUERY
      WITH taken AS (
        UPDATE worker_queue w SET
            lease_token = p_token + w.place, lease_until = v_lease_now + p_lease, lease_owner = p_node,
            attempt = w.attempt + 1, fence = w.fence + 1,
            close_by = v_lease_now + w.start_to_close,
            overdue_at = least(v_lease_now + w.start_to_close, v_lease_now + w.heartbeat)
          WHERE w.ctid = ANY (v_tids)
          RETURNING w.*)
      SELECT t.instance_key, t.execution, t.activity, t.attempt, t.fence, i.instance_id, t.name, t.input, t.encoding,
             t.session_id, t.tag, t.schedule_to_start, t.start_to_close, t.heartbeat, t.orchestration_name,
             t.orchestration_version, t.details, t.details_encoding, t.lease_token, NULL::bigint
        FROM taken t
          LEFT JOIN LATERAL (SELECT j.instance_id FROM instances j WHERE j.key = t.instance_key OFFSET 0) i ON true
        ORDER BY t.visible_at, t.place;
  END IF;

  -- When to come back. Who got all it asked for comes back at once.
  IF coalesce(cardinality(v_take), 0) < p_limit THEN
    SELECT w.visible_at INTO v_due FROM worker_queue w
      WHERE w.lease_token IS NULL AND w.session_id IS NULL AND w.attempt = 0 AND w.visible_at > v_now
        AND (p_names IS NULL OR w.name = ANY (p_names))
        AND CASE WHEN w.tag IS NULL THEN p_untagged ELSE p_every_tag OR w.tag = ANY (p_tags) END
      ORDER BY w.visible_at, w.place LIMIT 1;
    v_next := least(v_next, v_due);
    SELECT w.visible_at INTO v_due FROM worker_queue w
      WHERE w.lease_token IS NULL AND w.session_id IS NULL AND w.attempt > 0 AND w.visible_at > v_now
        AND (p_names IS NULL OR w.name = ANY (p_names))
        AND CASE WHEN w.tag IS NULL THEN p_untagged ELSE p_every_tag OR w.tag = ANY (p_tags) END
      ORDER BY w.visible_at, w.place LIMIT 1;
    v_next := least(v_next, v_due);
    IF p_owner IS NOT NULL THEN
      SELECT w.visible_at INTO v_due FROM worker_queue w
        WHERE w.lease_token IS NULL AND w.session_id IS NOT NULL AND w.visible_at > v_now
          AND (p_names IS NULL OR w.name = ANY (p_names))
          AND CASE WHEN w.tag IS NULL THEN p_untagged ELSE p_every_tag OR w.tag = ANY (p_tags) END
        ORDER BY w.visible_at, w.place LIMIT 1;
      v_next := least(v_next, v_due);
    END IF;
    -- The end of a lease that another node holds; of many of our own, not all are looked at.
    SELECT CASE WHEN count(*) = 16 THEN coalesce(min(l.lease_until) FILTER (WHERE l.lease_owner <> p_node),
                                                 max(l.lease_until))
                ELSE min(l.lease_until) FILTER (WHERE l.lease_owner <> p_node) END INTO v_due
      FROM (SELECT w.lease_until, w.lease_owner FROM worker_queue w
              WHERE w.lease_token IS NOT NULL AND w.lease_until > v_lease_now ORDER BY w.lease_until LIMIT 16) l;
    v_next := least(v_next, v_now + v_due - v_lease_now);
    -- Limits that will pass; those that have are for a sweep.
    SELECT w.start_by INTO v_due FROM worker_queue w
      WHERE w.start_by IS NOT NULL AND w.lease_token IS NULL AND w.attempt = 0 AND w.start_by > v_now
      ORDER BY w.start_by LIMIT 1;
    v_next := least(v_next, v_due);
    SELECT w.overdue_at INTO v_due FROM worker_queue w
      WHERE w.overdue_at IS NOT NULL AND w.overdue_at > v_lease_now ORDER BY w.overdue_at LIMIT 1;
    v_next := least(v_next, v_now + v_due - v_lease_now);
  END IF;
  o_key := NULL;
  o_next_due := v_next;
  RETURN NEXT;
END $$;

-- Activities whose time limits have passed, and whether there is anything else to sweep. Only reads. `kind`: 0 nobody
-- began it in time, 1 it takes too long, 2 it has gone silent. The last row has no key.
CREATE FUNCTION look_for_overdue(p_now bigint, p_lease_now bigint, p_limit integer)
RETURNS TABLE (
  o_key bigint, o_execution bigint, o_activity bigint, o_kind integer, o_attempt integer, o_fence bigint,
  o_instance_id text, o_name text, o_schedule_to_start bigint, o_start_to_close bigint, o_heartbeat bigint,
  o_next_due bigint, o_more boolean)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
-- As in fetch_work.
SET enable_material = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint := coalesce(p_now, now_ms());
  v_lease_now bigint := coalesce(p_lease_now, v_now);
  v_due bigint;
BEGIN
  RETURN QUERY
    SELECT f.instance_key, f.execution, f.activity, f.kind, f.attempt, f.fence, i.instance_id, f.name,
           f.schedule_to_start, f.start_to_close, f.heartbeat, NULL::bigint, NULL::boolean
      FROM (
        (SELECT w.instance_key, w.execution, w.activity, 0 AS kind, w.attempt, w.fence, w.name, w.schedule_to_start,
                w.start_to_close, w.heartbeat
           FROM worker_queue w
           WHERE w.start_by IS NOT NULL AND w.lease_token IS NULL AND w.attempt = 0 AND w.start_by <= v_now
           ORDER BY w.start_by LIMIT p_limit)
        UNION ALL
        (SELECT w.instance_key, w.execution, w.activity,
                CASE WHEN w.close_by IS NOT NULL AND w.close_by <= w.overdue_at THEN 1 ELSE 2 END, w.attempt, w.fence,
                w.name, w.schedule_to_start, w.start_to_close, w.heartbeat
           FROM worker_queue w
           WHERE w.overdue_at IS NOT NULL AND w.overdue_at <= v_lease_now AND w.lease_until > v_lease_now
           ORDER BY w.overdue_at LIMIT p_limit)) f
        LEFT JOIN LATERAL (SELECT j.instance_id FROM instances j WHERE j.key = f.instance_key OFFSET 0) i ON true
      LIMIT p_limit;
  SELECT w.start_by INTO v_due FROM worker_queue w
    WHERE w.start_by IS NOT NULL AND w.lease_token IS NULL AND w.attempt = 0 ORDER BY w.start_by LIMIT 1;
  o_next_due := v_due;
  SELECT w.overdue_at INTO v_due FROM worker_queue w WHERE w.overdue_at IS NOT NULL ORDER BY w.overdue_at LIMIT 1;
  IF v_due IS NOT NULL THEN o_next_due := least(o_next_due, v_now + greatest(v_due - v_lease_now, 0)); END IF;
  o_key := NULL;
  o_more := EXISTS (SELECT 1 FROM parked_messages p WHERE p.expires_at <= v_now)
    OR EXISTS (SELECT 1 FROM worker_queue w WHERE w.overdue_at IS NOT NULL AND w.overdue_at <= v_lease_now
                 AND w.lease_until <= v_lease_now)
    OR EXISTS (SELECT 1 FROM stolen_leases s WHERE s.until <= v_lease_now)
    OR EXISTS (SELECT 1 FROM sessions s
                 WHERE s.lease_until <= v_lease_now
                   AND (SELECT w.session_id FROM worker_queue w WHERE w.session_id = s.session_id LIMIT 1) IS NULL);
  RETURN NEXT;
END $$;

-- Fails activities that look_for_overdue found, if nothing has happened to them since, and cleans up.
CREATE FUNCTION sweep(
  p_now bigint, p_lease_now bigint, p_limit integer,
  f_key bigint[], f_execution bigint[], f_activity bigint[], f_fence bigint[], f_item text[],
  OUT overdue bigint, OUT parked bigint, OUT sessions_removed bigint, OUT stolen stolen_lease[], OUT next_due bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
-- As in fetch_work.
SET enable_material = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint;
  v_lease_now bigint;
  v_due bigint;
BEGIN
  overdue := 0;
  IF cardinality(f_key) > 0 THEN
    PERFORM 1 FROM instances i WHERE i.key = ANY (f_key) ORDER BY i.key FOR UPDATE;
    PERFORM lock_work(f_key, f_execution, f_activity);
  END IF;
  v_now := coalesce(p_now, now_ms());
  v_lease_now := coalesce(p_lease_now, v_now);
  -- Where the lease is over too, nobody is at it any more: the row waits for its next attempt.
  UPDATE worker_queue w SET lease_token = NULL, lease_until = NULL, lease_owner = NULL, close_by = NULL, overdue_at = NULL
    WHERE w.ctid = ANY (ARRAY(SELECT e.ctid FROM worker_queue e
                                WHERE e.overdue_at IS NOT NULL AND e.overdue_at <= v_lease_now
                                  AND e.lease_until <= v_lease_now
                                ORDER BY e.overdue_at LIMIT p_limit FOR UPDATE SKIP LOCKED));
  IF cardinality(f_key) > 0 THEN
    WITH gone AS MATERIALIZED (
      SELECT DISTINCT ON (w.tid) f.n, f.item, w.tid, w.instance_key, w.execution, w.activity, w.lease_token, w.lease_until, w.lease_owner,
             i.status
        FROM unnest(f_key, f_execution, f_activity, f_fence, f_item)
          WITH ORDINALITY AS f (key, execution, activity, fence, item, n)
          CROSS JOIN LATERAL (
            SELECT k.ctid AS tid, k.* FROM worker_queue k
              WHERE k.instance_key = f.key AND k.execution = f.execution AND k.activity = f.activity OFFSET 0) w
          LEFT JOIN LATERAL (SELECT j.status FROM instances j WHERE j.key = f.key OFFSET 0) i ON true
        WHERE w.fence = f.fence
          AND ((w.start_by <= v_now AND w.lease_token IS NULL AND w.attempt = 0)
               OR (w.overdue_at <= v_lease_now AND w.lease_until > v_lease_now))),
    removed AS (
      DELETE FROM worker_queue w WHERE w.ctid = ANY (ARRAY(SELECT g.tid FROM gone g))),
    held AS (SELECT * FROM gone g WHERE g.lease_token IS NOT NULL AND g.lease_until > v_lease_now),
    kept AS (
      INSERT INTO stolen_leases (instance_key, execution, activity, lease_token, owner, reason, until)
        SELECT h.instance_key, h.execution, h.activity, h.lease_token, h.lease_owner, 'timeout', h.lease_until + 60000
          FROM held h ON CONFLICT DO NOTHING),
    told AS (
      INSERT INTO orchestrator_queue (instance_key, visible_at, item)
        SELECT g.instance_key, v_now, g.item FROM gone g WHERE NOT is_final(g.status) ORDER BY g.n)
    SELECT (SELECT count(*) FROM gone),
           (SELECT array_agg(ROW(h.lease_owner, h.instance_key, h.execution, h.activity, h.lease_token, 'timeout')
                             ::stolen_lease) FROM held h)
      INTO overdue, stolen;
  END IF;
  DELETE FROM parked_messages p WHERE p.id = ANY (ARRAY(
    SELECT e.id FROM parked_messages e WHERE e.expires_at <= v_now ORDER BY e.expires_at LIMIT p_limit
      FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS parked = ROW_COUNT;
  DELETE FROM sessions d WHERE d.session_id = ANY (ARRAY(
    SELECT s.session_id FROM sessions s
      WHERE s.lease_until <= v_lease_now
        AND (SELECT w.session_id FROM worker_queue w WHERE w.session_id = s.session_id LIMIT 1) IS NULL
      ORDER BY s.lease_until LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS sessions_removed = ROW_COUNT;
  DELETE FROM stolen_leases d WHERE d.ctid = ANY (ARRAY(
    SELECT s.ctid FROM stolen_leases s
      WHERE s.until <= v_lease_now ORDER BY s.until LIMIT 1000 FOR UPDATE SKIP LOCKED));
  SELECT w.start_by INTO next_due FROM worker_queue w
    WHERE w.start_by IS NOT NULL AND w.lease_token IS NULL AND w.attempt = 0 ORDER BY w.start_by LIMIT 1;
  SELECT w.overdue_at INTO v_due FROM worker_queue w WHERE w.overdue_at IS NOT NULL ORDER BY w.overdue_at LIMIT 1;
  IF v_due IS NOT NULL THEN next_due := least(next_due, v_now + greatest(v_due - v_lease_now, 0)); END IF;
END $$;
