// The part of the Provider interface that manages a store: sessions, sweeping, finding, removing, counting.
#include "providers/common/inbox.hpp"
#include "providers/common/message_subject.hpp"
#include "providers/common/retry_details.hpp"
#include "providers/common/unreadable_row.hpp"
#include "providers/postgres/encoding.hpp"
#include "providers/postgres/error.hpp"
#include "providers/postgres/instance_info.hpp"
#include "providers/postgres/instance_list.hpp"
#include "providers/postgres/provider.hpp"
#include "providers/postgres/schema.hpp"
#include "providers/postgres/turn_columns.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace duramen::inline v0::postgres::detail {

// -- sessions and sweeping ------------------------------------------------------------------------

Result<std::size_t> PostgresProvider::renew_sessions(std::span<const std::string> owners, Duration extend,
                                                     Duration idle_timeout) {
  return guarded("renew_sessions", [&]() -> Result<std::size_t> {
    if (owners.empty()) return std::size_t{0};
    TextColumn names;
    for (const std::string& owner : owners) names.add(owner);
    Parameters parameters;
    parameters.number(transaction_time().lease_now)
        .add(std::move(names))
        .number(whole(extend))
        .number(whole(idle_timeout));
    return static_cast<std::size_t>(run(queries_.renew_sessions, parameters).number(0, 0));
  });
}

Result<std::size_t> PostgresProvider::release_sessions(const std::string& owner) {
  return guarded("release_sessions", [&]() -> Result<std::size_t> {
    Parameters parameters;
    parameters.number(transaction_time().lease_now).text(owner);
    const auto released = static_cast<std::size_t>(write(queries_.release_sessions, parameters).number(0, 0));
    providers::Notices notices;
    notices.activities_ready = released > 0;
    announce(notices);
    return released;
  });
}

Result<SweepResult> PostgresProvider::sweep(std::size_t limit) {
  return guarded("sweep", [&]() -> Result<SweepResult> {
    enum {
      key,
      execution,
      activity,
      kind,
      attempt,
      fence,
      instance_id,
      activity_name,
      to_start,
      to_close,
      heartbeat,
      details,
      details_encoding,
      started_at,
      owner,
      attempts_before,
      tag,
      next_due,
      more
    };
    const TransactionTime now = transaction_time();
    const std::size_t most = std::min<std::size_t>(limit, 1u << 30);
    Parameters look;
    look.number(now.now).number(now.lease_now).index(most);
    const Rows found = read(queries_.look_for_overdue, look);
    SweepResult result;
    const int last = found.count() - 1;
    result.next_due = found.optional_time(last, next_due);
    if (limit == 0 || (last == 0 && !found.flag(last, more))) return result;

    // The failure of an overdue activity is the same in all stores, so it is made here and not by the server.
    BigintColumn keys, executions, activities, fences;
    TextColumn items;
    for (int row = 0; row < last; ++row) {
      constexpr TimeoutKind kinds[] = {TimeoutKind::schedule_to_start, TimeoutKind::start_to_close,
                                       TimeoutKind::heartbeat};
      ActivityRequest work;
      work.instance = InstanceId{found.text(row, instance_id)};
      work.key = {Incarnation{found.number(row, key)}, ExecutionId{found.number(row, execution)},
                  EventId{found.number(row, activity)}};
      work.name = found.string(row, activity_name);
      work.options = {Duration{found.integer(row, to_start)}, Duration{found.integer(row, to_close)},
                      Duration{found.integer(row, heartbeat)}};
      work.tag = found.optional_string(row, tag);
      const auto attempts = static_cast<std::uint32_t>(found.integer(row, attempt));
      ActivityAck ack{.lease = {work.key, {}},
                      .instance = work.instance,
                      .completion = overdue_failure(work, kinds[found.integer(row, kind)], attempts)};
      if (attempts > 0) {
        ack.ran = {from_unix_ms(found.integer(row, started_at)),
                   static_cast<std::uint32_t>(found.integer(row, attempts_before)) + attempts,
                   NodeId{found.string(row, owner)}};
      }
      if (!found.is_null(row, details))
        ack.heartbeat = providers::retry_details(
            make_payload(found.text(row, details), found.text(row, details_encoding)));
      keys.add(work.key.incarnation.value);
      executions.add(work.key.execution.value);
      activities.add(work.key.activity.value);
      fences.add(found.number(row, fence));
      items.add(completion_json(ack));
    }
    Parameters parameters;
    parameters.number(now.now)
        .number(now.lease_now)
        .index(most)
        .add(std::move(keys))
        .add(std::move(executions));
    parameters.add(std::move(activities)).add(std::move(fences)).add(std::move(items));
    const Rows swept = write(queries_.sweep, parameters);
    result = {.overdue = swept.number(0, 0),
              .sessions_removed = swept.number(0, 2),
              .parked_dropped = swept.number(0, 1)};
    result.more =
        result.overdue >= limit || result.parked_dropped >= limit || result.sessions_removed >= limit;
    if (!swept.is_null(0, 4)) result.next_due = from_unix_ms(swept.integer(0, 4));
    providers::Notices notices;
    notices.turns_ready = result.overdue > 0;
    notices.stolen = swept.stolen_leases(0, 3);
    announce(notices);
    return result;
  });
}

