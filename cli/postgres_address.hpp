// The address of a store in PostgreSQL: a URI of libpq that may also name the schema.
#pragma once

#include <duramen/result.hpp>

#include <string>

namespace duramen::cli {

struct PostgresAddress {
  std::string uri;     ///< for libpq, without `schema`
  std::string schema;  ///< empty: not named
};

/// Splits "postgres://user@host/database?schema=tenant%2017&sslmode=require".
[[nodiscard]] Result<PostgresAddress> parse_postgres_address(const std::string& address);

}  // namespace duramen::cli
