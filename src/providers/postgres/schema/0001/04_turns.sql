-- Turns: handing out instances that have messages, and storing what was decided about them.

-- The messages of an instance within limits: the last place, their bytes, and the time of the first message that is left
-- out. The first message always fits.
CREATE FUNCTION inbox_part(p_key bigint, p_floor bigint, p_messages bigint, p_bytes bigint)
RETURNS TABLE (upto bigint, bytes bigint, cut bigint) LANGUAGE sql STABLE AS $$
  SELECT max(a.place) FILTER (WHERE a.n = 1 OR a.bytes <= p_bytes),
         max(a.bytes) FILTER (WHERE a.n = 1 OR a.bytes <= p_bytes)::bigint,
         min(a.sent_at) FILTER (WHERE a.n > 1 AND a.bytes > p_bytes)
    FROM (SELECT b.place, b.sent_at, sum(octet_length(b.item)) OVER (ORDER BY b.place) AS bytes,
                 row_number() OVER (ORDER BY b.place) AS n
            FROM (SELECT o.place, o.sent_at, o.item FROM queue o
                    WHERE o.instance_key = p_key AND o.place > p_floor AND o.place < 2305843009213693952
                    ORDER BY o.place LIMIT p_messages + 1) b) a $$;

-- Leases instances that have something to take, longest waiting first, and counts an attempt. One that was handed out before
-- goes alone. p_caps: the capabilities of the caller, with the number from which each is looked for; p_prefixes: beginnings
-- of further ones; both absent: all between the levels. p_token is where the tokens are counted from.
--
-- Rows: one for each instance, with its id and the time of the first message that the limits leave out; then, with a place
-- only, their due timers, their messages within the limits, and a queued cancel that is beyond the limits. The last row has
-- no key: when there may be more, the time, and for every capability of p_caps the lowest number that was found; o_last,
-- o_began, o_xmin and o_own_id say up to which number and time no transaction can bring a row any more, see floors.hpp. A
-- fetch that changes nothing has an id only if p_wants_id. o_left_ready: instances became ready that others must take.
-- Only the last row, and nothing is leased, if the schema needs more than the version that the caller knows.
CREATE FUNCTION fetch_turns(
  p_now bigint, p_lease_now bigint, p_limit integer, p_lease bigint, p_token bigint,
  p_min_level bigint, p_max_level bigint, p_caps text[], p_floors bigint[], p_prefixes text[],
  p_max_messages bigint, p_max_bytes bigint, p_max_total bigint, p_wake_floor bigint, p_wants_id boolean,
  p_knows bigint)
RETURNS TABLE (
  o_key bigint, o_place bigint, o_at bigint, o_execution bigint, o_item text,
  o_instance_id text, o_name text, o_version text, o_status text, o_last_event_id bigint, o_attempt integer,
  o_cancel_place bigint, o_replay_token bigint, o_token bigint,
  o_keys text[], o_values text[], o_encodings text[], o_updated_at bigint[],
  o_next_due bigint, o_now bigint, o_lows bigint[], o_low_wake bigint, o_last bigint, o_xmin bigint, o_own_id bigint,
  o_works_with bigint, o_began bigint, o_left_ready boolean)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
-- Along an index and no further than needed, never all that waits first: the limit is out of the planner's sight.
SET enable_material = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint := coalesce(p_now, now_ms());
  v_lease_now bigint := coalesce(p_lease_now, v_now);
  v_caps text[] := coalesce(p_caps, '{}');
  v_floors bigint[] := coalesce(p_floors, '{}');
  v_prefix text;
  v_cap text;
  v_window bigint := p_limit;
  v_more boolean;
  v_keys bigint[];
  v_places bigint[];
  v_attempts integer[];
  v_taken bigint[];
  v_entries bigint[];
  v_upto bigint[];
  v_cut bigint[];
  v_bytes bigint;
  v_row record;
  v_next bigint;
  v_due bigint;
  v_woken bigint[] := '{}';   -- made ready by this fetch
  v_found bigint := 0;        -- instances that steps 1 and 2 wanted to lock
  v_full boolean := false;    -- there may be more to make ready
  v_passed boolean := false;  -- another session held what this one wanted
