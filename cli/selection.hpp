// The selection of instances by id or by filter, for commands on many instances.
#pragma once

#include "arguments.hpp"
#include <duramen/client.hpp>
#include <duramen/result.hpp>

#include <string>
#include <vector>

namespace duramen::cli {

/// An error unless exactly one of ids, a filter or --all was given.
[[nodiscard]] Result<void> check_selection(const Selection& which, const std::string& command);

/// The filter of a selection; --all becomes a filter for every instance.
[[nodiscard]] InstanceFilter filter_of(const Selection& which);

/// The selected instances, oldest first: parents before their children. `not_found` if a named instance does
/// not exist.
[[nodiscard]] Result<std::vector<InstanceId>> find_selected(Client& client, const Selection& which);

}  // namespace duramen::cli
