// The person or program that a command acts for.
#pragma once

#include <duramen/result.hpp>

#include <optional>
#include <string>

namespace duramen::cli {

/// The name given with --by or $DURAMEN_BY; absent: the user's login name, if there is one. Empty: none.
[[nodiscard]] Result<std::optional<std::string>> requester(const std::optional<std::string>& given);

}  // namespace duramen::cli
