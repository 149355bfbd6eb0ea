// Finds instances. Each query gets a statement made of its own conditions, so that it can use the best index.
#pragma once

#include "providers/postgres/parameters.hpp"
#include <duramen/management.hpp>

#include <string>

namespace duramen::inline v0::postgres::detail {

struct ListStatement {
  std::string sql;
  Parameters parameters;
};

/// Asks for one row more than wanted, which shows that there is another page.
[[nodiscard]] ListStatement list_statement(const InstanceQuery& query, const std::string& quoted_schema);

}  // namespace duramen::inline v0::postgres::detail