// -- finding and counting -------------------------------------------------------------------------

Result<InstancePage> PostgresProvider::list_instances(const InstanceQuery& query) {
  return guarded("list_instances", [&]() -> Result<InstancePage> {
    InstancePage page;
    if (query.limit == 0) return page;
    const ListStatement statement = list_statement(query, schema_);
    const Rows rows = read(Query{{}, statement.sql}, statement.parameters);
    for (int row = 0; row < rows.count(); ++row) {
      if (page.instances.size() == query.limit) {
        page.next = page.instances.back().incarnation;
        break;
      }
      page.instances.push_back(
          read_info(rows, row, query.with_results ? Results::wanted : Results::left_out));
    }
    return page;
  });
}

Result<std::vector<ExecutionInfo>> PostgresProvider::list_executions(const InstanceId& instance) {
  return guarded("list_executions", [&]() -> Result<std::vector<ExecutionInfo>> {
    Parameters parameters;
    parameters.text(instance.value);
    const Rows rows = read(queries_.executions, parameters);
    std::vector<ExecutionInfo> executions;
    for (int row = 0; row < rows.count(); ++row) {
      ExecutionInfo& info = executions.emplace_back();
      info.execution = ExecutionId{rows.number(row, 0)};
      info.status = read_status(rows.text(row, 1), info.unreadable);
      info.version = rows.string(row, 2);
      info.last_event_id = EventId{rows.number(row, 3)};
      info.started_at = from_unix_ms(rows.integer(row, 4));
      info.ended_at = rows.optional_time(row, 5);
      info.failure = read_failure(rows, row, 6, info.unreadable);
      info.output = read_output(rows, row, 6);
    }
    return executions;
  });
}

Result<std::vector<InstanceInfo>> PostgresProvider::get_instance_tree(const InstanceId& root) {
  return guarded("get_instance_tree", [&]() -> Result<std::vector<InstanceInfo>> {
    Parameters parameters;
    parameters.text(root.value);
    const Rows rows = read(queries_.tree, parameters);
    std::vector<InstanceInfo> tree;
    for (int row = 0; row < rows.count(); ++row) tree.push_back(read_info(rows, row, Results::left_out));
    return tree;
  });
}

