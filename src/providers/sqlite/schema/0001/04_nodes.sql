-- Nodes and settings.

-- The runtimes that work on the store. `seen` is lease time. A record need not survive a power loss.
CREATE TABLE duramen_nodes (
  node_id    TEXT PRIMARY KEY NOT NULL,
  run        TEXT NOT NULL,     -- different for each runtime that has the id
  min_level  INTEGER NOT NULL,
  max_level  INTEGER NOT NULL,  -- the engine versions that it reads
  seen       INTEGER NOT NULL,
  record     TEXT NOT NULL      -- the rest: a JSON object
) STRICT, WITHOUT ROWID;

-- 'write_level': the engine version at which new executions begin. It never falls.
CREATE TABLE duramen_settings (
  name   TEXT PRIMARY KEY NOT NULL,
  value  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
