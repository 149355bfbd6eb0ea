#include "providers/postgres/leased_activities.hpp"

#include "base/utf8.hpp"
#include "providers/postgres/encoding.hpp"

#include <optional>
#include <string>

namespace duramen::inline v0::postgres::detail {

namespace {

enum {
  key,
  execution,
  activity,
  attempt,
  fence,
  instance_id,
  name,
  input,
  encoding,
  session_id,
  tag,
  schedule_to_start,
  start_to_close,
  heartbeat,
  orchestration_name,
  orchestration_version,
  details,
  details_encoding,
  token,
  retry_of,
  attempts_before,
  fence_base,
};

/// Describes the defect of a row; empty if there is none.
std::optional<std::string> fault_of(const Rows& rows, int row) {
  if (rows.is_null(row, instance_id)) return "its instance does not exist";
  for (const int column : {encoding, details_encoding}) {
    if (!rows.is_null(row, column) && !parse_encoding(rows.text(row, column))) {
      return "unknown encoding '" + base::excerpt(rows.string(row, column), 40) + "'";
    }
  }
  for (const int column : {schedule_to_start, start_to_close, heartbeat}) {
    if (!rows.is_null(row, column) && rows.integer(row, column) <= 0)
      return "a time limit is not a positive number";
  }
  return std::nullopt;
}

}  // namespace

LeasedActivity read_leased_activity(const Rows& rows, int row) {
  const ActivityKey id{Incarnation{rows.number(row, key)}, ExecutionId{rows.number(row, execution)},
                       EventId{rows.number(row, activity)}};
  LeasedActivity item{.request = {}, .lease = {id, LeaseToken{rows.number(row, token)}}, .lease_until = {}};
  item.attempt = static_cast<std::uint32_t>(rows.integer(row, attempt));
  item.fence = (rows.number(row, fence_base) << 32u) + rows.number(row, fence);
  item.request.key = id;
  item.request.instance = InstanceId{rows.text(row, instance_id)};
  if (auto fault = fault_of(rows, row)) {
    item.unreadable = "activity " + std::to_string(id.activity.value) + " of execution " +
                      std::to_string(id.execution.value) + ", instance key " +
                      std::to_string(id.incarnation.value) + ": " + *fault;
    return item;
  }
  item.request.name = rows.string(row, name);
  item.request.input = make_payload(rows.text(row, input), rows.text(row, encoding));
  item.request.session_id = rows.optional_string(row, session_id);
  item.request.tag = rows.optional_string(row, tag);
  item.request.options = {Duration{rows.integer(row, schedule_to_start)},
                          Duration{rows.integer(row, start_to_close)},
                          Duration{rows.integer(row, heartbeat)}};
  item.request.orchestration_name = rows.string(row, orchestration_name);
  item.request.orchestration_version = rows.string(row, orchestration_version);
  item.request.retry_of = EventId{rows.number(row, retry_of)};
  item.request.attempts_before = static_cast<std::uint32_t>(rows.integer(row, attempts_before));
  item.request.fence_base = rows.number(row, fence_base);
  if (!rows.is_null(row, details) && !rows.is_null(row, details_encoding)) {
    item.heartbeat = make_payload(rows.text(row, details), rows.text(row, details_encoding));
  }
  return item;
}

}  // namespace duramen::inline v0::postgres::detail
