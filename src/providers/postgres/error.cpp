#include "providers/postgres/error.hpp"

namespace duramen::inline v0::postgres::detail {

bool concerns_one_entry(const SqlError& error) noexcept {
  // Data that does not fit, a row that exists already, a value too large for an index.
  return error.kind() == "22" || error.kind() == "23" || error.kind() == "54";
}

bool was_overtaken(const SqlError& error) noexcept { return error.state() == "40001"; }

bool ends_session(const SqlError& error) noexcept {
  // The server stops, crashed or starts; a primary became a standby; a plan no longer fits its tables.
  return error.kind() == "08" || error.state() == "57P01" || error.state() == "57P02" ||
         error.state() == "57P03" || error.state() == "57P05" || error.state() == "25006" ||
         error.state() == "0A000" || error.state() == "25P03";
}

Error to_error(const SqlError& error, const std::string& operation) {
  const std::string why = error.what();
  const auto make = [&](ErrorCode code, const std::string& advice, bool retryable) {
    return Error{code, operation, why + advice, retryable};
  };
  const std::string& state = error.state();
  if (state == "40001" || state == "40P01" || state == "55P03")
    return make(ErrorCode::busy, "; try again", true);
  if (state == "57014") return make(ErrorCode::busy, "; the server cancelled the statement, try again", true);
  if (state == "25006")
    return make(ErrorCode::unavailable, "; connected to a standby, trying to find the primary", true);
  if (state == "0A000") return make(ErrorCode::unavailable, "; the schema has changed, try again", true);
  if (ends_session(error)) return make(ErrorCode::unavailable, "; the server is stopping or starting", true);
  if (error.kind() == "53")
    return make(ErrorCode::unavailable, "; the server is out of disk, memory or connections", true);
  if (error.kind() == "58") return make(ErrorCode::unavailable, "; check the server's disk", true);
  if (state == "26000" || state == "42P05") {
    // The connection that received this prepares no more statements.
    return make(ErrorCode::unavailable,
                "; behind a pgbouncer in transaction mode set prepare_statements = false, or upgrade "
                "pgbouncer to 1.21",
                true);
  }
  if (state == "22021" || state == "22P05") {
    return make(ErrorCode::invalid_argument, "; texts must be UTF-8", false);
  }
  if (error.kind() == "54") return make(ErrorCode::limit_exceeded, "; ids and names must be shorter", false);
  if (state == "42501") {
    return make(ErrorCode::unavailable, "; grant the role the rights that docs/guides/postgres.md lists",
                false);
  }
  if (state == "3F000" || state == "42P01" || state == "42883") {
    return make(ErrorCode::unavailable,
                "; the schema was dropped or is of another version: open the store again", false);
  }
  if (state == "XX001" || state == "XX002") {
    return make(ErrorCode::corrupt, "; the database is damaged: restore it from a backup", false);
  }
  return make(ErrorCode::internal, " (SQLSTATE " + state + ")", false);
}

Error translate(const std::exception& thrown, const char* operation) {
  if (const auto* sql = dynamic_cast<const SqlError*>(&thrown)) return to_error(*sql, operation);
  if (dynamic_cast<const ConnectionError*>(&thrown) != nullptr) {
    return Error{ErrorCode::unavailable, operation, thrown.what(), true};
  }
  return Error{ErrorCode::internal, operation, thrown.what(), false};
}

}  // namespace duramen::inline v0::postgres::detail
