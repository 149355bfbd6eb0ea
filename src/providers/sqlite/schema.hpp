// The file's schema: its version, how a new file gets it and an old one is brought up to it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

class Connection;

/// One per version, oldest first: migrations()[n - 1] leads from version n - 1 to n.
[[nodiscard]] std::span<const std::string_view> migrations();

/// Refuses a file that is not a store, or one of a newer version. Changes nothing. Throws StoreError.
void check_schema(Connection& connection, const std::string& path);

/// Brings the file to the current version. Call it while nobody else writes. Throws StoreError, SqlError.
void migrate_schema(Connection& connection, const std::string& path);

/// The number under which this boot of the machine is known to the file; made if it is new.
[[nodiscard]] std::int64_t current_boot_number(Connection& connection);

}  // namespace duramen::inline v0::sqlite::detail
