// The schema of a store: its version, how a new one is made and an old one brought up to date while others
// use it.
//
// A schema has two numbers: its version, and the oldest version a Duramen must know to work with it. A
// migration only adds (expand), and leaves the second number alone: nodes of the version before go on
// working. What is no longer used goes with a later migration (contract), which raises the second number;
// nodes that are older than that are refused. So a function that changes its parameters or its meaning gets a
// new name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace duramen::inline v0::postgres::detail {

class Connection;

struct Migration {
  std::span<const std::string_view> files;
  std::int64_t
      works_with;  ///< the oldest version that a Duramen must know to work with the schema after this
};

/// One per version, oldest first: migrations()[n - 1] leads from version n - 1 to n.
[[nodiscard]] std::span<const Migration> migrations();

/// Makes the schema, or brings it to the version of this Duramen, unless `migrate` is false. One at a time:
/// the others wait for the one who does. `known` are this Duramen's versions, unless a test plays a later
/// one. Throws StoreError, SqlError, ConnectionError.
void open_schema(Connection& connection, const std::string& schema, bool migrate,
                 std::span<const Migration> known = migrations());

/// The version of the schema as it is now; 0 if there is none any more. Throws SqlError, ConnectionError.
[[nodiscard]] std::int64_t stored_schema_version(Connection& connection, const std::string& schema);

}  // namespace duramen::inline v0::postgres::detail
