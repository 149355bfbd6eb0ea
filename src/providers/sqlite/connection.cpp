#include "providers/sqlite/connection.hpp"

#include "providers/sqlite/error.hpp"
#include "providers/sqlite/statement.hpp"

#include <sqlite3.h>

namespace duramen::inline v0::sqlite::detail {

namespace {

// The side lock separates the writers of stores; this is for programs without it, such as the sqlite3 shell.
constexpr int busy_timeout_ms = 5000;

}  // namespace

Connection::Connection(const std::string& path, Mode mode) {
  // Reading a WAL needs a writable index, so a reading connection is opened like any other and then set to
  // query_only.
  const int create = mode == Mode::read_write ? SQLITE_OPEN_CREATE : 0;
  const int flags = SQLITE_OPEN_READWRITE | create | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &connection_, flags, nullptr);
  if (code != SQLITE_OK) {
    const std::string message = connection_ != nullptr ? sqlite3_errmsg(connection_) : sqlite3_errstr(code);
    const int system_error = connection_ != nullptr ? sqlite3_system_errno(connection_) : 0;
    sqlite3_close(connection_);
    throw SqlError(code, message, system_error);
  }
  sqlite3_busy_timeout(connection_, busy_timeout_ms);
  try {
    // Debian's SQLite overwrites deleted content by default, which would double the writes.
    execute("PRAGMA secure_delete=OFF; PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF;");
    if (mode == Mode::read_only) execute("PRAGMA query_only=ON;");
  } catch (...) {
    sqlite3_close(connection_);
    throw;
  }
}

Connection::~Connection() { sqlite3_close(connection_); }

std::string Connection::file() const {
  const char* const name = sqlite3_db_filename(connection_, "main");
  return name != nullptr ? name : "";
}

void Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw_sql_error(connection_, code);
}

std::int64_t Connection::query_number(const std::string& sql) {
  Statement statement{*this, sql};
  Cursor run = statement.run();
  const std::int64_t number = run.step() ? run.integer(0) : 0;
  run.finish();
  return number;
}

std::string Connection::query_text(const std::string& sql) {
  Statement statement{*this, sql};
  Cursor run = statement.run();
  std::string text = run.step() ? run.string(0) : std::string{};
  // Steps to the end: a pragma that changes the file commits, or fails, only there.
  run.finish();
  return text;
}

std::uint64_t Connection::total_changes() const {
  return static_cast<std::uint64_t>(sqlite3_total_changes64(connection_));
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(connection_) == 0; }

std::uint32_t Connection::content_version() const {
  unsigned int version = 0;
  sqlite3_file_control(connection_, "main", SQLITE_FCNTL_DATA_VERSION, &version);
  return version;
}

void Connection::checkpoint_on_close(bool does) {
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, does ? 0 : 1, nullptr);
}

}  // namespace duramen::inline v0::sqlite::detail
