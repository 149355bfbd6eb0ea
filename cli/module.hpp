// Shared objects with a user's code.
#pragma once

#include <duramen/registry.hpp>
#include <duramen/result.hpp>

#include <string>

namespace duramen::cli {

/// What this program expects of a module.
[[nodiscard]] std::string module_abi();

/// Loads a module, checks that it fits, and lets it register its code. It stays loaded until the process
/// ends.
[[nodiscard]] Result<Registry> load_module(const std::string& path);

}  // namespace duramen::cli
