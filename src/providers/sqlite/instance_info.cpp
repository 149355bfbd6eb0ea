#include "providers/sqlite/instance_info.hpp"

#include "providers/common/unreadable_row.hpp"
#include "providers/sqlite/error.hpp"
#include "providers/sqlite/values.hpp"
#include <duramen/detail/mutant.hpp>

#include <string>

namespace duramen::inline v0::sqlite::detail {

Status read_status(const Cursor& run, int column, std::optional<std::string>& unreadable) {
  const auto status = parse_status(run.text(column));
  if (!status) unreadable = providers::unknown_status(run.text(column));
  if (!status && duramen::detail::mutant("unreadable_row_fails_the_list")) {
    throw StoreError({ErrorCode::corrupt, "", *unreadable, false});
  }
  return status.value_or(Status::running);
}

std::optional<Failure> read_failure(const Cursor& run, int first) {
  if (run.is_null(first)) return std::nullopt;
  Failure failure;
  failure.kind = parse_failure_kind(run.text(first)).value_or(FailureKind::application);
  failure.type = run.string(first + 1);
  failure.message = run.string(first + 2);
  failure.retryable = run.integer(first + 3) != 0;
  failure.details = run.string(first + 4);
  failure.attempt = static_cast<std::uint32_t>(run.integer(first + 5));
  if (!run.is_null(first + 6)) failure.timeout = parse_timeout_kind(run.text(first + 6));
  return failure;
}

std::optional<Payload> read_output(const Cursor& run, int first) {
  const int encoding = first + 7;
  const int output = first + 8;
  if (run.is_null(output)) return std::nullopt;
  return Payload{run.string(output), parse_encoding(run.text(encoding)).value_or(Encoding::text)};
}

InstanceInfo read_info(const Cursor& run, Results results) {
  InstanceInfo info{.instance = InstanceId{run.text(0)},
                    .incarnation = Incarnation{run.number(1)},
                    .name = run.string(2),
                    .version = run.string(3),
                    .execution = ExecutionId{run.number(4)},
                    .last_event_id = EventId{run.number(6)},
                    .created_at = from_unix_ms(run.integer(7)),
                    .updated_at = from_unix_ms(run.integer(8)),
                    .custom_status = run.optional_string(14),
                    .custom_status_version = run.number(13),
                    .cancel_asked = parse_cancel_mode(run.text(15)),
                    .graceful = run.integer(16) != 0};
  if (!run.is_null(17)) info.ended_at = from_unix_ms(run.integer(17));
  info.status = read_status(run, 5, info.unreadable);
  if (!run.is_null(9)) {
    info.parent = ParentLink{InstanceId{run.text(9)}, Incarnation{run.number(10)},
                             ExecutionId{run.number(11)}, EventId{run.number(12)}};
  }
  if (results == Results::wanted) {
    info.failure = read_failure(run, info_column_count);
    info.output = read_output(run, info_column_count);
  }
  return info;
}

}  // namespace duramen::inline v0::sqlite::detail
