// The part of the Provider interface that manages a store: sessions, sweeping, finding, removing, counting.
#include "providers/common/node_json.hpp"
#include "providers/sqlite/error.hpp"
#include "providers/sqlite/provider.hpp"
#include "providers/sqlite/schema.hpp"

#include <utility>

namespace duramen::inline v0::sqlite::detail {

// -- sessions and sweeping ------------------------------------------------------------------------

Result<std::size_t> SqliteProvider::renew_sessions(std::span<const std::string> owners, Duration extend,
                                                   Duration idle_timeout) {
  return guarded("renew_sessions", [&]() -> Result<std::size_t> {
    if (owners.empty()) return std::size_t{0};
    return writer_.write(CommitSync::lease_only, [&](const TransactionTime& time) {
      return tables_.sessions.renew(time, owners, extend, idle_timeout);
    });
  });
}

Result<std::size_t> SqliteProvider::release_sessions(const std::string& owner) {
  return guarded("release_sessions", [&]() -> Result<std::size_t> {
    const std::size_t released = writer_.write(CommitSync::lease_only, [&](const TransactionTime& time) {
      return tables_.sessions.release(time, owner);
    });
    providers::Notices notices;
    notices.activities_ready = released > 0;
    announce(notices);
    return released;
  });
}

Result<SweepResult> SqliteProvider::sweep(std::size_t limit) {
  return guarded("sweep", [&]() -> Result<SweepResult> {
    SweepResult result;
    const bool any = writer_.read([&](const TransactionTime& time) {
      result.next_due = tables_.overdue.next(time);
      return (result.next_due && to_unix_ms(*result.next_due) <= time.now) ||
             tables_.parked.any_expired(time) || tables_.sessions.any_orphaned(time);
    });
    if (!any || limit == 0) return result;
    providers::Notices notices;
    result = writer_.write(CommitSync::durable, [&](const TransactionTime& time) {
      SweepResult swept;
      swept.overdue = tables_.overdue.fail(time, limit, notices);
      swept.parked_dropped = tables_.parked.drop_expired(time, limit);
      swept.sessions_removed = tables_.sessions.remove_orphaned(time, limit);
      swept.more = swept.overdue == limit || swept.parked_dropped == limit || swept.sessions_removed == limit;
      swept.next_due = tables_.overdue.next(time);
      return swept;
    });
    announce(notices);
    return result;
  });
}

// -- nodes ----------------------------------------------------------------------------------------

Result<void> SqliteProvider::write_node(const NodeRecord& record) {
  return guarded("write_node", [&]() -> Result<void> {
    if (Result<void> ok = providers::check_node_id(record.node); !ok) return ok;
    writer_.write(CommitSync::lease_only, [&](const TransactionTime& time) {
      tables_.nodes.write(time, record);
      return true;
    });
    return {};
  });
}

Result<void> SqliteProvider::remove_node(const NodeId& node, const std::string& run) {
  return guarded("remove_node", [&]() -> Result<void> {
    writer_.write(CommitSync::lease_only, [&](const TransactionTime&) {
      tables_.nodes.remove(node, run);
      return true;
    });
    return {};
  });
}

Result<std::vector<NodeRecord>> SqliteProvider::list_nodes() {
  return guarded("list_nodes", [&]() -> Result<std::vector<NodeRecord>> {
    return writer_.read([&](const TransactionTime& time) { return tables_.nodes.list(time); });
  });
}

Result<std::uint32_t> SqliteProvider::get_write_level() {
  return guarded("get_write_level", [&]() -> Result<std::uint32_t> {
    return writer_.read([&](const TransactionTime&) { return tables_.nodes.write_level(); });
  });
}

Result<WriteLevelRaise> SqliteProvider::raise_write_level(std::uint32_t level, Duration live_within) {
  return guarded("raise_write_level", [&]() -> Result<WriteLevelRaise> {
    return writer_.write(CommitSync::durable, [&](const TransactionTime& time) {
      return tables_.nodes.raise(time, level, live_within);
    });
  });
}

// -- finding and counting -------------------------------------------------------------------------

Result<InstancePage> SqliteProvider::list_instances(const InstanceQuery& query) {
  return guarded("list_instances", [&]() -> Result<InstancePage> {
    return read([&](Views& views) { return views.list.page(query); });
  });
}

Result<std::vector<ExecutionInfo>> SqliteProvider::list_executions(const InstanceId& instance) {
  return guarded("list_executions", [&]() -> Result<std::vector<ExecutionInfo>> {
    return read([&](Views& views) { return views.list.executions(instance); });
  });
}

Result<std::vector<InstanceInfo>> SqliteProvider::get_instance_tree(const InstanceId& root) {
  return guarded("get_instance_tree", [&]() -> Result<std::vector<InstanceInfo>> {
    return read([&](Views& views) { return views.list.tree(root); });
  });
}

Result<PendingWork> SqliteProvider::list_pending_work(const InstanceId& instance) {
  return guarded("list_pending_work", [&]() -> Result<PendingWork> {
    const TransactionTime time = writer_.transaction_time();
    return read([&](Views& views) { return views.pending.of(time, instance); });
  });
}

Result<StoreMetrics> SqliteProvider::get_metrics() {
  return guarded("get_metrics", [&]() -> Result<StoreMetrics> {
    return count([&](StoreCounts& counts) { return counts.metrics(); });
  });
}

Result<InstanceCount> SqliteProvider::count_instances(Incarnation after, std::size_t limit) {
  return guarded("count_instances", [&]() -> Result<InstanceCount> {
    return count([&](StoreCounts& counts) { return counts.instances(after, limit); });
  });
}

Result<SchemaVersion> SqliteProvider::schema_version() {
  return guarded("schema_version", [&]() -> Result<SchemaVersion> {
    return writer_.read([&](const TransactionTime&) {
      return SchemaVersion{.stored = stored_schema_version(tables_.connection),
                           .known = static_cast<std::int64_t>(migrations().size())};
    });
  });
}

Result<QueueDepths> SqliteProvider::get_queue_depths() {
  return guarded("get_queue_depths", [&]() -> Result<QueueDepths> {
    const TransactionTime time = writer_.transaction_time();
    return count([&](StoreCounts& counts) { return counts.depths(time); });
  });
}

// -- removing -------------------------------------------------------------------------------------

Result<std::vector<DeleteResult>> SqliteProvider::delete_instances(std::span<const InstanceId> instances,
                                                                   DeleteMode mode) {
  return guarded("delete_instances", [&]() -> Result<std::vector<DeleteResult>> {
    if (instances.empty()) return std::vector<DeleteResult>{};
    providers::Notices notices;
    auto results = writer_.write(CommitSync::durable, [&](const TransactionTime& time) {
      std::vector<DeleteResult> deleted;
      deleted.reserve(instances.size());
      for (const InstanceId& instance : instances) {
        deleted.push_back(tables_.removal.remove(time, instance, mode, notices));
      }
      return deleted;
    });
    announce(notices);
    return results;
  });
}

Result<std::vector<PruneResult>> SqliteProvider::prune_executions(std::span<const InstanceId> instances,
                                                                  const PruneOptions& options) {
  return guarded("prune_executions", [&]() -> Result<std::vector<PruneResult>> {
    if (!options.keep_last && !options.ended_before) {
      return Error{ErrorCode::invalid_argument, "prune_executions",
                   "no executions to remove were chosen; give keep_last, ended_before or both", false};
    }
    if (instances.empty()) return std::vector<PruneResult>{};
    auto results = writer_.write(CommitSync::durable, [&](const TransactionTime&) {
      std::vector<PruneResult> pruned;
      pruned.reserve(instances.size());
      for (const InstanceId& instance : instances) pruned.push_back(tables_.removal.prune(instance, options));
      return pruned;
    });
    writer_.limit_wal();
    return results;
  });
}

}  // namespace duramen::inline v0::sqlite::detail
