-- How a message finds its instance: creates it, is queued, waits for it, or reaches nobody.
--
-- Whoever sends to an instance locks its row first, so that nothing is left behind on one that is just ending. Rows are
-- locked in the order of their keys, all at once, and before them the lock on parking: who holds some and finds that it
-- needs another does not wait for it, but takes it if it is free and else begins anew (serialization_failure; the
-- provider sends the call again). Each statement of a function sees what was committed before it began: so a lock and
-- what is decided under it are two statements.
--
-- How rows are found and changed, here and in the files after this one. The server plans by what it has counted, and a
-- queue may have been empty then: it would read a whole table for a few rows, or compare every row of one list with every
-- row of another. So no statement leaves it a choice.
--   * Rows are looked up one by one, from a list, in a LATERAL that names nothing but an index's own columns. It ends
--     with OFFSET 0 or FOR UPDATE: nothing is moved into such a one. Whatever else must hold is asked outside of it.
--   * They are changed where they lie, by a ctid that was read under a lock. A list that brings new values is cut by a
--     LIMIT that cuts nothing: of such a list the server expects next to nothing, and goes to the rows one by one.
--   * Two lists are not joined.

-- Locks instances, by their keys and by their ids.
CREATE FUNCTION lock_instances(p_keys bigint[], p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_keys bigint[] := p_keys;
BEGIN
  IF cardinality(p_ids) > 0 THEN
    v_keys := v_keys || ARRAY(
      SELECT i.key FROM unnest(p_ids) AS u (id)
        CROSS JOIN LATERAL (SELECT j.key FROM instances j WHERE j.instance_id = u.id OFFSET 0) i);
  END IF;
  PERFORM 1 FROM instances i WHERE i.key = ANY (v_keys) ORDER BY i.key FOR UPDATE;
END $$;

-- Parking a message and creating its instance must not pass each other unseen: who creates instances holds this lock
-- together with others like it, who parks holds it alone. One number per store.
CREATE FUNCTION parking_lock() RETURNS bigint LANGUAGE sql STABLE SET search_path FROM CURRENT
  AS 'SELECT ''parked_messages''::regclass::oid::bigint';

-- Takes that lock as it is needed to send messages, see deliver(). Those of one turn are wanted together or not at all.
CREATE FUNCTION lock_parking(m_turn integer[], m_kind smallint[], m_target text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  -- What is sent along with the start of its instance is not parked.
  IF 1 = ANY (m_kind) AND EXISTS (
    SELECT 1 FROM unnest(m_turn, m_kind, m_target) AS m (turn, kind, target)
      GROUP BY m.turn, m.target
      HAVING CASE WHEN bool_or(m.kind = 1) AND NOT bool_or(m.kind = 2)
                  THEN (SELECT i.key FROM instances i WHERE i.instance_id = m.target) IS NULL ELSE false END) THEN
    PERFORM pg_advisory_xact_lock(parking_lock());
  ELSIF 2 = ANY (m_kind) THEN
    PERFORM pg_advisory_xact_lock_shared(parking_lock());
  END IF;
END $$;

-- Takes worker rows away from instances, whoever holds them. Leases that were held are returned and left as tombstones.
-- The instances are locked by the caller.
CREATE FUNCTION take_away_work(p_lease_now bigint, p_keys bigint[], p_reason text) RETURNS stolen_lease[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_stolen stolen_lease[];
BEGIN
  PERFORM 1 FROM worker_queue w WHERE w.instance_key = ANY (p_keys)
    ORDER BY w.instance_key, w.execution, w.activity FOR UPDATE;
  IF NOT FOUND THEN RETURN '{}'; END IF;
  WITH gone AS (
    DELETE FROM worker_queue w WHERE w.instance_key = ANY (p_keys)
      RETURNING w.instance_key, w.execution, w.activity, w.lease_token, w.lease_until, w.lease_owner),
  held AS (SELECT * FROM gone g WHERE g.lease_token IS NOT NULL AND g.lease_until > p_lease_now),
  kept AS (
    INSERT INTO stolen_leases (instance_key, execution, activity, lease_token, owner, reason, until)
      SELECT h.instance_key, h.execution, h.activity, h.lease_token, h.lease_owner, p_reason, h.lease_until + 60000
        FROM held h
      ON CONFLICT (instance_key, execution, activity, lease_token) DO UPDATE SET reason = excluded.reason)
  SELECT array_agg(ROW(h.lease_owner, h.instance_key, h.execution, h.activity, h.lease_token, p_reason)::stolen_lease)
    INTO v_stolen FROM held h;
  RETURN coalesce(v_stolen, '{}');
END $$;

-- Removes instances with everything of theirs, so that their ids are free. They are locked by the caller.
CREATE FUNCTION erase_instances(p_lease_now bigint, p_keys bigint[]) RETURNS stolen_lease[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_stolen stolen_lease[];
BEGIN
  v_stolen := take_away_work(p_lease_now, p_keys, 'instance_deleted');
  DELETE FROM orchestrator_queue q WHERE q.instance_key = ANY (p_keys);
  DELETE FROM received_messages r WHERE r.instance_key = ANY (p_keys);
  DELETE FROM key_values v WHERE v.instance_key = ANY (p_keys);
  DELETE FROM history h WHERE h.instance_key = ANY (p_keys);
  DELETE FROM executions e WHERE e.instance_key = ANY (p_keys);
  DELETE FROM instances i WHERE i.key = ANY (p_keys);
  RETURN v_stolen;
END $$;

-- Moves what is parked for instances that have just been created into their queues.
CREATE FUNCTION unpark(p_now bigint, p_keys bigint[], p_ids text[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM parked_messages p WHERE p.instance_id = ANY (p_ids)) THEN RETURN; END IF;
  WITH moved AS MATERIALIZED (
    SELECT n.key, p.tid, p.id, p.message_id, p.visible_at, p.expires_at, p.item
      FROM unnest(p_keys, p_ids) AS n (key, id)
        CROSS JOIN LATERAL (SELECT m.ctid AS tid, m.* FROM parked_messages m WHERE m.instance_id = n.id FOR UPDATE) p),
  gone AS (
    DELETE FROM parked_messages p WHERE p.ctid = ANY (ARRAY(SELECT m.tid FROM moved m))),
  fresh AS (
    INSERT INTO received_messages (instance_key, message_id)
      SELECT DISTINCT m.key, m.message_id FROM moved m WHERE m.message_id IS NOT NULL AND m.expires_at > p_now
      ON CONFLICT DO NOTHING)
  INSERT INTO orchestrator_queue (instance_key, visible_at, item)
    SELECT m.key, greatest(m.visible_at, p_now), m.item FROM moved m WHERE m.expires_at > p_now
      ORDER BY m.visible_at, m.id;
END $$;

-- Sends messages. Of each: its kind (0: to an instance that exists; 1: may wait for it; 2: creates it), whether it is
-- wanted at all, and with 0 in m_for any incarnation of the target will do. A key of 0 asks for a number. The caller
-- has locked parking and the targets.
-- Outcomes: 0 enqueued, 1 duplicate (of a start: the id is taken), 2 not found, 3 parked, 4 finished, -1 not wanted.
CREATE FUNCTION deliver(
  p_now bigint,
  m_wanted boolean[], m_kind smallint[], m_target text[], m_item text[], m_at bigint[], m_id text[], m_for bigint[],
  m_name text[], m_digest bigint[],
  m_parent_instance text[], m_parent_key bigint[], m_parent_execution bigint[], m_parent_event bigint[])
RETURNS smallint[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_outcomes smallint[] := array_fill(-1::smallint, ARRAY[cardinality(m_kind)]);
  v_places bigint[];
  v_keys bigint[];
  v_ids text[];
  v_items text[];
  v_made bigint;
  v_some smallint[];
  v_overtaken boolean;
  v_n bigint;
BEGIN
  IF 2 = ANY (m_kind) THEN
    -- Numbered in the order of the batch, inserted in the order of their ids.
    WITH numbered AS MATERIALIZED (
      SELECT m.*, nextval('numbers') AS key FROM (
        SELECT DISTINCT ON (u.target) u.*
          FROM unnest(m_kind, m_wanted, m_target, m_item, m_at, m_name, m_digest,
                      m_parent_instance, m_parent_key, m_parent_execution, m_parent_event)
            WITH ORDINALITY AS u (kind, wanted, target, item, at, name, digest,
                                  parent_instance, parent_key, parent_execution, parent_event, n)
          WHERE u.kind = 2 AND u.wanted ORDER BY u.target, u.n) m
        ORDER BY m.n),
    made AS (
      INSERT INTO instances (key, instance_id, name, created_at, updated_at, execution_started_at, start_digest,
                             not_before, parent_instance, parent_key, parent_execution, parent_event)
        SELECT s.key, s.target, s.name, p_now, p_now, p_now, s.digest, CASE WHEN s.at > p_now THEN s.at END,
               s.parent_instance, s.parent_key, s.parent_execution, s.parent_event
          FROM numbered s ORDER BY s.target
        ON CONFLICT (instance_id) DO NOTHING RETURNING 1)
    SELECT array_agg(s.n), array_agg(s.key), array_agg(s.target), array_agg(s.item), (SELECT count(*) FROM made)
      INTO v_places, v_keys, v_ids, v_items, v_made FROM numbered s;
    -- Where the id was taken nobody has the number.
    IF v_made < cardinality(v_places) THEN
      SELECT array_agg(s.n), array_agg(s.key), array_agg(s.id), array_agg(s.item) INTO v_places, v_keys, v_ids, v_items
        FROM unnest(v_places, v_keys, v_ids, v_items) AS s (n, key, id, item)
          CROSS JOIN LATERAL (SELECT 1 FROM instances i WHERE i.key = s.key OFFSET 0) made;
    END IF;
    INSERT INTO orchestrator_queue (instance_key, visible_at, item)
      SELECT s.key, p_now, s.item FROM unnest(v_keys, v_items) WITH ORDINALITY AS s (key, item, n) ORDER BY s.n;
    FOR i IN 1 .. cardinality(m_kind) LOOP
      IF m_kind[i] = 2 AND m_wanted[i] THEN v_outcomes[i] := 1; END IF;
    END LOOP;
    IF v_places IS NOT NULL THEN
      FOREACH v_n IN ARRAY v_places LOOP v_outcomes[v_n] := 0; END LOOP;
      -- What was parked comes after the start.
      PERFORM unpark(p_now, v_keys, v_ids);
    END IF;
  END IF;
  IF NOT (0 = ANY (m_kind) OR 1 = ANY (m_kind)) THEN RETURN v_outcomes; END IF;

  -- The targets are locked. One that came into being since then is locked now, unless somebody else has it: then it
  -- came too late, and what may wait for it begins anew below.
  WITH found AS (
    SELECT m.n, m.kind, m.item, m.at, m.id, m.for_key, i.key, i.status,
           m.id IS NOT NULL AND (
             SELECT r.instance_key FROM received_messages r WHERE r.instance_key = i.key AND r.message_id = m.id)
             IS NOT NULL AS known
      FROM unnest(m_kind, m_wanted, m_target, m_item, m_at, m_id, m_for)
        WITH ORDINALITY AS m (kind, wanted, target, item, at, id, for_key, n)
        LEFT JOIN LATERAL (
          SELECT j.key, j.status FROM instances j WHERE j.instance_id = m.target FOR UPDATE SKIP LOCKED) i ON true
      WHERE m.kind < 2 AND m.wanted),
  judged AS (
    SELECT f.*,
           CASE WHEN f.key IS NULL THEN CASE WHEN f.kind = 1 THEN 3 ELSE 2 END
                WHEN f.for_key <> 0 AND f.for_key <> f.key THEN 2
                WHEN is_final(f.status) THEN CASE WHEN f.known THEN 1 ELSE 4 END
                WHEN f.known THEN 1
                ELSE 0 END::smallint AS outcome
      FROM found f),
  -- Of those that would be enqueued, the first of its id is.
  told AS MATERIALIZED (
    SELECT j.n, j.key, j.at, j.item, j.id,
           CASE WHEN j.outcome = 0 AND j.id IS NOT NULL
                     AND row_number() OVER (PARTITION BY j.key, j.id, j.outcome ORDER BY j.n) > 1
                THEN 1 ELSE j.outcome END::smallint AS outcome
      FROM judged j),
  remembered AS (
    INSERT INTO received_messages (instance_key, message_id)
      SELECT t.key, t.id FROM told t WHERE t.outcome = 0 AND t.id IS NOT NULL ORDER BY t.key, t.id
      ON CONFLICT DO NOTHING RETURNING 1),
  sent AS (
    INSERT INTO orchestrator_queue (instance_key, visible_at, item)
      SELECT t.key, greatest(t.at, p_now), t.item FROM told t WHERE t.outcome = 0 ORDER BY t.n)
  SELECT array_agg(t.n ORDER BY t.n), array_agg(t.outcome ORDER BY t.n),
         count(*) FILTER (WHERE t.outcome = 0 AND t.id IS NOT NULL) > (SELECT count(*) FROM remembered)
    INTO v_places, v_some, v_overtaken FROM told t;
  -- The instance was locked just now, and somebody else has sent it the same message shortly before.
  IF v_overtaken THEN RAISE EXCEPTION 'a message was sent twice at once' USING ERRCODE = 'serialization_failure'; END IF;
  IF v_places IS NULL THEN RETURN v_outcomes; END IF;
  FOR i IN 1 .. cardinality(v_places) LOOP
    v_n := v_places[i];
    v_outcomes[v_n] := v_some[i];
    CONTINUE WHEN v_some[i] <> 3;
    -- For an instance that does not exist, and that nobody can create unseen from here on. The caller holds the lock,
    -- unless the instance has gone since it looked.
    IF NOT pg_try_advisory_xact_lock(parking_lock()) THEN
      RAISE EXCEPTION 'an instance was deleted while it was sent to' USING ERRCODE = 'serialization_failure';
    END IF;
    IF EXISTS (SELECT 1 FROM instances i WHERE i.instance_id = m_target[v_n]) THEN
      RAISE EXCEPTION 'an instance was replaced while it was sent to' USING ERRCODE = 'serialization_failure';
    END IF;
    -- Parking makes room: also a store that nobody sweeps does not grow for ever.
    DELETE FROM parked_messages p WHERE p.id = ANY (ARRAY(
      SELECT e.id FROM parked_messages e WHERE e.expires_at <= p_now ORDER BY e.expires_at LIMIT 64));
    IF m_id[v_n] IS NOT NULL AND EXISTS (
      SELECT 1 FROM (SELECT m.expires_at FROM parked_messages m
                       WHERE m.instance_id = m_target[v_n] AND m.message_id = m_id[v_n] OFFSET 0) p
        WHERE p.expires_at > p_now) THEN
      v_outcomes[v_n] := 1;
      CONTINUE;
    END IF;
    INSERT INTO parked_messages (instance_id, message_id, visible_at, expires_at, item)
      VALUES (m_target[v_n], m_id[v_n], greatest(m_at[v_n], p_now), p_now + 86400000, m_item[v_n]);
  END LOOP;
  RETURN v_outcomes;
END $$;

-- deliver() as a call of its own.
CREATE FUNCTION enqueue_messages(
  p_now bigint,
  m_kind smallint[], m_target text[], m_item text[], m_at bigint[], m_id text[], m_for bigint[],
  m_name text[], m_digest bigint[],
  m_parent_instance text[], m_parent_key bigint[], m_parent_execution bigint[], m_parent_event bigint[],
  OUT outcomes smallint[], OUT now bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM lock_parking(array_fill(1, ARRAY[cardinality(m_kind)]), m_kind, m_target);
  PERFORM lock_instances('{}', m_target);
  now := coalesce(p_now, now_ms());
  outcomes := deliver(now, array_fill(true, ARRAY[cardinality(m_kind)]), m_kind, m_target, m_item, m_at, m_id, m_for,
                      m_name, m_digest, m_parent_instance, m_parent_key, m_parent_execution, m_parent_event);
END $$;

-- Inserts instances as pending together with their start messages. Outcomes: 0 created, 1 exists, 2 conflict.
CREATE FUNCTION start_instances(
  p_now bigint, p_lease_now bigint,
  m_target text[], m_item text[], m_name text[], m_digest bigint[], m_reuse boolean[],
  m_parent_instance text[], m_parent_key bigint[], m_parent_execution bigint[], m_parent_event bigint[],
  OUT outcomes smallint[], OUT stolen stolen_lease[])
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_count integer := cardinality(m_target);
  v_now bigint;
  v_final bigint[];
BEGIN
  stolen := '{}';
  PERFORM pg_advisory_xact_lock_shared(parking_lock());
  IF true = ANY (m_reuse) THEN
    PERFORM lock_instances('{}', m_target);
    SELECT array_agg(i.key) INTO v_final
      FROM unnest(m_target, m_reuse) AS m (target, reuse)
        CROSS JOIN LATERAL (SELECT j.key, j.status FROM instances j WHERE j.instance_id = m.target OFFSET 0) i
      WHERE m.reuse AND is_final(i.status);
    IF v_final IS NOT NULL THEN stolen := erase_instances(coalesce(p_lease_now, now_ms()), v_final); END IF;
  END IF;
  v_now := coalesce(p_now, now_ms());
  outcomes := deliver(v_now, array_fill(true, ARRAY[v_count]), array_fill(2::smallint, ARRAY[v_count]), m_target, m_item,
                      array_fill(0::bigint, ARRAY[v_count]), NULL, NULL, m_name, m_digest,
                      m_parent_instance, m_parent_key, m_parent_execution, m_parent_event);
  IF 1 = ANY (outcomes) THEN
    SELECT array_agg(CASE WHEN m.outcome = 0 THEN 0 WHEN i.start_digest = m.digest THEN 1 ELSE 2 END::smallint
                     ORDER BY m.n) INTO outcomes
      FROM unnest(m_target, m_digest, outcomes) WITH ORDINALITY AS m (target, digest, outcome, n)
        LEFT JOIN LATERAL (SELECT j.start_digest FROM instances j WHERE j.instance_id = m.target OFFSET 0) i ON true;
  END IF;
END $$;
