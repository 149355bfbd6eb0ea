#include "providers/sqlite/instances.hpp"

#include "base/enum_names.hpp"
#include "providers/common/capability.hpp"
#include "providers/common/start_digest.hpp"
#include "providers/common/unreadable_row.hpp"
#include "providers/sqlite/instance_info.hpp"
#include "providers/sqlite/key_value_table.hpp"
#include "providers/sqlite/values.hpp"

#include <algorithm>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

std::optional<InstanceRow> read_one(Cursor run) {
  if (!run.step()) return std::nullopt;
  return read_row(run);
}

std::optional<std::int64_t> integer_or_null(const Cursor& run, int column) {
  return run.is_null(column) ? std::nullopt : std::optional(run.integer(column));
}

std::optional<std::string_view> text_or_null(std::optional<CancelMode> mode) {
  return mode ? std::optional(base::name(*mode)) : std::nullopt;
}

std::optional<std::uint64_t> number_or_null(std::uint64_t value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

}  // namespace

std::string InstanceRow::capability() const {
  if (needs_no_code()) return providers::capability(level(), "", "");
  return providers::capability(level(), name, needed_version());
}

InstanceRow read_row(const Cursor& run, int first) {
  return {.key = Incarnation{run.number(first)},
          .name = run.string(first + 1),
          .version = run.string(first + 2),
          .asked_version = run.optional_string(first + 3),
          .status = providers::status_or_running(run.text(first + 4)),
          .execution = ExecutionId{run.number(first + 5)},
          .last_event_id = EventId{run.number(first + 6)},
          .engine_version = static_cast<std::uint32_t>(run.integer(first + 7)),
          .commit_token = CommitToken{run.number(first + 8)},
          .replay_token = CommitToken{run.number(first + 9)},
          .lease_token = LeaseToken{run.number(first + 10)},
          .lease_until = run.integer(first + 11),
          .attempt = static_cast<std::uint32_t>(run.integer(first + 12)),
          .entry_place = integer_or_null(run, first + 13),
          .cancel_asked = parse_cancel_mode(run.text(first + 14)),
          .cancel_place = integer_or_null(run, first + 15),
          .graceful = run.integer(first + 16) != 0,
          .has_key_values = run.integer(first + 17) != 0,
          .start_digest = run.integer(first + 18)};
}

Instances::Instances(Connection& connection)
    : find_by_key_(connection,
                   "SELECT " + std::string(row_columns) + " FROM duramen_instances i WHERE i.key = ?"),
      find_by_id_(connection,
                  "SELECT " + std::string(row_columns) + " FROM duramen_instances i WHERE i.instance_id = ?"),
      queued_cancel_(connection,
                     "SELECT 1 FROM duramen_instances WHERE key = ? AND cancel_place IS NOT NULL"),
      parent_(connection,
              "SELECT parent_instance, parent_key, parent_execution, parent_event FROM duramen_instances "
              "WHERE key = ? AND parent_instance IS NOT NULL"),
      insert_(
          connection,
          "INSERT INTO duramen_instances (key, instance_id, name, version, asked_version, status, execution, "
          "last_event_id, engine_version, created_at, updated_at, execution_started_at, ended_at, "
          "start_digest, commit_token, replay_token, cancel_asked, cancel_place, graceful, output, "
          "output_encoding, parent_instance, parent_key, parent_execution, parent_event) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9, ?9, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, "
          "?18, ?19, ?20, ?21, ?22) ON CONFLICT (instance_id) DO NOTHING"),
      update_(connection,
              "UPDATE duramen_instances SET status = ?2, version = ?3, execution = ?4, "
              "execution_started_at = iif(execution = ?4, execution_started_at, ?7), "
              "last_event_id = ?5, engine_version = ?6, updated_at = ?7, ended_at = ?8, commit_token = ?9, "
              "replay_token = ?10, output = coalesce(?11, output), "
              "output_encoding = coalesce(?12, output_encoding), asked_version = ?13, cancel_asked = ?14, "
              "cancel_place = ?15, graceful = ?16, lease_token = NULL, lease_until = NULL, attempt = 0, "
              "entry_place = NULL WHERE key = ?1"),
      set_failure_(connection,
                   "UPDATE duramen_instances SET failure_kind = ?2, failure_type = ?3, failure_message = ?4, "
                   "failure_retryable = ?5, failure_details = ?6, failure_attempt = ?7, failure_timeout = ?8 "
                   "WHERE key = ?1"),
      set_custom_status_(connection,
                         "UPDATE duramen_instances SET custom_status = ?2, "
                         "custom_status_version = custom_status_version + 1 WHERE key = ?1"),
      mark_key_values_(connection, "UPDATE duramen_instances SET has_key_values = 1 WHERE key = ?"),
      archive_execution_(
          connection,
          "INSERT INTO duramen_executions (instance_key, execution, version, status, last_event_id, "
          "started_at, ended_at) SELECT key, execution, version, status, last_event_id, "
          "execution_started_at, updated_at "
          "FROM duramen_instances WHERE key = ?"),
      append_history_(connection,
                      "INSERT INTO duramen_history (instance_key, execution, first_event_id, last_event_id, "
                      "token, events) VALUES (?, ?, ?, ?, ?, ?)"),
      ask_cancel_(connection,
                  "UPDATE duramen_instances SET cancel_asked = ?2, cancel_place = ?3 WHERE key = ?1"),
      take_lease_(connection,
                  "UPDATE duramen_instances SET lease_token = ?2, lease_until = ?3, attempt = attempt + 1, "
                  "entry_place = ?4 WHERE key = ?1"),
      extend_lease_(connection,
                    "UPDATE duramen_instances SET lease_until = ?3 "
                    "WHERE key = ?1 AND lease_token = ?2 AND lease_until > ?4"),
      release_lease_(connection,
                     "UPDATE duramen_instances SET lease_token = NULL, lease_until = NULL, "
                     "attempt = max(attempt - ?3, 0) "
                     "WHERE key = ?1 AND lease_token = ?2 AND lease_until > ?4"),
      set_entry_(connection, "UPDATE duramen_instances SET entry_place = ?2 WHERE key = ?1"),
      erase_instance_(connection, "DELETE FROM duramen_instances WHERE key = ?"),
      erase_executions_(connection, "DELETE FROM duramen_executions WHERE instance_key = ?"),
      erase_history_(connection, "DELETE FROM duramen_history WHERE instance_key = ?") {}

