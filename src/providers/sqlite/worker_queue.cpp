#include "providers/sqlite/worker_queue.hpp"

#include "base/utf8.hpp"
#include "providers/sqlite/json_list.hpp"
#include "providers/sqlite/values.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

// Up to here one statement per cancelled row is cheaper than a list.
constexpr std::size_t cancel_one_by_one = 4;
// At most this many leases are read to find one of another node.
constexpr int lease_ends_to_look_at = 16;

// One row, if it is held under a valid lease. Parameters 1 to 5.
constexpr std::string_view held =
    "instance_key = ?1 AND execution = ?2 AND activity = ?3 AND lease_token = ?4 AND lease_until > ?5";

std::optional<std::int64_t> limit_or_null(Duration limit) {
  return limit.count() <= 0 ? std::nullopt : std::optional<std::int64_t>(limit.count());
}

/// The deadlines of an attempt that is leased now. It may have to wait for a thread: its limits count from
/// the end of the lease, until a renewal reports that it has begun.
struct Deadlines {
  std::optional<std::int64_t> close_by;
  std::optional<std::int64_t> alive_by;
  std::optional<std::int64_t> renewed_at;
  std::optional<std::int64_t> overdue_at;

  Deadlines() = default;
  Deadlines(const TransactionTime& time, const ActivityOptions& options, Duration lease) {
    constexpr Duration longest{TransactionTime::longest_ms};
    const auto after_lease = [&](Duration limit) {
      return time.lease_end(std::min(limit, longest) + std::min(lease, longest));
    };
    if (options.start_to_close > Duration::zero()) close_by = after_lease(options.start_to_close);
    overdue_at = close_by;
    if (options.heartbeat > Duration::zero()) {
      alive_by = after_lease(options.heartbeat);
      renewed_at = time.lease_now;
      overdue_at = std::min(close_by.value_or(*alive_by), *alive_by);
    }
  }
};

// The columns that read_item reads.
constexpr std::string_view item_columns =
    "SELECT w.attempt, w.name, w.input, w.encoding, w.session_id, w.tag, w.schedule_to_start, "
    "w.start_to_close, "
    "w.heartbeat, w.orchestration_name, w.orchestration_version, w.details, w.details_encoding, "
    "i.instance_id, "
    "w.leases, w.fence_base, w.retry_of, w.attempts_before "
    "FROM duramen_worker_queue w LEFT JOIN duramen_instances i ON i.key = w.instance_key "
    "WHERE w.instance_key = ? AND w.execution = ? AND w.activity = ?";

/// Describes the defect of such a row; empty if there is none.
std::optional<std::string> fault_of(const Cursor& run) {
  if (run.is_null(13)) return "its instance does not exist";
  constexpr std::pair<int, std::string_view> texts[] = {
      {1, "name"}, {2, "input"}, {4, "session_id"}, {5, "tag"}, {9, "orchestration_name"}, {11, "details"}};
  for (const auto& [column, name] : texts) {
    if (!run.is_null(column) && (!run.is_text(column) || !base::is_text(run.text(column)))) {
      return "column '" + std::string(name) + "' is not text";
    }
  }
  for (const int column : {3, 12}) {
    if (!run.is_null(column) && !parse_encoding(run.text(column))) {
      return "unknown encoding '" + base::excerpt(base::to_text(run.string(column)), 40) + "'";
    }
  }
  for (const int column : {6, 7, 8}) {
    if (!run.is_null(column) && run.integer(column) <= 0) return "a time limit is not a positive number";
  }
  return std::nullopt;
}

LeasedActivity read_item(const Cursor& run, const ActivityKey& key) {
  LeasedActivity item{.request = {}, .lease = {key, {}}, .lease_until = {}};
  item.attempt = static_cast<std::uint32_t>(run.integer(0)) + 1;
  item.fence = run.number(14);
  item.request.fence_base = run.number(15);
  item.request.retry_of = EventId{run.number(16)};
  item.request.attempts_before = static_cast<std::uint32_t>(run.integer(17));
  item.request.key = key;
  item.request.instance = InstanceId{run.text(13)};
  if (auto fault = fault_of(run)) {
    item.unreadable = "activity " + std::to_string(key.activity.value) + " of execution " +
                      std::to_string(key.execution.value) + ", instance key " +
                      std::to_string(key.incarnation.value) + ": " + *fault;
    return item;
  }
  item.request.name = run.string(1);
  item.request.input = Payload{run.string(2), *parse_encoding(run.text(3))};
  item.request.session_id = run.optional_string(4);
  item.request.tag = run.optional_string(5);
  item.request.options = {Duration{run.integer(6)}, Duration{run.integer(7)}, Duration{run.integer(8)}};
  item.request.orchestration_name = run.string(9);
  item.request.orchestration_version = run.string(10);
  if (!run.is_null(11) && !run.is_null(12)) {
    item.heartbeat = Payload{run.string(11), *parse_encoding(run.text(12))};
  }
  return item;
}

}  // namespace

