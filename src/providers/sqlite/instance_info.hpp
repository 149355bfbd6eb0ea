// Reads an instance from its row, for clients.
#pragma once

#include "providers/sqlite/statement.hpp"
#include <duramen/failure.hpp>
#include <duramen/management.hpp>
#include <duramen/payload.hpp>
#include <duramen/status.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

/// The first columns of `instances i` that read_info reads, in its order.
inline constexpr std::string_view info_columns =
    "i.instance_id, i.key, i.name, i.version, i.execution, i.status, i.last_event_id, i.created_at, "
    "i.updated_at, "
    "i.parent_instance, i.parent_key, i.parent_execution, i.parent_event, i.custom_status_version, "
    "i.custom_status, i.cancel_asked, i.graceful, i.ended_at";
inline constexpr int info_column_count = 18;
/// The columns after them, if results are wanted: see read_failure and read_output.
inline constexpr std::string_view result_columns =
    ", i.failure_kind, i.failure_type, i.failure_message, i.failure_retryable, i.failure_details, "
    "i.failure_attempt, i.failure_timeout, i.output_encoding, i.output";

enum class Results { left_out, wanted };

/// Describes the parts that cannot be read in `unreadable`.
[[nodiscard]] InstanceInfo read_info(const Cursor& run, Results results);
/// Describes a status that this build does not know in `unreadable`.
[[nodiscard]] Status read_status(const Cursor& run, int column, std::optional<std::string>& unreadable);
/// Reads the result columns, which begin at `first`.
[[nodiscard]] std::optional<Failure> read_failure(const Cursor& run, int first);
[[nodiscard]] std::optional<Payload> read_output(const Cursor& run, int first);

}  // namespace duramen::inline v0::sqlite::detail
