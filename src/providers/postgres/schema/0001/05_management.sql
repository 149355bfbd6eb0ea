-- Removing instances and executions.

-- Deletes each instance with everything below it. Outcomes: 0 deleted, 1 not found, 2 has a parent, 3 not finished.
-- The last row has no outcome, only the leases that were taken away.
CREATE FUNCTION delete_instances(p_lease_now bigint, p_ids text[], p_force boolean)
RETURNS TABLE (
  o_outcome integer, o_instances bigint, o_executions bigint, o_events bigint, o_messages bigint,
  o_ids text[], o_statuses text[], o_stolen stolen_lease[])
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_id text;
  v_root record;
  v_keys bigint[];
  v_locked bigint[];
  v_stolen stolen_lease[] := '{}';
  v_finished boolean;
BEGIN
  -- All families at once, then their work, in the order of their keys.
  LOOP
    WITH RECURSIVE family (key) AS (
      SELECT i.key FROM unnest(p_ids) AS u (id)
        CROSS JOIN LATERAL (SELECT j.key FROM instances j WHERE j.instance_id = u.id OFFSET 0) i
      UNION
      SELECT c.key FROM family f
        CROSS JOIN LATERAL (SELECT i.key FROM instances i
                              WHERE i.parent_key = f.key AND i.parent_key IS NOT NULL OFFSET 0) c)
    SELECT array_agg(f.key ORDER BY f.key) INTO v_keys FROM family f;
    EXIT WHEN v_keys IS NOT DISTINCT FROM v_locked;
    PERFORM lock_instances(v_keys, NULL);
    v_locked := v_keys;
  END LOOP;
  PERFORM 1 FROM worker_queue w WHERE w.instance_key = ANY (v_locked)
    ORDER BY w.instance_key, w.execution, w.activity FOR UPDATE;
  FOREACH v_id IN ARRAY p_ids LOOP
    o_outcome := 0; o_instances := 0; o_executions := 0; o_events := 0; o_messages := 0;
    o_ids := NULL; o_statuses := NULL; o_stolen := NULL;
    -- A parent that is gone is no parent.
    SELECT i.key, (SELECT p.key FROM instances p WHERE p.key = i.parent_key) IS NOT NULL AS has_parent INTO v_root
      FROM instances i WHERE i.instance_id = v_id;
    IF NOT FOUND THEN o_outcome := 1; RETURN NEXT; CONTINUE; END IF;
    IF v_root.has_parent THEN o_outcome := 2; RETURN NEXT; CONTINUE; END IF;
    -- A locked parent makes no more children: when a look finds no new one, the family is whole.
    v_locked := '{}';
    LOOP
      WITH RECURSIVE family (key) AS (
        SELECT v_root.key UNION
        SELECT c.key FROM family f
          CROSS JOIN LATERAL (SELECT i.key FROM instances i
                                WHERE i.parent_key = f.key AND i.parent_key IS NOT NULL OFFSET 0) c)
      SELECT array_agg(f.key ORDER BY f.key) INTO v_keys FROM family f;
      EXIT WHEN v_keys = v_locked;
      PERFORM lock_instances(v_keys, NULL);
      v_locked := v_keys;
    END LOOP;
    SELECT count(*), count(*), coalesce(sum(i.last_event_id), 0), bool_and(is_final(i.status)),
           array_agg(i.instance_id ORDER BY i.key), array_agg(i.status ORDER BY i.key)
      INTO o_instances, o_executions, o_events, v_finished, o_ids, o_statuses
      FROM instances i WHERE i.key = ANY (v_keys);
    IF o_instances = 0 THEN o_outcome := 1; o_ids := NULL; o_statuses := NULL; RETURN NEXT; CONTINUE; END IF;
    IF NOT p_force AND NOT v_finished THEN
      o_outcome := 3; o_instances := 0; o_executions := 0; o_events := 0; o_ids := NULL; o_statuses := NULL;
      RETURN NEXT;
      CONTINUE;
    END IF;
    SELECT o_executions + count(*), o_events + coalesce(sum(e.last_event_id), 0) INTO o_executions, o_events
      FROM executions e WHERE e.instance_key = ANY (v_keys);
    SELECT (SELECT count(*) FROM worker_queue w WHERE w.instance_key = ANY (v_keys))
         + (SELECT count(*) FROM queue q WHERE q.instance_key = ANY (v_keys)) INTO o_messages;
    v_stolen := v_stolen || erase_instances(coalesce(p_lease_now, now_ms()), v_keys);
    RETURN NEXT;
  END LOOP;
  o_outcome := NULL; o_ids := NULL; o_statuses := NULL;
  o_stolen := v_stolen;
  RETURN NEXT;
