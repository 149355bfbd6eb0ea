-- The tables.
-- works with: 1
--
-- Times are milliseconds. Times named *_at and waits_until are wall clock since 1970. A lease_until, and every time
-- that is compared with one (wake_at, until, used_at, and all times of worker_queue), belongs to the clock
-- of leases: the clock of the server, unless the caller brought both clocks. Tokens are random numbers; NULL
-- means "not leased". The server compares ids byte by byte.

-- Incarnations: never used twice, growing in the order of creation.
CREATE SEQUENCE numbers;
-- Places of messages, and the order in which instances became ready. A session takes a number only while it holds the
-- lock of the instance, and sessions keep no numbers in advance: so the numbers of one instance grow in the order of its
-- messages, and every transaction that took a number below another one has a transaction id by then.
CREATE SEQUENCE places CACHE 1;
-- A sequence that was never asked has the number 1 both as its last and as its next.
SELECT nextval('places');

-- One row per instance, with its current execution.
CREATE TABLE instances (
  key             bigint PRIMARY KEY,  -- the incarnation
  instance_id     text COLLATE "C" NOT NULL UNIQUE,
  name            text COLLATE "C" NOT NULL,
  version         text COLLATE "C" NOT NULL DEFAULT '',  -- '' while pending
  status          text COLLATE "C" NOT NULL DEFAULT 'Pending',
  execution       bigint NOT NULL DEFAULT 1,
  last_event_id   bigint NOT NULL DEFAULT 0,
  engine_version  integer NOT NULL DEFAULT 0,
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  execution_started_at bigint NOT NULL,
  start_digest    bigint NOT NULL,     -- of name and input: tells a repeated start from a different one
  asked_version   text COLLATE "C" NOT NULL DEFAULT '',  -- by the start of an execution that has not begun; '': any
  commit_token    bigint,              -- of the last commit
  replay_token    bigint,              -- of the commit that stored the last event
  lease_token     bigint,
  lease_until     bigint,
  attempt         integer NOT NULL DEFAULT 0,  -- how often it was handed out since its last commit
  entry_place     bigint,              -- its row in the queue that says when it can be taken
  queue_floor     bigint NOT NULL DEFAULT -4611686018427387904,  -- every message up to this place is gone
  cancel_asked    smallint NOT NULL DEFAULT 0,  -- the strongest cancel: 0 none, 1 graceful, 2 terminate
  cancel_place    bigint,              -- of the queued cancel; NULL after a commit took it
  graceful        boolean NOT NULL DEFAULT false,  -- the current execution cleans up when it is cancelled
  ended_at        bigint,
  has_key_values  boolean NOT NULL DEFAULT false,  -- there are, or were, rows in key_values
  parent_instance  text COLLATE "C",
  parent_key       bigint,
  parent_execution bigint,
  parent_event     bigint,
  custom_status_version bigint NOT NULL DEFAULT 0,  -- how many turns changed it
  custom_status    text,
  failure          text,  -- as JSON
  output_encoding  text,
  output           text
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
-- No index contains a column that a turn changes: so the update of a turn touches no index.
-- The children of an instance, youngest first. `0 - key` in a statement means this index: such an order cannot be had by
-- walking along the primary key.
CREATE INDEX instances_by_parent ON instances (parent_key, (0 - key)) WHERE parent_key IS NOT NULL;

-- Executions that ended by continue-as-new; an instance's current one stands in `instances`.
CREATE TABLE executions (
  instance_key  bigint NOT NULL,
  execution     bigint NOT NULL,
  version       text NOT NULL,
  status        text NOT NULL,
  last_event_id bigint NOT NULL,
  started_at    bigint NOT NULL,
  ended_at      bigint NOT NULL,
  PRIMARY KEY (instance_key, execution)
);

-- One row per turn: its events as a JSON array.
CREATE TABLE history (
  instance_key   bigint NOT NULL,
  execution      bigint NOT NULL,
  first_event_id bigint NOT NULL,
  last_event_id  bigint NOT NULL,
  token          bigint,               -- of the commit that stored the row
  events         text NOT NULL,
  PRIMARY KEY (instance_key, execution, first_event_id)
);

-- The key-values of an instance. The current ones are what readers see; an execution replays from the settled ones
-- and repeats its own changes, so these move only when it ends. NULL: there is no such value.
CREATE TABLE key_values (
  instance_key       bigint NOT NULL,
  key                text COLLATE "C" NOT NULL,
  value              text,
  encoding           text,
  updated_at         bigint,
  settled_value      text,
  settled_encoding   text,
  settled_updated_at bigint,
  PRIMARY KEY (instance_key, key)
);

-- Messages and timers of instances. The order of an instance's messages is their place; the place of a timer is
-- 2305843009213693952 plus its event, so a commit finds a timer by its key.
--
-- One row of an instance is its entry: the row has a capability, which says what a node needs to take the instance. The
-- entry of an instance that can be taken has a ready_no, the number it got when it became ready; the entry of a leased or
-- delayed instance has a wake_at instead, and the entry of a delayed start has a waits_until. An instance has an entry if
-- and only if it has a message or a timer that a fetch noticed. Only a holder of the instance's lock changes an entry.
CREATE TABLE queue (
  instance_key bigint NOT NULL,
  place        bigint NOT NULL,
  sent_at      bigint NOT NULL,
  fire_at      bigint,            -- timers only
  execution    bigint,            -- timers only
  waits_until  bigint,            -- a timer or a delayed start that no fetch has noticed as due
  ready_no     bigint,
  wake_at      bigint,
  capability   text COLLATE "C",
  item         text,              -- NULL for timers
  PRIMARY KEY (instance_key, place)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX queue_ready ON queue (capability, ready_no) WHERE ready_no IS NOT NULL;
CREATE INDEX queue_wake ON queue (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX queue_waits ON queue (waits_until) WHERE waits_until IS NOT NULL;
-- `instance_key + 0` in a statement means this index: a look for due timers cannot walk along the primary key.
CREATE INDEX queue_timers ON queue ((instance_key + 0), fire_at, place) WHERE fire_at IS NOT NULL;

-- Message ids that an instance has been sent, so that a repeated send is recognised.
CREATE TABLE received_messages (
  instance_key bigint NOT NULL,
  message_id   text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_key, message_id)
);

-- Events and queue messages for an instance that does not exist yet.
CREATE TABLE parked_messages (
  id          bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  instance_id text COLLATE "C" NOT NULL,
  message_id  text COLLATE "C",
  sent_at     bigint NOT NULL,
  until       bigint NOT NULL,
  item        text NOT NULL
);
CREATE INDEX parked_messages_by_instance ON parked_messages (instance_id, message_id);
CREATE INDEX parked_messages_by_expiry ON parked_messages (until);

-- Activities that wait for a worker, or run under a lease. Workers take them in the order of their places.
CREATE TABLE worker_queue (
  instance_key bigint NOT NULL,
  execution    bigint NOT NULL,
  activity     bigint NOT NULL,  -- the id of its schedule event
  place        bigint GENERATED BY DEFAULT AS IDENTITY,
  visible_at   bigint NOT NULL DEFAULT 0,  -- 0: at once; else the end of a delay
  attempt      integer NOT NULL,
  lease_token  bigint,
  lease_until  bigint,
  lease_owner  text,
  fence        bigint NOT NULL,  -- how often it was leased
  fence_base   bigint NOT NULL DEFAULT 0,
  name         text COLLATE "C" NOT NULL,
  session_id   text COLLATE "C",
  tag          text COLLATE "C",
  lane         text COLLATE "C" GENERATED ALWAYS AS (coalesce('#' || tag, '') || E'\n' || name) STORED,
  schedule_to_start bigint,      -- NULL: no limit
  start_to_close    bigint,
  heartbeat         bigint,
  start_by          bigint,      -- holds until the first attempt begins
  close_by          bigint,      -- the attempt must have ended
  beat_by           bigint,      -- the next sign of life is due
  overdue_at        bigint,      -- the earlier of close_by and beat_by
  started_at        bigint,      -- of the attempt
  renewed_at        bigint,      -- a missed sign of life counts if the holder renewed its lease after it
  waits_since       bigint NOT NULL DEFAULT 0,
  retry_of          bigint NOT NULL DEFAULT 0,
  attempts_before   integer NOT NULL DEFAULT 0,
  orchestration_name    text NOT NULL,
  orchestration_version text NOT NULL,
  encoding     text NOT NULL,
  input        text NOT NULL,
  details_encoding text,
  details          text,         -- of the last heartbeat that had any
  PRIMARY KEY (instance_key, execution, activity)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
-- A waiting row stands in one of these three. The lane is its tag and name: a fetch visits only its own lanes.
CREATE INDEX worker_queue_lanes ON worker_queue (lane, place)
  WHERE lease_token IS NULL AND visible_at = 0 AND session_id IS NULL;
CREATE INDEX worker_queue_of_sessions ON worker_queue (session_id, place)
  WHERE lease_token IS NULL AND visible_at = 0 AND session_id IS NOT NULL;
CREATE INDEX worker_queue_delayed ON worker_queue (visible_at) WHERE visible_at > 0;
CREATE INDEX worker_queue_leased ON worker_queue (lease_until) WHERE lease_token IS NOT NULL;
CREATE INDEX worker_queue_by_session ON worker_queue (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX worker_queue_start_by ON worker_queue (start_by)
  WHERE start_by IS NOT NULL AND lease_token IS NULL AND attempt = 0;
CREATE INDEX worker_queue_overdue ON worker_queue (overdue_at) WHERE overdue_at IS NOT NULL;

-- Leases that were taken away from another node: their holders ask here why. Kept until some time after the lease
-- would have ended.
CREATE TABLE stolen_leases (
  instance_key bigint NOT NULL,
  execution    bigint NOT NULL,
  activity     bigint NOT NULL,
  lease_token  bigint NOT NULL,
  owner        text COLLATE "C" NOT NULL,
  reason       text NOT NULL,
  until        bigint NOT NULL,
  PRIMARY KEY (instance_key, execution, activity, lease_token)
);
CREATE INDEX stolen_leases_by_owner ON stolen_leases (owner);
CREATE INDEX stolen_leases_by_end ON stolen_leases (until);

-- The owner runs the activities of a session, as long as the lease lasts.
CREATE TABLE sessions (
  session_id  text COLLATE "C" PRIMARY KEY,
  owner       text COLLATE "C" NOT NULL,
  lease_until bigint NOT NULL,
  used_at     bigint NOT NULL
);
CREATE INDEX sessions_by_owner ON sessions (owner);
CREATE INDEX sessions_by_lease ON sessions (lease_until);

-- A lease that was taken away, as functions return it.
CREATE TYPE stolen_lease AS (
  owner text, instance_key bigint, execution bigint, activity bigint, lease_token bigint, reason text);
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE
  AS 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

CREATE FUNCTION is_final(status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  AS 'SELECT status IN (''Completed'', ''Failed'', ''Cancelled'')';

-- What a node must have to take an instance: see providers/common/capability.hpp. Any node that reads the level can decide
-- a queued cancel that needs no code.
CREATE FUNCTION capability_of(
  cancel_place bigint, cancel_asked smallint, graceful boolean, status text, level integer, name text, version text,
  asked_version text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN cancel_place IS NOT NULL AND (cancel_asked = 2 OR NOT graceful OR status = 'Pending')
      THEN CASE WHEN status IN ('Pending', 'ContinuedAsNew') THEN '1' ELSE level::text END || E'\n\n'
    WHEN status IN ('Pending', 'ContinuedAsNew') THEN E'1\n' || name || E'\n' || asked_version
    ELSE level::text || E'\n' || name || E'\n' || version END $$;
