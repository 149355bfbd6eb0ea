// Reads an instance from its row, for clients.
#pragma once

#include "providers/postgres/rows.hpp"
#include <duramen/failure.hpp>
#include <duramen/management.hpp>
#include <duramen/payload.hpp>
#include <duramen/status.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace duramen::inline v0::postgres::detail {

/// The first columns of `instances i` that read_info reads, in its order.
inline constexpr std::string_view info_columns =
    "i.instance_id, i.key, i.name, i.version, i.execution, i.status, i.last_event_id, i.created_at, "
    "i.updated_at, "
    "i.parent_instance, i.parent_key, i.parent_execution, i.parent_event, i.custom_status_version, "
    "i.custom_status, i.cancel_asked, i.graceful, i.ended_at";
inline constexpr int info_column_count = 18;
/// The columns after them, if results are wanted.
inline constexpr std::string_view result_columns = ", i.failure, i.output_encoding, i.output";

enum class Results { left_out, wanted };

/// Describes the parts that cannot be read in `unreadable`.
[[nodiscard]] InstanceInfo read_info(const Rows& rows, int row, Results results);
/// Describes a status that this build does not know in `unreadable`.
[[nodiscard]] Status read_status(std::string_view text, std::optional<std::string>& unreadable);
/// Reads the result columns, which begin at `first`.
[[nodiscard]] std::optional<Failure> read_failure(const Rows& rows, int row, int first,
                                                  std::optional<std::string>& unreadable);
[[nodiscard]] std::optional<Payload> read_output(const Rows& rows, int row, int first);

}  // namespace duramen::inline v0::postgres::detail
