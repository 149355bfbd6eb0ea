// The schema of the file: its version, its creation and its migrations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

class Connection;

/// One per version, oldest first: migrations()[n - 1] migrates from version n - 1 to n.
[[nodiscard]] std::span<const std::string_view> migrations();

/// Refuses a file that is not a store, or one of a newer version. Changes nothing. Throws StoreError.
void check_schema(Connection& connection, const std::string& path);

/// Brings the file to the current version. Call it while no other store writes. Throws StoreError, SqlError.
void migrate_schema(Connection& connection, const std::string& path);

/// The number of this boot of the machine in the file; inserted if it is new.
[[nodiscard]] std::int64_t current_boot_number(Connection& connection);

}  // namespace duramen::inline v0::sqlite::detail
