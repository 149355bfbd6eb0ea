#include "providers/sqlite/orchestrator_queue.hpp"

#include "providers/common/unreadable_messages.hpp"
#include "providers/common/unreadable_row.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {}  // namespace

OrchestratorQueue::OrchestratorQueue(Connection& connection)
    : insert_(connection,
              "INSERT INTO orchestrator_queue (instance_key, visible_at, attempt, execution, event_id, item) "
              "VALUES (?, ?, 0, ?, ?, ?)"),
      receive_(
          connection,
          "INSERT INTO received_messages (instance_key, message_id) VALUES (?, ?) ON CONFLICT DO NOTHING"),
      has_received_(connection, "SELECT 1 FROM received_messages WHERE instance_key = ? AND message_id = ?"),
      first_visible_at_(connection,
                        "SELECT visible_at FROM orchestrator_queue WHERE instance_key = ? "
                        "ORDER BY visible_at LIMIT 1"),
      earliest_(connection, "SELECT min(visible_at) FROM orchestrator_queue"),
      next_due_(connection, "SELECT min(visible_at) FROM orchestrator_queue WHERE visible_at > ?"),
      candidates_(connection,
                  "SELECT q.instance_key, i.instance_id, i.name, i.version, i.status, i.execution, "
                  "i.last_event_id, i.engine_version, i.lease_token, i.lease_until, i.not_before, "
                  "i.has_key_values "
                  "FROM orchestrator_queue q INDEXED BY orchestrator_queue_by_time "
                  "CROSS JOIN instances i ON i.key = q.instance_key "
                  "WHERE q.visible_at <= ? ORDER BY q.visible_at, q.id"),
      messages_(connection,
                "SELECT attempt, item, id FROM orchestrator_queue WHERE instance_key = ? AND visible_at <= ? "
                "ORDER BY visible_at, id"),
      tag_(connection,
           "UPDATE orchestrator_queue SET attempt = attempt + 1, lease_token = ?3 "
           "WHERE instance_key = ?1 AND visible_at <= ?2"),
      release_(connection,
               "UPDATE orchestrator_queue SET lease_token = NULL, attempt = max(attempt - ?3, 0) "
               "WHERE instance_key = ?1 AND lease_token = ?2"),
      erase_fetched_(connection, "DELETE FROM orchestrator_queue WHERE instance_key = ? AND lease_token = ?"),
      erase_timer_(
          connection,
          "DELETE FROM orchestrator_queue WHERE instance_key = ? AND execution = ? AND event_id = ?"),
      erase_timers_(connection,
                    "DELETE FROM orchestrator_queue "
                    "WHERE instance_key = ? AND execution = ? AND event_id IS NOT NULL"),
      erase_all_(connection, "DELETE FROM orchestrator_queue WHERE instance_key = ?"),
      erase_received_(connection, "DELETE FROM received_messages WHERE instance_key = ?") {}

void OrchestratorQueue::insert(const TransactionTime& time, Incarnation key, const InstanceId& target,
                               const MessageBody& item, TimePoint visible_at, providers::Notices& notices) {
  const std::string json = to_json(item, target);
  const auto* timer = std::get_if<message::TimerFired>(&item);
  if (timer == nullptr) return insert(time, key, json, to_unix_ms(visible_at), notices);
  const std::int64_t when = std::max(to_unix_ms(visible_at), time.now);
  insert_.execute(key.value, when, timer->execution.value, timer->id.value, json);
  note_due(time, when, notices);
}

void OrchestratorQueue::insert(const TransactionTime& time, Incarnation key, std::string_view item,
                               std::int64_t visible_at, providers::Notices& notices) {
  const std::int64_t when = std::max(visible_at, time.now);
  insert_.execute(key.value, when, std::nullopt, std::nullopt, item);
  note_due(time, when, notices);
}

void OrchestratorQueue::note_due(const TransactionTime& time, std::int64_t visible_at,
                                 providers::Notices& notices) const {
  if (visible_at <= time.now || visible_at < reported_due_) notices.turns_ready = true;
}

bool OrchestratorQueue::receive(Incarnation key, std::string_view message_id) {
  return receive_.execute(key.value, message_id) == 1;
}

bool OrchestratorQueue::has_received(Incarnation key, std::string_view message_id) {
  return has_received_.run(key.value, message_id).step();
}

std::optional<std::int64_t> OrchestratorQueue::first_visible_at(Incarnation key) {
  Cursor run = first_visible_at_.run(key.value);
  return run.step() ? std::optional(run.integer(0)) : std::nullopt;
}

bool OrchestratorQueue::any_visible(const TransactionTime& time, std::optional<TimePoint>& next_due) {
  Cursor run = earliest_.run();
  const bool empty = !run.step() || run.is_null(0);
  if (!empty && run.integer(0) <= time.now) return true;
  reported_due_ = empty ? std::numeric_limits<std::int64_t>::max() : run.integer(0);
  if (!empty) next_due = from_unix_ms(reported_due_);
  return false;
}

