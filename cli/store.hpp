// From an address to an open store.
#pragma once

#include <duramen/result.hpp>
#include <duramen/store.hpp>

#include <string>

namespace duramen::cli {

enum class StoreAccess : bool {
  existing,  ///< there must be one: a wrong path makes no file
  create,    ///< made if there is none
};

/// Opens "sqlite:FILE" or "postgres://...". The error says what to do.
[[nodiscard]] Result<Store> open_store(const std::string& address, StoreAccess access);

/// The address without a password, for people.
[[nodiscard]] std::string shown_address(const std::string& address);

}  // namespace duramen::cli
