#include "providers/sqlite/instance_removal.hpp"

#include "providers/common/unreadable_row.hpp"
#include "providers/sqlite/instance_info.hpp"
#include "providers/sqlite/json_list.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

namespace {

/// Deletes the rows of all instances in a list from a table.
std::string erase_from(const std::string& table, const std::string& column = "instance_key") {
  return "DELETE FROM duramen_" + table + " WHERE " + column + " IN (SELECT value FROM json_each(?))";
}

}  // namespace

/// An instance and its descendants.
struct InstanceRemoval::Family {
  std::vector<std::uint64_t> keys;
  std::vector<ChangedInstance> members;
  std::uint64_t events = 0;  ///< of their current executions

  [[nodiscard]] bool finished() const {
    return std::ranges::all_of(members,
                               [](const ChangedInstance& member) { return is_final(member.status); });
  }
};

InstanceRemoval::InstanceRemoval(Connection& connection, StolenLeases& stolen_leases)
    : stolen_leases_(stolen_leases),
      // A deleted parent does not count.
      root_(
          connection,
          "SELECT i.key, EXISTS (SELECT 1 FROM duramen_instances p WHERE p.key = i.parent_key), i.execution "
          "FROM duramen_instances i WHERE i.instance_id = ?"),
      family_(connection,
              "WITH RECURSIVE family (key) AS (VALUES (?) UNION "
              "SELECT c.key FROM family JOIN duramen_instances c INDEXED BY duramen_instances_by_parent "
              "ON c.parent_key = family.key WHERE c.parent_key IS NOT NULL) "
              "SELECT i.key, i.instance_id, i.status, i.last_event_id "
              "FROM family CROSS JOIN duramen_instances i ON i.key = family.key"),
      past_executions_(connection,
                       "SELECT count(*), coalesce(sum(last_event_id), 0) FROM duramen_executions "
                       "WHERE instance_key IN (SELECT value FROM json_each(?))"),
      leases_(connection,
              "SELECT instance_key, execution, activity, lease_token, lease_until, lease_owner FROM "
              "duramen_worker_queue "
              "WHERE instance_key IN (SELECT value FROM json_each(?1)) AND lease_token IS NOT NULL "
              "AND lease_until > ?2"),
      erase_work_(connection, erase_from("worker_queue")),
      erase_messages_(connection, erase_from("queue")),
      erase_received_(connection, erase_from("received_messages")),
      erase_key_values_(connection, erase_from("key_values")),
      erase_history_(connection, erase_from("history")),
      erase_executions_(connection, erase_from("executions")),
      erase_instances_(connection, erase_from("instances", "key")),
      prunable_(connection,
                "SELECT execution, last_event_id FROM duramen_executions "
                "WHERE instance_key = ? AND execution <= ? AND ended_at < ?"),
      prune_history_(connection,
                     "DELETE FROM duramen_history WHERE instance_key = ? AND execution IN (SELECT value FROM "
                     "json_each(?))"),
      prune_executions_(connection,
                        "DELETE FROM duramen_executions WHERE instance_key = ? AND execution IN (SELECT "
                        "value FROM json_each(?))") {}

InstanceRemoval::Family InstanceRemoval::family_of(std::uint64_t root) {
  Family family;
  Cursor run = family_.run(root);
  while (run.step()) {
    family.keys.push_back(run.number(0));
    family.members.push_back({InstanceId{run.text(1)}, providers::status_or_running(run.text(2)), {}});
    family.events += run.number(3);
  }
  return family;
}

DeleteResult InstanceRemoval::remove(const TransactionTime& time, const InstanceId& root, DeleteMode mode,
                                     providers::Notices& notices) {
  std::uint64_t key = 0;
  {
    Cursor run = root_.run(root.value);
    if (!run.step()) return {.outcome = DeleteOutcome::not_found};
    if (run.integer(1) != 0) return {.outcome = DeleteOutcome::has_parent};
    key = run.number(0);
  }
  Family family = family_of(key);
  if (mode == DeleteMode::finished && !family.finished()) return {.outcome = DeleteOutcome::not_finished};

  const std::string keys = json_list(family.keys);
  DeleteResult result{
      .instances = family.keys.size(), .executions = family.keys.size(), .events = family.events};
  {
    Cursor run = past_executions_.run(keys);
    run.step();
    result.executions += run.number(0);
    result.events += run.number(1);
  }
  steal_leases(time, keys, notices);
  result.messages = static_cast<std::uint64_t>(erase_work_.execute(keys) + erase_messages_.execute(keys));
  erase_received_.execute(keys);
  erase_key_values_.execute(keys);
  erase_history_.execute(keys);
  erase_executions_.execute(keys);
  erase_instances_.execute(keys);
  std::ranges::move(family.members, std::back_inserter(notices.instances));
  return result;
}

void InstanceRemoval::steal_leases(const TransactionTime& time, const std::string& keys,
                                   providers::Notices& notices) {
  Cursor run = leases_.run(keys, time.lease_now);
  while (run.step()) {
    const ActivityKey key{Incarnation{run.number(0)}, ExecutionId{run.number(1)}, EventId{run.number(2)}};
    StolenLease lease{.owner = NodeId{run.text(5)},
                      .lease = {key, LeaseToken{run.number(3)}},
                      .reason = CancelReason::instance_deleted};
    stolen_leases_.add(time, lease, run.integer(4), {});
    notices.stolen.push_back(std::move(lease));
  }
}

PruneResult InstanceRemoval::prune(const InstanceId& instance, const PruneOptions& options) {
  std::uint64_t key = 0;
  std::int64_t last_to_go = std::numeric_limits<std::int64_t>::max();
  {
    Cursor run = root_.run(instance.value);
    if (!run.step()) return {};
    key = run.number(0);
    // The current execution has no row in `executions`, but it counts.
    if (options.keep_last) last_to_go = run.integer(2) - std::max<std::int64_t>(*options.keep_last, 1);
  }
  const std::int64_t ended_before =
      options.ended_before ? to_unix_ms(*options.ended_before) : std::numeric_limits<std::int64_t>::max();
  PruneResult result{.found = true};
  std::vector<std::uint64_t> executions;
  {
    Cursor run = prunable_.run(key, last_to_go, ended_before);
    while (run.step()) {
      executions.push_back(run.number(0));
      result.events += run.number(1);
    }
  }
  if (executions.empty()) return result;
  result.executions = executions.size();
  const std::string list = json_list(executions);
  prune_history_.execute(key, list);
  prune_executions_.execute(key, list);
  return result;
}

}  // namespace duramen::inline v0::sqlite::detail
