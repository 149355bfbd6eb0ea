-- The first schema.
--
-- Times named *_at are milliseconds since 1970 (wall clock). A lease_until is (boot number << 48) +
-- milliseconds of the machine's boot clock: a lease of an earlier boot is smaller than any moment of this one,
-- so it has ended, and a jump of the wall clock touches no lease. Tokens are random numbers; NULL means "not
-- leased".

-- Numbers that are handed out in blocks, so that one row write serves many: incarnations and queue positions.
CREATE TABLE counters (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO counters (name, value) VALUES ('next_number', 1);

-- Boots of the machine under which this file was used; the highest number is the current one.
CREATE TABLE boots (
  number  INTEGER PRIMARY KEY,
  boot_id TEXT NOT NULL
);

-- One row per instance, with its current execution.
CREATE TABLE instances (
  key             INTEGER PRIMARY KEY,  -- the incarnation: never used twice
  instance_id     TEXT NOT NULL UNIQUE,
  name            TEXT NOT NULL,
  version         TEXT NOT NULL,        -- '' while pending
  status          TEXT NOT NULL,
  execution       INTEGER NOT NULL,
  last_event_id   INTEGER NOT NULL,
  engine_version  INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  start_digest    INTEGER NOT NULL,     -- of name and input: tells a repeated start from a different one
  commit_token    INTEGER,              -- of the last commit
  lease_token     INTEGER,
  lease_until     INTEGER,
  not_before      INTEGER,              -- wall clock; given back with a delay
  has_key_values  INTEGER NOT NULL DEFAULT 0,  -- 1: there are, or were, rows in key_values
  output          TEXT,
  output_encoding TEXT,
  parent_instance  TEXT,
  parent_key       INTEGER,
  parent_execution INTEGER,
  parent_event     INTEGER,
  failure_kind      TEXT,
  failure_type      TEXT,
  failure_message   TEXT,
  failure_retryable INTEGER,
  failure_details   TEXT,
  failure_attempt   INTEGER,
  failure_timeout   TEXT,
  custom_status_version INTEGER NOT NULL DEFAULT 0,  -- how many turns changed it
  custom_status         TEXT                         -- last: it may be long
);

-- Executions that ended by continue-as-new; an instance's current one stands in `instances`.
CREATE TABLE executions (
  instance_key  INTEGER NOT NULL,
  execution     INTEGER NOT NULL,
  version       TEXT NOT NULL,
  status        TEXT NOT NULL,
  last_event_id INTEGER NOT NULL,
  ended_at      INTEGER NOT NULL,
  PRIMARY KEY (instance_key, execution)
) WITHOUT ROWID;

CREATE VIEW all_executions AS
  SELECT i.instance_id, e.execution, e.version, e.status, e.last_event_id
    FROM executions e JOIN instances i ON i.key = e.instance_key
  UNION ALL
  SELECT instance_id, execution, version, status, last_event_id FROM instances;

-- One row per turn: its events as a JSON array.
CREATE TABLE history (
  instance_key   INTEGER NOT NULL,
  execution      INTEGER NOT NULL,
  first_event_id INTEGER NOT NULL,
  last_event_id  INTEGER NOT NULL,
  events         TEXT NOT NULL,
  PRIMARY KEY (instance_key, execution, first_event_id)
) WITHOUT ROWID;

-- The key-values of an instance. The current ones are what readers see; an execution replays from the settled
-- ones and repeats its own changes, so these move only when it ends. NULL: there is no such value.
CREATE TABLE key_values (
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

-- Messages on their way to instances, delivered in the order (visible_at, id).
CREATE TABLE orchestrator_queue (
  id           INTEGER PRIMARY KEY,
  instance_key INTEGER NOT NULL,
  visible_at   INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,  -- how often it was handed out
  lease_token  INTEGER,           -- of the fetch that handed it out last
  execution    INTEGER,           -- with event_id, for timers only
  event_id     INTEGER,
  item         TEXT NOT NULL
);
CREATE INDEX orchestrator_queue_by_time ON orchestrator_queue (visible_at);
CREATE INDEX orchestrator_queue_by_instance ON orchestrator_queue (instance_key, visible_at);
CREATE INDEX orchestrator_queue_timers ON orchestrator_queue (instance_key, execution, event_id)
  WHERE event_id IS NOT NULL;

-- Message ids that an instance has been sent, so that a repeated send is recognised.
CREATE TABLE received_messages (
  instance_key INTEGER NOT NULL,
  message_id   TEXT NOT NULL,
  PRIMARY KEY (instance_key, message_id)
) WITHOUT ROWID;

-- Events and queue messages for an instance that does not exist yet.
CREATE TABLE parked_messages (
  id          INTEGER PRIMARY KEY,
  instance_id TEXT NOT NULL,
  message_id  TEXT,
  visible_at  INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  item        TEXT NOT NULL
);
CREATE INDEX parked_messages_by_instance ON parked_messages (instance_id, message_id);
CREATE INDEX parked_messages_by_expiry ON parked_messages (expires_at);

-- Activities waiting to be run, or being run under a lease.
CREATE TABLE worker_queue (
  instance_key INTEGER NOT NULL,
  execution    INTEGER NOT NULL,
  activity     INTEGER NOT NULL,  -- the id of its schedule event
  position     INTEGER NOT NULL,  -- order among rows of one visible_at
  visible_at   INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,
  lease_token  INTEGER,
  lease_until  INTEGER,
  lease_owner  TEXT,
  name         TEXT NOT NULL,
  input        TEXT NOT NULL,
  encoding     TEXT NOT NULL,
  session_id   TEXT,
  tag          TEXT,
  schedule_to_start INTEGER,      -- milliseconds; NULL: no limit
  start_to_close    INTEGER,
  heartbeat         INTEGER,
  orchestration_name    TEXT NOT NULL,
  orchestration_version TEXT NOT NULL,
  PRIMARY KEY (instance_key, execution, activity)
) WITHOUT ROWID;
CREATE INDEX worker_queue_waiting ON worker_queue (visible_at, position) WHERE lease_token IS NULL;
CREATE INDEX worker_queue_leased ON worker_queue (lease_until) WHERE lease_token IS NOT NULL;

-- Leases that a commit took away from another node: their holders ask here why. Kept until some time after
-- the lease would have ended.
CREATE TABLE stolen_leases (
  lease_token  INTEGER NOT NULL,
  instance_key INTEGER NOT NULL,
  execution    INTEGER NOT NULL,
  activity     INTEGER NOT NULL,
  owner        TEXT NOT NULL,
  reason       TEXT NOT NULL,
  until        INTEGER NOT NULL,  -- like a lease_until
  reported     INTEGER NOT NULL,
  PRIMARY KEY (lease_token, instance_key, execution, activity)
) WITHOUT ROWID;
CREATE INDEX stolen_leases_unreported ON stolen_leases (owner) WHERE reported = 0;