END $$;

-- Removes executions that are over. Absent: any.
CREATE FUNCTION prune_executions(p_ids text[], p_keep_last bigint, p_ended_before bigint)
RETURNS TABLE (o_found boolean, o_executions bigint, o_events bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_id text;
  v_row record;
BEGIN
  PERFORM lock_instances('{}', p_ids);
  FOREACH v_id IN ARRAY p_ids LOOP
    -- An instance that came into being since then, and that another session holds, came too late.
    SELECT i.key, i.execution INTO v_row FROM instances i WHERE i.instance_id = v_id FOR UPDATE SKIP LOCKED;
    o_found := FOUND; o_executions := 0; o_events := 0;
    IF o_found THEN
      -- The current execution has no row among those that are over; it counts all the same.
      WITH gone AS (
        DELETE FROM executions e
          WHERE e.instance_key = v_row.key
            AND (p_keep_last IS NULL OR e.execution <= v_row.execution - greatest(p_keep_last, 1))
            AND (p_ended_before IS NULL OR e.ended_at < p_ended_before)
          RETURNING e.execution, e.last_event_id),
      forgotten AS (
        DELETE FROM history h
          WHERE h.instance_key = v_row.key AND h.execution = ANY (ARRAY(SELECT g.execution FROM gone g)))
      SELECT count(*), coalesce(sum(g.last_event_id), 0) INTO o_executions, o_events FROM gone g;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Extends the sessions of owners that were used lately; how many.
CREATE FUNCTION renew_sessions(p_lease_now bigint, p_owners text[], p_extend bigint, p_idle bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint := coalesce(p_lease_now, now_ms());
  v_count bigint;
  v_ids text[] := ARRAY(SELECT s.session_id FROM sessions s WHERE s.owner = ANY (p_owners));
BEGIN
  PERFORM 1 FROM sessions s WHERE s.session_id = ANY (v_ids) ORDER BY s.session_id FOR UPDATE;
  UPDATE sessions s SET lease_until = v_now + p_extend WHERE s.ctid = ANY (ARRAY(
    SELECT l.tid FROM unnest(v_ids) AS u (id)
      CROSS JOIN LATERAL (
        SELECT k.ctid AS tid, k.owner, k.lease_until, k.used_at FROM sessions k WHERE k.session_id = u.id OFFSET 0) l
      WHERE l.owner = ANY (p_owners) AND l.lease_until > v_now AND l.used_at > v_now - p_idle));
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;

-- Ends the sessions of an owner; how many.
CREATE FUNCTION release_sessions(p_lease_now bigint, p_owner text) RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint := coalesce(p_lease_now, now_ms());
  v_count bigint;
  v_ids text[] := ARRAY(SELECT s.session_id FROM sessions s WHERE s.owner = p_owner);
BEGIN
  PERFORM 1 FROM sessions s WHERE s.session_id = ANY (v_ids) ORDER BY s.session_id FOR UPDATE;
  DELETE FROM sessions s WHERE s.ctid = ANY (ARRAY(
    SELECT l.tid FROM unnest(v_ids) AS u (id)
      CROSS JOIN LATERAL (
        SELECT k.ctid AS tid, k.owner, k.lease_until FROM sessions k WHERE k.session_id = u.id OFFSET 0) l
      WHERE l.owner = p_owner AND l.lease_until > v_now));
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;
