-- Messages and timers on their way to instances.
--
-- The rows of an instance stand in the order of their places. A new message gets the place after the last one;
-- the beginning of an execution, and the mail that it puts back, get places before the first one. Timers stand at
-- 2^61 + the id of their event, so a timer is found by its key.
--
-- One row of an instance is its *entry*: the only row of it that a fetch finds, so a full inbox costs no more than
-- one message, and an instance that a node cannot run costs its fetch nothing. There is an entry if and only if
-- the instance has something to take: a message, or a timer or delayed start that a fetch noticed. The entry is
-- the first message, or the row at duramen_instances.entry_place.
--
-- The write lock of the file guards all of this: each change below is part of one write transaction.
CREATE TABLE duramen_queue (
  instance_key INTEGER NOT NULL,
  place        INTEGER NOT NULL,
  -- Messages: when it was sent, but not before the message in front of it. 0: the beginning of an execution, and
  -- what it puts back. A due timer goes before the first message with sent_at >= fire_at.
  sent_at      INTEGER,
  -- Timers: when it fires, and the execution that set it.
  fire_at      INTEGER,
  execution    INTEGER,
  -- Timers and delayed starts: when a fetch must look at it. The fetch that finds it due clears this, and makes
  -- the row the entry if the instance has none.
  due_at       INTEGER,
  -- The entry only. The sender sets these if the instance is idle; a fetch and a release move ready_at; a commit
  -- that leaves messages sets them on the first. A cancel can change the capability (providers::capability).
  capability   TEXT,
  ready_at     INTEGER,  -- lease time: since when it can be taken; the end of the lease or delay until then
  ready_no     INTEGER,  -- order among entries of one ready_at
  item         TEXT,     -- the message as JSON; NULL for timers
  PRIMARY KEY (instance_key, place)
) WITHOUT ROWID;
-- For fetches: the entries of one capability, longest waiting first.
CREATE INDEX duramen_queue_entries ON duramen_queue (capability, ready_at, ready_no) WHERE capability IS NOT NULL;
-- For fetches: timers and delayed starts that no fetch has noticed.
CREATE INDEX duramen_queue_due ON duramen_queue (due_at) WHERE due_at IS NOT NULL;
-- For turns: the due timers of one instance.
CREATE INDEX duramen_queue_timers ON duramen_queue (instance_key, fire_at) WHERE fire_at IS NOT NULL;

-- Ids of messages that an instance was sent: a sender that repeats one gets the answer "duplicate".
CREATE TABLE duramen_received_messages (
  instance_key INTEGER NOT NULL,
  message_id   TEXT NOT NULL,
  PRIMARY KEY (instance_key, message_id)
) WITHOUT ROWID;

-- Events and queue messages for an instance that does not exist yet. The start of the instance moves them into its
-- queue; a sweep deletes them when they have expired, in lease time.
CREATE TABLE duramen_parked_messages (
  id          INTEGER PRIMARY KEY,
  instance_id TEXT NOT NULL,
  message_id  TEXT,
  sent_at     INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  item        TEXT NOT NULL
);
CREATE INDEX duramen_parked_messages_by_instance ON duramen_parked_messages (instance_id, message_id);
CREATE INDEX duramen_parked_messages_by_expiry ON duramen_parked_messages (expires_at);
