// The address of a store in PostgreSQL: a URI as libpq reads it, which may also name the schema.
#pragma once

#include <duramen/result.hpp>

#include <string>

namespace duramen::cli {

struct PostgresAddress {
  std::string uri;     ///< for libpq, which does not know of `schema`
  std::string schema;  ///< empty: not named
};

/// Takes "postgres://user@host/database?schema=tenant%2017&sslmode=require" apart.
[[nodiscard]] Result<PostgresAddress> parse_postgres_address(const std::string& address);

}  // namespace duramen::cli
