#include "providers/sqlite/error.hpp"

#include <sqlite3.h>

namespace duramen::inline v0::sqlite::detail {

void throw_sql_error(sqlite3* connection, int code) {
  const char* text = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  throw SqlError(code, text);
}

bool concerns_one_entry(const SqlError& error) noexcept {
  switch (error.primary_code()) {
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
      return true;
    default:
      return false;
  }
}

Error to_error(const SqlError& error, const std::string& operation) {
  const std::string why = error.what();
  const auto make = [&](ErrorCode code, const std::string& advice, bool retryable) {
    return Error{code, operation, why + advice, retryable};
  };
  switch (error.primary_code()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return make(ErrorCode::busy, "; another program holds the file. Try again, or close that program",
                  true);
    case SQLITE_FULL:
      return make(ErrorCode::unavailable, "; free some disk space, nothing was lost", true);
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
      return make(ErrorCode::unavailable, "; check the disk, its free space and quota", true);
    case SQLITE_NOMEM:
      return make(ErrorCode::unavailable, "; out of memory", true);
    case SQLITE_CORRUPT:
      return make(ErrorCode::corrupt,
                  "; restore the file from a backup, or salvage it with `sqlite3 .recover`", false);
    case SQLITE_NOTADB:
      return make(ErrorCode::corrupt, "; choose another path, this file is not a store", false);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return make(ErrorCode::unavailable, "; make the file and its directory writable", false);
    case SQLITE_CANTOPEN:
      return make(ErrorCode::unavailable, "; check that its directory exists and is writable", false);
    case SQLITE_TOOBIG:
      return make(ErrorCode::limit_exceeded, "; SQLite keeps at most 1 GB in one value", false);
    default:
      return make(ErrorCode::internal, " (SQLite code " + std::to_string(error.code()) + ")", false);
  }
}

}  // namespace duramen::inline v0::sqlite::detail
