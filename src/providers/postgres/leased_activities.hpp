// Activities as fetch_work() returns them.
#pragma once

#include "providers/postgres/rows.hpp"
#include <duramen/provider.hpp>

namespace duramen::inline v0::postgres::detail {

/// A row of fetch_work(); `unreadable` describes its defect, if it has one.
[[nodiscard]] LeasedActivity read_leased_activity(const Rows& rows, int row);

/// The column of fetch_work() with the time at which there may be more.
inline constexpr int work_next_due = 22;
/// The column of the time of the server.
inline constexpr int work_now = 23;
/// The column that is true if activities became available that this fetch did not take.
inline constexpr int work_left_ready = 24;
/// The column of the version that the schema needs.
inline constexpr int work_works_with = 25;

}  // namespace duramen::inline v0::postgres::detail
