-- Activities: handing them out, ending them, and the leases in between.
--
-- A session that waits for worker rows locks them in the order of their keys, and after the instances.

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

-- Notes that sessions are in use, as far as their leases last. It is the last step of its caller: sessions are locked after
-- instances, new ones included, and after worker rows.
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

-- Ends activities: deletes the rows that are held under their leases, and sends their completions. A failure without
-- heartbeat details takes the last ones of its row along, up to max_retry_details_bytes. The caller has locked the rows
-- and their instances, and notes that the sessions are in use as its last step. Outcomes: 0 done, 1 cancelled for that
-- reason, 2 lease lost.
CREATE FUNCTION finish_work(
  p_now bigint, p_lease_now bigint,
  a_wanted boolean[], a_key bigint[], a_execution bigint[], a_activity bigint[], a_token bigint[], a_item text[],
  OUT outcomes smallint[], OUT reasons text[], OUT sent bigint, OUT sessions text[])
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_keys bigint[];
  v_items text[];
BEGIN
  WITH a AS MATERIALIZED (
    SELECT u.n, u.wanted, u.key, u.item, w.tid, w.session_id, w.details, w.details_encoding, i.status, s.reason,
           u.wanted AND w.tid IS NOT NULL AND row_number() OVER (
             PARTITION BY u.key, u.execution, u.activity, u.token, u.wanted ORDER BY u.n) = 1 AS done
      FROM unnest(a_wanted, a_key, a_execution, a_activity, a_token, a_item)
        WITH ORDINALITY AS u (wanted, key, execution, activity, token, item, n)
        LEFT JOIN LATERAL (
          SELECT h.ctid AS tid, h.session_id, h.lease_token, h.lease_until, h.details, h.details_encoding
            FROM worker_queue h
            WHERE h.instance_key = u.key AND h.execution = u.execution AND h.activity = u.activity OFFSET 0) w
          ON w.lease_token = u.token AND w.lease_until > p_lease_now
        LEFT JOIN LATERAL (SELECT j.status FROM instances j WHERE j.key = u.key OFFSET 0) i ON true
        LEFT JOIN LATERAL (
          SELECT t.reason, t.until FROM stolen_leases t
            WHERE t.instance_key = u.key AND t.execution = u.execution AND t.activity = u.activity
              AND t.lease_token = u.token OFFSET 0) s ON s.until > p_lease_now),
  gone AS (
    DELETE FROM worker_queue w WHERE w.ctid = ANY (ARRAY(SELECT a.tid FROM a WHERE a.done)))
  SELECT array_agg(CASE WHEN NOT a.wanted OR a.done THEN 0 WHEN a.reason IS NOT NULL THEN 1 ELSE 2 END::smallint
                   ORDER BY a.n),
         array_agg(coalesce(a.reason, '') ORDER BY a.n),
         array_agg(a.key ORDER BY a.n) FILTER (WHERE a.done AND a.item IS NOT NULL AND NOT is_final(a.status)),
         array_agg(CASE WHEN octet_length(a.details) <= 65536 AND starts_with(a.item, '{"ActivityFailed":{')
                          AND (a.item::json -> 'ActivityFailed' -> 'heartbeat') IS NULL THEN
                     '{"ActivityFailed":{"heartbeat":' || to_json(a.details)::text || ','
                     || CASE WHEN a.details_encoding = 'text' THEN ''
                             ELSE '"heartbeat_encoding":' || to_json(a.details_encoding)::text || ',' END
                     || substr(a.item, 20)
                   ELSE a.item END ORDER BY a.n)
           FILTER (WHERE a.done AND a.item IS NOT NULL AND NOT is_final(a.status)),
         coalesce(array_agg(a.session_id) FILTER (WHERE a.done AND a.session_id IS NOT NULL), '{}')
    INTO outcomes, reasons, v_keys, v_items, sessions FROM a;
  sent := coalesce(cardinality(v_keys), 0);
  IF sent > 0 THEN PERFORM put_messages(p_now, v_keys, NULL, NULL, v_items); END IF;
END $$;

