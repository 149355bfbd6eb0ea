// Comparison of JSON texts by meaning.
#pragma once

#include <string_view>

namespace duramen::base {

/// True if both texts hold the same JSON value: white space and the order of members are ignored, the order
/// of elements and the spelling of a number (1 or 1.0) are not. Equal bytes are equal even if they are not
/// JSON; any other text that cannot be parsed is never equal.
[[nodiscard]] bool json_equal(std::string_view a, std::string_view b);

}  // namespace duramen::base
