#include "providers/sqlite/worker_queue.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

// How many ended leases are looked at to find the longest waiting row among them.
constexpr int ended_to_look_at = 64;
// Up to here one statement per cancelled row is cheaper than a list.
constexpr std::size_t cancel_one_by_one = 4;

// What a fetch reads; see read_candidate.
constexpr std::string_view candidate_columns =
    "SELECT w.instance_key, w.execution, w.activity, w.position, w.visible_at, w.attempt, w.name, w.input, "
    "w.encoding, w.session_id, w.tag, w.schedule_to_start, w.start_to_close, w.heartbeat, "
    "w.orchestration_name, w.orchestration_version, i.instance_id ";

/// A row that may be handed out.
struct Candidate {
  WorkItemLeased item;
  std::int64_t visible_at = 0;
  std::int64_t position = 0;

  [[nodiscard]] bool before(const Candidate& other) const noexcept {
    return std::tie(visible_at, position) < std::tie(other.visible_at, other.position);
  }
  [[nodiscard]] bool retried() const noexcept { return item.attempt > 1; }
};

Candidate read_candidate(const Run& run) {
  const ActivityKey key{Incarnation{run.number(0)}, ExecutionId{run.number(1)}, EventId{run.number(2)}};
  ActivityExecute activity{
      .instance = InstanceId{run.text(16)},
      .key = key,
      .name = run.string(6),
      .input = Payload{run.string(7), run.text(8) == "json" ? Encoding::json : Encoding::text},
      .session_id = run.optional_string(9),
      .tag = run.optional_string(10),
      .options = {Duration{run.integer(11)}, Duration{run.integer(12)}, Duration{run.integer(13)}},
      .orchestration_name = run.string(14),
      .orchestration_version = run.string(15)};
  const auto attempt = static_cast<std::uint32_t>(run.integer(5)) + 1;
  return {{.activity = std::move(activity), .lease = {key, {}}, .lease_until = {}, .attempt = attempt},
          run.integer(4),
          run.integer(3)};
}

bool wanted(const WorkFetch& request, std::string_view name) {
  return !request.names || std::ranges::find(*request.names, name) != request.names->end();
}

std::optional<std::int64_t> limit_or_null(Duration limit) {
  return limit.count() == 0 ? std::nullopt : std::optional<std::int64_t>(limit.count());
}

}  // namespace

WorkerQueue::WorkerQueue(Connection& connection, Numbers& numbers, StolenLeases& stolen_leases)
    : numbers_(numbers),
      stolen_leases_(stolen_leases),
      insert_(
          connection,
          "INSERT INTO worker_queue (instance_key, execution, activity, position, visible_at, attempt, "
          "lease_token, lease_until, lease_owner, name, input, encoding, session_id, tag, schedule_to_start, "
          "start_to_close, heartbeat, orchestration_name, orchestration_version) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      waiting_(connection,
               std::string(candidate_columns) +
                   "FROM worker_queue w INDEXED BY worker_queue_waiting CROSS JOIN instances i ON i.key = "
                   "w.instance_key "
                   "WHERE w.lease_token IS NULL AND w.visible_at <= ? ORDER BY w.visible_at, w.position"),
      ended_(connection, std::string(candidate_columns) +
                             "FROM worker_queue w INDEXED BY worker_queue_leased CROSS JOIN instances i ON "
                             "i.key = w.instance_key "
                             "WHERE w.lease_token IS NOT NULL AND w.lease_until <= ? ORDER BY w.lease_until"),
      next_due_(connection,
                "SELECT min(visible_at) FROM worker_queue INDEXED BY worker_queue_waiting "
                "WHERE lease_token IS NULL AND visible_at > ?"),
      first_end_(connection,
                 "SELECT (SELECT min(visible_at) FROM worker_queue INDEXED BY worker_queue_waiting "
                 "WHERE lease_token IS NULL), (SELECT min(lease_until) FROM worker_queue "
                 "INDEXED BY worker_queue_leased WHERE lease_token IS NOT NULL)"),
      take_(connection,
            "UPDATE worker_queue SET lease_token = ?4, lease_until = ?5, lease_owner = ?6, attempt = attempt "
            "+ 1 "
            "WHERE instance_key = ?1 AND execution = ?2 AND activity = ?3"),
      is_held_(connection,
               "SELECT 1 FROM worker_queue WHERE instance_key = ? AND execution = ? AND activity = ? "
               "AND lease_token = ? AND lease_until > ?"),
      finish_(connection,
              "DELETE FROM worker_queue WHERE instance_key = ? AND execution = ? AND activity = ? "
              "AND lease_token = ? AND lease_until > ?"),
      renew_(connection,
             "UPDATE worker_queue SET lease_until = ?6 WHERE instance_key = ?1 AND execution = ?2 AND "
             "activity = ?3 "
             "AND lease_token = ?4 AND lease_until > ?5"),
      abandon_(connection,
               "UPDATE worker_queue SET lease_token = NULL, lease_until = NULL, lease_owner = NULL, "
               "attempt = max(attempt - ?6, 0), visible_at = coalesce(?7, visible_at) "
               "WHERE instance_key = ?1 AND execution = ?2 AND activity = ?3 AND lease_token = ?4 "
               "AND lease_until > ?5"),
      cancel_one_(connection, "instance_key = ? AND execution = ? AND activity = ?"),
      cancel_list_(connection,
                   "instance_key = ? AND execution = ? AND activity IN (SELECT value FROM json_each(?))"),
      cancel_execution_(connection, "instance_key = ? AND execution = ?"),
      cancel_instance_(connection, "instance_key = ?") {}