BEGIN
  -- Before this transaction has an id: one that took a number up to o_last, or set a time up to o_began, has a lower id.
  SELECT p.last_value INTO o_last FROM places p;
  -- A time that is set later is not below the time that was read now, cut to a millisecond.
  o_began := v_lease_now - 1;
  IF p_wants_id THEN PERFORM pg_current_xact_id(); END IF;
  o_xmin := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
  SELECT v.works_with INTO o_works_with FROM duramen_schema v;
  -- A process that does not know the schema leases nothing.
  IF o_works_with > p_knows THEN
    o_now := v_now;
    RETURN NEXT;
    RETURN;
  END IF;

  -- 1. Instances whose lease or delay has ended can be taken again.
  SELECT array_agg(q.instance_key ORDER BY q.wake_at), array_agg(q.place ORDER BY q.wake_at), min(q.wake_at)
    INTO v_keys, v_places, o_low_wake
    FROM (SELECT m.instance_key, m.place, m.wake_at FROM queue m
            WHERE m.wake_at IS NOT NULL AND m.wake_at > p_wake_floor AND m.wake_at <= v_lease_now
            ORDER BY m.wake_at LIMIT 1000) q;
  IF v_keys IS NOT NULL THEN
    v_woken := coalesce(wake(p_lease_now, v_keys, v_places), '{}');
    v_found := cardinality(v_keys);
    v_full := v_found >= 1000;
  END IF;

  -- 2. Due timers and delayed starts give their instances an entry.
  SELECT array_agg(q.instance_key ORDER BY q.waits_until, q.place), array_agg(q.place ORDER BY q.waits_until, q.place),
         least(o_low_wake, min(q.waits_until))
    INTO v_keys, v_places, o_low_wake
    FROM (SELECT m.instance_key, m.place, m.waits_until FROM queue m
            WHERE m.waits_until IS NOT NULL AND m.waits_until > p_wake_floor AND m.waits_until <= v_now
            ORDER BY m.waits_until LIMIT 1000) q;
  IF v_keys IS NOT NULL THEN
    v_woken := v_woken || coalesce(notice(v_keys, v_places), '{}');
    v_found := v_found + cardinality(v_keys);
    v_full := v_full OR cardinality(v_keys) >= 1000;
  END IF;
  v_passed := cardinality(v_woken) < v_found;
  v_keys := NULL;

  -- 3. From capability to capability, not from row to row.
  IF p_caps IS NULL THEN
    v_cap := '';
    LOOP
      SELECT q.capability INTO v_cap FROM queue q
        WHERE q.ready_no IS NOT NULL AND q.capability > v_cap ORDER BY q.capability, q.ready_no LIMIT 1;
      EXIT WHEN NOT FOUND;
      CONTINUE WHEN NOT split_part(v_cap, E'\n', 1)::bigint BETWEEN p_min_level AND p_max_level;
      v_caps := v_caps || v_cap; v_floors := v_floors || -1::bigint;
    END LOOP;
  END IF;
  IF cardinality(p_prefixes) > 0 THEN
    FOREACH v_prefix IN ARRAY p_prefixes LOOP
      v_cap := v_prefix;
      SELECT q.capability INTO v_cap FROM queue q
        WHERE q.ready_no IS NOT NULL AND q.capability >= v_prefix ORDER BY q.capability, q.ready_no LIMIT 1;
      WHILE FOUND AND starts_with(v_cap, v_prefix) LOOP
        v_caps := v_caps || v_cap; v_floors := v_floors || -1::bigint;
        SELECT q.capability INTO v_cap FROM queue q
          WHERE q.ready_no IS NOT NULL AND q.capability > v_cap ORDER BY q.capability, q.ready_no LIMIT 1;
      END LOOP;
    END LOOP;
  END IF;

  -- 4. The longest waiting decides: if it was handed out before, it goes alone. An instance that another session holds is
  -- passed over; then the fetch looks further.
  LOOP
    SELECT array_agg(w.instance_key ORDER BY w.ready_no), array_agg(w.place ORDER BY w.ready_no),
           array_agg(i.attempt ORDER BY w.ready_no), coalesce(bool_or(w.n = v_window), false)
      INTO v_keys, v_places, v_attempts, v_more
      FROM unnest(v_caps, v_floors) AS c (capability, floor)
        CROSS JOIN LATERAL (
          SELECT q.instance_key, q.place, q.ready_no, row_number() OVER () AS n FROM queue q
            WHERE q.capability = c.capability AND q.ready_no IS NOT NULL AND q.ready_no > c.floor
            ORDER BY q.capability, q.ready_no LIMIT v_window) w
        CROSS JOIN LATERAL (SELECT j.attempt FROM instances j WHERE j.key = w.instance_key OFFSET 0) i;
    EXIT WHEN v_keys IS NULL;
    IF v_attempts[1] > 0 THEN
      SELECT ARRAY[j.key], ARRAY[j.entry_place] INTO v_taken, v_entries FROM instances j
        WHERE j.key = v_keys[1] AND j.entry_place = v_places[1] AND j.attempt = v_attempts[1] FOR UPDATE SKIP LOCKED;
      EXIT WHEN FOUND;
    END IF;
    SELECT array_agg(t.key), array_agg(t.place) INTO v_taken, v_entries
      FROM (SELECT i.key, i.entry_place AS place
              FROM unnest(v_keys, v_places, v_attempts) AS u (key, place, attempt)
                CROSS JOIN LATERAL (
                  SELECT j.key, j.entry_place FROM instances j
                    WHERE j.key = u.key AND j.entry_place = u.place AND j.attempt = 0 FOR UPDATE SKIP LOCKED) i
              WHERE u.attempt = 0 LIMIT p_limit) t;
    EXIT WHEN NOT v_more OR coalesce(cardinality(v_taken), 0) >= p_limit;
    v_window := v_window * 4;
  END LOOP;

  IF v_taken IS NOT NULL THEN
    -- 5. The locked instances: those that are still ready, need nothing else meanwhile, and have something to take.
    v_now := coalesce(p_now, now_ms());
    v_lease_now := coalesce(p_lease_now, v_now);
    SELECT array_agg(s.key ORDER BY s.n), array_agg(s.place ORDER BY s.n), array_agg(s.upto ORDER BY s.n),
           array_agg(s.cut ORDER BY s.n), sum(s.bytes)
      INTO v_taken, v_entries, v_upto, v_cut, v_bytes
      FROM (
        SELECT u.n, u.key, u.place, m.upto, m.bytes, m.cut
          FROM unnest(v_taken, v_entries) WITH ORDINALITY AS u (key, place, n)
            CROSS JOIN LATERAL (SELECT j.queue_floor FROM instances j WHERE j.key = u.key OFFSET 0) i
            CROSS JOIN LATERAL (
              SELECT o.fire_at, o.ready_no, o.capability FROM queue o
                WHERE o.instance_key = u.key AND o.place = u.place OFFSET 0) e
            CROSS JOIN LATERAL inbox_part(u.key, i.queue_floor, p_max_messages, p_max_bytes) m
          WHERE e.ready_no IS NOT NULL AND e.capability = ANY (v_caps) AND (m.upto IS NOT NULL OR e.fire_at <= v_now OR (
                  SELECT o.place FROM queue o
                    WHERE o.instance_key + 0 = u.key AND o.fire_at IS NOT NULL AND o.fire_at <= v_now LIMIT 1) IS NOT NULL)) s;
    -- Not all fit: one after the other, as far as the bytes for all of them go.
    IF v_bytes > p_max_total THEN
      v_bytes := p_max_total;
      FOR i IN 1 .. cardinality(v_taken) LOOP
        IF i > 1 AND v_bytes <= 0 THEN
          v_taken := v_taken[1 : i - 1]; v_entries := v_entries[1 : i - 1];
          v_upto := v_upto[1 : i - 1]; v_cut := v_cut[1 : i - 1];
          EXIT;
        END IF;
        SELECT m.upto, m.cut, coalesce(m.bytes, 0) AS bytes INTO v_row
          FROM instances j CROSS JOIN LATERAL inbox_part(j.key, j.queue_floor, p_max_messages,
                                                         least(p_max_bytes, v_bytes)) m
          WHERE j.key = v_taken[i];
        v_upto[i] := v_row.upto; v_cut[i] := v_row.cut; v_bytes := v_bytes - v_row.bytes;
      END LOOP;
    END IF;
    -- A timer whose time is in the future again, because the clock was set back, waits again.
    IF 2305843009213693952 <= ANY (v_places) THEN
      PERFORM put_off(v_now, array_agg(u.key), array_agg(u.place))
        FROM unnest(v_keys, v_places) AS u (key, place)
        WHERE u.place >= 2305843009213693952 AND NOT u.key = ANY (coalesce(v_taken, '{}'));
    END IF;
  END IF;

  IF v_taken IS NOT NULL THEN
    UPDATE queue q SET ready_no = NULL, wake_at = v_lease_now + p_lease
      WHERE q.ctid = ANY (ARRAY(
        SELECT o.tid FROM unnest(v_taken, v_entries) AS u (key, place)
          CROSS JOIN LATERAL (
            SELECT k.ctid AS tid FROM queue k WHERE k.instance_key = u.key AND k.place = u.place OFFSET 0) o));
    RETURN QUERY
      WITH leased AS (
        UPDATE instances i SET
            lease_token = p_token + i.key, lease_until = v_lease_now + p_lease, attempt = i.attempt + 1
          FROM (SELECT u.n, u.cut, u.upto, j.tid
                  FROM unnest(v_taken, v_cut, v_upto) WITH ORDINALITY AS u (key, cut, upto, n)
                  CROSS JOIN LATERAL (SELECT k.ctid AS tid FROM instances k WHERE k.key = u.key OFFSET 0) j
                  LIMIT cardinality(v_taken)) t
          WHERE i.ctid = t.tid
          RETURNING t.n, t.cut, t.upto, i.*)
      SELECT l.key, l.upto, l.cut, l.execution, NULL::text, l.instance_id, l.name, l.version, l.status,
             l.last_event_id, l.attempt, l.cancel_place, l.replay_token, l.lease_token,
             k.keys, k.vals, k.encodings, k.times,
             NULL::bigint, NULL::bigint, NULL::bigint[], NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
             NULL::bigint, NULL::boolean
        FROM leased l LEFT JOIN LATERAL (
          SELECT array_agg(v.key) AS keys, array_agg(v.settled_value) AS vals,
                 array_agg(v.settled_encoding) AS encodings, array_agg(v.settled_updated_at) AS times
            FROM key_values v
            WHERE l.has_key_values AND v.instance_key = l.key AND v.settled_value IS NOT NULL) k ON true
        ORDER BY l.n;
    RETURN QUERY
      SELECT u.key, q.place, q.at, q.execution, q.item, NULL::text, NULL::text, NULL::text, NULL::text, NULL::bigint,
             NULL::integer, NULL::bigint, NULL::bigint, NULL::bigint,
             NULL::text[], NULL::text[], NULL::text[], NULL::bigint[],
             NULL::bigint, NULL::bigint, NULL::bigint[], NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
             NULL::bigint, NULL::boolean
        FROM unnest(v_taken, v_upto) WITH ORDINALITY AS u (key, upto, n)
          CROSS JOIN LATERAL (SELECT j.queue_floor, j.cancel_place FROM instances j WHERE j.key = u.key OFFSET 0) i
          CROSS JOIN LATERAL (
            (SELECT o.place, o.fire_at AS at, o.execution, NULL::text AS item FROM queue o
               WHERE o.instance_key + 0 = u.key AND o.fire_at IS NOT NULL AND o.fire_at <= v_now
               ORDER BY o.fire_at, o.place LIMIT p_max_messages + 1)
            UNION ALL
            (SELECT o.place, o.sent_at, NULL, o.item FROM queue o
               WHERE o.instance_key = u.key AND o.place > i.queue_floor AND o.place <= u.upto ORDER BY o.place)
            UNION ALL
            (SELECT o.place, o.sent_at, NULL, o.item FROM queue o
               WHERE o.instance_key = u.key AND o.place = i.cancel_place AND o.place > u.upto)) q;
  END IF;

  -- When to come back. A caller that got all it asked for comes back at once.
  IF coalesce(cardinality(v_taken), 0) < p_limit THEN
    SELECT q.waits_until INTO v_next FROM queue q
      WHERE q.waits_until IS NOT NULL AND q.waits_until > v_now ORDER BY q.waits_until LIMIT 1;
    SELECT CASE WHEN count(*) = 16 THEN coalesce(min(l.wake_at) FILTER (WHERE NOT l.own), max(l.wake_at))
                ELSE min(l.wake_at) FILTER (WHERE NOT l.own) END INTO v_due
      FROM (SELECT q.wake_at, coalesce(q.instance_key = ANY (v_taken), false) AS own FROM queue q
              WHERE q.wake_at IS NOT NULL AND q.wake_at > v_lease_now ORDER BY q.wake_at LIMIT 16) l;
    v_next := least(v_next, v_now + v_due - v_lease_now);
    -- What another session held a moment ago has no time of its own.
    v_passed := v_passed OR cardinality(v_keys) > coalesce(cardinality(v_taken), 0);
    v_next := least(v_next, CASE WHEN v_full THEN v_now WHEN v_passed THEN v_now + 20 END);
  END IF;
  -- Another fetch may have passed over these while this one held them.
  o_left_ready := NOT v_woken <@ coalesce(v_taken, '{}');
  SELECT array_agg(coalesce(w.ready_no, 0) ORDER BY c.n) INTO o_lows
    FROM unnest(p_caps, p_floors) WITH ORDINALITY AS c (capability, floor, n)
      LEFT JOIN LATERAL (
        SELECT q.ready_no FROM queue q
          WHERE q.capability = c.capability AND q.ready_no IS NOT NULL AND q.ready_no > c.floor
          ORDER BY q.capability, q.ready_no LIMIT 1) w ON true;
  o_key := NULL;
  o_next_due := v_next;
  o_now := v_now;
  -- The highest id of a snapshot would not do: open transactions may have higher ones.
  o_own_id := pg_current_xact_id_if_assigned()::text::bigint;
  RETURN NEXT;
