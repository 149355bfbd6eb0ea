// Finding instances: one statement per query, made of the parts that are given, so that each can use the
// index that fits it.
#pragma once

#include "providers/postgres/parameters.hpp"
#include <duramen/management.hpp>

#include <string>

namespace duramen::inline v0::postgres::detail {

struct ListStatement {
  std::string sql;
  Parameters parameters;
};

/// Asks for one more than the query wants: that tells whether there is another page.
[[nodiscard]] ListStatement list_statement(const InstanceQuery& query, const std::string& quoted_schema);

}  // namespace duramen::inline v0::postgres::detail