std::optional<TimePoint> OrchestratorQueue::next_due(const TransactionTime& time) {
  Cursor run = next_due_.run(time.now);
  if (!run.step() || run.is_null(0)) return std::nullopt;
  return from_unix_ms(run.integer(0));
}

void OrchestratorQueue::load_messages(const TransactionTime& time, LeasedInstance& item) {
  providers::UnreadableMessages unreadable;
  Cursor run = messages_.run(item.incarnation.value, time.now);
  while (run.step()) {
    const auto attempt = static_cast<std::uint32_t>(run.integer(0)) + 1;
    item.attempt = std::max(item.attempt, attempt);
    auto message = message_from_json(run.text(1), item.instance);
    if (message) {
      item.messages.push_back({std::move(*message), attempt});
    } else {
      unreadable.add(run.integer(2), message.error().message);
    }
  }
  item.unreadable = unreadable.description();
  unreadable_ += unreadable.count();
}

namespace {

/// Once a turn has resolved the version, the node must have exactly that version.
bool has_handler(const TurnFetch& request, std::string_view name, std::string_view version, bool resolved) {
  if (!request.orchestrations) return true;
  return std::ranges::any_of(*request.orchestrations, [&](const RegisteredOrchestration& known) {
    return known.name == name && (!resolved || known.versions.empty() ||
                                  std::ranges::find(known.versions, version) != known.versions.end());
  });
}

}  // namespace

TurnBatch OrchestratorQueue::fetch(const TransactionTime& time, const TurnFetch& request,
                                   Instances& instances, KeyValueTable& key_values,
                                   const std::function<LeaseToken()>& new_token) {
  TurnBatch batch;
  batch.next_due = next_due(time);
  // Other times that this fetch may find concern only its own node and handlers.
  reported_due_ = batch.next_due ? to_unix_ms(*batch.next_due) : std::numeric_limits<std::int64_t>::max();
  std::unordered_set<std::uint64_t> seen;
  {
    Cursor run = candidates_.run(time.now);
    while (batch.items.size() < request.limit && run.step()) {
      if (!seen.insert(run.number(0)).second) continue;
      const bool leased = !run.is_null(8) && run.integer(9) > time.lease_now;
      const Status status = providers::status_or_running(run.text(4));
      // An execution without a turn is not pinned to a version yet.
      const bool pinned = status != Status::pending && status != Status::continued_as_new;
      if (!has_handler(request, run.text(2), run.text(3), pinned)) continue;
      const std::int64_t engine = run.integer(7);
      if (pinned && (engine < request.min_engine_version || engine > request.max_engine_version)) continue;
      if (leased || run.integer(10) > time.now) {
        batch.next_due =
            earlier(batch.next_due, leased ? time.wall_time(run.integer(9)) : from_unix_ms(run.integer(10)));
        continue;
      }

      LeasedInstance item{.instance = InstanceId{run.text(1)},
                          .incarnation = Incarnation{run.number(0)},
                          .execution = ExecutionId{run.number(5)},
                          .status = status,
                          .name = run.string(2),
                          .version = run.string(3),
                          .last_event_id = EventId{run.number(6)}};
      load_messages(time, item);
      const bool retried = item.attempt > 1;
      // An instance that was handed out before and not finished may have crashed its node. It is handed out
      // alone, when it is the longest waiting; until then the instances behind it go first.
      if (retried && !batch.items.empty()) continue;
      if (run.integer(11) != 0) item.key_values = key_values.settled(item.incarnation);
      batch.items.push_back(std::move(item));
      if (retried) break;
    }
  }

  const std::int64_t until = time.lease_end(request.lease);
  for (LeasedInstance& item : batch.items) {
    item.lease = new_token();
    item.lease_until = TransactionTime::lease_time(until);
    instances.take_lease(item.incarnation, item.lease, until);
    tag_.execute(item.incarnation.value, time.now, item.lease.value);
  }
  return batch;
}

void OrchestratorQueue::release(Incarnation key, LeaseToken token, bool count_attempt) {
  release_.execute(key.value, token.value, count_attempt ? 0 : 1);
}

void OrchestratorQueue::erase_fetched(Incarnation key, LeaseToken token) {
  erase_fetched_.execute(key.value, token.value);
}

void OrchestratorQueue::erase_timer(Incarnation key, ExecutionId execution, EventId timer) {
  erase_timer_.execute(key.value, execution.value, timer.value);
}

void OrchestratorQueue::erase_timers(Incarnation key, ExecutionId execution) {
  erase_timers_.execute(key.value, execution.value);
}

void OrchestratorQueue::erase_all(Incarnation key) { erase_all_.execute(key.value); }

void OrchestratorQueue::erase_received(Incarnation key) { erase_received_.execute(key.value); }

}  // namespace duramen::inline v0::sqlite::detail
