// The schema of a store: its version, its creation, and its migration while other nodes use it.
//
// A schema has two numbers: its version, and the oldest version that a Duramen must know to work with it. A
// migration only adds (expand) and keeps the second number: nodes of the previous version continue to work. A
// later migration removes the unused parts (contract) and raises the second number; older nodes are refused.
// So a function that changes its parameters or its meaning gets a new name.
#pragma once

#include <duramen/result.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace duramen::inline v0::postgres::detail {

class Connection;

struct Migration {
  std::span<const std::string_view> files;
  /// The oldest version that a Duramen must know to work with the schema after this migration.
  std::int64_t works_with;
};

/// One per version, oldest first: migrations()[n - 1] migrates from version n - 1 to n.
[[nodiscard]] std::span<const Migration> migrations();

/// Creates the schema, or migrates it to the version of this Duramen, unless `migrate` is false. One node
/// migrates at a time; the others wait. `known` are the versions of this Duramen, unless a test simulates a
/// later one. A migration waits for a lock that long. Throws StoreError, SqlError, ConnectionError.
void open_schema(Connection& connection, const std::string& schema, bool migrate,
                 std::span<const Migration> known = migrations(),
                 std::chrono::milliseconds lock_timeout = std::chrono::seconds{3});

/// The error of a Duramen that is too old for the schema, which needs one that knows version `works_with`.
[[nodiscard]] Error newer_schema(const std::string& schema, std::int64_t works_with,
                                 std::span<const Migration> known = migrations());

/// The random id that the store got with its schema. Throws SqlError, ConnectionError.
[[nodiscard]] std::string stored_store_id(Connection& connection, const std::string& schema);

/// The current version of the schema; 0 if it was dropped. Throws SqlError, ConnectionError.
[[nodiscard]] std::int64_t stored_schema_version(Connection& connection, const std::string& schema);

}  // namespace duramen::inline v0::postgres::detail
