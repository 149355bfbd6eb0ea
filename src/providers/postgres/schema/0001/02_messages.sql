-- How a message finds its instance: it creates the instance, is queued, is parked until the instance exists, or is dropped.
--
-- A sender locks the row of an instance first, so that no message is left behind on an instance that is just ending. A
-- sender locks rows in the order of their keys, all at once, and before them the lock on parking. A sender that holds some
-- locks and needs another does not wait for it: it takes the lock if it is free, and else begins anew
-- (serialization_failure; the provider sends the call again). Each statement of a function sees what was committed before
-- the statement began: so a lock and the decision under it are two statements.
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

-- Parking a message and creating its instance must not pass each other unseen: creators of instances share this lock, and
-- a sender that parks holds it alone. One number per store.
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

-- Takes worker rows away from instances and from their holders. Returns the leases that were held and leaves them as
-- tombstones. The caller has locked the instances.
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
  DELETE FROM queue q WHERE q.instance_key = ANY (p_keys);
  DELETE FROM received_messages r WHERE r.instance_key = ANY (p_keys);
  DELETE FROM key_values v WHERE v.instance_key = ANY (p_keys);
  DELETE FROM history h WHERE h.instance_key = ANY (p_keys);
  DELETE FROM executions e WHERE e.instance_key = ANY (p_keys);
  DELETE FROM instances i WHERE i.key = ANY (p_keys);
  RETURN v_stolen;
END $$;

