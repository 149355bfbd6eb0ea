#include "providers/sqlite/instances.hpp"

#include "providers/common/start_digest.hpp"
#include "providers/common/unreadable_row.hpp"
#include "providers/sqlite/instance_info.hpp"
#include "providers/sqlite/key_value_table.hpp"

#include <algorithm>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

constexpr std::string_view row_columns =
    "SELECT key, status, execution, last_event_id, commit_token, lease_token, lease_until, start_digest, "
    "has_key_values FROM instances WHERE ";

std::optional<InstanceRow> read_row(Cursor run) {
  if (!run.step()) return std::nullopt;
  return InstanceRow{.key = Incarnation{run.number(0)},
                     .status = providers::status_or_running(run.text(1)),
                     .execution = ExecutionId{run.number(2)},
                     .last_event_id = EventId{run.number(3)},
                     .commit_token = CommitToken{run.number(4)},
                     .lease_token = LeaseToken{run.number(5)},
                     .lease_until = run.integer(6),
                     .start_digest = run.integer(7),
                     .has_key_values = run.integer(8) != 0};
}

std::optional<std::uint64_t> number_or_null(std::uint64_t value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

}  // namespace

Instances::Instances(Connection& connection)
    : find_by_key_(connection, std::string(row_columns) + "key = ?"),
      find_by_id_(connection, std::string(row_columns) + "instance_id = ?"),
      insert_(
          connection,
          "INSERT INTO instances (key, instance_id, name, version, status, execution, last_event_id, "
          "engine_version, created_at, updated_at, execution_started_at, start_digest, commit_token, "
          "not_before, output, output_encoding, parent_instance, parent_key, parent_execution, parent_event) "
          "VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?8, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) "
          "ON CONFLICT (instance_id) DO NOTHING"),
      update_(connection,
              "UPDATE instances SET status = ?2, version = coalesce(?3, version), execution = ?4, "
              "execution_started_at = iif(execution = ?4, execution_started_at, ?7), "
              "last_event_id = ?5, engine_version = ?6, updated_at = ?7, commit_token = ?8, "
              "output = coalesce(?9, output), output_encoding = coalesce(?10, output_encoding), "
              "lease_token = NULL, lease_until = NULL, not_before = NULL WHERE key = ?1"),
      set_failure_(connection,
                   "UPDATE instances SET failure_kind = ?2, failure_type = ?3, failure_message = ?4, "
                   "failure_retryable = ?5, failure_details = ?6, failure_attempt = ?7, failure_timeout = ?8 "
                   "WHERE key = ?1"),
      set_parent_(connection,
                  "UPDATE instances SET parent_instance = ?2, parent_key = ?3, parent_execution = ?4, "
                  "parent_event = ?5 WHERE key = ?1"),
      set_custom_status_(connection,
                         "UPDATE instances SET custom_status = ?2, "
                         "custom_status_version = custom_status_version + 1 WHERE key = ?1"),
      mark_key_values_(connection, "UPDATE instances SET has_key_values = 1 WHERE key = ?"),
      archive_execution_(connection,
                         "INSERT INTO executions (instance_key, execution, version, status, last_event_id, "
                         "started_at, ended_at) SELECT key, execution, version, status, last_event_id, "
                         "execution_started_at, updated_at "
                         "FROM instances WHERE key = ?"),
      append_history_(connection,
                      "INSERT INTO history (instance_key, execution, first_event_id, last_event_id, events) "
                      "VALUES (?, ?, ?, ?, ?)"),
      take_lease_(connection, "UPDATE instances SET lease_token = ?2, lease_until = ?3 WHERE key = ?1"),
      extend_lease_(connection,
                    "UPDATE instances SET lease_until = ?3 "
                    "WHERE key = ?1 AND lease_token = ?2 AND lease_until > ?4"),
      release_lease_(connection,
                     "UPDATE instances SET lease_token = NULL, lease_until = NULL, not_before = ?3 "
                     "WHERE key = ?1 AND lease_token = ?2 AND lease_until > ?4"),
      erase_instance_(connection, "DELETE FROM instances WHERE key = ?"),
      erase_executions_(connection, "DELETE FROM executions WHERE instance_key = ?"),
      erase_history_(connection, "DELETE FROM history WHERE instance_key = ?") {}

std::optional<InstanceRow> Instances::find(Incarnation key) { return read_row(find_by_key_.run(key.value)); }

std::optional<InstanceRow> Instances::find(const InstanceId& id) {
  return read_row(find_by_id_.run(id.value));
}

