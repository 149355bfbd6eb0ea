// From an address to an open store.
#pragma once

#include <duramen/result.hpp>
#include <duramen/store.hpp>

#include <cstdint>
#include <string>

namespace duramen::cli {

enum class StoreAccess : std::uint8_t {
  existing,   ///< there must be one: a wrong path makes no file
  creatable,  ///< the same, but the command could make one if it were told to
  create,     ///< made if there is none
};

/// Opens "sqlite:FILE" or "postgres://...". The error says what to do.
[[nodiscard]] Result<Store> open_store(const std::string& address, StoreAccess access);

/// The address without a password, for people.
[[nodiscard]] std::string shown_address(const std::string& address);

}  // namespace duramen::cli