Result<PendingWork> PostgresProvider::list_pending_work(const InstanceId& instance) {
  return guarded("list_pending_work", [&]() -> Result<PendingWork> {
    const TransactionTime now = transaction_time();
    Parameters of_instance;
    of_instance.text(instance.value).number(now.now).number(now.lease_now);
    const Rows row = read(queries_.pending_instance, of_instance);
    PendingWork pending;
    if (row.count() == 0) return pending;
    pending.leased = row.flag(0, 1);
    pending.not_before = from_unix_ms(row.integer(0, 2));
    pending.attempt = static_cast<std::uint32_t>(row.integer(0, 3));
    const TimePoint last_turn = from_unix_ms(row.integer(0, 4));

    Parameters of_activities;
    of_activities.number(row.integer(0, 0)).number(now.now).number(now.lease_now);
    const Rows activities = read(queries_.pending_activities, of_activities);
    for (int i = 0; i < activities.count(); ++i) {
      pending.activities.push_back({.execution = ExecutionId{activities.number(i, 0)},
                                    .activity = EventId{activities.number(i, 1)},
                                    .name = activities.string(i, 2),
                                    .tag = activities.optional_string(i, 3),
                                    .session_id = activities.optional_string(i, 4),
                                    .visible_at = from_unix_ms(activities.integer(i, 5)),
                                    .attempt = static_cast<std::uint32_t>(activities.integer(i, 6)),
                                    .owner = NodeId{activities.string(i, 7)}});
    }

    Parameters of_messages;
    of_messages.number(row.integer(0, 0)).number(static_cast<std::int64_t>(PendingWork::max_messages + 1));
    const Rows messages = read(queries_.pending_messages, of_messages);
    for (int i = 0; i < messages.count(); ++i) {
      pending.more_messages = pending.messages.size() == PendingWork::max_messages;
      if (pending.more_messages) break;
      PendingMessage& message = pending.messages.emplace_back();
      if (messages.is_null(i, 1)) {
        message.type = message_type(message::TimerFired{});
        message.execution = ExecutionId{messages.number(i, 4)};
        message.event =
            EventId{static_cast<std::uint64_t>(messages.integer(i, 0) - providers::first_timer_place)};
        message.visible_at = from_unix_ms(messages.integer(i, 3));
        continue;
      }
      if (const auto item = message_from_json(messages.text(i, 1), instance)) {
        message.type = message_type(*item);
        std::tie(message.execution, message.event) = providers::message_subject(*item);
        message.cancel = providers::message_cancel(*item);
      } else {
        message.unreadable = item.error().message;
      }
      // The beginning of an execution has no time of its own: the last turn sent it.
      const std::int64_t sent_at = messages.integer(i, 2);
      message.visible_at = sent_at == 0 ? last_turn : from_unix_ms(sent_at);
    }
    return pending;
  });
}

Result<SchemaVersion> PostgresProvider::schema_version() {
  return guarded("schema_version", [&]() -> Result<SchemaVersion> {
    const Pool::Loan connection = pool_.take();
    return SchemaVersion{.stored = stored_schema_version(*connection, options_.schema),
                         .known = static_cast<std::int64_t>(migrations().size())};
  });
}

Result<StoreMetrics> PostgresProvider::get_metrics() {
  return guarded("get_metrics", [&]() -> Result<StoreMetrics> {
    const Rows rows = read(queries_.metrics, {});
    StoreMetrics metrics;
    for (int row = 0; row < rows.count(); ++row) {
      metrics.executions += rows.number(row, 1);
      metrics.events += rows.number(row, 2);
      if (rows.is_null(row, 0)) continue;
      if (const auto status = parse_status(rows.text(row, 0))) {
        metrics.instances.at(static_cast<std::size_t>(*status)) += rows.number(row, 1);
      } else {
        metrics.unreadable += rows.number(row, 1);
      }
    }
    return metrics;
  });
}

