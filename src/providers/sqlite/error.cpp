#include "providers/sqlite/error.hpp"

#include <duramen/detail/mutant.hpp>

#include <sqlite3.h>

#include <cerrno>
#include <system_error>

namespace duramen::inline v0::sqlite::detail {

namespace {

bool is_full(int system_error) { return system_error == ENOSPC || system_error == EDQUOT; }
bool is_out_of_files(int system_error) { return system_error == EMFILE || system_error == ENFILE; }

constexpr const char* free_space = "; free some disk space or raise the quota; nothing was lost";

/// After some read errors, such as EIO, SQLite's file reports a damaged file system, and the statement fails
/// with SQLITE_CORRUPT. Takes that error from the file and clears it there, so that true damage found later
/// is reported as damage. Zero if there was no such error.
int take_read_error(sqlite3* connection) {
  int found = 0;
  for (const int which : {SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER}) {
    sqlite3_file* file = nullptr;
    if (sqlite3_file_control(connection, "main", which, &file) != SQLITE_OK) continue;
    if (file == nullptr || file->pMethods == nullptr) continue;
    int last = 0;
    if (file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &last) != SQLITE_OK) continue;
    if (last != EIO && last != ENXIO && last != ERANGE) continue;
    found = last;
    // A read behind the end of the file succeeds without disk access and clears the error.
    constexpr sqlite3_int64 far_away = sqlite3_int64{1} << 46;
    char byte = 0;
    file->pMethods->xRead(file, &byte, 1, far_away);
  }
  return found;
}

}  // namespace

FileProblem file_problem(int system_error) {
  const std::string why = std::generic_category().message(system_error);
  if (is_full(system_error)) return {why + free_space, true};
  if (is_out_of_files(system_error)) return {why + "; raise the limit of open files (ulimit -n)", true};
  if (system_error == EIO || system_error == ENOMEM) return {why + "; check the machine", true};
  return {why + "; a store needs a directory it can write to", false};
}

void throw_sql_error(sqlite3* connection, int code) {
  if (connection == nullptr) throw SqlError(code, sqlite3_errstr(code));
  if ((code & 0xff) == SQLITE_CORRUPT && !duramen::detail::mutant("read_error_is_damage")) {
    if (const int error = take_read_error(connection); error != 0) {
      throw SqlError(SQLITE_IOERR_READ, sqlite3_errstr(SQLITE_IOERR), error);
    }
  }
  throw SqlError(code, sqlite3_errmsg(connection), sqlite3_system_errno(connection));
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
      return make(ErrorCode::unavailable, free_space, true);
    case SQLITE_IOERR: {
      const std::string cause =
          error.system_error() == 0 ? "" : " (" + std::generic_category().message(error.system_error()) + ")";
      const bool reading = error.code() == SQLITE_IOERR_READ;
      return make(ErrorCode::unavailable,
                  cause + (reading ? "; check the disk" : "; check the disk, its free space and quota"),
                  true);
    }
    case SQLITE_PROTOCOL:
      return make(ErrorCode::unavailable, "; check the disk, its free space and quota", true);
    case SQLITE_NOMEM:
      return make(ErrorCode::unavailable, "; out of memory", true);
    case SQLITE_CORRUPT:
      return make(ErrorCode::corrupt,
                  "; restore the file from a backup, or salvage it with `sqlite3 .recover`", false);
    case SQLITE_NOTADB:
      return make(ErrorCode::corrupt,
                  "; choose another path, or restore the file from a backup together with its log", false);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return make(ErrorCode::unavailable, "; make the file and its directory writable", false);
    case SQLITE_CANTOPEN:
      if (const FileProblem problem = file_problem(error.system_error()); problem.retryable) {
        return make(ErrorCode::unavailable, ": " + problem.text, true);
      }
      return make(ErrorCode::unavailable, "; check that its directory exists and is writable", false);
    case SQLITE_TOOBIG:
      return make(ErrorCode::limit_exceeded, "; SQLite keeps at most 1 GB in one value", false);
    default:
      return make(ErrorCode::internal, " (SQLite code " + std::to_string(error.code()) + ")", false);
  }
}

Error translate(const std::exception& thrown, const char* operation) {
  if (const auto* sql = dynamic_cast<const SqlError*>(&thrown)) return to_error(*sql, operation);
  return Error{ErrorCode::internal, operation, thrown.what(), false};
}

}  // namespace duramen::inline v0::sqlite::detail
