-- The store: its version, its clocks and counters, its instances and their histories.
--
-- All names begin with duramen_, so that the tables of a program can share the file.
--
-- Two kinds of times: a *_at is milliseconds since 1970 (wall clock) unless its comment says "lease time". Lease
-- time is (boot number << 48) + milliseconds of the machine's boot clock: a moment of an earlier boot is smaller
-- than any moment of this one, so a lease of an earlier boot has ended, and a jump of the wall clock touches none.
-- Tokens are random numbers; NULL means "none".
--
-- Long columns stand last, the longest at the very end: SQLite reads a column by walking over all before it.

-- One row: the version of the schema, and the random id of the store. Every write transaction that follows one of
-- another process reads the version, so that a process stops when a newer one has changed the schema.
CREATE TABLE duramen_schema (
  version  INTEGER NOT NULL,
  store_id TEXT NOT NULL DEFAULT (lower(hex(randomblob(16))))
);

-- Numbers that processes take in blocks, so that one row write serves many: incarnations, and the order of
-- entries and of waiting activities.
CREATE TABLE duramen_counters (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO duramen_counters (name, value) VALUES ('next_number', 1);

-- Boots of the machine under which this file was used; the highest number is the current one.
CREATE TABLE duramen_boots (
  number  INTEGER PRIMARY KEY,
  boot_id TEXT NOT NULL
);

-- One row per instance, with its current execution. A start inserts it, every commit of a turn updates it, and a
-- fetch, a release and a renewal update its lease. A message does not touch it, except for a cancel.
CREATE TABLE duramen_instances (
  key             INTEGER PRIMARY KEY,  -- the incarnation: never used twice
  instance_id     TEXT NOT NULL UNIQUE,
  name            TEXT NOT NULL,
  version         TEXT NOT NULL,        -- '' while pending; the first turn of an execution sets it
  status          TEXT NOT NULL,
  execution       INTEGER NOT NULL,
  last_event_id   INTEGER NOT NULL,
  engine_version  INTEGER NOT NULL,     -- of the current execution; meaningless before its first turn
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,     -- of the last commit
  execution_started_at INTEGER NOT NULL,
  ended_at        INTEGER,              -- set once, by the terminal commit
  start_digest    INTEGER NOT NULL,     -- of name and input: tells a repeated start from a different one
  commit_token    INTEGER,              -- of the last commit: recognises its repetition
  replay_token    INTEGER,              -- of the last commit with events: the one that stored last_event_id
  -- The turn lease. A fetch sets it, a commit and a release clear it. lease_until is lease time.
  lease_token     INTEGER,
  lease_until     INTEGER,
  attempt         INTEGER NOT NULL DEFAULT 0,  -- fetches since the last commit
  -- The place of the entry in duramen_queue if a fetch has chosen it. A fetch sets it, a commit clears it. While
  -- it is NULL, the entry is the first queued message, and no timer is an entry.
  entry_place     INTEGER,
  -- The strongest cancel that was asked for: NULL, 'graceful' or 'terminate'. The transaction that queues the
  -- cancel sets it; a turn that takes a cancel without a message sets it with its commit. It never falls.
  cancel_asked    TEXT,
  cancel_place    INTEGER,              -- the queued cancel, until a commit takes it
  graceful        INTEGER NOT NULL DEFAULT 0,  -- the first turn of an execution sets it
  has_key_values  INTEGER NOT NULL DEFAULT 0,  -- 1: there are, or were, rows in duramen_key_values
  asked_version   TEXT,                 -- the version that the start or the continue-as-new asks for
  parent_instance  TEXT,
  parent_key       INTEGER,
  parent_execution INTEGER,
  parent_event     INTEGER,
  custom_status_version INTEGER NOT NULL DEFAULT 0,  -- the number of turns that changed it
  custom_status         TEXT,
  failure_kind      TEXT,
  failure_type      TEXT,
  failure_message   TEXT,
  failure_retryable INTEGER,
  failure_details   TEXT,
  failure_attempt   INTEGER,
  failure_timeout   TEXT,
  output_encoding TEXT,
  output          TEXT
);
-- For trees: the children of an instance.
CREATE INDEX duramen_instances_by_parent ON duramen_instances (parent_key) WHERE parent_key IS NOT NULL;

-- Executions that ended by continue-as-new. The first commit of the next execution inserts the row; the current
-- execution stands in duramen_instances.
CREATE TABLE duramen_executions (
  instance_key  INTEGER NOT NULL,
  execution     INTEGER NOT NULL,
  version       TEXT NOT NULL,
  status        TEXT NOT NULL,
  last_event_id INTEGER NOT NULL,
  started_at    INTEGER NOT NULL,
  ended_at      INTEGER NOT NULL,
  PRIMARY KEY (instance_key, execution)
) WITHOUT ROWID;

-- For people who read the file.
CREATE VIEW duramen_all_executions AS
  SELECT i.instance_id, e.execution, e.version, e.status, e.last_event_id, e.started_at, e.ended_at
    FROM duramen_executions e JOIN duramen_instances i ON i.key = e.instance_key
  UNION ALL
  SELECT instance_id, execution, version, status, last_event_id, execution_started_at,
         CASE WHEN status = 'ContinuedAsNew' THEN updated_at ELSE ended_at END
    FROM duramen_instances;

-- One row per turn with events: its events as a JSON array. Never updated. The token is that of the commit: a
-- node that has replayed up to last_event_id knows by it that the row is still the one it has replayed.
CREATE TABLE duramen_history (
  instance_key   INTEGER NOT NULL,
  execution      INTEGER NOT NULL,
  first_event_id INTEGER NOT NULL,
  last_event_id  INTEGER NOT NULL,
  token          INTEGER,
  events         TEXT NOT NULL,
  PRIMARY KEY (instance_key, execution, first_event_id)
) WITHOUT ROWID;

-- The key-values of an instance. Readers see the current ones. An execution replays from the settled ones and
-- repeats its own changes, so the settled ones change only when an execution ends. NULL: there is no such value.
CREATE TABLE duramen_key_values (
  instance_key       INTEGER NOT NULL,
  key                TEXT NOT NULL,
  value              TEXT,
  encoding           TEXT,
  updated_at         INTEGER,
  settled_value      TEXT,
  settled_encoding   TEXT,
  settled_updated_at INTEGER,
  PRIMARY KEY (instance_key, key)
) WITHOUT ROWID;
