// The part of the Provider interface that leases and acknowledges activities.
#include "providers/postgres/encoding.hpp"
#include "providers/postgres/error.hpp"
#include "providers/postgres/leased_activities.hpp"
#include "providers/postgres/message_columns.hpp"
#include "providers/postgres/provider.hpp"
#include "providers/postgres/turn_columns.hpp"

#include <optional>
#include <set>
#include <string>
#include <utility>

namespace duramen::inline v0::postgres::detail {

namespace {

// A fetch of more rows than this is worth a new plan.
constexpr std::size_t many = 1000;

/// The lanes of the worker queue that the request names; absent if it does not name them all.
std::optional<std::set<std::string>> lanes_of(const ActivityFetch& request) {
  if (!request.names || request.tags.every_tag) return std::nullopt;
  std::set<std::string> lanes;
  for (const std::string& name : *request.names) {
    if (request.tags.untagged) lanes.insert("\n" + name);
    for (const std::string& tag : request.tags.tags) lanes.insert("#" + tag + "\n" + name);
  }
  return lanes;
}

}  // namespace

Result<ActivityBatch> PostgresProvider::fetch_activities(const ActivityFetch& request) {
  return guarded("fetch_activities", [&]() -> Result<ActivityBatch> {
    const bool wants_any = request.tags != TagFilter::none() && (!request.names || !request.names->empty());
    if (!wants_any || request.limit == 0) return ActivityBatch{};
    if (!receives_announcements()) return query_activities(request);
    return empty_fetches_.ask(cache_key(request), clock(), [&] { return query_activities(request); });
  });
}

ActivityBatch PostgresProvider::query_activities(const ActivityFetch& request) {
  const LeaseTime sent = clock().lease_now();
  const TransactionTime now = transaction_time();
  Parameters parameters;
  parameters.number(now.now).number(now.lease_now).text(request.node.value).limit(request.limit);
  parameters.number(whole(request.lease)).number(new_token());
  if (const auto lanes = lanes_of(request)) {
    TextColumn column;
    for (const std::string& lane : *lanes) column.add(lane);
    parameters.add(std::move(column));
  } else {
    parameters.no_texts();
  }
  if (request.names) {
    TextColumn names;
    for (const std::string& name : *request.names) names.add(name);
    parameters.add(std::move(names));
  } else {
    parameters.no_texts();
  }
  TextColumn tags, active;
  for (const std::string& tag : request.tags.tags) tags.add(tag);
  parameters.flag(request.tags.untagged).flag(request.tags.every_tag).add(std::move(tags));
  if (request.sessions) {
    const std::set<std::string> in_hand(request.sessions->active.begin(), request.sessions->active.end());
    for (const std::string& session : in_hand) active.add(session);
    parameters.text(request.sessions->owner).number(whole(request.sessions->lease)).add(std::move(active));
    parameters.limit(request.sessions->max_active);
  } else {
    parameters.text(std::nullopt).number(0).add(std::move(active)).index(0);
  }
  parameters.number(known_version());
  const Rows rows = run(queries_.fetch_work, parameters, request.limit > many);
  ActivityBatch batch;
  for (int row = 0; row < rows.count(); ++row) {
    if (rows.is_null(row, 0)) {
      require_known_version(rows.integer(row, work_works_with));
      batch.next_due = rows.optional_time(row, work_next_due);
      if (rows.flag(row, work_left_ready)) announce({.activities_ready = true});
      heard(rows.integer(row, work_now), sent);
      continue;
    }
    LeasedActivity item = read_leased_activity(rows, row);
    item.lease_until = sent + Duration{whole(request.lease)};
    batch.items.push_back(std::move(item));
  }
  return batch;
}

void PostgresProvider::explain(const ActivityLease& lease, AckResult& result) const {
  if (result.outcome != AckOutcome::lease_lost) return;
  if (const auto reason = own_stolen_.reason(lease, clock().lease_now()))
    result = {AckOutcome::cancelled, *reason};
}

Result<std::vector<AckResult>> PostgresProvider::ack_activities(std::span<const ActivityAck> acks) {
  return guarded("ack_activities", [&]() -> Result<std::vector<AckResult>> {
    std::vector<AckResult> results;
    if (acks.empty()) return results;
    BigintColumn key, execution, activity, token;
    TextColumn item;
    for (const ActivityAck& ack : acks) {
      key.add(ack.lease.key.incarnation.value);
      execution.add(ack.lease.key.execution.value);
      activity.add(ack.lease.key.activity.value);
      token.add(ack.lease.token.value);
      item.add(completion_json(ack));
    }
    const TransactionTime now = transaction_time();
    Parameters parameters;
    parameters.number(now.now).number(now.lease_now).add(std::move(key)).add(std::move(execution));
    parameters.add(std::move(activity)).add(std::move(token)).add(std::move(item));
    const Rows rows = write(queries_.ack_work, parameters);
    const auto outcomes = rows.integers(0, 0);
    const auto reasons = rows.texts(0, 1);
    for (std::size_t i = 0; i < acks.size(); ++i) {
      results.push_back({static_cast<AckOutcome>(outcomes.at(i)),
                         parse_cancel_reason(reasons.at(i)).value_or(CancelReason{})});
      explain(acks[i].lease, results.back());
    }
    providers::Notices notices;
    notices.turns_ready = rows.integer(0, 2) > 0;
    announce(notices);
    return results;
  });
}

Result<std::vector<RenewResult>> PostgresProvider::renew_activities(std::span<const ActivityRenewal> leases,
                                                                    Duration extend) {
  return guarded("renew_activities", [&]() -> Result<std::vector<RenewResult>> {
    std::vector<RenewResult> results;
    if (leases.empty()) return results;
    BigintColumn key, execution, activity, token;
    BooleanColumn alive;
    TextColumn details, encoding;
    BigintColumn restart;
    for (const ActivityRenewal& renewal : leases) {
      key.add(renewal.lease.key.incarnation.value);
      execution.add(renewal.lease.key.execution.value);
      activity.add(renewal.lease.key.activity.value);
      token.add(renewal.lease.token.value);
      alive.add(renewal.heartbeat.has_value());
      const bool has_details = renewal.heartbeat && renewal.heartbeat->details;
      details.add(has_details ? std::optional<std::string_view>(renewal.heartbeat->details->data)
                              : std::nullopt);
      encoding.add(has_details
                       ? std::optional<std::string_view>(to_string(renewal.heartbeat->details->encoding))
                       : std::nullopt);
      restart.add(
          renewal.progress == ActivityProgress::runs
              ? std::nullopt
              : std::optional<std::int64_t>(renewal.progress == ActivityProgress::waits ? whole(extend) : 0));
    }
    Parameters parameters;
    parameters.number(transaction_time().lease_now)
        .number(whole(extend))
        .add(std::move(key))
        .add(std::move(execution));
    parameters.add(std::move(activity)).add(std::move(token)).add(std::move(alive)).add(std::move(details));
    parameters.add(std::move(encoding)).add(std::move(restart));
    const Rows rows = run(queries_.renew_work, parameters, false, part_of(extend));
    const auto outcomes = rows.integers(0, 0);
    const auto reasons = rows.texts(0, 1);
    for (std::size_t i = 0; i < leases.size(); ++i) {
      RenewResult& result =
          results.emplace_back(RenewResult{static_cast<RenewOutcome>(outcomes.at(i)),
                                           parse_cancel_reason(reasons.at(i)).value_or(CancelReason{})});
      if (result.outcome != RenewOutcome::lease_lost) continue;
      if (const auto reason = own_stolen_.reason(leases[i].lease, clock().lease_now()))
        result = {RenewOutcome::cancelled, *reason};
    }
    return results;
  });
}

Result<void> PostgresProvider::release_activities(std::span<const ActivityRelease> items) {
  return guarded("release_activities", [&]() -> Result<void> {
    if (items.empty()) return {};
    BigintColumn key, execution, activity, token, delay;
    IntegerColumn uncount;
    for (const ActivityRelease& item : items) {
      key.add(item.lease.key.incarnation.value);
      execution.add(item.lease.key.execution.value);
      activity.add(item.lease.key.activity.value);
      token.add(item.lease.token.value);
      delay.add(whole(item.delay));
      uncount.add(item.count_attempt ? 0u : 1u);
    }
    Parameters parameters;
    parameters.number(transaction_time().lease_now).add(std::move(key)).add(std::move(execution));
    parameters.add(std::move(activity)).add(std::move(token)).add(std::move(delay)).add(std::move(uncount));
    providers::Notices notices;
    notices.activities_ready = write(queries_.abandon_work, parameters).integer(0, 0) > 0;
    announce(notices);
    return {};
  });
}

Result<std::vector<StolenLease>> PostgresProvider::read_stolen_leases(const NodeId& node) {
  return guarded("read_stolen_leases", [&]() -> Result<std::vector<StolenLease>> {
    Parameters parameters;
    parameters.text(node.value).number(transaction_time().lease_now);
    const Rows rows = read(queries_.stolen_leases, parameters);
    std::vector<StolenLease> stolen;
    for (int row = 0; row < rows.count(); ++row) {
      const ActivityKey key{Incarnation{rows.number(row, 0)}, ExecutionId{rows.number(row, 1)},
                            EventId{rows.number(row, 2)}};
      stolen.push_back({node,
                        {key, LeaseToken{rows.number(row, 3)}},
                        parse_cancel_reason(rows.text(row, 4)).value_or(CancelReason::dropped_future)});
    }
    return stolen;
  });
}

}  // namespace duramen::inline v0::postgres::detail
