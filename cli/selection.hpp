// "These, or all that match": how commands for many instances are told which.
#pragma once

#include "arguments.hpp"
#include <duramen/client.hpp>
#include <duramen/result.hpp>

#include <string>
#include <vector>

namespace duramen::cli {

/// An error unless ids, or something to match, or --all was given, and not both.
[[nodiscard]] Result<void> check_selection(const Selection& which, const std::string& command);

/// The filter of a selection by matching; --all becomes a filter that says so.
[[nodiscard]] InstanceFilter filter_of(const Selection& which);

/// The instances selected, oldest first: parents before their children. `not_found` if one that was named is
/// not there.
[[nodiscard]] Result<std::vector<InstanceId>> find_selected(Client& client, const Selection& which);

}  // namespace duramen::cli