CREATE FUNCTION ack_work(
  p_now bigint, p_lease_now bigint,
  a_key bigint[], a_execution bigint[], a_activity bigint[], a_token bigint[], a_item text[],
  OUT outcomes smallint[], OUT reasons text[], OUT sent bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint;
  v_sessions text[];
BEGIN
  PERFORM 1 FROM instances i WHERE i.key = ANY (a_key) ORDER BY i.key FOR UPDATE;
  PERFORM lock_work(a_key, a_execution, a_activity);
  v_now := coalesce(p_now, now_ms());
  SELECT f.outcomes, f.reasons, f.sent, f.sessions INTO outcomes, reasons, sent, v_sessions
    FROM finish_work(v_now, coalesce(p_lease_now, v_now), array_fill(true, ARRAY[cardinality(a_key)]),
                     a_key, a_execution, a_activity, a_token, a_item) f;
  PERFORM use_sessions(coalesce(p_lease_now, v_now), v_sessions);
END $$;

-- Extends leases. A sign of life puts off the next one; the time by which the attempt must have ended stays, unless the
-- limits begin anew: r_restart milliseconds from now (NULL: they stay). Outcomes: 0 renewed, 1 cancelled for that reason,
-- 2 lease lost.
CREATE FUNCTION renew_work(
  p_lease_now bigint, p_extend bigint,
  r_key bigint[], r_execution bigint[], r_activity bigint[], r_token bigint[],
  r_alive boolean[], r_details text[], r_encoding text[], r_restart bigint[],
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
      renewed_at = v_now,
      close_by = CASE WHEN r.restart IS NULL THEN w.close_by ELSE v_now + r.restart + w.start_to_close END,
      beat_by = CASE WHEN r.alive THEN v_now + w.heartbeat
                     WHEN r.restart IS NOT NULL THEN v_now + r.restart + w.heartbeat ELSE w.beat_by END,
      overdue_at = CASE WHEN r.restart IS NOT NULL
                          THEN least(v_now + r.restart + w.start_to_close,
                                     v_now + CASE WHEN r.alive THEN 0 ELSE r.restart END + w.heartbeat)
                        WHEN r.alive AND w.heartbeat IS NOT NULL THEN least(w.close_by, v_now + w.heartbeat)
                        ELSE w.overdue_at END
    FROM (SELECT * FROM unnest(v_tids, r_alive, r_details, r_encoding, r_restart)
            AS u (tid, alive, details, encoding, restart)
            LIMIT cardinality(v_tids)) r
    WHERE w.ctid = r.tid;
  PERFORM use_sessions(v_now, v_sessions);
END $$;

-- Gives rows back; how many.
CREATE FUNCTION abandon_work(
  p_lease_now bigint,
  r_key bigint[], r_execution bigint[], r_activity bigint[], r_token bigint[], r_delay bigint[], r_uncount integer[])
RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint;
  v_count bigint;
BEGIN
  PERFORM lock_work(r_key, r_execution, r_activity);
  v_now := coalesce(p_lease_now, now_ms());
  UPDATE worker_queue w SET
      lease_token = NULL, lease_until = NULL, lease_owner = NULL, close_by = NULL, beat_by = NULL, overdue_at = NULL,
      attempt = greatest(w.attempt - r.uncount, 0),
      visible_at = CASE WHEN r.delay > 0 THEN v_now + r.delay ELSE 0 END,
      waits_since = CASE WHEN r.delay > 0 THEN v_now + r.delay ELSE w.waits_since END,
      start_by = CASE WHEN r.delay > 0 THEN v_now + r.delay ELSE w.waits_since END + w.schedule_to_start
    FROM (SELECT h.tid, u.delay, u.uncount
            FROM unnest(r_key, r_execution, r_activity, r_token, r_delay, r_uncount)
              AS u (key, execution, activity, token, delay, uncount)
              CROSS JOIN LATERAL (
                SELECT k.ctid AS tid, k.lease_token, k.lease_until FROM worker_queue k
                  WHERE k.instance_key = u.key AND k.execution = u.execution AND k.activity = u.activity OFFSET 0) h
            WHERE h.lease_token = u.token AND h.lease_until > v_now
            LIMIT cardinality(r_key)) r
    WHERE w.ctid = r.tid;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;

-- Hands out waiting activities in the order of their places; one that was handed out before goes alone. p_lanes: the tags
-- and names of the caller, see worker_queue; absent: all lanes that p_untagged, p_every_tag, p_tags and p_names admit.
-- p_token is where their tokens are counted from. The last row has no key: the time when there may be more, and whether
-- activities became available that others must take. If the schema needs more than the version that the caller knows, the
-- last row says so and nothing is leased.
CREATE FUNCTION fetch_work(
  p_now bigint, p_lease_now bigint, p_node text, p_limit integer, p_lease bigint, p_token bigint,
  p_lanes text[], p_names text[], p_untagged boolean, p_every_tag boolean, p_tags text[],
  p_owner text, p_session_lease bigint, p_active text[], p_max_active integer, p_knows bigint)
RETURNS TABLE (
  o_key bigint, o_execution bigint, o_activity bigint, o_attempt integer, o_fence bigint, o_instance_id text,
  o_name text, o_input text, o_encoding text, o_session_id text, o_tag text,
  o_schedule_to_start bigint, o_start_to_close bigint, o_heartbeat bigint,
  o_orchestration_name text, o_orchestration_version text, o_details text, o_details_encoding text, o_token bigint,
  o_retry_of bigint, o_attempts_before integer, o_fence_base bigint, o_next_due bigint, o_now bigint,
  o_left_ready boolean, o_works_with bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
-- Along an index and no further than needed, never all that waits first: the limit is out of the planner's sight.
SET enable_material = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint := coalesce(p_now, now_ms());
  v_lease_now bigint := coalesce(p_lease_now, v_now);
  v_lanes text[] := p_lanes;
  v_lane text;
  v_session text;
  v_free text[] := '{}';
  v_firsts bigint[] := '{}';
  v_admitted text[] := p_active;
  v_window bigint := p_limit;
  v_more boolean;
  v_seen tid[];
  v_tids tid[];
  v_attempts integer[];
  v_sessions text[];
  v_claimed text[];
  v_first bigint;
  v_next bigint;
  v_due bigint;
  v_row record;
  v_woken bigint[] := '{}';   -- the places of rows that this fetch made available
BEGIN
  SELECT v.works_with INTO o_works_with FROM duramen_schema v;
  IF o_works_with > p_knows THEN
    o_now := v_now;
    RETURN NEXT;
    RETURN;
  END IF;
  -- A row whose lease or delay has ended waits like any other; after a delay, behind those that wait already. As an array,
  -- here and below: then the server cannot think of reading the whole table to find the few.
  v_tids := ARRAY(SELECT e.ctid FROM worker_queue e
                    WHERE e.lease_token IS NOT NULL AND e.lease_until <= v_lease_now
                    ORDER BY e.lease_until LIMIT 1000 FOR UPDATE SKIP LOCKED);
  IF cardinality(v_tids) > 0 THEN
    WITH ended AS (
      UPDATE worker_queue w SET lease_token = NULL, lease_until = NULL, lease_owner = NULL, close_by = NULL, beat_by = NULL,
          overdue_at = NULL
        WHERE w.ctid = ANY (v_tids) RETURNING w.place)
    SELECT array_agg(e.place) INTO v_woken FROM ended e;
  END IF;
  v_tids := NULL;
  FOR v_row IN
    SELECT e.ctid AS tid FROM worker_queue e
      WHERE e.visible_at > 0 AND e.visible_at <= v_lease_now ORDER BY e.visible_at LIMIT 1000 FOR UPDATE SKIP LOCKED
  LOOP
    UPDATE worker_queue w SET visible_at = 0, place = nextval(pg_get_serial_sequence('worker_queue', 'place'))
      WHERE w.ctid = v_row.tid RETURNING w.place INTO v_first;
    v_woken := v_woken || v_first;
  END LOOP;

  IF v_lanes IS NULL THEN
    -- From lane to lane, not from row to row.
    v_lanes := '{}';
    v_lane := '';
    LOOP
      SELECT w.lane INTO v_lane FROM worker_queue w
        WHERE w.lease_token IS NULL AND w.visible_at = 0 AND w.session_id IS NULL AND w.lane > v_lane
        ORDER BY w.lane, w.place LIMIT 1;
      EXIT WHEN NOT FOUND;
      CONTINUE WHEN CASE WHEN starts_with(v_lane, E'\n') THEN NOT p_untagged
                         ELSE NOT (p_every_tag OR substr(v_lane, 2, strpos(v_lane, E'\n') - 2) = ANY (p_tags)) END;
      CONTINUE WHEN p_names IS NOT NULL AND NOT substr(v_lane, strpos(v_lane, E'\n') + 1) = ANY (p_names);
      v_lanes := v_lanes || v_lane;
    END LOOP;
  END IF;

  IF p_owner IS NOT NULL THEN
    -- The sessions that the owner may have, by their first rows; those it holds come first.
    v_session := '';
    LOOP
      SELECT w.session_id INTO v_session FROM worker_queue w
        WHERE w.lease_token IS NULL AND w.visible_at = 0 AND w.session_id IS NOT NULL AND w.session_id > v_session
        ORDER BY w.session_id, w.place LIMIT 1;
      EXIT WHEN NOT FOUND;
      SELECT s.lease_until INTO v_due FROM sessions s
        WHERE s.session_id = v_session AND s.owner <> p_owner AND s.lease_until > v_lease_now;
      IF FOUND THEN
        v_next := least(v_next, v_now + v_due - v_lease_now);
        CONTINUE;
      END IF;
      SELECT w.place INTO v_first FROM worker_queue w
        WHERE w.lease_token IS NULL AND w.visible_at = 0 AND w.session_id IS NOT NULL AND w.session_id = v_session
          AND (p_names IS NULL OR w.name = ANY (p_names))
          AND CASE WHEN w.tag IS NULL THEN p_untagged ELSE p_every_tag OR w.tag = ANY (p_tags) END
        ORDER BY w.session_id, w.place LIMIT 1;
      CONTINUE WHEN NOT FOUND;
      v_free := v_free || v_session;
      v_firsts := v_firsts || v_first;
    END LOOP;
    FOR v_row IN SELECT f.id FROM unnest(v_free, v_firsts) AS f (id, first) ORDER BY f.first LOOP
      IF NOT v_row.id = ANY (v_admitted) AND cardinality(v_admitted) < p_max_active THEN
        v_admitted := v_admitted || v_row.id;
      END IF;
    END LOOP;
    v_free := ARRAY(SELECT f.id FROM unnest(v_free) AS f (id) WHERE f.id = ANY (v_admitted));
  END IF;

  -- The first of every lane and session, then among all. A row that was handed out before without an end may have brought
  -- its worker down: it goes alone, when it is the longest waiting; until then those behind it go first. A row that another
  -- fetch is just taking is passed over; then a fetch looks further.
  LOOP
    SELECT array_agg(c.tid ORDER BY c.place), array_agg(c.attempt ORDER BY c.place), array_agg(c.session_id ORDER BY c.place),
           coalesce(bool_or(c.n = v_window), false)
      INTO v_seen, v_attempts, v_sessions, v_more
      FROM (
        SELECT w.tid, w.place, w.attempt, NULL::text AS session_id, w.n
          FROM unnest(v_lanes) AS l (lane)
            CROSS JOIN LATERAL (
              SELECT k.ctid AS tid, k.place, k.attempt, row_number() OVER () AS n FROM worker_queue k
                WHERE k.lease_token IS NULL AND k.visible_at = 0 AND k.session_id IS NULL AND k.lane = l.lane
                ORDER BY k.lane, k.place LIMIT v_window) w
        UNION ALL
        SELECT w.tid, w.place, w.attempt, f.id, w.n
          FROM unnest(v_free) AS f (id)
            CROSS JOIN LATERAL (
              SELECT k.ctid AS tid, k.place, k.attempt, row_number() OVER () AS n FROM worker_queue k
                WHERE k.lease_token IS NULL AND k.visible_at = 0 AND k.session_id IS NOT NULL AND k.session_id = f.id
                  AND (p_names IS NULL OR k.name = ANY (p_names))
                  AND CASE WHEN k.tag IS NULL THEN p_untagged ELSE p_every_tag OR k.tag = ANY (p_tags) END
                ORDER BY k.session_id, k.place LIMIT v_window) w) c;
    EXIT WHEN v_seen IS NULL;
    IF v_attempts[1] > 0 THEN
      v_tids := ARRAY(SELECT w.ctid FROM worker_queue w
                        WHERE w.ctid = v_seen[1] AND w.lease_token IS NULL AND w.visible_at = 0 FOR UPDATE SKIP LOCKED);
      IF cardinality(v_tids) > 0 THEN
        v_sessions := v_sessions[1:1];
        EXIT;
      END IF;
    END IF;
    SELECT array_agg(c.tid), array_agg(c.session_id) INTO v_tids, v_sessions
      FROM (SELECT w.tid, u.session_id
              FROM unnest(v_seen, v_attempts, v_sessions) AS u (tid, attempt, session_id)
                CROSS JOIN LATERAL (
                  -- The condition again: the row may have been leased since, and a lock follows it to its new version.
                  SELECT k.ctid AS tid FROM worker_queue k
                    WHERE k.ctid = u.tid AND k.lease_token IS NULL AND k.visible_at = 0 FOR UPDATE SKIP LOCKED) w
              WHERE u.attempt = 0 LIMIT p_limit) c;
    EXIT WHEN NOT v_more OR coalesce(cardinality(v_tids), 0) >= p_limit;
    v_window := v_window * 4;
  END LOOP;
  IF cardinality(v_tids) > 0 THEN
    IF cardinality(array_remove(v_sessions, NULL)) > 0 THEN
      WITH claimed AS (
        INSERT INTO sessions AS s (session_id, owner, lease_until, used_at)
          SELECT DISTINCT t.id, p_owner, v_lease_now + p_session_lease, v_lease_now
            FROM (SELECT u.id COLLATE "C" AS id FROM unnest(v_sessions) AS u (id)) t
            WHERE t.id IS NOT NULL ORDER BY t.id
          ON CONFLICT (session_id) DO UPDATE
            SET owner = excluded.owner, lease_until = excluded.lease_until, used_at = excluded.used_at
            WHERE s.owner = excluded.owner OR s.lease_until <= v_lease_now
          RETURNING s.session_id)
      SELECT array_agg(c.session_id) INTO v_claimed FROM claimed c;
      v_tids := ARRAY(SELECT u.tid FROM unnest(v_tids, v_sessions) AS u (tid, id)
                        WHERE u.id IS NULL OR u.id = ANY (v_claimed));
    END IF;
    IF v_woken <> '{}' THEN
      v_woken := ARRAY(SELECT u.place FROM unnest(v_woken) AS u (place)
                         WHERE NOT u.place = ANY (ARRAY(SELECT w.place FROM worker_queue w WHERE w.ctid = ANY (v_tids))));
    END IF;
    RETURN QUERY
      WITH taken AS (
        UPDATE worker_queue w SET
            lease_token = p_token + w.place, lease_until = v_lease_now + p_lease, lease_owner = p_node,
            attempt = w.attempt + 1, fence = w.fence + 1, started_at = v_lease_now, renewed_at = v_lease_now,
            -- It may have to wait for a thread: see renew_work().
            close_by = v_lease_now + p_lease + w.start_to_close,
            beat_by = v_lease_now + p_lease + w.heartbeat,
            overdue_at = v_lease_now + p_lease + least(w.start_to_close, w.heartbeat)
          WHERE w.ctid = ANY (v_tids)
          RETURNING w.*)
      SELECT t.instance_key, t.execution, t.activity, t.attempt, t.fence, i.instance_id, t.name, t.input, t.encoding,
             t.session_id, t.tag, t.schedule_to_start, t.start_to_close, t.heartbeat, t.orchestration_name,
             t.orchestration_version, t.details, t.details_encoding, t.lease_token, t.retry_of, t.attempts_before,
             t.fence_base, NULL::bigint, NULL::bigint, NULL::boolean, NULL::bigint
        FROM taken t
          LEFT JOIN LATERAL (SELECT j.instance_id FROM instances j WHERE j.key = t.instance_key OFFSET 0) i ON true
        ORDER BY t.place;
  END IF;

  -- When to come back. A caller that got all it asked for comes back at once.
  IF coalesce(cardinality(v_tids), 0) < p_limit THEN
    SELECT w.visible_at INTO v_due FROM worker_queue w
      WHERE w.visible_at > 0 AND w.visible_at > v_lease_now AND (p_owner IS NOT NULL OR w.session_id IS NULL)
        AND (p_names IS NULL OR w.name = ANY (p_names))
        AND CASE WHEN w.tag IS NULL THEN p_untagged ELSE p_every_tag OR w.tag = ANY (p_tags) END
      ORDER BY w.visible_at LIMIT 1;
    v_next := least(v_next, v_now + v_due - v_lease_now);
    -- The end of a lease that another node holds; of many of our own, not all are looked at.
    SELECT CASE WHEN count(*) = 16 THEN coalesce(min(l.lease_until) FILTER (WHERE l.lease_owner <> p_node),
                                                 max(l.lease_until))
                ELSE min(l.lease_until) FILTER (WHERE l.lease_owner <> p_node) END INTO v_due
      FROM (SELECT w.lease_until, w.lease_owner FROM worker_queue w
              WHERE w.lease_token IS NOT NULL AND w.lease_until > v_lease_now ORDER BY w.lease_until LIMIT 16) l;
    v_next := least(v_next, v_now + v_due - v_lease_now);
    -- Limits that will pass; those that have are for a sweep.
    SELECT w.start_by INTO v_due FROM worker_queue w
      WHERE w.start_by IS NOT NULL AND w.lease_token IS NULL AND w.attempt = 0 AND w.start_by > v_lease_now
      ORDER BY w.start_by LIMIT 1;
    v_next := least(v_next, v_now + v_due - v_lease_now);
    SELECT w.overdue_at INTO v_due FROM worker_queue w
      WHERE w.overdue_at IS NOT NULL AND w.overdue_at > v_lease_now ORDER BY w.overdue_at LIMIT 1;
    v_next := least(v_next, v_now + v_due - v_lease_now);
    -- More has ended than one call reads, or another session held what this one wanted.
    v_next := least(v_next, CASE WHEN cardinality(v_woken) >= 1000 THEN v_now
                                 WHEN cardinality(v_seen) > coalesce(cardinality(v_tids), 0) THEN v_now + 20 END);
  END IF;
  o_left_ready := v_woken <> '{}';
  o_key := NULL;
  o_next_due := v_next;
  o_now := v_now;
  RETURN NEXT;
END $$;

-- When the next time limit passes, as wall clock. Limits that have passed wait for a sweep: then now, unless only the next
-- renewal decides.
CREATE FUNCTION next_overdue(p_now bigint, p_lease_now bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off SET enable_bitmapscan = off
SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_start bigint;
  v_end bigint;
BEGIN
  SELECT w.start_by INTO v_start FROM worker_queue w
    WHERE w.start_by IS NOT NULL AND w.lease_token IS NULL AND w.attempt = 0 ORDER BY w.start_by LIMIT 1;
  SELECT w.overdue_at INTO v_end FROM worker_queue w
    WHERE w.overdue_at IS NOT NULL
      AND (w.overdue_at > p_lease_now OR w.close_by <= p_lease_now OR w.renewed_at >= w.beat_by)
    ORDER BY w.overdue_at LIMIT 1;
  IF v_start IS NULL AND v_end IS NULL THEN RETURN NULL; END IF;
  RETURN p_now + greatest(least(v_start, v_end) - p_lease_now, 0);
END $$;

-- Activities whose time limits have passed, and whether there is anything else to sweep. Only reads. `kind`: 0 no worker
-- began it in time, 1 it takes too long, 2 its holder renews the lease but gives no sign of life. The last row has no key.
CREATE FUNCTION look_for_overdue(p_now bigint, p_lease_now bigint, p_limit integer)
RETURNS TABLE (
  o_key bigint, o_execution bigint, o_activity bigint, o_kind integer, o_attempt integer, o_fence bigint,
  o_instance_id text, o_name text, o_schedule_to_start bigint, o_start_to_close bigint, o_heartbeat bigint,
  o_details text, o_details_encoding text, o_started_at bigint, o_owner text, o_attempts_before integer, o_tag text,
  o_next_due bigint, o_more boolean)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
-- As in fetch_work.
SET enable_material = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint := coalesce(p_now, now_ms());
  v_lease_now bigint := coalesce(p_lease_now, v_now);
BEGIN
  RETURN QUERY
    SELECT f.instance_key, f.execution, f.activity, f.kind, f.attempt, f.fence, i.instance_id, f.name,
           f.schedule_to_start, f.start_to_close, f.heartbeat, f.details, f.details_encoding,
           v_now + f.started_at - v_lease_now, f.lease_owner, f.attempts_before, f.tag, NULL::bigint, NULL::boolean
      FROM (
        (SELECT w.instance_key, w.execution, w.activity, 0 AS kind, w.attempt, w.fence, w.name, w.schedule_to_start,
                w.start_to_close, w.heartbeat, w.details, w.details_encoding, w.started_at, w.lease_owner,
                w.attempts_before, w.tag
           FROM worker_queue w
           WHERE w.start_by IS NOT NULL AND w.lease_token IS NULL AND w.attempt = 0 AND w.start_by <= v_lease_now
           ORDER BY w.start_by LIMIT p_limit)
        UNION ALL
        (SELECT w.instance_key, w.execution, w.activity,
                CASE WHEN w.close_by <= v_lease_now AND (w.beat_by IS NULL OR w.close_by <= w.beat_by
                                                         OR w.renewed_at < w.beat_by) THEN 1 ELSE 2 END,
                w.attempt, w.fence, w.name, w.schedule_to_start, w.start_to_close, w.heartbeat, w.details,
                w.details_encoding, w.started_at, w.lease_owner, w.attempts_before, w.tag
           FROM worker_queue w
           WHERE w.overdue_at IS NOT NULL AND w.overdue_at <= v_lease_now AND w.lease_until > v_lease_now
             AND (w.close_by <= v_lease_now OR (w.beat_by <= v_lease_now AND w.renewed_at >= w.beat_by))
           ORDER BY w.overdue_at LIMIT p_limit)) f
        LEFT JOIN LATERAL (SELECT j.instance_id FROM instances j WHERE j.key = f.instance_key OFFSET 0) i ON true
      LIMIT p_limit;
  o_next_due := next_overdue(v_now, v_lease_now);
  o_key := NULL;
  o_more := EXISTS (SELECT 1 FROM parked_messages p WHERE p.until <= v_lease_now)
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
  v_keys bigint[];
  v_items text[];
BEGIN
  overdue := 0;
  IF cardinality(f_key) > 0 THEN
    PERFORM 1 FROM instances i WHERE i.key = ANY (f_key) ORDER BY i.key FOR UPDATE;
    PERFORM lock_work(f_key, f_execution, f_activity);
  END IF;
  v_now := coalesce(p_now, now_ms());
  v_lease_now := coalesce(p_lease_now, v_now);
  -- Where the lease has ended, too, the row waits for its next attempt.
  UPDATE worker_queue w SET lease_token = NULL, lease_until = NULL, lease_owner = NULL, close_by = NULL, beat_by = NULL,
      overdue_at = NULL
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
          AND ((w.start_by <= v_lease_now AND w.lease_token IS NULL AND w.attempt = 0)
               OR (w.lease_until > v_lease_now
                   AND (w.close_by <= v_lease_now OR (w.beat_by <= v_lease_now AND w.renewed_at >= w.beat_by))))),
    removed AS (
      DELETE FROM worker_queue w WHERE w.ctid = ANY (ARRAY(SELECT g.tid FROM gone g))),
    held AS (SELECT * FROM gone g WHERE g.lease_token IS NOT NULL AND g.lease_until > v_lease_now),
    kept AS (
      INSERT INTO stolen_leases (instance_key, execution, activity, lease_token, owner, reason, until)
        SELECT h.instance_key, h.execution, h.activity, h.lease_token, h.lease_owner, 'timeout', h.lease_until + 60000
          FROM held h ON CONFLICT DO NOTHING)
    SELECT (SELECT count(*) FROM gone),
           (SELECT array_agg(g.instance_key ORDER BY g.n) FROM gone g WHERE NOT is_final(g.status)),
           (SELECT array_agg(g.item ORDER BY g.n) FROM gone g WHERE NOT is_final(g.status)),
           (SELECT array_agg(ROW(h.lease_owner, h.instance_key, h.execution, h.activity, h.lease_token, 'timeout')
                             ::stolen_lease) FROM held h)
      INTO overdue, v_keys, v_items, stolen;
    IF v_keys IS NOT NULL THEN PERFORM put_messages(v_now, v_keys, NULL, NULL, v_items); END IF;
  END IF;
  DELETE FROM parked_messages p WHERE p.id = ANY (ARRAY(
    SELECT e.id FROM parked_messages e WHERE e.until <= v_lease_now ORDER BY e.until LIMIT p_limit
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
  next_due := next_overdue(v_now, v_lease_now);
END $$;
