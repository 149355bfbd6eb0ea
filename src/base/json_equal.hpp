// Comparison of JSON texts by meaning.
#pragma once

#include <string_view>

namespace duramen::base {

/// True if both texts hold the same JSON value: white space and the order of members do not count, the order
/// of elements and the spelling of a number (1 or 1.0) do. Equal bytes are the same even if they are no JSON;
/// other than that, what cannot be parsed is never the same.
[[nodiscard]] bool json_equal(std::string_view a, std::string_view b);

}  // namespace duramen::base