END $$;

-- Makes instances ready whose lease or delay has ended. A lease that was renewed since puts it off. The clock is read under
-- the locks: so no time is set that a floor has passed. Returns the instances that it could lock.
CREATE FUNCTION wake(p_lease_now bigint, p_keys bigint[], p_places bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_keys bigint[];
  v_places bigint[];
  v_until bigint[];
  v_now bigint;
BEGIN
  SELECT array_agg(i.key ORDER BY u.n), array_agg(u.place ORDER BY u.n),
         array_agg(CASE WHEN i.lease_token IS NOT NULL THEN i.lease_until END ORDER BY u.n)
    INTO v_keys, v_places, v_until
    FROM unnest(p_keys, p_places) WITH ORDINALITY AS u (key, place, n)
      CROSS JOIN LATERAL (
        SELECT j.key, j.lease_token, j.lease_until FROM instances j
          WHERE j.key = u.key AND j.entry_place = u.place FOR UPDATE SKIP LOCKED) i;
  v_now := coalesce(p_lease_now, now_ms());
  UPDATE queue q SET
      wake_at = CASE WHEN t.until > v_now THEN t.until END,
      ready_no = CASE WHEN t.until > v_now THEN NULL ELSE nextval('places') END
    FROM (SELECT o.tid, u.until FROM unnest(v_keys, v_places, v_until) AS u (key, place, until)
            CROSS JOIN LATERAL (
              SELECT k.ctid AS tid, k.wake_at FROM queue k WHERE k.instance_key = u.key AND k.place = u.place OFFSET 0) o
            WHERE o.wake_at <= v_now LIMIT cardinality(v_keys)) t
    WHERE q.ctid = t.tid;
  RETURN v_keys;
END $$;

-- Notices due timers and delayed starts: the first timer of an instance without an entry becomes the entry. Returns likewise.
CREATE FUNCTION notice(p_keys bigint[], p_places bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_keys bigint[];
  v_places bigint[];
BEGIN
  SELECT array_agg(i.key ORDER BY u.n), array_agg(u.place ORDER BY u.n) INTO v_keys, v_places
    FROM unnest(p_keys, p_places) WITH ORDINALITY AS u (key, place, n)
      CROSS JOIN LATERAL (SELECT j.key FROM instances j WHERE j.key = u.key FOR UPDATE SKIP LOCKED) i;
  IF v_keys IS NULL THEN RETURN NULL; END IF;
  WITH due AS MATERIALIZED (
    SELECT u.n, o.tid, i.tid AS instance, u.place, i.entry_place,
           i.entry_place IS NULL AND row_number() OVER (PARTITION BY u.key ORDER BY u.n) = 1 AS leads,
           capability_of(i.cancel_place, i.cancel_asked, i.graceful, i.status, i.engine_version, i.name, i.version,
                         i.asked_version) AS capability
      FROM unnest(v_keys, v_places) WITH ORDINALITY AS u (key, place, n)
        CROSS JOIN LATERAL (SELECT j.ctid AS tid, j.* FROM instances j WHERE j.key = u.key OFFSET 0) i
        CROSS JOIN LATERAL (
          SELECT k.ctid AS tid, k.waits_until FROM queue k WHERE k.instance_key = u.key AND k.place = u.place OFFSET 0) o
      WHERE o.waits_until IS NOT NULL),
  taken AS (
    UPDATE instances i SET entry_place = d.place
      FROM (SELECT e.instance, e.place FROM due e WHERE e.leads LIMIT cardinality(v_keys)) d
      WHERE i.ctid = d.instance)
  UPDATE queue q SET
      waits_until = NULL,
      capability = CASE WHEN d.leads OR d.entry_place = d.place THEN d.capability END,
      ready_no = CASE WHEN d.leads OR d.entry_place = d.place THEN nextval('places') END
    FROM (SELECT * FROM due e ORDER BY e.n LIMIT cardinality(v_keys)) d
    WHERE q.ctid = d.tid;
  RETURN v_keys;
END $$;

-- Takes the entry from instances whose timer is in the future again, if no other session has leased them meanwhile.
CREATE FUNCTION put_off(p_now bigint, p_keys bigint[], p_places bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_keys bigint[];
  v_places bigint[];
  v_row record;
BEGIN
  IF p_keys IS NULL THEN RETURN; END IF;
  SELECT array_agg(i.key), array_agg(u.place) INTO v_keys, v_places
    FROM unnest(p_keys, p_places) AS u (key, place)
      CROSS JOIN LATERAL (
        SELECT j.key FROM instances j WHERE j.key = u.key AND j.entry_place = u.place FOR UPDATE SKIP LOCKED) i;
  FOR v_row IN
    SELECT i.key
      FROM unnest(v_keys, v_places) AS u (key, place)
        CROSS JOIN LATERAL (
          SELECT o.fire_at, o.ready_no FROM queue o WHERE o.instance_key = u.key AND o.place = u.place OFFSET 0) q
        CROSS JOIN LATERAL (SELECT j.key, j.queue_floor FROM instances j WHERE j.key = u.key OFFSET 0) i
      WHERE q.fire_at > p_now AND q.ready_no IS NOT NULL
        AND (SELECT o.place FROM queue o
               WHERE o.instance_key = i.key AND o.place > i.queue_floor AND o.place < 2305843009213693952 LIMIT 1) IS NULL
  LOOP
    UPDATE queue q SET waits_until = greatest(q.fire_at, p_now), capability = NULL, ready_no = NULL
      WHERE q.instance_key = v_row.key AND q.place >= 2305843009213693952 AND q.waits_until IS NULL;
    UPDATE instances i SET entry_place = NULL WHERE i.key = v_row.key;
  END LOOP;
END $$;

-- Gives leased instances back untouched; how many.
CREATE FUNCTION abandon_turns(p_lease_now bigint, r_key bigint[], r_token bigint[], r_delay bigint[], r_uncount integer[])
RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint;
  v_count bigint;
  v_tids tid[];
  v_entries tid[];
  v_delays bigint[];
  v_uncounts integer[];
BEGIN
  PERFORM lock_instances(r_key, NULL);
  v_now := coalesce(p_lease_now, now_ms());
  SELECT array_agg(i.tid), array_agg(q.tid), array_agg(r.delay), array_agg(r.uncount)
    INTO v_tids, v_entries, v_delays, v_uncounts
    FROM unnest(r_key, r_token, r_delay, r_uncount) AS r (key, token, delay, uncount)
      CROSS JOIN LATERAL (
        SELECT j.ctid AS tid, j.lease_token, j.lease_until, j.entry_place FROM instances j WHERE j.key = r.key OFFSET 0) i
      LEFT JOIN LATERAL (
        SELECT o.ctid AS tid FROM queue o WHERE o.instance_key = r.key AND o.place = i.entry_place OFFSET 0) q ON true
    WHERE i.lease_token = r.token AND i.lease_until > v_now;
  UPDATE instances i SET lease_token = NULL, lease_until = NULL, attempt = greatest(i.attempt - r.uncount, 0)
    FROM (SELECT * FROM unnest(v_tids, v_uncounts) AS u (tid, uncount) LIMIT cardinality(v_tids)) r
    WHERE i.ctid = r.tid;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  UPDATE queue q SET
      wake_at = CASE WHEN r.delay > 0 THEN v_now + r.delay END,
      ready_no = CASE WHEN r.delay > 0 THEN NULL ELSE nextval('places') END
    FROM (SELECT * FROM unnest(v_entries, v_delays) AS u (tid, delay) LIMIT cardinality(v_entries)) r
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
-- wanted, then the work that ends. For turns that are stored one by one in one transaction, p_alone keeps other sessions
-- from creating instances meanwhile: then no turn finds an instance that was not locked for all.
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
--   h_*  the places of the messages that a held turn took
--   b_*  the beginning of the next execution; c_put_back is the number of messages that stand behind it: the caller brings
--        them in the same transaction, by put_back(), to the place put_back_at
--   t_*  timers, to the instance itself
--   m_*  other messages, see deliver(); m_refused goes to the sender if the id of a start is taken
--   x_*  cancelled activities, d_* dropped timers, k_* changes of key-values in their order (no key: all are cleared)
--
-- Outcomes: 0 committed, 1 already committed, 2 lease lost, 3 condition failed, 4 start refused, 5 invalid.
CREATE FUNCTION commit_turns(
  p_now bigint, p_lease_now bigint,
  c_basis smallint[], c_token bigint[], c_node text[], c_instance text[], c_key bigint[], c_lease bigint[],
  c_seen bigint[], c_replay bigint[], c_execution bigint[], c_fits boolean[], c_first bigint[], c_last bigint[], c_events text[],
  c_status text[], c_version text[], c_engine integer[], c_output text[], c_output_encoding text[], c_failure text[],
  c_parent_instance text[], c_parent_key bigint[], c_parent_execution bigint[], c_parent_event bigint[],
  c_sets_status boolean[], c_custom_status text[], c_sets_values boolean[], c_worker_lease bigint[],
  c_cancel_rest text[], c_name text[], c_digest bigint[], c_reuse boolean[], c_graceful boolean[], c_asked smallint[],
  c_next_version text[], c_put_back bigint[],
  a_turn integer[], a_key bigint[], a_execution bigint[], a_activity bigint[], a_token bigint[], a_item text[],
  w_turn integer[], w_execution bigint[], w_activity bigint[], w_token bigint[], w_name text[], w_input text[],
  w_encoding text[], w_session text[], w_tag text[], w_start bigint[], w_close bigint[], w_heartbeat bigint[],
  w_orchestration text[], w_version text[], w_owner text[], w_retry_of bigint[], w_before integer[], w_fence_base bigint[],
  w_details text[], w_details_encoding text[],
  h_turn integer[], h_place bigint[], b_turn integer[], b_item text[],
  t_turn integer[], t_execution bigint[], t_event bigint[], t_at bigint[],
  m_turn integer[], m_kind smallint[], m_target text[], m_item text[], m_at bigint[], m_id text[], m_for bigint[],
  m_name text[], m_version text[], m_digest bigint[], m_mode smallint[], m_parent_instance text[], m_parent_key bigint[], m_parent_execution bigint[],
  m_parent_event bigint[], m_refused text[],
  x_turn integer[], x_activity bigint[], x_reason text[],
  d_turn integer[], d_event bigint[],
  k_turn integer[], k_key text[], k_value text[], k_encoding text[], k_at bigint[],
  OUT outcomes smallint[], OUT keys bigint[], OUT starts smallint[], OUT ack_outcomes smallint[], OUT ack_reasons text[],
  OUT stolen_turn bigint[], OUT stolen stolen_lease[], OUT erased stolen_lease[], OUT work_ready boolean, OUT put_back_at bigint[], OUT now bigint)
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
  v_own bigint[];
  v_items text[];
  v_last bigint;
  v_moves boolean[] := array_fill(false, ARRAY[v_count]);   -- the turn may move the entry of its instance
  v_begins boolean[] := array_fill(false, ARRAY[v_count]);
  v_base bigint[] := array_fill(NULL::bigint, ARRAY[v_count]);      -- the place of the beginning
  v_entry bigint[] := array_fill(NULL::bigint, ARRAY[v_count]);     -- the new entry
  v_floor bigint[] := array_fill(NULL::bigint, ARRAY[v_count]);
  v_cancelled boolean[] := array_fill(false, ARRAY[v_count]);       -- the queued cancel is still queued
  v_passes bigint[] := '{}';  -- instances that end while a cancel waits, and start children
  v_again boolean[];          -- the turn creates an instance that an earlier turn of the batch creates
  v_children bigint[];        -- the instances that starts created, see deliver()
  v_starts bigint[];
  v_row record;
BEGIN
  work_ready := false;
  erased := '{}';
  starts := array_fill(0::smallint, ARRAY[v_count]);
  IF 0 < ANY (c_put_back) THEN put_back_at := array_fill(0::bigint, ARRAY[v_count]); END IF;

  -- 1. Locks.
  PERFORM lock_turns(false, c_basis, c_instance, c_key, c_execution, c_cancel_rest, a_key, a_execution, a_activity,
                     m_turn, m_kind, m_target, x_turn, x_activity);
  -- A transaction has an id before it reads the clock, see floors.hpp: perhaps it has locked nothing yet.
  IF 2 = ANY (c_basis) THEN PERFORM pg_current_xact_id(); END IF;
  v_now := coalesce(p_now, now_ms());
  v_lease_now := coalesce(p_lease_now, v_now);
  now := v_now;

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
                      e.lease_until > v_lease_now OR is_final(e.status) OR e.last_event_id <> e.seen
                      OR (e.replay <> 0 AND e.replay IS DISTINCT FROM e.replay_token) OR (
                        SELECT q.place FROM queue q
                          WHERE q.instance_key = e.key AND q.place > e.queue_floor AND q.place < 2305843009213693952
                          LIMIT 1) IS NOT NULL OR (
                        SELECT q.place FROM queue q
                          WHERE q.instance_key + 0 = e.key AND q.fire_at IS NOT NULL AND q.fire_at <= v_now
                          LIMIT 1) IS NOT NULL) THEN 3
                  WHEN NOT v_acks_hold[e.n] THEN 3
                  WHEN NOT (e.fits AND (e.is_next OR e.turn_execution = e.execution)
                            AND (e.first = 0 OR e.first = CASE WHEN e.is_next THEN 1 ELSE e.last_event_id + 1 END)) THEN 5
                  ELSE 0 END AS outcome
        FROM (
          SELECT c.n, c.basis, c.token, c.lease, c.seen, c.replay, c.execution AS turn_execution, c.fits, c.first,
                 c.new_status, i.key, i.queue_floor, i.replay_token, i.commit_token, i.lease_token, i.lease_until, i.status, i.execution, i.last_event_id,
                 i.has_key_values,
                 coalesce(i.status = 'ContinuedAsNew' AND c.execution = i.execution + 1, false) AS is_next
            FROM unnest(c_basis, c_token, c_key, c_lease, c_seen, c_replay, c_execution, c_fits, c_first, c_status)
              WITH ORDINALITY AS c (basis, token, wanted_key, lease, seen, replay, execution, fits, first, new_status, n)
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
    SELECT array_agg(c.basis = 2 AND c.nth > 1 ORDER BY c.n) INTO v_again
      FROM (SELECT u.basis, u.n, row_number() OVER (PARTITION BY u.id, u.basis ORDER BY u.n) AS nth
              FROM unnest(c_basis, c_instance) WITH ORDINALITY AS u (basis, id, n)) c;
    -- The children of all turns are inserted along with them, in one order of ids: two sessions that create the same ids,
    -- in whatever role, do not wait for each other.
    WITH numbered AS MATERIALIZED (
      SELECT c.*, CASE WHEN c.wanted_key <> 0 THEN c.wanted_key ELSE nextval('numbers') END AS key
        FROM unnest(outcomes, c_basis, c_key, c_instance, c_name, c_version, c_status, c_last, c_engine, c_digest, c_token,
                    c_sets_values, c_parent_instance, c_parent_key, c_parent_execution, c_parent_event,
                    c_sets_status, c_custom_status, c_failure, c_output, c_output_encoding, c_graceful, c_asked,
                    c_next_version)
          WITH ORDINALITY AS c (outcome, basis, wanted_key, id, name, version, status, last, engine, digest, token,
                                sets_values, parent_instance, parent_key, parent_execution, parent_event,
                                sets_status, custom_status, failure, output, output_encoding, graceful, asked,
                                next_version, n)
        WHERE c.basis = 2 AND c.outcome = 0 ORDER BY c.n),
    children AS MATERIALIZED (
      SELECT m.*, nextval('numbers') AS key
        FROM unnest(m_turn, m_kind, m_target, m_name, m_version, m_digest, m_parent_instance, m_parent_key,
                    m_parent_execution, m_parent_event)
          WITH ORDINALITY AS m (turn, kind, id, name, version, digest, parent_instance, parent_key, parent_execution,
                                parent_event, n)
        WHERE m.kind = 2 AND outcomes[m.turn] = 0 AND NOT v_again[m.turn] ORDER BY m.n),
    made AS (
      INSERT INTO instances (key, instance_id, name, version, status, last_event_id, engine_version, created_at,
                             updated_at, execution_started_at, start_digest, commit_token, has_key_values,
                             parent_instance, parent_key, parent_execution, parent_event,
                             custom_status_version, custom_status, failure, output, output_encoding,
                             graceful, cancel_asked, asked_version, replay_token, ended_at, entry_place)
        SELECT a.* FROM (
        SELECT s.key, s.id, s.name, coalesce(s.version, ''), s.status, s.last, s.engine, v_now,
               v_now, v_now, s.digest, nullif(s.token, 0), s.sets_values,
               s.parent_instance, s.parent_key, s.parent_execution, s.parent_event,
               CASE WHEN s.sets_status THEN 1 ELSE 0 END, s.custom_status, s.failure, s.output, s.output_encoding,
               s.graceful, s.asked, coalesce(s.next_version, ''), CASE WHEN s.last > 0 THEN nullif(s.token, 0) END,
               CASE WHEN is_final(s.status) THEN v_now END, NULL::bigint AS entry
          FROM numbered s
        UNION ALL
        SELECT h.key, h.id, h.name, '', 'Pending', 0, 0, v_now, v_now, v_now, h.digest, NULL, false,
               h.parent_instance, h.parent_key, h.parent_execution, h.parent_event, 0, NULL, NULL, NULL, NULL,
               false, 0, coalesce(h.version, ''), NULL, NULL, 0
          FROM children h) a ORDER BY 2, a.entry NULLS FIRST, 1
        ON CONFLICT (instance_id) DO NOTHING RETURNING 1)
    SELECT array_agg(s.n), array_agg(s.key), array_agg(s.id), (SELECT count(*) FROM made),
           (SELECT array_agg(h.n ORDER BY h.n) FROM children h), (SELECT array_agg(h.key ORDER BY h.n) FROM children h)
      INTO v_places, v_keys, v_ids, v_made, v_starts, v_own FROM numbered s;
    v_children := array_fill(NULL::bigint, ARRAY[cardinality(m_kind)]);
    FOR i IN 1 .. coalesce(cardinality(v_starts), 0) LOOP v_children[v_starts[i]] := v_own[i]; END LOOP;
    -- Some ids were taken, which is rare: where one was, no instance has the number.
    IF v_made < coalesce(cardinality(v_places), 0) + coalesce(cardinality(v_starts), 0) THEN
      SELECT array_agg(i.key ORDER BY m.n) INTO v_children
        FROM unnest(v_children) WITH ORDINALITY AS m (key, n)
          LEFT JOIN LATERAL (SELECT j.key FROM instances j WHERE j.key = m.key OFFSET 0) i ON true;
      SELECT array_agg(s.n), array_agg(s.key), array_agg(s.id) INTO v_places, v_keys, v_ids
        FROM unnest(v_places, v_keys, v_ids) AS s (n, key, id)
          CROSS JOIN LATERAL (SELECT 1 FROM instances i WHERE i.key = s.key OFFSET 0) made;
    END IF;
    IF v_places IS NOT NULL THEN
      FOR p IN 1 .. cardinality(v_places) LOOP keys[v_places[p]] := v_keys[p]; END LOOP;
      PERFORM unpark(v_now, v_lease_now, v_keys, v_ids);
    END IF;
    -- Another session was faster, since this one looked.
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
  -- A child of a turn that is not stored must not be there. The next look finds the id that was taken meanwhile.
  IF cardinality(array_remove(v_children, NULL)) > 0 AND EXISTS (
    SELECT 1 FROM unnest(m_turn, v_children) AS m (turn, key) WHERE m.key IS NOT NULL AND NOT v_stored[m.turn]) THEN
    RAISE EXCEPTION 'an instance was created meanwhile' USING ERRCODE = 'serialization_failure';
  END IF;

  IF NOT true = ANY (v_stored) THEN
    v_final := array_fill(false, ARRAY[v_count]);
  END IF;

  -- 4. Messages that the turns took, and those that no turn is to see. A queued cancel stays until the children of a last
  -- turn are born with it.
  IF true = ANY (v_final) AND 2 = ANY (m_kind) THEN
    SELECT coalesce(array_agg(DISTINCT i.key), '{}') INTO v_passes
      FROM unnest(m_turn, m_kind) AS m (turn, kind)
        CROSS JOIN LATERAL (SELECT j.key, j.cancel_place FROM instances j WHERE j.key = keys[m.turn] OFFSET 0) i
      WHERE m.kind = 2 AND v_stored[m.turn] AND v_final[m.turn] AND i.cancel_place IS NOT NULL;
  END IF;
  IF cardinality(h_turn) > 0 THEN
    DELETE FROM queue q WHERE q.ctid = ANY (ARRAY(
      SELECT m.tid FROM unnest(h_turn, h_place) AS h (turn, place)
        CROSS JOIN LATERAL (
          SELECT o.ctid AS tid FROM queue o WHERE o.instance_key = keys[h.turn] AND o.place = h.place OFFSET 0) m
        WHERE v_stored[h.turn]));
  END IF;
  IF cardinality(d_turn) > 0 THEN
    DELETE FROM queue q WHERE q.ctid = ANY (ARRAY(
      SELECT m.tid FROM unnest(d_turn, d_event) AS d (turn, event)
        CROSS JOIN LATERAL (
          SELECT o.ctid AS tid, o.execution FROM queue o
            WHERE o.instance_key = keys[d.turn] AND o.place = 2305843009213693952 + d.event OFFSET 0) m
        WHERE v_stored[d.turn] AND m.execution = c_execution[d.turn]));
  END IF;
  IF true = ANY (v_final) OR cardinality(array_remove(c_cancel_rest, NULL)) > 0 THEN
    DELETE FROM queue q WHERE q.ctid = ANY (ARRAY(
      SELECT m.tid
        FROM unnest(v_stored, v_final, keys, c_execution, c_cancel_rest) AS c (stored, final, key, execution, reason)
          CROSS JOIN LATERAL (SELECT j.queue_floor, j.cancel_place FROM instances j WHERE j.key = c.key OFFSET 0) i
          CROSS JOIN LATERAL (
            SELECT o.ctid AS tid, o.place, o.execution FROM queue o
              WHERE o.instance_key = c.key
                AND o.place > CASE WHEN c.final THEN i.queue_floor ELSE 2305843009213693951 END OFFSET 0) m
        WHERE c.stored AND NOT (c.key = ANY (v_passes) AND m.place = i.cancel_place) AND (c.final OR (c.reason IS NOT NULL AND m.execution = c.execution))));
  END IF;

  -- 5. Where the queues of the instances begin now, and what their next entries are.
  FOR i IN 1 .. cardinality(b_turn) LOOP v_begins[b_turn[i]] := true; v_moves[b_turn[i]] := true; END LOOP;
  FOR i IN 1 .. cardinality(d_turn) LOOP v_moves[d_turn[i]] := true; END LOOP;
  FOR i IN 1 .. v_count LOOP
    v_moves[i] := v_stored[i] AND NOT v_final[i] AND (v_moves[i] OR c_basis[i] = 0 OR c_cancel_rest[i] IS NOT NULL);
  END LOOP;
  IF true = ANY (v_moves) THEN
    SELECT p.last_value INTO v_last FROM places p;
    FOR v_row IN
      SELECT c.turn, i.queue_floor, e.place AS entry, m.place AS first, t.place AS timer, x.place IS NOT NULL AS cancelled
        FROM unnest(v_moves, keys) WITH ORDINALITY AS c (moves, key, turn)
          CROSS JOIN LATERAL (
            SELECT j.queue_floor, j.entry_place, j.cancel_place FROM instances j WHERE j.key = c.key OFFSET 0) i
          LEFT JOIN LATERAL (
            SELECT o.place FROM queue o WHERE o.instance_key = c.key AND o.place = i.entry_place OFFSET 0) e ON true
          LEFT JOIN LATERAL (
            SELECT o.place FROM queue o WHERE o.instance_key = c.key AND o.place = i.cancel_place OFFSET 0) x ON true
          LEFT JOIN LATERAL (
            SELECT o.place FROM queue o
              WHERE o.instance_key = c.key AND o.place > i.queue_floor AND o.place < 2305843009213693952
              ORDER BY o.place LIMIT 1) m ON true
          LEFT JOIN LATERAL (
            SELECT f.place, f.fire_at, f.waits_until FROM (
              SELECT o.place, o.fire_at, o.waits_until FROM queue o
                WHERE o.instance_key + 0 = c.key AND o.fire_at IS NOT NULL ORDER BY o.fire_at, o.place LIMIT 1) f) t
            ON t.waits_until IS NULL OR t.fire_at <= v_now
        WHERE c.moves
    LOOP
      v_cancelled[v_row.turn] := v_row.cancelled;
      IF v_begins[v_row.turn] THEN
        v_base[v_row.turn] := coalesce(v_row.first, v_last) - c_put_back[v_row.turn] - 1;
        IF c_put_back[v_row.turn] > 0 THEN put_back_at[v_row.turn] := v_base[v_row.turn] + 1; END IF;
      END IF;
      v_entry[v_row.turn] := coalesce(v_row.entry, v_base[v_row.turn], v_row.first, v_row.timer);
      v_floor[v_row.turn] := coalesce(v_base[v_row.turn] - 1, v_row.first - 1, greatest(v_row.queue_floor, v_last));
      work_ready := work_ready OR v_entry[v_row.turn] IS NOT NULL;
    END LOOP;
  END IF;

  -- 6. The instances themselves.
  IF true = ANY (v_stored) AND (0 = ANY (c_basis) OR 1 = ANY (c_basis)) THEN
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
        replay_token = CASE WHEN c.last > 0 THEN nullif(c.token, 0) ELSE i.replay_token END,
        lease_token = NULL, lease_until = NULL, attempt = 0,
        entry_place = CASE WHEN c.final THEN NULL WHEN c.moves THEN c.entry ELSE i.entry_place END,
        queue_floor = CASE WHEN c.moves THEN c.floor ELSE i.queue_floor END,
        cancel_asked = greatest(i.cancel_asked, c.asked),
        cancel_place = CASE WHEN (c.final AND NOT i.key = ANY (v_passes)) OR (c.moves AND NOT c.cancelled) THEN NULL
                            ELSE i.cancel_place END,
        graceful = CASE WHEN c.is_next OR i.last_event_id = 0 THEN c.graceful ELSE i.graceful END,
        asked_version = coalesce(c.next_version, i.asked_version),
        ended_at = CASE WHEN c.final THEN coalesce(i.ended_at, v_now) ELSE i.ended_at END,
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
                      c_sets_status, c_custom_status, c_failure, c_output_encoding, c_output,
                      v_final, v_moves, v_entry, v_floor, v_cancelled, c_asked, c_graceful, c_next_version)
            AS u (stored, basis, key, is_next, status, version, execution, last, engine, token,
                  sets_values, parent_instance, parent_key, parent_execution, parent_event,
                  sets_status, custom_status, failure, output_encoding, output,
                  final, moves, entry, floor, cancelled, asked, graceful, next_version)
            CROSS JOIN LATERAL (SELECT k.ctid AS tid FROM instances k WHERE k.key = u.key OFFSET 0) j
          WHERE u.stored AND u.basis < 2 LIMIT v_count) c
      WHERE i.ctid = c.tid;
  END IF;
  IF 2 = ANY (c_basis) AND true = ANY (v_moves) THEN
    UPDATE instances i SET entry_place = c.entry, queue_floor = c.floor
      FROM (SELECT u.*, j.tid FROM unnest(v_moves, c_basis, keys, v_entry, v_floor) AS u (moves, basis, key, entry, floor)
              CROSS JOIN LATERAL (SELECT k.ctid AS tid FROM instances k WHERE k.key = u.key OFFSET 0) j
              WHERE u.moves AND u.basis = 2 LIMIT v_count) c
      WHERE i.ctid = c.tid;
  END IF;
  INSERT INTO history (instance_key, execution, first_event_id, last_event_id, token, events)
    SELECT c.key, c.execution, c.first, c.last, nullif(c.token, 0), c.events
      FROM unnest(v_stored, keys, c_execution, c_first, c_last, c_token, c_events)
        AS c (stored, key, execution, first, last, token, events)
      WHERE c.stored AND c.first > 0;

  -- 7. The next entries, by what the instances are now.
  IF cardinality(b_turn) > 0 THEN
    INSERT INTO queue (instance_key, place, sent_at, item, capability, ready_no)
      SELECT i.key, v_base[b.turn], 0, b.item,
             CASE WHEN i.entry_place = v_base[b.turn] THEN
               capability_of(i.cancel_place, i.cancel_asked, i.graceful, i.status, i.engine_version, i.name, i.version,
                             i.asked_version) END,
             CASE WHEN i.entry_place = v_base[b.turn] THEN nextval('places') END
        FROM unnest(b_turn, b_item) AS b (turn, item)
          CROSS JOIN LATERAL (SELECT j.* FROM instances j WHERE j.key = keys[b.turn] OFFSET 0) i
        WHERE v_moves[b.turn];
  END IF;
  IF true = ANY (v_moves) AND cardinality(array_remove(v_entry, NULL)) > 0 THEN
    UPDATE queue q SET capability = e.capability, ready_no = nextval('places'), wake_at = NULL, waits_until = NULL
      FROM (SELECT o.tid, capability_of(i.cancel_place, i.cancel_asked, i.graceful, i.status, i.engine_version, i.name,
                                        i.version, i.asked_version) AS capability
              FROM unnest(v_moves, keys, v_entry, v_base, v_begins) AS u (moves, key, entry, base, begins)
                CROSS JOIN LATERAL (SELECT j.* FROM instances j WHERE j.key = u.key OFFSET 0) i
                CROSS JOIN LATERAL (
                  SELECT k.ctid AS tid FROM queue k WHERE k.instance_key = u.key AND k.place = u.entry OFFSET 0) o
              WHERE u.moves AND NOT (u.begins AND u.entry = u.base AND i.cancel_place IS NULL) LIMIT v_count) e
      WHERE q.ctid = e.tid;
  END IF;

  -- 8. Work that ended: with its turn, or without it.
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
    END IF;
    IF true = ANY (v_failed_acks) THEN
      SELECT f.outcomes, f.reasons, f.sent, coalesce(v_sessions, '{}') || f.sessions
        INTO ack_outcomes, ack_reasons, v_sent, v_sessions
        FROM finish_work(v_now, v_lease_now, (SELECT array_agg(v_failed_acks[u.turn] ORDER BY u.n)
                                                FROM unnest(a_turn) WITH ORDINALITY AS u (turn, n)),
                         a_key, a_execution, a_activity, a_token, a_item) f;
      work_ready := work_ready OR v_sent > 0;
    END IF;
  END IF;
  IF NOT true = ANY (v_stored) THEN
    PERFORM use_sessions(v_lease_now, v_sessions);
    RETURN;
  END IF;

  -- 9. Key-values, one change after the other; settled when the execution ends.
  IF cardinality(k_turn) > 0 THEN
    FOR v_row IN
      SELECT k.* FROM unnest(k_turn, k_key, k_value, k_encoding, k_at)
        WITH ORDINALITY AS k (turn, key, value, encoding, at, n) WHERE v_stored[k.turn] ORDER BY k.n
    LOOP
      PERFORM change_key_value(keys[v_row.turn], v_row.key, v_row.value, v_row.encoding, v_row.at);
    END LOOP;
  END IF;
  IF cardinality(k_turn) > 0 OR true = ANY (v_has_values) THEN
    PERFORM settle_key_values(c.key)
      FROM unnest(v_stored, keys, v_has_values, c_sets_values, c_status)
        AS c (stored, key, has_values, sets_values, status)
      WHERE c.stored AND (c.has_values OR c.sets_values) AND (is_final(c.status) OR c.status = 'ContinuedAsNew');
  END IF;

  -- 10. Work: first what is new, then what is taken back.
  IF cardinality(w_turn) > 0 THEN
    INSERT INTO worker_queue (
        instance_key, execution, activity, attempt, lease_token, lease_until, lease_owner, fence, fence_base,
        name, session_id, tag, schedule_to_start, start_to_close, heartbeat, start_by, close_by, beat_by, overdue_at,
        started_at, renewed_at, waits_since, retry_of, attempts_before,
        orchestration_name, orchestration_version, encoding, input, details, details_encoding)
      SELECT keys[w.turn], w.execution, w.activity,
             CASE WHEN w.token IS NULL THEN 0 ELSE 1 END,
             w.token,
             CASE WHEN w.token IS NOT NULL THEN v_lease_now + c_worker_lease[w.turn] END,
             w.owner,
             CASE WHEN w.token IS NULL THEN 0 ELSE 1 END, w.fence_base,
             w.name, w.session, w.tag, w.start, w.close, w.heartbeat, v_lease_now + w.start,
             CASE WHEN w.token IS NOT NULL THEN v_lease_now + c_worker_lease[w.turn] + w.close END,
             CASE WHEN w.token IS NOT NULL THEN v_lease_now + c_worker_lease[w.turn] + w.heartbeat END,
             CASE WHEN w.token IS NOT NULL
                  THEN v_lease_now + c_worker_lease[w.turn] + least(w.close, w.heartbeat) END,
             CASE WHEN w.token IS NOT NULL THEN v_lease_now END,
             CASE WHEN w.token IS NOT NULL THEN v_lease_now END,
             v_lease_now, w.retry_of, w.before,
             w.orchestration, w.version, w.encoding, w.input, w.details, w.details_encoding
        FROM unnest(w_turn, w_execution, w_activity, w_token, w_name, w_input, w_encoding, w_session, w_tag, w_start,
                    w_close, w_heartbeat, w_orchestration, w_version, w_owner, w_retry_of, w_before, w_fence_base,
                    w_details, w_details_encoding)
          WITH ORDINALITY AS w (turn, execution, activity, token, name, input, encoding, session, tag, start, close,
                                heartbeat, orchestration, version, owner, retry_of, before, fence_base,
                                details, details_encoding, n)
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

  -- 11. Messages: every turn has been decided.
  IF cardinality(t_turn) > 0 THEN
    INSERT INTO queue (instance_key, place, sent_at, fire_at, execution, waits_until)
      SELECT keys[t.turn], 2305843009213693952 + t.event, 0, t.at, t.execution, greatest(t.at, v_now)
        FROM unnest(t_turn, t_execution, t_event, t_at) WITH ORDINALITY AS t (turn, execution, event, at, n)
        WHERE v_stored[t.turn] AND NOT v_final[t.turn] ORDER BY t.n
      ON CONFLICT (instance_key, place) DO UPDATE
        SET fire_at = excluded.fire_at, execution = excluded.execution;
  END IF;
  IF cardinality(m_turn) > 0 THEN
    v_message_outcomes := deliver(
      v_now, v_lease_now,
      (SELECT array_agg(v_stored[u.turn] ORDER BY u.n) FROM unnest(m_turn) WITH ORDINALITY AS u (turn, n)),
      m_kind, m_target, m_item, m_at, m_id, m_for, m_name, m_version, m_digest, m_mode,
      m_parent_instance, m_parent_key, m_parent_execution, m_parent_event, v_children);
    IF 0 = ANY (v_message_outcomes) THEN work_ready := true; END IF;
    IF 1 = ANY (v_message_outcomes) THEN
      SELECT array_agg(keys[m.turn] ORDER BY m.n), array_agg(m.refused ORDER BY m.n) INTO v_own, v_items
        FROM unnest(m_turn, m_kind, m_refused, v_message_outcomes)
          WITH ORDINALITY AS m (turn, kind, refused, outcome, n)
        WHERE m.kind = 2 AND m.outcome = 1 AND m.refused IS NOT NULL AND NOT v_final[m.turn];
      IF v_own IS NOT NULL THEN
        PERFORM put_messages(v_now, v_own, NULL, NULL, v_items);
        work_ready := true;
      END IF;
    END IF;
  END IF;
  IF cardinality(v_passes) > 0 THEN
    DELETE FROM queue q WHERE q.ctid = ANY (ARRAY(
      SELECT o.tid FROM unnest(v_passes) AS u (key)
        CROSS JOIN LATERAL (SELECT j.cancel_place FROM instances j WHERE j.key = u.key OFFSET 0) i
        CROSS JOIN LATERAL (
          SELECT k.ctid AS tid FROM queue k WHERE k.instance_key = u.key AND k.place = i.cancel_place OFFSET 0) o));
    UPDATE instances i SET cancel_place = NULL WHERE i.key = ANY (v_passes);
  END IF;
  IF v_sessions IS NOT NULL THEN PERFORM use_sessions(v_lease_now, v_sessions); END IF;
END $$;

-- Mail that a turn puts back, from the place on that commit_turns() named. Part by part: one message of the protocol has a
-- bound, and all of the mail of an instance has none.
CREATE FUNCTION put_back(p_instance bigint, p_place bigint, p_items text[]) RETURNS void
LANGUAGE sql SET search_path FROM CURRENT AS $$
  INSERT INTO queue (instance_key, place, sent_at, item)
    SELECT p_instance, p_place + p.n - 1, 0, p.item FROM unnest(p_items) WITH ORDINALITY AS p (item, n) $$;

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