std::optional<InstanceRow> Instances::find(Incarnation key) { return read_one(find_by_key_.run(key.value)); }

std::optional<InstanceRow> Instances::find(const InstanceId& id) {
  return read_one(find_by_id_.run(id.value));
}

bool Instances::has_queued_cancel(Incarnation key) { return queued_cancel_.run(key.value).step(); }

std::optional<ParentLink> Instances::parent(Incarnation key) {
  Cursor run = parent_.run(key.value);
  if (!run.step()) return std::nullopt;
  return ParentLink{InstanceId{run.text(0)}, Incarnation{run.number(1)}, ExecutionId{run.number(2)},
                    EventId{run.number(3)}};
}

std::optional<InstanceRow> Instances::insert(const TransactionTime& time, NumberAllocator& numbers,
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
  std::optional<std::int64_t> ended_at;
  if (is_final(instance.status)) ended_at = time.now;
  InstanceRow row{.key = Incarnation{key},
                  .name = instance.start.orchestration,
                  .version = std::string(instance.version),
                  .asked_version = instance.asked_version,
                  .status = instance.status,
                  .execution = ExecutionId{1},
                  .last_event_id = instance.last_event_id,
                  .engine_version = instance.engine_version,
                  .commit_token = instance.commit_token,
                  .replay_token = instance.replay_token,
                  .cancel_asked = instance.cancel_asked,
                  .cancel_place = instance.cancel_place,
                  .graceful = instance.graceful,
                  .start_digest = providers::start_digest(instance.start)};
  const std::int64_t inserted =
      insert_.execute(key, instance.id.value, row.name, row.version, row.asked_version, to_string(row.status),
                      row.last_event_id.value, row.engine_version, time.now, ended_at, row.start_digest,
                      number_or_null(row.commit_token.value), number_or_null(row.replay_token.value),
                      text_or_null(row.cancel_asked), row.cancel_place, row.graceful, output, encoding,
                      parent_id, parent_key, parent_execution, parent_event);
  if (inserted == 0) return std::nullopt;
  return row;
}

void Instances::update(const TransactionTime& time, const InstanceRow& row, const InstanceChange& change) {
  std::optional<std::string_view> output, encoding;
  if (change.output) {
    output = change.output->data;
    encoding = to_string(change.output->encoding);
  }
  std::optional<std::int64_t> ended_at;
  if (is_final(row.status)) ended_at = time.now;
  update_.execute(row.key.value, to_string(row.status), row.version, row.execution.value,
                  row.last_event_id.value, row.engine_version, time.now, ended_at,
                  number_or_null(row.commit_token.value), number_or_null(row.replay_token.value), output,
                  encoding, row.asked_version, text_or_null(row.cancel_asked), row.cancel_place,
                  row.graceful);
}

