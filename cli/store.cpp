#include "store.hpp"

#include "postgres_address.hpp"
#include <duramen/detail/mutant.hpp>
#include <duramen/sqlite.hpp>
#ifdef DURAMEN_CLI_POSTGRES
#include <duramen/postgres.hpp>
#endif

#include <filesystem>

namespace duramen::cli {

namespace {

Error usage(std::string message) {
  return Error{ErrorCode::invalid_argument, "open", std::move(message), false};
}
Error unavailable(std::string message) {
  return Error{ErrorCode::unavailable, "open", std::move(message), false};
}

Result<Store> open_sqlite(const std::string& path, StoreAccess access) {
  if (path.empty()) return usage("the address sqlite: names no file; write sqlite:orders.db");
  if (path == ":memory:") return usage("a store in memory ends with this command; name a file");
  if (access != StoreAccess::create) {
    const std::string advice = access == StoreAccess::creatable
                                   ? "check the path, or add --create to make a new store"
                                   : "check the path";
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) {
      return unavailable("there is no store " + path + "; " + advice);
    }
    // Opening an empty file would turn it into a store.
    if (status.type() == std::filesystem::file_type::regular &&
        std::filesystem::file_size(path, error) == 0 && !error) {
      return unavailable(path + " is empty: no store was made in it yet; " + advice);
    }
  }
  auto provider = sqlite::open_provider({.path = path, .migrate = false});
  if (!provider) return provider.error();
  return Store{*std::move(provider)};
}

Result<Store> open_postgres(const std::string& address, [[maybe_unused]] StoreAccess access) {
#ifdef DURAMEN_CLI_POSTGRES
  Result<PostgresAddress> place = parse_postgres_address(address);
  if (!place) return place.error();
  postgres::Options options;
  options.conninfo = std::move(place->uri);
  if (!place->schema.empty()) options.schema = std::move(place->schema);
  // Reading a database must not create a store in it.
  options.migrate = access == StoreAccess::create;
  auto provider = postgres::open_provider(options);
  if (provider) return Store{*std::move(provider)};
  Error error = provider.error();
  // The provider's message is for programs.
  if (const auto advice = error.message.find(": open it once with migrate"); advice != std::string::npos) {
    error.message.replace(advice, std::string::npos,
                          access == StoreAccess::creatable
                              ? "; check the address, or add --create with a role that may make it"
                              : "; check the address (?schema=NAME if it is not in the schema duramen)");
  }
  return error;
#else
  return unavailable("this duramen was built without PostgreSQL, so it cannot open " +
                     shown_address(address) + "; install libpq-dev and build it again");
#endif
}

}  // namespace

Result<Store> open_store(const std::string& address, StoreAccess access) {
  if (address.empty()) {
    return usage("which store? Give --store sqlite:FILE or --store postgres://..., or set DURAMEN_STORE");
  }
  if (address.starts_with("sqlite:")) return open_sqlite(address.substr(7), access);
  if (address.starts_with("postgres://") || address.starts_with("postgresql://"))
    return open_postgres(address, access);
  // Without a scheme, the position of a password is unknown.
  if (address.find('@') != std::string::npos && address.find("://") == std::string::npos &&
      !detail::mutant("a_mistyped_address_is_shown")) {
    return usage(
        "that is no address of a store (it is not shown: it may hold a password); write "
        "postgres://user@host/database or sqlite:FILE");
  }
  const std::string shown = shown_address(address);
  if (shown.find("://") != std::string::npos || shown.find('=') != std::string::npos) {
    return usage("\"" + shown +
                 "\" is no address of a store; write postgres://user@host/database or sqlite:FILE");
  }
  return usage("\"" + shown + "\" is no address of a store; did you mean sqlite:" + shown + "?");
}

Result<std::optional<SchemaVersion>> schema_version_of(Provider& provider) {
  Result<std::optional<SchemaVersion>> version = sqlite::schema_version(provider);
#ifdef DURAMEN_CLI_POSTGRES
  if (version && !*version) version = postgres::schema_version(provider);
#endif
  return version;
}

std::string shown_address(const std::string& address) { return without_secrets(address); }

}  // namespace duramen::cli
