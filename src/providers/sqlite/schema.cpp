#include "providers/sqlite/schema.hpp"

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/error.hpp"
#include "providers/sqlite/node_table.hpp"
#include "providers/sqlite/statement.hpp"
#include <duramen/detail/mutant.hpp>

#include <fstream>

namespace duramen::inline v0::sqlite::detail {

namespace {

// "DURA": marked the file of an earlier build, whose version stood in user_version.
constexpr std::int64_t earlier_application_id = 0x44555241;
// Earlier builds refuse a file with this user_version; they would create a store of their own in another one.
constexpr std::int64_t user_version = 3;

std::string boot_id() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string id;
  std::getline(file, id);
  return id;
}

[[noreturn]] void refuse(ErrorCode code, std::string message) {
  throw StoreError({code, "", std::move(message), false});
}

/// The contents of a file, as far as the check needs them.
struct Content {
  std::int64_t application_id = 0;
  std::int64_t user_version = 0;
  std::int64_t tables = 0;
  std::int64_t store_version = 0;
  /// A table, index, view or trigger that begins with duramen_ and is of another program; empty: none.
  std::string stranger;
};

/// The names that begin with duramen_ are the store's, also those that no table has yet.
std::string find_stranger(Connection& connection) {
  if (duramen::detail::mutant("a_table_of_our_name_is_not_noticed")) return {};
  Statement find{connection,
                 "SELECT type || ' ' || name FROM sqlite_schema "
                 "WHERE substr(lower(name), 1, 8) = 'duramen_' ORDER BY name LIMIT 1"};
  Cursor run = find.run();
  return run.step() ? run.string(0) : std::string{};
}

Content read_content(Connection& connection) {
  // One snapshot: another process may be creating the schema now.
  connection.execute("BEGIN");
  Content content{.application_id = connection.query_number("PRAGMA application_id"),
                  .user_version = connection.query_number("PRAGMA user_version"),
                  .tables = connection.query_number("SELECT count(*) FROM sqlite_schema"),
                  .store_version = stored_schema_version(connection)};
  if (content.store_version == 0) content.stranger = find_stranger(connection);
  connection.execute("COMMIT");
  return content;
}

}  // namespace

std::int64_t stored_schema_version(Connection& connection) {
  // By its columns: another program may have a table of that name.
  const bool exists =
      connection.query_number(
          "SELECT count(*) FROM pragma_table_info('duramen_schema') WHERE name IN ('version', 'store_id')") ==
      2;
  return exists ? connection.query_number("SELECT version FROM duramen_schema") : 0;
}

void check_schema(Connection& connection, const Options& options, std::span<const std::string_view> known) {
  const Content content = read_content(connection);
  const auto newest = static_cast<std::int64_t>(known.size());
  const std::string& path = options.path;
  if (content.store_version > newest) {
    refuse(ErrorCode::wrong_version, path + " has schema version " + std::to_string(content.store_version) +
                                         ", this Duramen knows up to " + std::to_string(newest) +
                                         "; use the newer Duramen that wrote it");
  }
  if (content.store_version > 0) {
    if (content.store_version == newest || options.migrate) return;
    refuse(ErrorCode::wrong_version, path + " has schema version " + std::to_string(content.store_version) +
                                         ", this Duramen needs " + std::to_string(newest) +
                                         "; open it once with a program that may migrate it "
                                         "(sqlite::Options::migrate)");
  }
  if (content.application_id == earlier_application_id) {
    refuse(
        ErrorCode::wrong_version,
        path + " was written by an earlier Duramen (schema " + std::to_string(content.user_version) +
            "); export its ended instances with that build (`duramen export`), finish the open ones there, "
            "and import into a new store");
  }
  const bool untouched = content.application_id == 0 && content.user_version == 0 && content.tables == 0;
  if (options.share_file && !content.stranger.empty()) {
    refuse(ErrorCode::corrupt,
           path + " has a " + content.stranger +
               " that is not of a store, and a store cannot share the file with it: names "
               "that begin with duramen_ are its own; rename it, or choose another path "
               "for the store");
  }
  if (untouched || options.share_file) return;
  refuse(ErrorCode::corrupt, path +
                                 " is the database of another program; choose another path for the store, or "
                                 "share the file (sqlite::Options::share_file)");
}

void migrate_schema(Connection& connection, const Options& options, std::span<const std::string_view> known) {
  check_schema(connection, options, known);
  const auto newest = static_cast<std::int64_t>(known.size());
  const std::int64_t version = stored_schema_version(connection);
  if (version == newest) return;
  connection.execute("BEGIN IMMEDIATE");
  try {
    for (std::int64_t next = version; next < newest; ++next) {
      connection.execute(std::string(known[static_cast<std::size_t>(next)]));
    }
    if (version == 0) {
      begin_write_level(connection);
      connection.execute("INSERT INTO duramen_schema (version) VALUES (0)");
      // In a shared file, user_version belongs to the other program.
      if (!options.share_file) connection.execute("PRAGMA user_version=" + std::to_string(user_version));
    }
    connection.execute("UPDATE duramen_schema SET version = " + std::to_string(newest));
    connection.execute("COMMIT");
  } catch (...) {
    if (connection.in_transaction()) connection.execute("ROLLBACK");
    throw;
  }
}

void check_still_current(std::int64_t stored, const std::string& path) {
  const auto newest = static_cast<std::int64_t>(migrations().size());
  if (stored == newest) return;
  refuse(ErrorCode::wrong_version, path + " was changed to schema version " + std::to_string(stored) +
                                       " by another process, this Duramen knows " + std::to_string(newest) +
                                       "; restart this process with the Duramen that changed it");
}

std::int64_t current_boot_number(Connection& connection) {
  const std::string current = boot_id();
  std::int64_t last = 0;
  {
    Statement latest{connection, "SELECT number, boot_id FROM duramen_boots ORDER BY number DESC LIMIT 1"};
    Cursor run = latest.run();
    if (run.step()) {
      last = run.integer(0);
      if (run.text(1) == current) return last;
    }
  }
  Statement add{connection, "INSERT INTO duramen_boots (number, boot_id) VALUES (?, ?)"};
  add.execute(last + 1, current);
  return last + 1;
}

}  // namespace duramen::inline v0::sqlite::detail