void Instances::set_failure(Incarnation key, const Failure& failure) {
  std::optional<std::string_view> timeout;
  if (failure.timeout) timeout = to_string(*failure.timeout);
  set_failure_.execute(key.value, to_string(failure.kind), failure.type, failure.message, failure.retryable,
                       failure.details, failure.attempt, timeout);
}

void Instances::set_custom_status(Incarnation key, const CustomStatusChange& change) {
  set_custom_status_.execute(key.value, change.status);
}

void Instances::mark_key_values(Incarnation key) { mark_key_values_.execute(key.value); }

void Instances::archive_execution(Incarnation key) { archive_execution_.execute(key.value); }

void Instances::append_history(Incarnation key, const TurnCommit& commit, std::string_view events) {
  append_history_.execute(key.value, commit.execution.value, commit.events.front().id.value,
                          commit.events.back().id.value, number_or_null(commit.token.value), events);
}

void Instances::ask_cancel(Incarnation key, CancelMode mode, std::int64_t place) {
  ask_cancel_.execute(key.value, base::name(mode), place);
}

void Instances::take_lease(Incarnation key, LeaseToken token, std::int64_t until, std::int64_t entry_place) {
  take_lease_.execute(key.value, token.value, until, entry_place);
}

bool Instances::extend_lease(const TransactionTime& time, const TurnLease& lease, std::int64_t until) {
  return extend_lease_.execute(lease.incarnation.value, lease.token.value, until, time.lease_now) == 1;
}

bool Instances::release_lease(const TransactionTime& time, const TurnLease& lease, bool count_attempt) {
  return release_lease_.execute(lease.incarnation.value, lease.token.value, count_attempt ? 0 : 1,
                                time.lease_now) == 1;
}

void Instances::set_entry(Incarnation key, std::optional<std::int64_t> place) {
  set_entry_.execute(key.value, place);
}

void Instances::erase(Incarnation key) {
  erase_instance_.execute(key.value);
  erase_executions_.execute(key.value);
  erase_history_.execute(key.value);
}

InstanceReader::InstanceReader(Connection& connection)
    : info_(connection, "SELECT " + std::string(info_columns) + std::string(result_columns) +
                            " FROM duramen_instances i WHERE i.instance_id = ?"),
      key_values_(connection,
                  "SELECT v.key, v.value, v.encoding, v.updated_at FROM duramen_instances i "
                  "JOIN duramen_key_values v ON v.instance_key = i.key "
                  "WHERE i.instance_id = ? AND v.value IS NOT NULL"),
      token_(connection,
             "SELECT h.token FROM duramen_instances i JOIN duramen_history h ON h.instance_key = i.key "
             "WHERE i.instance_id = ?1 AND h.execution = ?2 AND h.first_event_id <= ?3 "
             "AND h.last_event_id = ?3 ORDER BY h.first_event_id DESC LIMIT 1"),
      // A row contains a whole turn, so the first row may begin before the first wanted event.
      history_(connection,
               "SELECT h.events FROM duramen_instances i JOIN duramen_history h ON h.instance_key = i.key "
               "AND h.execution = ?2 "
               "AND h.first_event_id >= coalesce((SELECT max(first_event_id) FROM duramen_history WHERE "
               "instance_key = "
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

bool InstanceReader::has_token(const HistoryRequest& request) {
  Cursor run = token_.run(request.instance.value, request.execution.value, request.after.value);
  return run.step() && CommitToken{run.number(0)} == request.token;
}

Result<std::vector<Event>> InstanceReader::history(const HistoryRequest& request) {
  if (request.token && !has_token(request)) {
    return Error{ErrorCode::conflict, "read_history",
                 "event " + std::to_string(request.after.value) + " of " + request.instance.value +
                     " was stored by another commit; read the history from its beginning",
                 false};
  }
  std::vector<Event> events;
  Cursor run = history_.run(request.instance.value, request.execution.value, request.after.value);
  while (run.step()) {
    const EventContext context{request.instance, request.execution};
    if (auto decoded = decode_events(run.text(0), context, events); !decoded) return decoded.error();
  }
  const auto first =
      std::ranges::find_if(events, [&](const Event& event) { return event.id > request.after; });
  events.erase(events.begin(), first);
  return events;
}

}  // namespace duramen::inline v0::sqlite::detail
