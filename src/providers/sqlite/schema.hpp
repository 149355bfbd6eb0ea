// The schema of the file: its version, its creation and its migrations.
#pragma once

#include <duramen/sqlite.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

class Connection;

/// One per version, oldest first: migrations()[n - 1] migrates from version n - 1 to n.
[[nodiscard]] std::span<const std::string_view> migrations();

/// The version of the store in the file; 0: there is none.
[[nodiscard]] std::int64_t stored_schema_version(Connection& connection);

/// Refuses a file that is not a store and may not become one, or a store of a version that this build cannot
/// use. Changes nothing. Throws StoreError.
void check_schema(Connection& connection, const Options& options,
                  std::span<const std::string_view> known = migrations());

/// Brings the file to the current version. Call it while no other store writes. Throws StoreError, SqlError.
void migrate_schema(Connection& connection, const Options& options,
                    std::span<const std::string_view> known = migrations());

/// Throws StoreError if another process has migrated the file since it was opened.
void check_still_current(std::int64_t stored, const std::string& path);

/// The number of this boot of the machine in the file; inserted if it is new.
[[nodiscard]] std::int64_t current_boot_number(Connection& connection);

}  // namespace duramen::inline v0::sqlite::detail