WorkerQueue::Removal::Removal(Connection& connection, const std::string& condition)
    : find(connection,
           "SELECT execution, activity, lease_token, lease_until, lease_owner FROM worker_queue WHERE " +
               condition),
      erase(connection, "DELETE FROM worker_queue WHERE " + condition) {}

void WorkerQueue::insert(const Moment& moment, Incarnation key, const TurnCommit& commit,
                         const WorkerItem& item) {
  const ActivityExecute& activity = item.activity;
  std::optional<std::uint64_t> token;
  std::optional<std::int64_t> until;
  std::optional<std::string_view> owner;
  if (item.born_leased) {
    token = item.born_leased->value;
    until = moment.lease_end(commit.worker_lease);
    owner = commit.node.value;
  }
  insert_.execute(key.value, activity.key.execution.value, activity.key.activity.value, numbers_.next(),
                  moment.now, item.born_leased ? 1 : 0, token, until, owner, activity.name,
                  activity.input.data, to_string(activity.input.encoding), activity.session_id, activity.tag,
                  limit_or_null(activity.options.schedule_to_start),
                  limit_or_null(activity.options.start_to_close), limit_or_null(activity.options.heartbeat),
                  activity.orchestration_name, activity.orchestration_version);
}

bool WorkerQueue::any_available(const Moment& moment, std::optional<TimePoint>& next_due) {
  Run run = first_end_.run();
  run.step();
  if (!run.is_null(0) && run.integer(0) <= moment.now) return true;
  if (!run.is_null(1) && run.integer(1) <= moment.lease_now) return true;
  if (!run.is_null(0)) next_due = from_unix_ms(run.integer(0));
  return false;
}

WorkBatch WorkerQueue::fetch(const Moment& moment, const WorkFetch& request,
                             const std::function<LeaseToken()>& new_token) {
  WorkBatch batch;
  {
    Run run = next_due_.run(moment.now);
    if (run.step() && !run.is_null(0)) batch.next_due = from_unix_ms(run.integer(0));
  }
  if (request.limit == 0) return batch;

  // The longest waiting of those whose holder has gone silent.
  std::optional<Candidate> retried;
  {
    Run run = ended_.run(moment.lease_now);
    for (int looked_at = 0; looked_at < ended_to_look_at && run.step();) {
      if (!wanted(request, run.text(6))) continue;
      ++looked_at;
      Candidate candidate = read_candidate(run);
      if (!retried || candidate.before(*retried)) retried = std::move(candidate);
    }
  }
  // A row that was handed out before without an end goes alone, when it is the longest waiting; until then
  // those behind it go first.
  std::vector<Candidate> chosen;
  {
    Run run = waiting_.run(moment.now);
    bool first = true;
    while (chosen.size() < request.limit && run.step()) {
      if (!wanted(request, run.text(6))) continue;
      Candidate candidate = read_candidate(run);
      if (std::exchange(first, false)) {
        if (retried && retried->before(candidate)) break;
        retried.reset();
        if (candidate.retried()) {
          retried = std::move(candidate);
          break;
        }
      }
      if (!candidate.retried()) chosen.push_back(std::move(candidate));
    }
  }
  if (retried) chosen.push_back(std::move(*retried));

  const std::int64_t until = moment.lease_end(request.lease);
  for (Candidate& candidate : chosen) {
    WorkItemLeased& item = candidate.item;
    const ActivityKey& key = item.lease.key;
    item.lease.token = new_token();
    item.lease_until = Moment::lease_time(until);
    take_.execute(key.incarnation.value, key.execution.value, key.activity.value, item.lease.token.value,
                  until, request.node.value);
    batch.items.push_back(std::move(item));
  }
  return batch;
}

