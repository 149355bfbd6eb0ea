// Names of schemas in statements.
#pragma once

#include <string>
#include <string_view>

namespace duramen::inline v0::postgres::detail {

/// The name in double quotes. Throws StoreError for an invalid name: empty, too long, or with a NUL.
[[nodiscard]] std::string quoted_identifier(std::string_view name);

/// The text in single quotes.
[[nodiscard]] std::string quoted_literal(std::string_view text);

/// A statement in which every '@' stands for the schema: "SELECT 1 FROM @instances".
[[nodiscard]] std::string in_schema(std::string_view statement, std::string_view quoted_schema);

}  // namespace duramen::inline v0::postgres::detail
