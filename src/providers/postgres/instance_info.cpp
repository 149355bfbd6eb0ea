#include "providers/postgres/instance_info.hpp"

#include "format/failure_json.hpp"
#include "providers/common/unreadable_row.hpp"
#include "providers/postgres/encoding.hpp"
#include <duramen/detail/json_value.hpp>

namespace duramen::inline v0::postgres::detail {

Status read_status(std::string_view text, std::optional<std::string>& unreadable) {
  const auto status = parse_status(text);
  if (!status) unreadable = providers::unknown_status(text);
  return status.value_or(Status::running);
}

std::optional<Failure> read_failure(const Rows& rows, int row, int first,
                                    std::optional<std::string>& unreadable) {
  if (rows.is_null(row, first)) return std::nullopt;
  const duramen::detail::JsonDocument document{rows.text(row, first)};
  std::string problem = document.error().empty() ? "" : "no JSON";
  Failure failure;
  if (problem.empty()) format::read_stored_failure(document.root(), failure, problem);
  if (problem.empty()) return failure;
  if (!unreadable) {
    unreadable =
        "its failure cannot be read (" + problem + "); use the Duramen that wrote it, or delete the instance";
  }
  return std::nullopt;
}

std::optional<Payload> read_output(const Rows& rows, int row, int first) {
  if (rows.is_null(row, first + 2)) return std::nullopt;
  return make_payload(rows.text(row, first + 2), rows.text(row, first + 1));
}

InstanceInfo read_info(const Rows& rows, int row, Results results) {
  InstanceInfo info{.instance = InstanceId{rows.text(row, 0)},
                    .incarnation = Incarnation{rows.number(row, 1)},
                    .name = rows.string(row, 2),
                    .version = rows.string(row, 3),
                    .execution = ExecutionId{rows.number(row, 4)},
                    .last_event_id = EventId{rows.number(row, 6)},
                    .created_at = from_unix_ms(rows.integer(row, 7)),
                    .updated_at = from_unix_ms(rows.integer(row, 8)),
                    .custom_status = rows.optional_string(row, 14),
                    .custom_status_version = rows.number(row, 13)};
  info.status = read_status(rows.text(row, 5), info.unreadable);
  if (const std::int64_t asked = rows.integer(row, 15); asked > 0)
    info.cancel_asked = asked == 1 ? CancelMode::graceful : CancelMode::terminate;
  info.graceful = rows.flag(row, 16);
  info.ended_at = rows.optional_time(row, 17);
  if (!rows.is_null(row, 9)) {
    info.parent = ParentLink{InstanceId{rows.text(row, 9)}, Incarnation{rows.number(row, 10)},
                             ExecutionId{rows.number(row, 11)}, EventId{rows.number(row, 12)}};
  }
  if (results == Results::wanted) {
    info.failure = read_failure(rows, row, info_column_count, info.unreadable);
    info.output = read_output(rows, row, info_column_count);
  }
  return info;
}

}  // namespace duramen::inline v0::postgres::detail
