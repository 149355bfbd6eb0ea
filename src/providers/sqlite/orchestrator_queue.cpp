#include "providers/sqlite/orchestrator_queue.hpp"

#include "providers/common/inbox.hpp"
#include "providers/sqlite/json_list.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>

namespace duramen::inline v0::sqlite::detail {

namespace {

using providers::first_timer_place;

// Up to here one statement per deleted row is cheaper than a list.
constexpr std::size_t erase_one_by_one = 4;

/// Replaces a timer that is there already, which may be the entry of its instance and stays it.
const char* timer_insertion() {
  if (duramen::detail::mutant("a_timer_sent_again_is_no_entry")) {
    return "INSERT OR REPLACE INTO duramen_queue (instance_key, place, fire_at, execution, due_at) "
           "VALUES (?1, ?2, ?3, ?4, ?3)";
  }
  return "INSERT INTO duramen_queue (instance_key, place, fire_at, execution, due_at) "
         "VALUES (?1, ?2, ?3, ?4, ?3) ON CONFLICT (instance_key, place) DO UPDATE "
         "SET fire_at = excluded.fire_at, execution = excluded.execution, "
         "due_at = CASE WHEN capability IS NULL THEN excluded.due_at END";
}

}  // namespace

OrchestratorQueue::OrchestratorQueue(Connection& connection, NumberAllocator& numbers)
    : numbers_(numbers),
      insert_(connection,
              "INSERT INTO duramen_queue (instance_key, place, sent_at, due_at, capability, ready_at, "
              "ready_no, item) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
      insert_timer_(connection, timer_insertion()),
      last_(connection,
            "SELECT place, sent_at FROM duramen_queue WHERE instance_key = ? AND place < ? "
            "ORDER BY place DESC LIMIT 1"),
      first_(connection,
             "SELECT place, due_at IS NOT NULL FROM duramen_queue "
             "WHERE instance_key = ? ORDER BY place LIMIT 1"),
      first_timer_(connection,
                   "SELECT place, due_at IS NULL FROM duramen_queue INDEXED BY duramen_queue_timers "
                   "WHERE instance_key = ? AND fire_at IS NOT NULL ORDER BY fire_at, place LIMIT 1"),
      due_timer_(connection,
                 "SELECT 1 FROM duramen_queue INDEXED BY duramen_queue_timers "
                 "WHERE instance_key = ? AND fire_at <= ? LIMIT 1"),
      item_at_(connection, "SELECT item FROM duramen_queue WHERE instance_key = ? AND place = ?"),
      set_entry_(connection,
                 "UPDATE duramen_queue SET capability = ?3, ready_at = ?4, ready_no = ?5 "
                 "WHERE instance_key = ?1 AND place = ?2"),
      clear_entry_(connection,
                   "UPDATE duramen_queue SET capability = NULL, ready_at = NULL, ready_no = NULL, "
                   "due_at = fire_at WHERE instance_key = ? AND place = ?"),
      watch_(connection, "UPDATE duramen_queue SET due_at = fire_at WHERE instance_key = ? AND place = ?"),
      update_capability_(connection,
                         "UPDATE duramen_queue SET capability = ?3 "
                         "WHERE instance_key = ?1 AND place = ?2 AND capability IS NOT NULL"),
      release_(connection,
               "UPDATE duramen_queue SET ready_at = ?2, ready_no = ?3 WHERE instance_key = ?1 "
               "AND place = (SELECT entry_place FROM duramen_instances WHERE key = ?1) "
               "AND capability IS NOT NULL"),
      erase_one_(connection, "DELETE FROM duramen_queue WHERE instance_key = ? AND place = ?"),
      erase_list_(connection,
                  "DELETE FROM duramen_queue WHERE instance_key = ? "
                  "AND place IN (SELECT value FROM json_each(?))"),
      erase_timers_(connection,
                    "DELETE FROM duramen_queue WHERE instance_key = ? AND place >= ? AND execution = ?"),
      erase_all_(connection, "DELETE FROM duramen_queue WHERE instance_key = ?"),
      receive_(connection,
               "INSERT INTO duramen_received_messages (instance_key, message_id) VALUES (?, ?) "
               "ON CONFLICT DO NOTHING"),
      has_received_(connection,
                    "SELECT 1 FROM duramen_received_messages WHERE instance_key = ? AND message_id = ?"),
      erase_received_(connection, "DELETE FROM duramen_received_messages WHERE instance_key = ?") {}

void OrchestratorQueue::insert_start(const TransactionTime& time, const InstanceRow& instance,
                                     std::string_view item, std::optional<std::int64_t> due_at,
                                     providers::Notices& notices) {
  if (due_at && *due_at > time.now) {
    insert_.execute(instance.key.value, start_place, 0, due_at, std::nullopt, std::nullopt, std::nullopt,
                    item);
    if (*due_at < reported_due_) notices.turns_ready = true;
    return;
  }
  insert_.execute(instance.key.value, start_place, 0, std::nullopt, instance.capability(), time.lease_now,
                  numbers_.next(), item);
  made_entry_ = true;
  notices.turns_ready = true;
}

std::int64_t OrchestratorQueue::append(const TransactionTime& time, const InstanceRow& target,
                                       std::string_view item, std::int64_t sent_at,
                                       providers::Notices& notices) {
  std::int64_t place = start_place;
  bool first = true;
  {
    Cursor run = last_.run(target.key.value, first_timer_place);
    if (run.step()) {
      first = false;
      place = run.integer(0) + 1;
      sent_at = std::max(sent_at, run.integer(1));
    }
  }
  // A queued message means that there is an entry, or a delayed start that is not due.
  if (first && !target.entry_place) {
    insert_.execute(target.key.value, place, sent_at, std::nullopt, target.capability(), time.lease_now,
                    numbers_.next(), item);
    made_entry_ = true;
  } else {
    insert_.execute(target.key.value, place, sent_at, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                    item);
  }
  notices.turns_ready = true;
  return place;
}

std::optional<std::int64_t> OrchestratorQueue::first_place(Incarnation key) {
  Cursor run = first_.run(key.value);
  return run.step() && run.integer(0) < first_timer_place ? std::optional(run.integer(0)) : std::nullopt;
}

std::int64_t OrchestratorQueue::first_free_places(Incarnation key, std::size_t count) {
  return first_place(key).value_or(start_place) - static_cast<std::int64_t>(count);
}

void OrchestratorQueue::insert_at(Incarnation key, std::int64_t place, std::string_view item) {
  insert_.execute(key.value, place, 0, std::nullopt, std::nullopt, std::nullopt, std::nullopt, item);
}

void OrchestratorQueue::prepend(const TransactionTime& time, const InstanceRow& target,
                                const std::string& item, providers::Notices& notices) {
  const std::optional<std::int64_t> old_entry = first_place(target.key);
  insert_at(target.key, first_free_places(target.key, 1), item);
  if (!target.entry_place) (void)promote(time, target, old_entry);
  notices.turns_ready = true;
}

void OrchestratorQueue::insert_timer(const TransactionTime& time, Incarnation key,
                                     const message::TimerFired& timer, providers::Notices& notices) {
  const std::int64_t when = to_unix_ms(timer.fire_at);
  insert_timer_.execute(key.value, providers::place_of_timer(timer.id), when, timer.execution.value);
  if (when <= time.now || when < reported_due_) notices.turns_ready = true;
}

bool OrchestratorQueue::receive(Incarnation key, std::string_view message_id) {
  return receive_.execute(key.value, message_id) == 1;
}

bool OrchestratorQueue::has_received(Incarnation key, std::string_view message_id) {
  return has_received_.run(key.value, message_id).step();
}

bool OrchestratorQueue::any_takeable(const TransactionTime& time, Incarnation key) {
  {
    // Messages stand before timers, and most instances have neither.
    Cursor run = first_.run(key.value);
    if (!run.step()) return false;
    if (run.integer(0) < first_timer_place) return true;
  }
  return due_timer_.run(key.value, time.now).step();
}

std::optional<std::string> OrchestratorQueue::item_at(Incarnation key, std::int64_t place) {
  Cursor run = item_at_.run(key.value, place);
  return run.step() ? run.optional_string(0) : std::nullopt;
}

void OrchestratorQueue::update_capability(const InstanceRow& instance) {
  const std::optional<std::int64_t> entry =
      instance.entry_place ? instance.entry_place : first_place(instance.key);
  if (entry) update_capability_.execute(instance.key.value, *entry, instance.capability());
}

void OrchestratorQueue::release(Incarnation key, std::int64_t ready_at) {
  release_.execute(key.value, ready_at, numbers_.next());
}

bool OrchestratorQueue::promote(const TransactionTime& time, const InstanceRow& instance,
                                std::optional<std::int64_t> old_entry) {
  if (duramen::detail::mutant("a_commit_promotes_no_message")) return false;
  const std::uint64_t key = instance.key.value;
  if (old_entry) clear_entry_.execute(key, *old_entry);
  std::int64_t place = 0;
  bool waits = false;
  {
    Cursor run = first_.run(key);
    if (!run.step()) return false;
    place = run.integer(0);
    waits = run.integer(1) != 0;
  }
  if (place >= first_timer_place) {
    watch_first_timer(instance.key);
    return false;
  }
  if (waits) return false;
  set_entry_.execute(key, place, instance.capability(), time.lease_now, numbers_.next());
  made_entry_ = true;
  return true;
}

void OrchestratorQueue::watch_first_timer(Incarnation key) {
  std::int64_t place = 0;
  {
    Cursor run = first_timer_.run(key.value);
    if (!run.step() || run.integer(1) == 0) return;
    place = run.integer(0);
  }
  watch_.execute(key.value, place);
}

void OrchestratorQueue::erase(Incarnation key, std::span<const std::int64_t> places) {
  if (places.size() <= erase_one_by_one) {
    for (const std::int64_t place : places) erase_one_.execute(key.value, place);
  } else {
    erase_list_.execute(key.value, json_list(places));
  }
}

void OrchestratorQueue::erase_timer(Incarnation key, EventId timer) {
  erase_one_.execute(key.value, providers::place_of_timer(timer));
}

void OrchestratorQueue::erase_timers(Incarnation key, ExecutionId execution) {
  erase_timers_.execute(key.value, first_timer_place, execution.value);
}

void OrchestratorQueue::erase_all(Incarnation key) { erase_all_.execute(key.value); }

void OrchestratorQueue::erase_received(Incarnation key) { erase_received_.execute(key.value); }

}  // namespace duramen::inline v0::sqlite::detail
