#include "providers/postgres/schema.hpp"

#include "providers/postgres/connection.hpp"
#include "providers/postgres/error.hpp"
#include "providers/postgres/identifier.hpp"
#include <duramen/detail/mutant.hpp>
#include <duramen/history.hpp>

#include <optional>

namespace duramen::inline v0::postgres::detail {

namespace {

struct Version {
  std::int64_t current = 0;
  std::int64_t works_with = 0;
};

/// Empty: there is no such schema, or it contains no store.
std::optional<Version> read_version(Connection& connection, const std::string& schema) {
  Parameters name;
  name.text(schema);
  const Rows found = connection.run(
      "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
      "WHERE n.nspname = $1 AND c.relname = 'duramen_schema'",
      name);
  if (found.count() == 0) return std::nullopt;
  const Rows rows =
      connection.run(in_schema("SELECT version, works_with FROM @duramen_schema", quoted_identifier(schema)));
  if (rows.count() == 0) return std::nullopt;
  return Version{rows.integer(0, 0), rows.integer(0, 1)};
}

bool holds_something_else(Connection& connection, const std::string& schema) {
  Parameters name;
  name.text(schema);
  return connection
             .run(
                 "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
                 "c.relnamespace "
                 "WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND c.relname IN "
                 "('instances', "
                 "'executions', 'history', 'key_values', 'queue', 'received_messages', 'parked_messages', "
                 "'worker_queue', 'stolen_leases', 'sessions', 'nodes', 'settings', 'numbers', 'places') "
                 "LIMIT 1",
                 name)
             .count() > 0;
}

void refuse_newer(const Version& version, const std::string& schema, std::span<const Migration> known) {
  if (version.works_with > static_cast<std::int64_t>(known.size()))
    throw StoreError(newer_schema(schema, version.works_with, known));
}

/// The layout before the first release had a table that this one does not have.
void refuse_earlier_layout(Connection& connection, const std::string& schema) {
  Parameters name;
  name.text(schema);
  const Rows found = connection.run(
      "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
      "WHERE n.nspname = $1 AND c.relname = 'orchestrator_queue'",
      name);
  if (found.count() == 0) return;
  throw StoreError(
      {ErrorCode::wrong_version, "",
       "schema '" + schema +
           "' was written by an earlier Duramen; export its ended instances with that build (`duramen "
           "export`), finish the open ones there, and import into a new schema",
       false});
}

/// A transaction that rolls back unless it is committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) { connection_.script("BEGIN"); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (done_ || !connection_.usable()) return;
    try {
      connection_.script("ROLLBACK");
    } catch (const std::exception&) {
      // The server rolls back when the connection ends.
    }
  }
  void commit() {
    connection_.script("COMMIT");
    done_ = true;
  }

 private:
  Connection& connection_;
  bool done_ = false;
};

void bring_up_to_date(Connection& connection, const std::string& schema, std::span<const Migration> known,
                      std::chrono::milliseconds lock_timeout) {
  const auto newest = static_cast<std::int64_t>(known.size());
  const std::string name = quoted_identifier(schema);
  Transaction transaction{connection};
  // A migration of a large store takes its time.
  connection.script("SET LOCAL statement_timeout TO 0");
  // The lock ends with the transaction, so that it works through a pooler as well.
  connection.script("SELECT pg_advisory_xact_lock(hashtextextended(" +
                    quoted_literal("duramen schema " + schema) + ", 0))");
  Version version = read_version(connection, schema).value_or(Version{});
  refuse_newer(version, schema, known);
  if (version.current >= newest) return;  // another node has migrated it
  if (version.current == 0) {
    refuse_earlier_layout(connection, schema);
    if (holds_something_else(connection, schema)) {
      throw StoreError(
          {ErrorCode::invalid_argument, "",
           "schema '" + schema + "' contains tables of another program; choose another schema for the store",
           false});
    }
    connection.script("CREATE SCHEMA IF NOT EXISTS " + name);
  }
  connection.script("SET LOCAL search_path TO " + name + ", pg_temp");
  connection.script("SET LOCAL client_min_messages TO warning");
  // A migration that waits for a lock holds up every call behind it: it gives up instead, and a caller tries
  // again.
  if (!duramen::detail::mutant("a_migration_waits_for_its_locks"))
    connection.script("SET LOCAL lock_timeout TO " + std::to_string(lock_timeout.count()));
  for (std::int64_t next = version.current; next < newest; ++next) {
    const Migration& migration = known[static_cast<std::size_t>(next)];
    for (const std::string_view file : migration.files) connection.script(std::string(file));
    version = {next + 1, migration.works_with};
  }
  connection.script("INSERT INTO settings (name, value) VALUES ('write_level', " +
                    std::to_string(engine_version) + ") ON CONFLICT (name) DO NOTHING");
  connection.script(
      "CREATE TABLE IF NOT EXISTS duramen_schema (one boolean PRIMARY KEY DEFAULT true CHECK (one), "
      "version bigint NOT NULL, works_with bigint NOT NULL, "
      "store_id text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''))");
  connection.script(
      "INSERT INTO duramen_schema (version, works_with) VALUES (" + std::to_string(version.current) + ", " +
      std::to_string(version.works_with) +
      ") ON CONFLICT (one) DO UPDATE SET version = excluded.version, works_with = excluded.works_with");
  transaction.commit();
}

}  // namespace

Error newer_schema(const std::string& schema, std::int64_t works_with, std::span<const Migration> known) {
  return {ErrorCode::wrong_version, "",
          "schema '" + schema + "' needs a Duramen that knows version " + std::to_string(works_with) +
              "; this one knows up to " + std::to_string(known.size()) +
              ": use the newer Duramen that wrote it",
          false};
}

std::int64_t stored_schema_version(Connection& connection, const std::string& schema) {
  return read_version(connection, schema).value_or(Version{}).current;
}

std::string stored_store_id(Connection& connection, const std::string& schema) {
  return connection.run(in_schema("SELECT store_id FROM @duramen_schema", quoted_identifier(schema)))
      .string(0, 0);
}

void open_schema(Connection& connection, const std::string& schema, bool migrate,
                 std::span<const Migration> known, std::chrono::milliseconds lock_timeout) {
  const auto newest = static_cast<std::int64_t>(known.size());
  const std::optional<Version> version = read_version(connection, schema);
  if (version) {
    refuse_newer(*version, schema, known);
    if (version->current >= newest) return;
  } else {
    refuse_earlier_layout(connection, schema);
  }
  if (migrate) return bring_up_to_date(connection, schema, known, lock_timeout);
  throw StoreError({ErrorCode::wrong_version, "",
                    version ? "schema '" + schema + "' has version " + std::to_string(version->current) +
                                  ", this Duramen needs " + std::to_string(newest) +
                                  ": open it once with migrate = true and a role that may change it"
                            : "there is no store in schema '" + schema +
                                  "': open it once with migrate = true and a role that may create it",
                    false});
}

}  // namespace duramen::inline v0::postgres::detail
