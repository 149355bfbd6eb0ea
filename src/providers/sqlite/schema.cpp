#include "providers/sqlite/schema.hpp"

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/error.hpp"
#include "providers/sqlite/statement.hpp"

#include <fstream>

namespace duramen::inline v0::sqlite::detail {

namespace {

// "DURA": marks the file as a store, for Duramen and for `file(1)`.
constexpr std::int64_t application_id = 0x44555241;

std::string boot_id() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

void check_schema(Connection& connection, const std::string& path) {
  // One snapshot: another process may be creating the schema now.
  connection.execute("BEGIN");
  const std::int64_t application = connection.query_number("PRAGMA application_id");
  const std::int64_t version = connection.query_number("PRAGMA user_version");
  const bool empty = connection.query_number("SELECT count(*) FROM sqlite_schema") == 0;
  connection.execute("COMMIT");
  const auto newest = static_cast<std::int64_t>(migrations().size());
  if (application == application_id) {
    if (version <= newest) return;
    throw StoreError({ErrorCode::wrong_version, "",
                      path + " has schema version " + std::to_string(version) +
                          ", this Duramen knows up to " + std::to_string(newest) +
                          "; use the newer Duramen that wrote it",
                      false});
  }
  if (application == 0 && version == 0 && empty) return;
  throw StoreError({ErrorCode::corrupt, "",
                    path + " is the database of another program; choose another path for the store", false});
}

void migrate_schema(Connection& connection, const std::string& path) {
  check_schema(connection, path);
  const auto newest = static_cast<std::int64_t>(migrations().size());
  const std::int64_t version = connection.query_number("PRAGMA user_version");
  if (version == newest) return;
  connection.execute("BEGIN IMMEDIATE");
  try {
    for (std::int64_t next = version; next < newest; ++next) {
      connection.execute(std::string(migrations()[static_cast<std::size_t>(next)]));
    }
    connection.execute("PRAGMA application_id=" + std::to_string(application_id));
    connection.execute("PRAGMA user_version=" + std::to_string(newest));
    connection.execute("COMMIT");
  } catch (...) {
    if (connection.in_transaction()) connection.execute("ROLLBACK");
    throw;
  }
}

std::int64_t current_boot_number(Connection& connection) {
  const std::string current = boot_id();
  std::int64_t last = 0;
  {
    Statement latest{connection, "SELECT number, boot_id FROM boots ORDER BY number DESC LIMIT 1"};
    Cursor run = latest.run();
    if (run.step()) {
      last = run.integer(0);
      if (run.text(1) == current) return last;
    }
  }
  Statement add{connection, "INSERT INTO boots (number, boot_id) VALUES (?, ?)"};
  add.execute(last + 1, current);
  return last + 1;
}

}  // namespace duramen::inline v0::sqlite::detail