WorkerQueue::WorkerQueue(Connection& connection, NumberAllocator& numbers, StolenLeases& stolen_leases,
                         Sessions& sessions)
    : numbers_(numbers),
      stolen_leases_(stolen_leases),
      sessions_(sessions),
      selection_(connection, sessions),
      insert_(connection,
              "INSERT INTO duramen_worker_queue (instance_key, execution, activity, position, visible_at, "
              "attempt, leases, fence_base, lease_token, lease_until, lease_owner, started_at, name, input, "
              "encoding, session_id, tag, schedule_to_start, start_to_close, heartbeat, orchestration_name, "
              "orchestration_version, start_by, close_by, alive_by, renewed_at, overdue_at, retry_of, "
              "attempts_before, details, details_encoding) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
              "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      read_(connection, item_columns),
      last_details_(connection,
                    "SELECT details, details_encoding FROM duramen_worker_queue "
                    "WHERE instance_key = ? AND execution = ? AND activity = ? AND details IS NOT NULL"),
      last_attempt_(connection,
                    "SELECT started_at, attempts_before + attempt, lease_owner FROM duramen_worker_queue "
                    "WHERE instance_key = ? AND execution = ? AND activity = ? AND attempt > 0"),
      take_(connection,
            "UPDATE duramen_worker_queue SET lease_token = ?4, lease_until = ?5, lease_owner = ?6, "
            "attempt = attempt + 1, started_at = ?7, close_by = ?8, alive_by = ?9, renewed_at = ?10, "
            "overdue_at = ?11, leases = ?12 WHERE instance_key = ?1 AND execution = ?2 AND activity = ?3"),
      first_lease_end_(
          connection,
          "SELECT min(lease_until) FROM duramen_worker_queue INDEXED BY duramen_worker_queue_leased "
          "WHERE lease_token IS NOT NULL"),
      lease_ends_(
          connection,
          "SELECT lease_until, lease_owner FROM duramen_worker_queue INDEXED BY duramen_worker_queue_leased "
          "WHERE lease_token IS NOT NULL AND lease_until > ? ORDER BY lease_until"),
      release_ended_(
          connection,
          "UPDATE duramen_worker_queue INDEXED BY duramen_worker_queue_leased SET lease_token = NULL, "
          "lease_until = NULL, lease_owner = NULL, close_by = NULL, alive_by = NULL, "
          "overdue_at = NULL "
          "WHERE lease_token IS NOT NULL AND lease_until <= ?"),
      session_of_(connection, "SELECT session_id FROM duramen_worker_queue WHERE " + std::string(held)),
      finish_without_session_(connection, "DELETE FROM duramen_worker_queue WHERE " + std::string(held) +
                                              " AND session_id IS NULL"),
      finish_(connection,
              "DELETE FROM duramen_worker_queue WHERE instance_key = ? AND execution = ? AND activity = ?"),
      // ?6: from when on the limits count.
      restart_limits_(connection,
                      "UPDATE duramen_worker_queue SET close_by = ?6 + min(start_to_close, ?7), "
                      "alive_by = ?6 + min(heartbeat, ?7), renewed_at = iif(heartbeat IS NULL, NULL, ?5), "
                      "overdue_at = ?6 + min(coalesce(start_to_close, heartbeat), "
                      "coalesce(heartbeat, start_to_close), ?7) WHERE " +
                          std::string(held)),
      // A renewal after the deadline of the heartbeat shows that the holder lives and is silent: the next
      // sweep must look at the row.
      renew_(connection,
             "UPDATE duramen_worker_queue SET lease_until = ?6, "
             "renewed_at = iif(alive_by IS NULL, NULL, ?5), "
             "overdue_at = iif(alive_by <= ?5, min(overdue_at, ?5), overdue_at) WHERE " +
                 std::string(held)),
      // A heartbeat postpones the deadline of the next one; the deadline of the attempt stays.
      renew_alive_(connection,
                   "UPDATE duramen_worker_queue SET lease_until = ?6, details = coalesce(?7, details), "
                   "details_encoding = coalesce(?8, details_encoding), "
                   "alive_by = ?5 + min(heartbeat, ?9), renewed_at = iif(heartbeat IS NULL, NULL, ?5), "
                   "overdue_at = CASE WHEN heartbeat IS NULL THEN overdue_at "
                   "ELSE min(coalesce(close_by, ?5 + min(heartbeat, ?9)), ?5 + min(heartbeat, ?9)) "
                   "END WHERE " +
                       std::string(held)),
      release_(connection,
               "UPDATE duramen_worker_queue SET lease_token = NULL, lease_until = NULL, lease_owner = NULL, "
               "close_by = NULL, alive_by = NULL, overdue_at = NULL, attempt = max(attempt - ?6, 0), "
               "visible_at = coalesce(?7, visible_at), "
               "start_by = coalesce(?7, visible_at) + min(schedule_to_start, ?8) WHERE " +
                   std::string(held)),
      cancel_one_(connection, "instance_key = ? AND execution = ? AND activity = ?"),
      cancel_list_(connection,
                   "instance_key = ? AND execution = ? AND activity IN (SELECT value FROM json_each(?))"),
      cancel_execution_(connection, "instance_key = ? AND execution = ?"),
      cancel_instance_(connection, "instance_key = ?") {}

WorkerQueue::Removal::Removal(Connection& connection, const std::string& condition)
    : find(connection,
           "SELECT execution, activity, lease_token, lease_until, lease_owner FROM duramen_worker_queue "
           "WHERE " +
               condition),
      erase(connection, "DELETE FROM duramen_worker_queue WHERE " + condition) {}

void WorkerQueue::insert(const TransactionTime& time, Incarnation key, const TurnCommit& commit,
                         const NewActivity& item) {
  const ActivityRequest& activity = item.request;
  const ActivityOptions& options = activity.options;
  std::optional<std::uint64_t> token;
  std::optional<std::int64_t> until, start_by, started_at;
  std::optional<std::string_view> owner, details, details_encoding;
  Deadlines deadlines;
  std::int64_t leases = 0;
  if (item.born_leased) {
    token = item.born_leased->value;
    until = time.lease_end(commit.activity_lease);
    owner = commit.node.value;
    started_at = time.lease_now;
    deadlines = Deadlines{time, options, commit.activity_lease};
    leases = time.next_lease(0);
  }
  if (options.schedule_to_start > Duration::zero()) start_by = time.lease_end(options.schedule_to_start);
  if (activity.heartbeat) {
    details = activity.heartbeat->data;
    details_encoding = to_string(activity.heartbeat->encoding);
  }
  insert_.execute(key.value, activity.key.execution.value, activity.key.activity.value, numbers_.next(),
                  time.lease_now, item.born_leased ? 1 : 0, leases, activity.fence_base, token, until, owner,
                  started_at, activity.name, activity.input.data, to_string(activity.input.encoding),
                  activity.session_id, activity.tag, limit_or_null(options.schedule_to_start),
                  limit_or_null(options.start_to_close), limit_or_null(options.heartbeat),
                  activity.orchestration_name, activity.orchestration_version, start_by, deadlines.close_by,
                  deadlines.alive_by, deadlines.renewed_at, deadlines.overdue_at, activity.retry_of.value,
                  activity.attempts_before, details, details_encoding);
}

bool WorkerQueue::any_available(const TransactionTime& time, const ActivityFetch& request,
                                std::optional<TimePoint>& next_due) {
  {
    Cursor run = first_lease_end_.run();
    if (run.step() && !run.is_null(0) && run.integer(0) <= time.lease_now) return true;
  }
  const WorkSelected selected = selection_.select(time, request, 1);
  if (!selected.rows.empty()) return true;
  next_due = earlier(selected.next_due, next_lease_end(time, request.node));
  return false;
}

void WorkerQueue::release_ended(const TransactionTime& time) { release_ended_.execute(time.lease_now); }

std::optional<TimePoint> WorkerQueue::next_lease_end(const TransactionTime& time, const NodeId& node) {
  std::int64_t end = 0;
  int looked_at = 0;
  Cursor run = lease_ends_.run(time.lease_now);
  while (run.step()) {
    end = run.integer(0);
    if (run.text(1) != node.value || ++looked_at == lease_ends_to_look_at) return time.wall_time(end);
  }
  return std::nullopt;
}

ActivityBatch WorkerQueue::fetch(const TransactionTime& time, const ActivityFetch& request,
                                 const std::function<LeaseToken()>& new_token) {
  release_ended(time);
  const WorkSelected selected = selection_.select(time, request, request.limit);
  ActivityBatch batch;
  batch.next_due = earlier(selected.next_due, next_lease_end(time, request.node));
  const std::int64_t until = time.lease_end(request.lease);
  for (const WorkCandidate& candidate : selected.rows) {
    const ActivityKey& key = candidate.key;
    LeasedActivity item = *read(key);
    item.lease.token = new_token();
    item.lease_until = TransactionTime::lease_time(until);
    const std::int64_t count = time.next_lease(static_cast<std::int64_t>(item.fence));
    item.fence = TransactionTime::fence(item.request.fence_base, count);
    const Deadlines deadlines{time, item.request.options, request.lease};
    take_.execute(key.incarnation.value, key.execution.value, key.activity.value, item.lease.token.value,
                  until, request.node.value, time.lease_now, deadlines.close_by, deadlines.alive_by,
                  deadlines.renewed_at, deadlines.overdue_at, count);
    if (candidate.session) sessions_.claim(time, *candidate.session, *request.sessions);
    batch.items.push_back(std::move(item));
  }
  return batch;
}

std::optional<LeasedActivity> WorkerQueue::read(const ActivityKey& key) {
  Cursor run = read_.run(key.incarnation.value, key.execution.value, key.activity.value);
  if (!run.step()) return std::nullopt;
  return read_item(run, key);
}

std::optional<Payload> WorkerQueue::last_details(const ActivityKey& key) {
  Cursor run = last_details_.run(key.incarnation.value, key.execution.value, key.activity.value);
  if (!run.step()) return std::nullopt;
  return Payload{run.string(0), parse_encoding(run.text(1)).value_or(Encoding::text)};
}

AttemptInfo WorkerQueue::last_attempt(const TransactionTime& time, const ActivityKey& key) {
  Cursor run = last_attempt_.run(key.incarnation.value, key.execution.value, key.activity.value);
  if (!run.step()) return {};
  return {time.past_or_future(run.integer(0)), static_cast<std::uint32_t>(run.integer(1)),
          NodeId{run.text(2)}};
}

bool WorkerQueue::is_held(const TransactionTime& time, const ActivityLease& lease) {
  const ActivityKey& key = lease.key;
  return session_of_
      .run(key.incarnation.value, key.execution.value, key.activity.value, lease.token.value, time.lease_now)
      .step();
}

bool WorkerQueue::finish(const TransactionTime& time, const ActivityLease& lease) {
  const ActivityKey& key = lease.key;
  // Most activities have no session: one statement ends them.
  if (finish_without_session_.execute(key.incarnation.value, key.execution.value, key.activity.value,
                                      lease.token.value, time.lease_now) == 1) {
    return true;
  }
  {
    Cursor run = session_of_.run(key.incarnation.value, key.execution.value, key.activity.value,
                                 lease.token.value, time.lease_now);
    if (!run.step()) return false;
    if (!run.is_null(0)) sessions_.use(time, run.text(0));
  }
  finish_.execute(key.incarnation.value, key.execution.value, key.activity.value);
  return true;
}

bool WorkerQueue::renew(const TransactionTime& time, const ActivityRenewal& renewal, Duration extend) {
  const ActivityKey& key = renewal.lease.key;
  const std::uint64_t token = renewal.lease.token.value;
  {
    Cursor run = session_of_.run(key.incarnation.value, key.execution.value, key.activity.value, token,
                                 time.lease_now);
    if (!run.step()) return false;
    if (!run.is_null(0)) sessions_.use(time, run.text(0));
  }
  if (renewal.progress != ActivityProgress::runs) {
    const std::int64_t from =
        renewal.progress == ActivityProgress::waits ? time.lease_end(extend) : time.lease_now;
    restart_limits_.execute(key.incarnation.value, key.execution.value, key.activity.value, token,
                            time.lease_now, from, time.lease_end(Duration::max()) - from);
  }
  if (!renewal.heartbeat) {
    renew_.execute(key.incarnation.value, key.execution.value, key.activity.value, token, time.lease_now,
                   time.lease_end(extend));
    return true;
  }
  std::optional<std::string_view> details, encoding;
  if (renewal.heartbeat->details) {
    details = renewal.heartbeat->details->data;
    encoding = to_string(renewal.heartbeat->details->encoding);
  }
  renew_alive_.execute(key.incarnation.value, key.execution.value, key.activity.value, token, time.lease_now,
                       time.lease_end(extend), details, encoding,
                       time.lease_end(Duration::max()) - time.lease_now);
  return true;
}

bool WorkerQueue::release(const TransactionTime& time, const ActivityRelease& entry) {
  const ActivityKey& key = entry.lease.key;
  std::optional<std::int64_t> visible_at;
  if (entry.delay.count() > 0) visible_at = time.lease_end(entry.delay);
  return release_.execute(key.incarnation.value, key.execution.value, key.activity.value,
                          entry.lease.token.value, time.lease_now, entry.count_attempt ? 0 : 1, visible_at,
                          TransactionTime::longest_ms) == 1;
}

template <class ReasonOf, class... Values>
void WorkerQueue::steal(const TransactionTime& time, Removal& removal, const ReasonOf& reason_of,
                        const NodeId& by, std::vector<StolenLease>& stolen, Incarnation key,
                        const Values&... rest) {
  bool any = false;
  {
    Cursor run = removal.find.run(key.value, rest...);
    while (run.step()) {
      any = true;
      const std::int64_t until = run.integer(3);
      if (run.is_null(2) || until <= time.lease_now) continue;
      const EventId activity{run.number(1)};
      StolenLease lease{.owner = NodeId{run.text(4)},
                        .lease = {{key, ExecutionId{run.number(0)}, activity}, LeaseToken{run.number(2)}},
                        .reason = reason_of(activity)};
      stolen_leases_.add(time, lease, until, by);
      stolen.push_back(std::move(lease));
    }
  }
  if (any) removal.erase.execute(key.value, rest...);
}

void WorkerQueue::cancel(const TransactionTime& time, Incarnation key, ExecutionId execution,
                         std::span<const CancelledActivity> activities, const NodeId& by,
                         std::vector<StolenLease>& stolen) {
  if (activities.size() <= cancel_one_by_one) {
    for (const CancelledActivity& entry : activities) {
      const auto reason_of = [&](EventId) { return entry.reason; };
      steal(time, cancel_one_, reason_of, by, stolen, key, execution.value, entry.activity.value);
    }
    return;
  }
  std::unordered_map<EventId, CancelReason> reasons;
  for (const CancelledActivity& entry : activities) reasons.emplace(entry.activity, entry.reason);
  const std::string list =
      json_list(activities, [](const CancelledActivity& entry) { return entry.activity.value; });
  const auto reason_of = [&](EventId activity) { return reasons.at(activity); };
  steal(time, cancel_list_, reason_of, by, stolen, key, execution.value, list);
}

void WorkerQueue::cancel_execution(const TransactionTime& time, Incarnation key, ExecutionId execution,
                                   CancelReason reason, const NodeId& by, std::vector<StolenLease>& stolen) {
  const auto reason_of = [&](EventId) { return reason; };
  steal(time, cancel_execution_, reason_of, by, stolen, key, execution.value);
}

void WorkerQueue::cancel_instance(const TransactionTime& time, Incarnation key, CancelReason reason,
                                  std::vector<StolenLease>& stolen) {
  const auto reason_of = [&](EventId) { return reason; };
  steal(time, cancel_instance_, reason_of, {}, stolen, key);
}

void WorkerQueue::take_away(const TransactionTime& time, const ActivityKey& key, CancelReason reason,
                            std::vector<StolenLease>& stolen) {
  const auto reason_of = [&](EventId) { return reason; };
  steal(time, cancel_one_, reason_of, {}, stolen, key.incarnation, key.execution.value, key.activity.value);
}

}  // namespace duramen::inline v0::sqlite::detail
