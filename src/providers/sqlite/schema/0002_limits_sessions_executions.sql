-- Activities with time limits, tags and sessions; executions that know when they began; instances in an order
-- that lets a list be read past their results.
--
-- Limits, tags and sessions are paid for by the rows that have them: an activity without any has one entry in
-- one index, as before.

DROP VIEW all_executions;

-- What may be long stands last, the longest at the very end: reading a column means walking over all that stand
-- before it.
CREATE TABLE instances_2 (
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
  execution_started_at INTEGER NOT NULL,
  start_digest    INTEGER NOT NULL,     -- of name and input: tells a repeated start from a different one
  commit_token    INTEGER,              -- of the last commit
  lease_token     INTEGER,
  lease_until     INTEGER,
  not_before      INTEGER,              -- wall clock; given back with a delay
  has_key_values  INTEGER NOT NULL DEFAULT 0,  -- 1: there are, or were, rows in key_values
  parent_instance  TEXT,
  parent_key       INTEGER,
  parent_execution INTEGER,
  parent_event     INTEGER,
  custom_status_version INTEGER NOT NULL DEFAULT 0,  -- how many turns changed it
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
-- An execution begins when the one before it has ended; that is when existing ones are taken to have begun.
INSERT INTO instances_2
  SELECT key, instance_id, name, version, status, execution, last_event_id, engine_version, created_at, updated_at,
         coalesce((SELECT max(e.ended_at) FROM executions e WHERE e.instance_key = key), created_at),
         start_digest, commit_token, lease_token, lease_until, not_before, has_key_values,
         parent_instance, parent_key, parent_execution, parent_event, custom_status_version, custom_status,
         failure_kind, failure_type, failure_message, failure_retryable, failure_details, failure_attempt,
         failure_timeout, output_encoding, output
    FROM instances;
DROP TABLE instances;
ALTER TABLE instances_2 RENAME TO instances;
CREATE INDEX instances_by_parent ON instances (parent_key) WHERE parent_key IS NOT NULL;

ALTER TABLE executions ADD COLUMN started_at INTEGER NOT NULL DEFAULT 0;
UPDATE executions SET started_at = coalesce(
  (SELECT e.ended_at FROM executions e
    WHERE e.instance_key = executions.instance_key AND e.execution = executions.execution - 1),
  (SELECT i.created_at FROM instances i WHERE i.key = executions.instance_key),
  ended_at);

CREATE VIEW all_executions AS
  SELECT i.instance_id, e.execution, e.version, e.status, e.last_event_id, e.started_at, e.ended_at
    FROM executions e JOIN instances i ON i.key = e.instance_key
  UNION ALL
  SELECT instance_id, execution, version, status, last_event_id, execution_started_at,
         CASE WHEN status IN ('Completed', 'Failed', 'Cancelled', 'ContinuedAsNew') THEN updated_at END
    FROM instances;

-- Limits of an activity that has them; close_by and overdue_at are like a lease_until and hold while the row is
-- leased.
ALTER TABLE worker_queue ADD COLUMN start_by INTEGER;    -- wall clock; holds until the first attempt begins
ALTER TABLE worker_queue ADD COLUMN close_by INTEGER;    -- the attempt must have ended
ALTER TABLE worker_queue ADD COLUMN overdue_at INTEGER;  -- the earlier of close_by and the next sign of life
ALTER TABLE worker_queue ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;  -- of the last lease: see Moment::next_fence
ALTER TABLE worker_queue ADD COLUMN details_encoding TEXT;
ALTER TABLE worker_queue ADD COLUMN details TEXT;        -- of the last heartbeat that had any
UPDATE worker_queue SET start_by = visible_at + min(schedule_to_start, 1000000000000000), fence = attempt;
CREATE INDEX worker_queue_start_by ON worker_queue (start_by, lease_token, attempt)
  WHERE start_by IS NOT NULL AND lease_token IS NULL AND attempt = 0;
CREATE INDEX worker_queue_overdue ON worker_queue (overdue_at) WHERE overdue_at IS NOT NULL;

-- Waiting activities stand in lanes: those of one session, tag and name, in the order in which they go. A fetch
-- skips from lane to lane and never walks through one that it does not want. (lease_token is always NULL here; it
-- stands in the index so that the table need not be asked.)
DROP INDEX worker_queue_waiting;
CREATE INDEX worker_queue_lanes ON worker_queue (session_id, tag, name, visible_at, position, attempt, lease_token)
  WHERE lease_token IS NULL;
-- For those of sessions also in one order over all of them: usually there are many sessions and few are taken.
CREATE INDEX worker_queue_sessions_waiting
  ON worker_queue (visible_at, position, session_id, tag, name, attempt, lease_token)
  WHERE lease_token IS NULL AND session_id IS NOT NULL;
CREATE INDEX worker_queue_by_session ON worker_queue (session_id) WHERE session_id IS NOT NULL;

-- Who runs the activities of a session, as long as the lease lasts. Both times are like a lease_until.
CREATE TABLE sessions (
  session_id  TEXT PRIMARY KEY,
  owner       TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  used_at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_owner ON sessions (owner, lease_until);
CREATE INDEX sessions_by_lease ON sessions (lease_until);
