-- Nodes and the write level.

-- The runtimes that work on the store; `seen` is the clock of leases. A record need not survive a crash of the server.
CREATE TABLE nodes (
  node_id    text COLLATE "C" PRIMARY KEY,
  run        text NOT NULL,    -- different for each runtime that has the id
  min_level  bigint NOT NULL,
  max_level  bigint NOT NULL,  -- the engine versions that it reads
  seen       bigint NOT NULL,
  record     text NOT NULL     -- the rest: a JSON object
);

-- 'write_level': the engine version at which new executions begin. It never falls.
CREATE TABLE settings (
  name   text COLLATE "C" PRIMARY KEY,
  value  bigint NOT NULL
);

-- Stores what a node says about itself, and forgets nodes that were not seen for long. The node reads the write level
-- afterwards. It shares the lock of the level with other nodes, and a raise waits for it: either the raise finds the record, or
-- the node reads the raised level.
CREATE FUNCTION write_node(p_lease_now bigint, p_node text, p_run text, p_min bigint, p_max bigint, p_record text,
                           p_forget_after bigint) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  v_now bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM 1 FROM settings s WHERE s.name = 'write_level' FOR SHARE;
  v_now := coalesce(p_lease_now, now_ms());
  INSERT INTO nodes AS n (node_id, run, min_level, max_level, seen, record)
    VALUES (p_node, p_run, p_min, p_max, v_now, p_record)
    ON CONFLICT (node_id) DO UPDATE SET run = excluded.run, min_level = excluded.min_level,
      max_level = excluded.max_level, seen = excluded.seen, record = excluded.record;
  -- A node that writes its own record now is not gone: it is passed over. The own record comes first, so that two nodes that
  -- were silent for long do not wait for each other.
  DELETE FROM nodes n WHERE n.node_id IN (
    SELECT o.node_id FROM nodes o WHERE o.seen <= v_now - p_forget_after ORDER BY o.node_id FOR UPDATE SKIP LOCKED);
END $$;

-- Raises the write level unless a live node reads less; returns the level after it, and those nodes.
CREATE FUNCTION raise_write_level(p_lease_now bigint, p_level bigint, p_live_within bigint,
                                  OUT level bigint, OUT held_back_by text[])
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  v_now bigint;
BEGIN
  SELECT s.value INTO level FROM settings s WHERE s.name = 'write_level' FOR UPDATE;
  v_now := coalesce(p_lease_now, now_ms());
  held_back_by := '{}';
  IF p_level <= level THEN RETURN; END IF;
  held_back_by := ARRAY(SELECT n.node_id FROM nodes n WHERE n.max_level < p_level AND n.seen > v_now - p_live_within
                        ORDER BY n.node_id);
  IF cardinality(held_back_by) > 0 THEN RETURN; END IF;
  UPDATE settings SET value = p_level WHERE name = 'write_level';
  level := p_level;
END $$;