bool WorkerQueue::is_held(const Moment& moment, const WorkLease& lease) {
  const ActivityKey& key = lease.key;
  return is_held_
      .run(key.incarnation.value, key.execution.value, key.activity.value, lease.token.value,
           moment.lease_now)
      .step();
}

bool WorkerQueue::finish(const Moment& moment, const WorkLease& lease) {
  const ActivityKey& key = lease.key;
  return finish_.execute(key.incarnation.value, key.execution.value, key.activity.value, lease.token.value,
                         moment.lease_now) == 1;
}

bool WorkerQueue::renew(const Moment& moment, const WorkLease& lease, std::int64_t until) {
  const ActivityKey& key = lease.key;
  return renew_.execute(key.incarnation.value, key.execution.value, key.activity.value, lease.token.value,
                        moment.lease_now, until) == 1;
}

bool WorkerQueue::abandon(const Moment& moment, const WorkAbandon& entry) {
  const ActivityKey& key = entry.lease.key;
  std::optional<std::int64_t> visible_at;
  if (entry.delay.count() > 0) visible_at = moment.now + entry.delay.count();
  return abandon_.execute(key.incarnation.value, key.execution.value, key.activity.value,
                          entry.lease.token.value, moment.lease_now, entry.count_attempt ? 0 : 1,
                          visible_at) == 1;
}

template <class ReasonOf, class... Values>
void WorkerQueue::steal(const Moment& moment, Removal& removal, const ReasonOf& reason_of, const NodeId& by,
                        std::vector<StolenLease>& stolen, Incarnation key, const Values&... rest) {
  bool any = false;
  {
    Run run = removal.find.run(key.value, rest...);
    while (run.step()) {
      any = true;
      const std::int64_t until = run.integer(3);
      if (run.is_null(2) || until <= moment.lease_now) continue;
      const EventId activity{run.number(1)};
      StolenLease lease{.owner = NodeId{run.text(4)},
                        .lease = {{key, ExecutionId{run.number(0)}, activity}, LeaseToken{run.number(2)}},
                        .reason = reason_of(activity)};
      stolen_leases_.add(moment, lease, until, by);
      stolen.push_back(std::move(lease));
    }
  }
  if (any) removal.erase.execute(key.value, rest...);
}

void WorkerQueue::cancel(const Moment& moment, Incarnation key, ExecutionId execution,
                         std::span<const CancelledActivity> activities, const NodeId& by,
                         std::vector<StolenLease>& stolen) {
  if (activities.size() <= cancel_one_by_one) {
    for (const CancelledActivity& entry : activities) {
      const auto reason_of = [&](EventId) { return entry.reason; };
      steal(moment, cancel_one_, reason_of, by, stolen, key, execution.value, entry.activity.value);
    }
    return;
  }
  std::string list = "[";
  std::unordered_map<EventId, CancelReason> reasons;
  for (const CancelledActivity& entry : activities) {
    if (list.size() > 1) list += ',';
    list += std::to_string(entry.activity.value);
    reasons.emplace(entry.activity, entry.reason);
  }
  list += ']';
  const auto reason_of = [&](EventId activity) { return reasons.at(activity); };
  steal(moment, cancel_list_, reason_of, by, stolen, key, execution.value, list);
}

void WorkerQueue::cancel_execution(const Moment& moment, Incarnation key, ExecutionId execution,
                                   CancelReason reason, const NodeId& by, std::vector<StolenLease>& stolen) {
  const auto reason_of = [&](EventId) { return reason; };
  steal(moment, cancel_execution_, reason_of, by, stolen, key, execution.value);
}

void WorkerQueue::cancel_instance(const Moment& moment, Incarnation key, CancelReason reason,
                                  std::vector<StolenLease>& stolen) {
  const auto reason_of = [&](EventId) { return reason; };
  steal(moment, cancel_instance_, reason_of, {}, stolen, key);
}

}  // namespace duramen::inline v0::sqlite::detail
