// Shared objects with a user's code.
#pragma once

#include <duramen/registry.hpp>
#include <duramen/result.hpp>

#include <string>

namespace duramen::cli {

/// The ABI that a module must have.
[[nodiscard]] std::string module_abi();

/// Loads a module, checks its ABI, and registers its code. It stays loaded until the process ends.
[[nodiscard]] Result<Registry> load_module(const std::string& path);

}  // namespace duramen::cli