Result<InstanceCount> PostgresProvider::count_instances(Incarnation after, std::size_t limit) {
  return guarded("count_instances", [&]() -> Result<InstanceCount> {
    InstanceCount count;
    const std::uint64_t most = std::min<std::size_t>(limit, 1u << 30);
    Parameters parameters;
    parameters.number(static_cast<std::int64_t>(after.value)).number(static_cast<std::int64_t>(most));
    const Rows rows = read(queries_.count_instances, parameters);
    Incarnation last;
    std::uint64_t counted = 0;
    for (int row = 0; row < rows.count(); ++row) {
      counted += rows.number(row, 1);
      last = std::max(last, Incarnation{rows.number(row, 2)});
      if (const auto status = parse_status(rows.text(row, 0))) {
        count.instances.at(static_cast<std::size_t>(*status)) += rows.number(row, 1);
      }
    }
    if (counted > 0 && counted == most) count.next = last;
    return count;
  });
}

Result<QueueDepths> PostgresProvider::get_queue_depths() {
  return guarded("get_queue_depths", [&]() -> Result<QueueDepths> {
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now).number(now.lease_now);
    const Rows rows = read(queries_.depths, parameters);
    return QueueDepths{.orchestrator_due = rows.number(0, 0),
                       .orchestrator_later = rows.number(0, 1),
                       .orchestrator_leased = rows.number(0, 2),
                       .worker_due = rows.number(0, 3),
                       .worker_later = rows.number(0, 4),
                       .worker_leased = rows.number(0, 5),
                       .parked = rows.number(0, 6),
                       .sessions = rows.number(0, 7)};
  });
}

// -- removing -------------------------------------------------------------------------------------

Result<std::vector<DeleteResult>> PostgresProvider::delete_instances(std::span<const InstanceId> instances,
                                                                     DeleteMode mode) {
  return guarded("delete_instances", [&]() -> Result<std::vector<DeleteResult>> {
    std::vector<DeleteResult> results;
    if (instances.empty()) return results;
    TextColumn ids;
    for (const InstanceId& instance : instances) ids.add(instance.value);
    Parameters parameters;
    parameters.number(transaction_time().lease_now).add(std::move(ids)).flag(mode == DeleteMode::force);
    const Rows rows = write(queries_.delete_instances, parameters);
    providers::Notices notices;
    for (int row = 0; row < rows.count(); ++row) {
      if (rows.is_null(row, 0)) {
        notices.stolen = rows.stolen_leases(row, 7);
        continue;
      }
      results.push_back({.outcome = static_cast<DeleteOutcome>(rows.integer(row, 0)),
                         .instances = rows.number(row, 1),
                         .executions = rows.number(row, 2),
                         .events = rows.number(row, 3),
                         .messages = rows.number(row, 4)});
      const auto gone = rows.texts(row, 5);
      const auto statuses = rows.texts(row, 6);
      for (std::size_t i = 0; i < gone.size(); ++i) {
        notices.instances.push_back({InstanceId{gone[i]}, providers::status_or_running(statuses.at(i))});
      }
    }
    announce(notices);
    return results;
  });
}

Result<std::vector<PruneResult>> PostgresProvider::prune_executions(std::span<const InstanceId> instances,
                                                                    const PruneOptions& options) {
  return guarded("prune_executions", [&]() -> Result<std::vector<PruneResult>> {
    if (!options.keep_last && !options.ended_before) {
      return Error{ErrorCode::invalid_argument, "prune_executions",
                   "no executions to remove were chosen; give keep_last, ended_before or both", false};
    }
    std::vector<PruneResult> results;
    if (instances.empty()) return results;
    TextColumn ids;
    for (const InstanceId& instance : instances) ids.add(instance.value);
    Parameters parameters;
    parameters.add(std::move(ids));
    parameters.number(options.keep_last ? std::optional<std::int64_t>(*options.keep_last) : std::nullopt);
    parameters.number(options.ended_before ? std::optional(to_unix_ms(*options.ended_before)) : std::nullopt);
    const Rows rows = write(queries_.prune_executions, parameters);
    for (int row = 0; row < rows.count(); ++row) {
      results.push_back(
          {.found = rows.flag(row, 0), .executions = rows.number(row, 1), .events = rows.number(row, 2)});
    }
    return results;
  });
}

}  // namespace duramen::inline v0::postgres::detail
