-- Activities waiting to be run, or being run under a lease. All times are lease time.
--
-- Limits, tags and sessions are paid for by the rows that have them: an activity without any has one entry in one
-- index. A commit inserts the row, a fetch leases it, a renewal extends the lease, and the acknowledgement, a
-- cancel or a sweep deletes it.
CREATE TABLE duramen_worker_queue (
  instance_key INTEGER NOT NULL,
  execution    INTEGER NOT NULL,
  activity     INTEGER NOT NULL,  -- the id of its schedule event
  position     INTEGER NOT NULL,  -- order among rows of one visible_at
  visible_at   INTEGER NOT NULL,  -- when it was stored; a release with a delay sets the end of the delay
  attempt      INTEGER NOT NULL,  -- leases that count
  leases       INTEGER NOT NULL DEFAULT 0,  -- the count of the last lease's fence: see TransactionTime::next_lease
  fence_base   INTEGER NOT NULL DEFAULT 0,
  lease_token  INTEGER,
  lease_until  INTEGER,
  started_at   INTEGER,           -- the last attempt began
  -- Limits in milliseconds; NULL: no limit.
  schedule_to_start INTEGER,
  start_to_close    INTEGER,
  heartbeat         INTEGER,
  start_by     INTEGER,           -- holds until the first attempt begins
  -- While the row is leased: the attempt must have ended; the next heartbeat is due; the last renewal of a row
  -- with a heartbeat limit; when a sweep must look at the row.
  close_by     INTEGER,
  alive_by     INTEGER,
  renewed_at   INTEGER,
  overdue_at   INTEGER,
  retry_of        INTEGER NOT NULL DEFAULT 0,  -- the event of the first attempt; 0: this one
  attempts_before INTEGER NOT NULL DEFAULT 0,
  lease_owner  TEXT,
  session_id   TEXT,
  tag          TEXT,
  name         TEXT NOT NULL,
  orchestration_name    TEXT NOT NULL,
  orchestration_version TEXT NOT NULL,
  details_encoding TEXT,
  encoding     TEXT NOT NULL,
  details      TEXT,              -- of the last heartbeat that had any, at first those of the attempt before
  input        TEXT NOT NULL,
  PRIMARY KEY (instance_key, execution, activity)
) WITHOUT ROWID;
-- For fetches: waiting activities stand in lanes, those of one session, tag and name in the order in which they
-- go. A fetch skips from lane to lane and never walks through one that it does not want. (lease_token is always
-- NULL here; it stands in the index so that the table need not be read.)
CREATE INDEX duramen_worker_queue_lanes
  ON duramen_worker_queue (session_id, tag, name, visible_at, position, attempt, lease_token)
  WHERE lease_token IS NULL;
-- Those of sessions also stand in one order over all sessions: usually there are many and few are taken.
CREATE INDEX duramen_worker_queue_sessions_waiting
  ON duramen_worker_queue (visible_at, position, session_id, tag, name, attempt, lease_token)
  WHERE lease_token IS NULL AND session_id IS NOT NULL;
CREATE INDEX duramen_worker_queue_by_session ON duramen_worker_queue (session_id) WHERE session_id IS NOT NULL;
-- For fetches: leases that have ended.
CREATE INDEX duramen_worker_queue_leased ON duramen_worker_queue (lease_until) WHERE lease_token IS NOT NULL;
-- For sweeps: limits that have passed.
CREATE INDEX duramen_worker_queue_start_by ON duramen_worker_queue (start_by, lease_token, attempt)
  WHERE start_by IS NOT NULL AND lease_token IS NULL AND attempt = 0;
CREATE INDEX duramen_worker_queue_overdue ON duramen_worker_queue (overdue_at) WHERE overdue_at IS NOT NULL;

-- Leases that a commit, a delete or a sweep took from another node: their holders ask here why. Kept until some
-- time after the lease would have ended.
CREATE TABLE duramen_stolen_leases (
  lease_token  INTEGER NOT NULL,
  instance_key INTEGER NOT NULL,
  execution    INTEGER NOT NULL,
  activity     INTEGER NOT NULL,
  owner        TEXT NOT NULL,
  reason       TEXT NOT NULL,
  until        INTEGER NOT NULL,  -- lease time
  reported     INTEGER NOT NULL,
  PRIMARY KEY (lease_token, instance_key, execution, activity)
) WITHOUT ROWID;
CREATE INDEX duramen_stolen_leases_unreported ON duramen_stolen_leases (owner) WHERE reported = 0;

-- The owner that runs the activities of a session while its lease lasts. Both times are lease time.
CREATE TABLE duramen_sessions (
  session_id  TEXT PRIMARY KEY,
  owner       TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  used_at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX duramen_sessions_by_owner ON duramen_sessions (owner, lease_until);
CREATE INDEX duramen_sessions_by_lease ON duramen_sessions (lease_until);
