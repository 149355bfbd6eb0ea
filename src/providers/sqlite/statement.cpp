#include "providers/sqlite/statement.hpp"

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/error.hpp"

#include <sqlite3.h>

namespace duramen::inline v0::sqlite::detail {

Cursor::~Cursor() {
  if (statement_ != nullptr) sqlite3_reset(statement_);
}

bool Cursor::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw_sql_error(sqlite3_db_handle(statement_), code);
}

std::int64_t Cursor::finish() {
  while (step()) {
  }
  return sqlite3_changes64(sqlite3_db_handle(statement_));
}

bool Cursor::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

bool Cursor::is_text(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_TEXT; }

std::int64_t Cursor::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Cursor::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::optional<std::string> Cursor::optional_string(int column) const {
  if (is_null(column)) return std::nullopt;
  return string(column);
}

Statement::Statement(Connection& connection, std::string_view sql) {
  const int code = sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) throw_sql_error(connection.handle(), code);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::bind(int index, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_, index, value);
  if (code != SQLITE_OK) throw_sql_error(sqlite3_db_handle(statement_), code);
}

void Statement::bind(int index, std::string_view value) {
  // An empty view may have no address; SQLite would bind NULL.
  const char* data = value.data() != nullptr ? value.data() : "";
  const int code = sqlite3_bind_text64(statement_, index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) throw_sql_error(sqlite3_db_handle(statement_), code);
}

void Statement::bind(int index, std::nullopt_t) {
  const int code = sqlite3_bind_null(statement_, index);
  if (code != SQLITE_OK) throw_sql_error(sqlite3_db_handle(statement_), code);
}

}  // namespace duramen::inline v0::sqlite::detail
