// Opens the store at an address.
#pragma once

#include <duramen/management.hpp>
#include <duramen/result.hpp>
#include <duramen/store.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace duramen::cli {

enum class StoreAccess : std::uint8_t {
  existing,   ///< must exist: a wrong path creates no file
  creatable,  ///< the same, but the command has --create
  create,     ///< created if there is none
};

/// Opens "sqlite:FILE" or "postgres://...[?schema=NAME]". The error names the remedy.
[[nodiscard]] Result<Store> open_store(const std::string& address, StoreAccess access);

/// The version of its schema; absent if the store has no versions.
[[nodiscard]] Result<std::optional<SchemaVersion>> schema_version_of(Provider& provider);

/// The address without its password.
[[nodiscard]] std::string shown_address(const std::string& address);

}  // namespace duramen::cli