-- Puts messages into the queues of instances, in this order. p_sent: the time at which each was sent, NULL: now. p_cancel:
-- the mode of each cancel (1 graceful, 2 terminate), 0 for other messages; NULL: no cancels. The caller has locked the
-- instances, and none of them has ended.
CREATE FUNCTION put_messages(p_now bigint, p_keys bigint[], p_sent bigint[], p_cancel smallint[], p_items text[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  WITH numbered AS MATERIALIZED (
    SELECT s.*, nextval('places') AS place FROM (
      SELECT m.n, m.key, m.item, coalesce(m.cancel, 0::smallint) AS cancel, i.tid, i.entry_place, i.cancel_place,
             i.cancel_asked, i.graceful, i.status, i.engine_version, i.name, i.version, i.asked_version,
             greatest(max(coalesce(m.sent, p_now)) OVER (PARTITION BY m.key ORDER BY m.n), q.sent_at) AS sent_at,
             row_number() OVER (PARTITION BY m.key ORDER BY m.n) = 1 AS leads
        FROM unnest(p_keys, p_sent, p_cancel, p_items) WITH ORDINALITY AS m (key, sent, cancel, item, n)
          CROSS JOIN LATERAL (SELECT j.ctid AS tid, j.* FROM instances j WHERE j.key = m.key OFFSET 0) i
          LEFT JOIN LATERAL (
            SELECT o.sent_at FROM queue o
              WHERE o.instance_key = m.key AND o.place > i.queue_floor AND o.place < 2305843009213693952
              ORDER BY o.place DESC LIMIT 1) q ON true
        ORDER BY m.n) s),
  told AS MATERIALIZED (
    SELECT t.*, max(t.cancel) OVER (PARTITION BY t.key) AS asks,
           max(t.place) FILTER (WHERE t.cancel > 0) OVER (PARTITION BY t.key) AS asks_at
      FROM numbered t),
  sent AS (
    INSERT INTO queue (instance_key, place, sent_at, item, capability, ready_no)
      SELECT t.key, t.place, t.sent_at, t.item,
             CASE WHEN t.leads AND t.entry_place IS NULL THEN
               capability_of(coalesce(t.asks_at, t.cancel_place), greatest(t.cancel_asked, t.asks), t.graceful, t.status,
                             t.engine_version, t.name, t.version, t.asked_version) END,
             CASE WHEN t.leads AND t.entry_place IS NULL THEN t.place END
        FROM told t ORDER BY t.n)
  UPDATE instances i SET
      entry_place = coalesce(i.entry_place, t.place),
      cancel_asked = greatest(i.cancel_asked, t.asks),
      cancel_place = coalesce(t.asks_at, i.cancel_place)
    FROM (SELECT * FROM told u WHERE u.leads AND (u.entry_place IS NULL OR u.asks > 0) LIMIT cardinality(p_keys)) t
    WHERE i.ctid = t.tid;
  IF p_cancel IS NULL OR NOT (1 = ANY (p_cancel) OR 2 = ANY (p_cancel)) THEN RETURN; END IF;
  -- A cancel may change what a node needs. Then the entry gets a new number: its old one may be below a floor of others.
  UPDATE queue q SET
      capability = e.capability,
      ready_no = CASE WHEN q.ready_no IS NULL OR q.capability = e.capability THEN q.ready_no ELSE nextval('places') END
    FROM (SELECT o.tid, capability_of(i.cancel_place, i.cancel_asked, i.graceful, i.status, i.engine_version, i.name,
                                      i.version, i.asked_version) AS capability
            FROM unnest(p_keys, p_cancel) AS u (key, cancel)
              CROSS JOIN LATERAL (SELECT j.* FROM instances j WHERE j.key = u.key OFFSET 0) i
              CROSS JOIN LATERAL (
                SELECT k.ctid AS tid FROM queue k
                  WHERE k.instance_key = i.key AND k.place = i.entry_place OFFSET 0) o
            WHERE u.cancel > 0 LIMIT cardinality(p_keys)) e
    WHERE q.ctid = e.tid;
END $$;

-- The cancel of a child, as an item of its queue: with the words of the cancel of its parent.
CREATE FUNCTION cancel_of_child(
  p_of_parent text, p_mode smallint, p_child text, p_parent text, p_parent_key bigint, p_parent_execution bigint,
  p_parent_event bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT '{"CancelInstance":{"instance":' || to_json(p_child)::text
         || ',"reason":' || coalesce((p_of_parent::json -> 'CancelInstance' -> 'reason')::text, '""')
         || CASE WHEN p_mode = 2 THEN ',"mode":"terminate"' ELSE '' END
         || coalesce(',"requested_by":' || (p_of_parent::json -> 'CancelInstance' -> 'requested_by')::text, '')
         || ',"origin":"parent","parent_instance":' || to_json(p_parent)::text
         || ',"parent_id":' || p_parent_event || ',"parent_execution_id":' || p_parent_execution
         || ',"parent_incarnation":' || p_parent_key || '}}' $$;

-- Passes cancels on that parents have sent, see deliver(): to the children of those targets that any node can decide now,
-- level by level, the youngest children first. It looks at 1024 descendants at most (providers/common/cancel_descent.hpp)
-- and passes over those that another session holds: it never waits for a lock. Turns pass the cancel on to the others. The
-- caller has put the cancels of the targets into their queues.
CREATE FUNCTION descend(
  p_now bigint, m_kind smallint[], m_target text[], m_item text[], m_mode smallint[], m_parent_instance text[],
  p_outcomes smallint[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_left bigint := 1024;
  v_keys bigint[];
  v_modes smallint[];
  v_items text[];
  v_found bigint[];
  v_parents bigint[];
  v_seen bigint;
BEGIN
  SELECT array_agg(i.key ORDER BY m.n), array_agg(m.mode ORDER BY m.n), array_agg(m.item ORDER BY m.n)
    INTO v_keys, v_modes, v_items
    FROM unnest(m_kind, m_target, m_item, m_mode, m_parent_instance, p_outcomes)
        WITH ORDINALITY AS m (kind, target, item, mode, parent_instance, outcome, n)
      CROSS JOIN LATERAL (SELECT j.key FROM instances j WHERE j.instance_id = m.target OFFSET 0) i
    WHERE m.kind = 3 AND m.outcome = 0 AND m.parent_instance IS NOT NULL;
  LOOP
    EXIT WHEN v_keys IS NULL OR v_left <= 0;
    SELECT array_agg(s.key ORDER BY s.n, s.key DESC) FILTER (WHERE s.open),
           array_agg(s.n ORDER BY s.n, s.key DESC) FILTER (WHERE s.open), count(*)
      INTO v_found, v_parents, v_seen
      FROM (SELECT u.n, c.key, NOT is_final(c.status) AND c.cancel_asked < u.mode AS open
              FROM unnest(v_keys, v_modes) WITH ORDINALITY AS u (key, mode, n)
                CROSS JOIN LATERAL (SELECT j.graceful, j.status FROM instances j WHERE j.key = u.key OFFSET 0) p
                CROSS JOIN LATERAL (
                  SELECT j.key, j.status, j.cancel_asked FROM instances j
                    WHERE j.parent_key = u.key AND j.parent_key IS NOT NULL ORDER BY 0 - j.key LIMIT v_left) c
              WHERE u.mode = 2 OR NOT p.graceful OR p.status = 'Pending' LIMIT v_left) s;
    EXIT WHEN v_found IS NULL;
    v_left := v_left - v_seen;
    SELECT array_agg(i.key ORDER BY f.n), array_agg(v_modes[f.parent] ORDER BY f.n),
           array_agg(cancel_of_child(v_items[f.parent], v_modes[f.parent], i.instance_id, i.parent_instance, i.parent_key,
                                     i.parent_execution, i.parent_event) ORDER BY f.n)
      INTO v_keys, v_modes, v_items
      FROM unnest(v_found, v_parents) WITH ORDINALITY AS f (key, parent, n)
        CROSS JOIN LATERAL (SELECT j.* FROM instances j WHERE j.key = f.key FOR UPDATE SKIP LOCKED) i
      WHERE NOT is_final(i.status) AND i.cancel_asked < v_modes[f.parent];
    IF v_keys IS NOT NULL THEN PERFORM put_messages(p_now, v_keys, NULL, v_modes, v_items); END IF;
  END LOOP;
END $$;

-- Moves parked messages of instances that have just been created into their queues, in parts: an array has at most 1 GB.
CREATE FUNCTION unpark(p_now bigint, p_lease_now bigint, p_keys bigint[], p_ids text[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_keys bigint[];
  v_sent bigint[];
  v_items text[];
  v_after bigint := -1;
BEGIN
  PERFORM 1 FROM parked_messages p WHERE p.instance_id = ANY (p_ids) FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO received_messages (instance_key, message_id)
    SELECT DISTINCT n.key, p.message_id
      FROM unnest(p_keys, p_ids) AS n (key, id)
        CROSS JOIN LATERAL (SELECT m.message_id, m.until FROM parked_messages m WHERE m.instance_id = n.id OFFSET 0) p
      WHERE p.message_id IS NOT NULL AND p.until > p_lease_now
    ON CONFLICT DO NOTHING;
  LOOP
    SELECT array_agg(t.key ORDER BY t.id), array_agg(t.sent_at ORDER BY t.id), array_agg(t.item ORDER BY t.id), max(t.id)
      INTO v_keys, v_sent, v_items, v_after
      FROM (SELECT c.*, sum(octet_length(c.item)) OVER (ORDER BY c.id) - octet_length(c.item) AS before
              FROM (SELECT n.key, p.id, p.sent_at, p.item
                      FROM unnest(p_keys, p_ids) AS n (key, id)
                        CROSS JOIN LATERAL (
                          SELECT m.id, m.sent_at, m.until, m.item FROM parked_messages m WHERE m.instance_id = n.id OFFSET 0) p
                      WHERE p.id > v_after AND p.until > p_lease_now
                      ORDER BY p.id LIMIT 1000) c) t
      WHERE t.before < 16777216;
    EXIT WHEN v_keys IS NULL;
    PERFORM put_messages(p_now, v_keys, v_sent, NULL, v_items);
  END LOOP;
  DELETE FROM parked_messages p WHERE p.instance_id = ANY (p_ids);
END $$;

-- Sends messages. Of each: its kind (0: to an instance that exists; 1: may be parked; 2: creates the instance; 3: a cancel;
-- 4: a timer), whether it is wanted at all, and with 0 in m_for any incarnation of the target will do. m_at is the time of
-- a timer and of a delayed start. The parent of a start and of a cancel; of a timer its execution and event. The caller has
-- locked parking and the targets. m_made: the caller has inserted the instances of the starts, with these keys; NULL where
-- the id was taken.
-- Outcomes: 0 enqueued, 1 duplicate (of a start: the id is taken), 2 not found, 3 parked, 4 finished, -1 not wanted.
CREATE FUNCTION deliver(
  p_now bigint, p_lease_now bigint,
  m_wanted boolean[], m_kind smallint[], m_target text[], m_item text[], m_at bigint[], m_id text[], m_for bigint[],
  m_name text[], m_version text[], m_digest bigint[], m_mode smallint[],
  m_parent_instance text[], m_parent_key bigint[], m_parent_execution bigint[], m_parent_event bigint[],
  m_made bigint[] DEFAULT NULL)
RETURNS smallint[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_outcomes smallint[] := array_fill(-1::smallint, ARRAY[cardinality(m_kind)]);
  v_places bigint[];
  v_keys bigint[];
  v_ids text[];
  v_made bigint;
  v_some smallint[];
  v_overtaken boolean;
  v_n bigint;
  v_items text[];
  v_modes smallint[];
  v_row record;
BEGIN
  IF 2 = ANY (m_kind) AND m_made IS NOT NULL THEN
    SELECT array_agg(m.n), array_agg(m.key), array_agg(m.target) INTO v_places, v_keys, v_ids
      FROM unnest(m_made, m_target, m_wanted) WITH ORDINALITY AS m (key, target, wanted, n)
      WHERE m.key IS NOT NULL AND m.wanted;
  ELSIF 2 = ANY (m_kind) THEN
    -- Numbered in the order of the batch, inserted in the order of their ids. The place of a start is 0: below that of
    -- every other message.
    WITH numbered AS MATERIALIZED (
      SELECT m.*, nextval('numbers') AS key FROM (
        SELECT DISTINCT ON (u.target) u.*
          FROM unnest(m_kind, m_wanted, m_target, m_name, m_version, m_digest,
                      m_parent_instance, m_parent_key, m_parent_execution, m_parent_event)
            WITH ORDINALITY AS u (kind, wanted, target, name, version, digest,
                                  parent_instance, parent_key, parent_execution, parent_event, n)
          WHERE u.kind = 2 AND u.wanted ORDER BY u.target, u.n) m
        ORDER BY m.n),
    made AS (
      INSERT INTO instances (key, instance_id, name, asked_version, created_at, updated_at, execution_started_at,
                             start_digest, entry_place, parent_instance, parent_key, parent_execution, parent_event)
        SELECT s.key, s.target, s.name, coalesce(s.version, ''), p_now, p_now, p_now, s.digest, 0,
               s.parent_instance, s.parent_key, s.parent_execution, s.parent_event
          FROM numbered s ORDER BY s.target
        ON CONFLICT (instance_id) DO NOTHING RETURNING 1)
    SELECT array_agg(s.n), array_agg(s.key), array_agg(s.target), (SELECT count(*) FROM made)
      INTO v_places, v_keys, v_ids, v_made FROM numbered s;
    -- Where the id was taken, no instance has the number.
    IF v_made < cardinality(v_places) THEN
      SELECT array_agg(s.n), array_agg(s.key), array_agg(s.id) INTO v_places, v_keys, v_ids
        FROM unnest(v_places, v_keys, v_ids) AS s (n, key, id)
          CROSS JOIN LATERAL (SELECT 1 FROM instances i WHERE i.key = s.key OFFSET 0) made;
    END IF;
  END IF;
  IF 2 = ANY (m_kind) THEN
    FOR i IN 1 .. cardinality(m_kind) LOOP
      IF m_kind[i] = 2 AND m_wanted[i] THEN v_outcomes[i] := 1; END IF;
    END LOOP;
    IF v_places IS NOT NULL THEN
      FOR i IN 1 .. cardinality(v_places) LOOP v_outcomes[v_places[i]] := 0; END LOOP;
      INSERT INTO queue (instance_key, place, sent_at, item, capability, ready_no, waits_until)
        SELECT i.key, 0, 0, s.item, E'1\n' || i.name || E'\n' || i.asked_version,
               CASE WHEN s.at > p_now THEN NULL ELSE nextval('places') END, CASE WHEN s.at > p_now THEN s.at END
          FROM (SELECT m.* FROM unnest(v_outcomes, m_kind, m_target, m_item, m_at)
                    WITH ORDINALITY AS m (outcome, kind, target, item, at, n)
                  WHERE m.kind = 2 AND m.outcome = 0 ORDER BY m.n) s
            CROSS JOIN LATERAL (
              SELECT j.key, j.name, j.asked_version FROM instances j WHERE j.instance_id = s.target OFFSET 0) i;
      -- Parked messages come after the start.
      PERFORM unpark(p_now, p_lease_now, v_keys, v_ids);
      -- A child of an instance that has a cancel queued is born with that cancel.
      IF cardinality(array_remove(m_parent_key, NULL)) > 0 THEN
        SELECT array_agg(i.key ORDER BY m.n), array_agg(p.cancel_asked ORDER BY m.n),
               array_agg(cancel_of_child(q.item, p.cancel_asked, m.target, m.parent_instance, m.parent_key,
                                         m.parent_execution, m.parent_event) ORDER BY m.n)
          INTO v_keys, v_modes, v_items
          FROM unnest(v_outcomes, m_kind, m_target, m_parent_instance, m_parent_key, m_parent_execution, m_parent_event)
              WITH ORDINALITY AS m (outcome, kind, target, parent_instance, parent_key, parent_execution, parent_event, n)
            CROSS JOIN LATERAL (
              SELECT j.cancel_asked, j.cancel_place FROM instances j WHERE j.key = m.parent_key OFFSET 0) p
            CROSS JOIN LATERAL (
              SELECT o.item FROM queue o WHERE o.instance_key = m.parent_key AND o.place = p.cancel_place OFFSET 0) q
            CROSS JOIN LATERAL (SELECT j.key FROM instances j WHERE j.instance_id = m.target OFFSET 0) i
          WHERE m.kind = 2 AND m.outcome = 0 AND p.cancel_place IS NOT NULL;
        IF v_keys IS NOT NULL THEN PERFORM put_messages(p_now, v_keys, NULL, v_modes, v_items); END IF;
      END IF;
    END IF;
  END IF;
  IF NOT (0 = ANY (m_kind) OR 1 = ANY (m_kind) OR 3 = ANY (m_kind) OR 4 = ANY (m_kind)) THEN RETURN v_outcomes; END IF;

  -- The targets are locked. A target that came into being since then is locked now, unless another session holds it: then
  -- it came too late, and a message that may be parked begins anew below.
  WITH found AS (
    SELECT m.n, m.kind, m.id, m.for_key, m.mode, i.key, i.status, i.cancel_asked,
           m.id IS NOT NULL AND (
             SELECT r.instance_key FROM received_messages r WHERE r.instance_key = i.key AND r.message_id = m.id)
             IS NOT NULL AS known,
           m.kind <> 3 OR m.parent_instance IS NULL OR (
             i.parent_instance = m.parent_instance AND i.parent_execution = m.parent_execution
             AND i.parent_event = m.parent_event
             AND (coalesce(i.parent_key, 0) = 0 OR coalesce(m.parent_key, 0) = 0 OR i.parent_key = m.parent_key)) AS fits
      FROM unnest(m_kind, m_wanted, m_target, m_id, m_for, m_mode,
                  m_parent_instance, m_parent_key, m_parent_execution, m_parent_event)
        WITH ORDINALITY AS m (kind, wanted, target, id, for_key, mode,
                              parent_instance, parent_key, parent_execution, parent_event, n)
        LEFT JOIN LATERAL (
          SELECT j.key, j.status, j.cancel_asked, j.parent_instance, j.parent_key, j.parent_execution, j.parent_event
            FROM instances j WHERE j.instance_id = m.target FOR UPDATE SKIP LOCKED) i ON true
      WHERE m.kind <> 2 AND m.wanted),
  judged AS (
    SELECT f.*,
           CASE WHEN f.key IS NULL THEN CASE WHEN f.kind = 1 THEN 3 ELSE 2 END
                WHEN f.for_key <> 0 AND f.for_key <> f.key THEN 2
                WHEN f.fits IS NOT TRUE THEN 2
                WHEN is_final(f.status) THEN CASE WHEN f.known THEN 1 ELSE 4 END
                WHEN f.known THEN 1
                ELSE 0 END::smallint AS outcome
      FROM found f),
  -- Of those that would be enqueued, the first of its id is; and a cancel must be stronger than those before it.
  told AS MATERIALIZED (
    SELECT j.n, j.key, j.id,
           CASE WHEN j.outcome = 0 AND j.id IS NOT NULL
                     AND row_number() OVER (PARTITION BY j.key, j.id, j.outcome ORDER BY j.n) > 1 THEN 1
                WHEN j.outcome = 0 AND j.kind = 3 AND j.mode <= greatest(j.cancel_asked,
                       max(j.mode) FILTER (WHERE j.kind = 3 AND j.outcome = 0) OVER (
                         PARTITION BY j.key ORDER BY j.n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) THEN 1
                ELSE j.outcome END::smallint AS outcome
      FROM judged j),
  remembered AS (
    INSERT INTO received_messages (instance_key, message_id)
      SELECT t.key, t.id FROM told t WHERE t.outcome = 0 AND t.id IS NOT NULL ORDER BY t.key, t.id
      ON CONFLICT DO NOTHING RETURNING 1)
  SELECT array_agg(t.n ORDER BY t.n), array_agg(t.outcome ORDER BY t.n), array_agg(t.key ORDER BY t.n),
         count(*) FILTER (WHERE t.outcome = 0 AND t.id IS NOT NULL) > (SELECT count(*) FROM remembered)
    INTO v_places, v_some, v_keys, v_overtaken FROM told t;
  -- The instance was locked just now, and another session has sent it the same message shortly before.
  IF v_overtaken THEN RAISE EXCEPTION 'a message was sent twice at once' USING ERRCODE = 'serialization_failure'; END IF;
  IF v_places IS NULL THEN RETURN v_outcomes; END IF;
  FOR i IN 1 .. cardinality(v_places) LOOP
    v_outcomes[v_places[i]] := v_some[i];
  END LOOP;
  IF 0 = ANY (v_some) THEN
    -- v_keys holds the keys of those messages that are no starts, in their order.
    SELECT array_agg(s.key ORDER BY s.n), array_agg(s.mode ORDER BY s.n), array_agg(s.item ORDER BY s.n)
      INTO v_keys, v_modes, v_items
      FROM (SELECT m.n, m.kind, m.mode, m.item, m.outcome, v_keys[sum(CASE WHEN m.kind <> 2 AND m.wanted THEN 1 ELSE 0 END)
                                                                    OVER (ORDER BY m.n)] AS key
              FROM unnest(m_kind, m_wanted, m_mode, m_item, v_outcomes)
                WITH ORDINALITY AS m (kind, wanted, mode, item, outcome, n)) s
      WHERE s.kind IN (0, 1, 3) AND s.outcome = 0;
    IF v_keys IS NOT NULL THEN PERFORM put_messages(p_now, v_keys, NULL, v_modes, v_items); END IF;
    IF 3 = ANY (m_kind) AND cardinality(array_remove(m_parent_instance, NULL)) > 0 THEN
      PERFORM descend(p_now, m_kind, m_target, m_item, m_mode, m_parent_instance, v_outcomes);
    END IF;
  END IF;
  IF 4 = ANY (m_kind) THEN
    INSERT INTO queue (instance_key, place, sent_at, fire_at, execution, waits_until)
      SELECT i.key, 2305843009213693952 + m.event, 0, m.at, m.execution, greatest(m.at, p_now)
        FROM unnest(m_kind, m_target, m_at, m_parent_execution, m_parent_event, v_outcomes)
            WITH ORDINALITY AS m (kind, target, at, execution, event, outcome, n)
          CROSS JOIN LATERAL (SELECT j.key FROM instances j WHERE j.instance_id = m.target OFFSET 0) i
        WHERE m.kind = 4 AND m.outcome = 0 ORDER BY m.n
      ON CONFLICT DO NOTHING;
  END IF;
  IF NOT (3 = ANY (v_some)) THEN RETURN v_outcomes; END IF;

  -- For instances that do not exist, and that no session can create unseen from here on. The caller holds the lock, unless
  -- an instance has gone since it looked.
  IF NOT pg_try_advisory_xact_lock(parking_lock()) THEN
    RAISE EXCEPTION 'an instance was deleted while it was sent to' USING ERRCODE = 'serialization_failure';
  END IF;
  -- A sender that parks a message first deletes expired ones, so that a store without sweeps stays small.
  DELETE FROM parked_messages p WHERE p.id = ANY (ARRAY(
    SELECT e.id FROM parked_messages e WHERE e.until <= p_lease_now ORDER BY e.until LIMIT 64));
  FOR v_row IN
    SELECT m.n, m.target, m.id, m.item
      FROM unnest(v_outcomes, m_target, m_id, m_item) WITH ORDINALITY AS m (outcome, target, id, item, n)
      WHERE m.outcome = 3 ORDER BY m.n
  LOOP
    IF EXISTS (SELECT 1 FROM instances i WHERE i.instance_id = v_row.target) THEN
      RAISE EXCEPTION 'an instance was replaced while it was sent to' USING ERRCODE = 'serialization_failure';
    END IF;
    IF v_row.id IS NOT NULL AND EXISTS (
      SELECT 1 FROM (SELECT m.until FROM parked_messages m
                       WHERE m.instance_id = v_row.target AND m.message_id = v_row.id OFFSET 0) p
        WHERE p.until > p_lease_now) THEN
      v_outcomes[v_row.n] := 1;
      CONTINUE;
    END IF;
    INSERT INTO parked_messages (instance_id, message_id, sent_at, until, item)
      VALUES (v_row.target, v_row.id, p_now, p_lease_now + 86400000, v_row.item);
  END LOOP;
  RETURN v_outcomes;
END $$;

-- deliver() as a call of its own.
CREATE FUNCTION enqueue_messages(
  p_now bigint, p_lease_now bigint,
  m_kind smallint[], m_target text[], m_item text[], m_at bigint[], m_id text[], m_for bigint[],
  m_name text[], m_version text[], m_digest bigint[], m_mode smallint[],
  m_parent_instance text[], m_parent_key bigint[], m_parent_execution bigint[], m_parent_event bigint[],
  OUT outcomes smallint[], OUT now bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM lock_parking(array_fill(1, ARRAY[cardinality(m_kind)]), m_kind, m_target);
  PERFORM lock_instances('{}', m_target);
  -- A transaction has an id before it reads the clock, see floors.hpp: perhaps it has locked nothing yet.
  PERFORM pg_current_xact_id();
  now := coalesce(p_now, now_ms());
  outcomes := deliver(now, coalesce(p_lease_now, now), array_fill(true, ARRAY[cardinality(m_kind)]), m_kind, m_target, m_item, m_at, m_id, m_for,
                      m_name, m_version, m_digest, m_mode,
                      m_parent_instance, m_parent_key, m_parent_execution, m_parent_event);
END $$;

-- Inserts instances as pending together with their start messages. Outcomes: 0 created, 1 exists, 2 conflict.
CREATE FUNCTION start_instances(
  p_now bigint, p_lease_now bigint,
  m_target text[], m_item text[], m_name text[], m_version text[], m_digest bigint[], m_reuse boolean[],
  m_parent_instance text[], m_parent_key bigint[], m_parent_execution bigint[], m_parent_event bigint[],
  OUT outcomes smallint[], OUT stolen stolen_lease[], OUT now bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_count integer := cardinality(m_target);
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
  now := coalesce(p_now, now_ms());
  outcomes := deliver(now, coalesce(p_lease_now, now), array_fill(true, ARRAY[v_count]), array_fill(2::smallint, ARRAY[v_count]), m_target, m_item,
                      NULL, NULL, NULL, m_name, m_version, m_digest, NULL,
                      m_parent_instance, m_parent_key, m_parent_execution, m_parent_event);
  IF 1 = ANY (outcomes) THEN
    SELECT array_agg(CASE WHEN m.outcome = 0 THEN 0 WHEN i.start_digest = m.digest THEN 1 ELSE 2 END::smallint
                     ORDER BY m.n) INTO outcomes
      FROM unnest(m_target, m_digest, outcomes) WITH ORDINALITY AS m (target, digest, outcome, n)
        LEFT JOIN LATERAL (SELECT j.start_digest FROM instances j WHERE j.instance_id = m.target OFFSET 0) i ON true;
  END IF;
END $$;
