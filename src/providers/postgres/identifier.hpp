// Names of schemas in statements.
#pragma once

#include <string>
#include <string_view>

namespace duramen::inline v0::postgres::detail {

/// In double quotes, whatever it is. Throws StoreError for one that cannot be a name: empty, too long, with a
/// NUL.
[[nodiscard]] std::string quoted_identifier(std::string_view name);

/// In single quotes.
[[nodiscard]] std::string quoted_literal(std::string_view text);

/// A statement in which every '@' stands for the schema: "SELECT 1 FROM @instances".
[[nodiscard]] std::string in_schema(std::string_view statement, std::string_view quoted_schema);

}  // namespace duramen::inline v0::postgres::detail