std::optional<Incarnation> Instances::insert(const TransactionTime& time, NumberAllocator& numbers,
                                             const NewInstance& instance) {
  const std::uint64_t key = numbers.next();
  const std::optional<ParentLink>& parent =
      instance.parent != nullptr ? *instance.parent : instance.start.parent;
  std::optional<std::string_view> output;
  std::optional<std::string_view> encoding;
  if (instance.output != nullptr && *instance.output) {
    output = (*instance.output)->data;
    encoding = to_string((*instance.output)->encoding);
  }
  std::optional<std::string_view> parent_id;
  std::optional<std::uint64_t> parent_key, parent_execution, parent_event;
  if (parent) {
    parent_id = parent->instance.value;
    parent_key = parent->incarnation.value;
    parent_execution = parent->execution.value;
    parent_event = parent->event.value;
  }
  const std::int64_t inserted = insert_.execute(
      key, instance.id.value, instance.start.orchestration, instance.version, to_string(instance.status),
      instance.last_event_id.value, instance.engine_version, time.now,
      providers::start_digest(instance.start), number_or_null(instance.commit_token.value),
      instance.not_before, output, encoding, parent_id, parent_key, parent_execution, parent_event);
  if (inserted == 0) return std::nullopt;
  return Incarnation{key};
}

void Instances::update(const TransactionTime& time, Incarnation key, const TurnCommit& commit,
                       EventId last_event_id) {
  const InstanceChange& change = commit.change;
  std::optional<std::string_view> output, encoding;
  if (change.output) {
    output = change.output->data;
    encoding = to_string(change.output->encoding);
  }
  update_.execute(key.value, to_string(change.status), change.version, commit.execution.value,
                  last_event_id.value, change.engine_version, time.now, number_or_null(commit.token.value),
                  output, encoding);
}

void Instances::set_failure(Incarnation key, const Failure& failure) {
  std::optional<std::string_view> timeout;
  if (failure.timeout) timeout = to_string(*failure.timeout);
  set_failure_.execute(key.value, to_string(failure.kind), failure.type, failure.message, failure.retryable,
                       failure.details, failure.attempt, timeout);
}

void Instances::set_parent(Incarnation key, const ParentLink& parent) {
  set_parent_.execute(key.value, parent.instance.value, parent.incarnation.value, parent.execution.value,
                      parent.event.value);
}

void Instances::set_custom_status(Incarnation key, const CustomStatusChange& change) {
  set_custom_status_.execute(key.value, change.status);
}

void Instances::mark_key_values(Incarnation key) { mark_key_values_.execute(key.value); }

void Instances::archive_execution(Incarnation key) { archive_execution_.execute(key.value); }

void Instances::append_history(Incarnation key, ExecutionId execution, EventId first, EventId last,
                               std::string_view events) {
  append_history_.execute(key.value, execution.value, first.value, last.value, events);
}

void Instances::take_lease(Incarnation key, LeaseToken token, std::int64_t until) {
  take_lease_.execute(key.value, token.value, until);
}

bool Instances::extend_lease(const TransactionTime& time, const TurnLease& lease, std::int64_t until) {
  return extend_lease_.execute(lease.incarnation.value, lease.token.value, until, time.lease_now) == 1;
}

bool Instances::release_lease(const TransactionTime& time, const TurnLease& lease,
                              std::optional<std::int64_t> not_before) {
  return release_lease_.execute(lease.incarnation.value, lease.token.value, not_before, time.lease_now) == 1;
}

void Instances::erase(Incarnation key) {
  erase_instance_.execute(key.value);
  erase_executions_.execute(key.value);
  erase_history_.execute(key.value);
}

InstanceReader::InstanceReader(Connection& connection)
    : info_(connection, "SELECT " + std::string(info_columns) + std::string(result_columns) +
                            " FROM instances i WHERE i.instance_id = ?"),
      key_values_(connection,
                  "SELECT v.key, v.value, v.encoding, v.updated_at FROM instances i "
                  "JOIN key_values v ON v.instance_key = i.key "
                  "WHERE i.instance_id = ? AND v.value IS NOT NULL"),
      // A row contains a whole turn, so the first row may begin before the first wanted event.
      history_(
          connection,
          "SELECT h.events FROM instances i JOIN history h ON h.instance_key = i.key AND h.execution = ?2 "
          "AND h.first_event_id >= coalesce((SELECT max(first_event_id) FROM history WHERE instance_key = "
          "i.key "
          "AND execution = ?2 AND first_event_id <= ?3 + 1), 0) AND h.last_event_id > ?3 "
          "WHERE i.instance_id = ?1 ORDER BY h.first_event_id") {}

std::optional<InstanceInfo> InstanceReader::info(const InstanceId& id) {
  Cursor run = info_.run(id.value);
  if (!run.step()) return std::nullopt;
  return read_info(run, Results::wanted);
}

KeyValues InstanceReader::key_values(const InstanceId& id) {
  return read_key_values(key_values_.run(id.value));
}

Result<std::vector<Event>> InstanceReader::history(const InstanceId& id, ExecutionId execution,
                                                   EventId after) {
  std::vector<Event> events;
  Cursor run = history_.run(id.value, execution.value, after.value);
  while (run.step()) {
    if (auto decoded = decode_events(run.text(0), EventContext{id, execution}, events); !decoded) {
      return decoded.error();
    }
  }
  const auto first = std::ranges::find_if(events, [&](const Event& event) { return event.id > after; });
  events.erase(events.begin(), first);
  return events;
}

}  // namespace duramen::inline v0::sqlite::detail
