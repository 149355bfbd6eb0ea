// From an address to an open store.
#pragma once

#include <duramen/management.hpp>
#include <duramen/result.hpp>
#include <duramen/store.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace duramen::cli {

enum class StoreAccess : std::uint8_t {
  existing,   ///< there must be one: a wrong path makes no file
  creatable,  ///< the same, but the command could make one if it were told to
  create,     ///< made if there is none
};

/// Opens "sqlite:FILE" or "postgres://...[?schema=NAME]". The error says what to do.
[[nodiscard]] Result<Store> open_store(const std::string& address, StoreAccess access);

/// Which form its tables have; nothing for a store that does not say.
[[nodiscard]] Result<std::optional<SchemaVersion>> schema_version_of(Provider& provider);

/// The address without a password, for people.
[[nodiscard]] std::string shown_address(const std::string& address);

}  // namespace duramen::cli
