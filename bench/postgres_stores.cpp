#include "bench/postgres_stores.hpp"

#include "bench/own_postgres.hpp"
#include "providers/postgres/connection.hpp"
#include <duramen/postgres.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;
namespace pg = duramen::postgres;

namespace {

using pg::detail::Connection;
using pg::detail::ConnInfo;
using pg::detail::Parameters;

/// Filling a store with very many instances takes minutes.
constexpr std::chrono::minutes server_patience{20};

std::unique_ptr<Connection> connect(const std::string& conninfo) {
  return std::make_unique<Connection>(ConnInfo{conninfo}, server_patience, false, [](std::string_view) {});
}

std::string with_setting(const std::string& conninfo, const std::string& setting) {
  std::string text;
  std::string options = "-c " + setting;
  const ConnInfo parts{conninfo};
  for (const auto& [keyword, value] : parts.values()) {
    if (keyword == "options") {
      options = value + " " + options;
      continue;
    }
    text += keyword + "='";
    for (const char c : value) {
      if (c == '\'' || c == '\\') text += '\\';
      text += c;
    }
    text += "' ";
  }
  return text + "options='" + options + "'";
}

pg::Options options_of(const std::string& conninfo, const std::string& schema) {
  pg::Options options;
  options.conninfo = conninfo;
  options.schema = schema;
  return options;
}

class PostgresStore final : public BenchStore {
 public:
  /// `reads_log`: rows are counted in the WAL of the server.
  PostgresStore(const std::string& conninfo, std::string schema, bool reads_log)
      : conninfo_(conninfo), schema_(std::move(schema)), reads_log_(reads_log), observer_(connect(conninfo)) {
    open(conninfo_);
  }
  ~PostgresStore() override {
    provider_.reset();
    try {
      observer_->script("SET client_min_messages = warning; DROP SCHEMA IF EXISTS " + schema_ + " CASCADE");
    } catch (const std::exception&) {
      // The server is gone or about to stop, with all its data.
    }
  }
  PostgresStore(const PostgresStore&) = delete;
  PostgresStore& operator=(const PostgresStore&) = delete;

  [[nodiscard]] const std::shared_ptr<dm::Provider>& provider() const noexcept override { return provider_; }
  [[nodiscard]] std::string address() const override { return "postgres " + schema_ + " " + conninfo_; }
  [[nodiscard]] std::optional<std::uint64_t> queries() const override {
    const pg::Counters counters = pg::counters(*provider_);
    return counters.queries + counters.listener_queries;
  }

  [[nodiscard]] std::shared_ptr<void> hold_snapshot() const override {
    std::shared_ptr<Connection> reader = connect(conninfo_);
    reader->script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1");
    return reader;
  }

  /// Every writing transaction uses a number, and is synced before its answer.
  [[nodiscard]] StoreCounts counts() const override {
    const auto rows = observer_->run(
        "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, "
        "(pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint");
    return {.synced_commits = rows.number(0, 0), .log_position = rows.number(0, 1)};
  }
  [[nodiscard]] Spent spent_since(const StoreCounts& before) const override {
    const StoreCounts after = counts();
    return {.synced_commits = static_cast<double>(after.synced_commits - before.synced_commits),
            .row_writes = rows_between(before.log_position, after.log_position)};
  }

  [[nodiscard]] double close_and_weigh() override {
    provider_.reset();
    vacuum("VACUUM");
    Parameters name;
    name.text(schema_);
    return static_cast<double>(
        observer_
            ->run("SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c "
                  "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'",
                  name)
            .integer(0, 0));
  }

  /// Copies one finished hello `count` times, and stops waiting for the disk.
  void fill(const HelloTurns& turns, std::size_t count) {
    const auto created = commit_all(*provider_, {turns.first(0)});
    (void)commit_all(*provider_, {turns.second(0, created[0].incarnation)});
    provider_.reset();
    const std::string model = std::to_string(created[0].incarnation.value);
    observer_->script("SET synchronous_commit = off");
    constexpr std::size_t piece = 50'000;
    for (std::size_t done = 0; done < count; done += piece) {
      const std::string numbers = "generate_series(" + std::to_string(done + 1) + ", " +
                                  std::to_string(std::min(done + piece, count)) + ") AS g (n)";
      const std::string key = model + " + g.n";
      copy_rows("instances", {{"key", key}, {"instance_id", "'done-' || g.n"}}, "key = " + model, numbers);
      copy_rows("history", {{"instance_key", key}}, "instance_key = " + model, numbers);
    }
    observer_->run("SELECT setval('" + schema_ + ".numbers', " + model + " + " + std::to_string(count) + ")");
    // Does what the server's autovacuum would have done by now.
    vacuum("VACUUM ANALYZE");
    observer_->script("RESET synchronous_commit");
    open(with_setting(conninfo_, "synchronous_commit=off"));
  }

 private:
  void open(const std::string& conninfo) {
    provider_ = pg::open_provider(options_of(conninfo, schema_)).value();
  }

  /// Read from the server's WAL, because its statistics come seconds later. Absent if the WAL is not readable
  /// or gone.
  [[nodiscard]] std::optional<double> rows_between(std::uint64_t from, std::uint64_t to) const {
    if (!reads_log_) return std::nullopt;
    if (from == to) return 0.0;
    Parameters range;
    range.number(static_cast<std::int64_t>(from)).number(static_cast<std::int64_t>(to));
    try {
      const auto rows = observer_->run(
          "SELECT coalesce(sum(count), 0)::bigint FROM pg_get_wal_stats('0/0'::pg_lsn + $1, '0/0'::pg_lsn + "
          "$2, true) s "
          "WHERE s.\"resource_manager/record_type\" ~ '^Heap/(INSERT|UPDATE|HOT_UPDATE|DELETE)'",
          range);
      return static_cast<double>(rows.integer(0, 0));
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

  struct Replaced {
    std::string column;
    std::string with;
  };
  /// Copies the rows of `table` that `which` selects, once for each number, with some columns replaced.
  void copy_rows(const std::string& table, const std::vector<Replaced>& replaced, const std::string& which,
                 const std::string& numbers) {
    std::string names;
    std::string values;
    for (const Replaced& one : replaced) {
      names += (names.empty() ? "" : ", ") + one.column;
      values += (values.empty() ? "" : ", ") + one.with;
    }
    Parameters parameters;
    parameters.text(schema_).text(table);
    const auto columns = observer_->run(
        "SELECT column_name::text FROM information_schema.columns WHERE table_schema = $1 AND table_name = "
        "$2",
        parameters);
    for (int row = 0; row < columns.count(); ++row) {
      const std::string column = columns.string(row, 0);
      if (std::ranges::any_of(replaced, [&](const Replaced& one) { return one.column == column; })) continue;
      names += ", " + column;
      values += ", t." + column;
    }
    observer_->script("INSERT INTO " + schema_ + "." + table + " (" + names + ") SELECT " + values +
                      " FROM " + schema_ + "." + table + " t, " + numbers + " WHERE t." + which);
  }

  void vacuum(const std::string& command) {
    Parameters name;
    name.text(schema_);
    const auto tables = observer_->run("SELECT tablename::text FROM pg_tables WHERE schemaname = $1", name);
    for (int row = 0; row < tables.count(); ++row) {
      observer_->script(command + " " + schema_ + "." + tables.string(row, 0));
    }
  }

  const std::string conninfo_;
  const std::string schema_;
  const bool reads_log_;
  std::unique_ptr<Connection> observer_;  // reads the server without the store
  std::shared_ptr<dm::Provider> provider_;
};

class PostgresSource final : public StoreSource {
 public:
  PostgresSource(const std::string& conninfo, const std::filesystem::path& directory) : conninfo_(conninfo) {
    if (conninfo_.empty()) {
      own_.emplace(directory);
      conninfo_ = own_->conninfo();
    }
    const auto connection = connect(conninfo_);
    const auto settings = connection->run(
        "SELECT current_setting('server_version'), current_setting('fsync'), "
        "current_setting('synchronous_commit')");
    version_ = settings.string(0, 0).substr(0, settings.string(0, 0).find(' '));
    synced_ = settings.text(0, 1) == "on" && settings.text(0, 2) != "off";
    // A shared server's WAL is not ours to read.
    if (own_) connection->script("CREATE EXTENSION IF NOT EXISTS pg_walinspect");
  }

  [[nodiscard]] std::unique_ptr<BenchStore> make() const override { return fresh(); }
  [[nodiscard]] std::unique_ptr<BenchStore> make_with_finished(const HelloTurns& turns,
                                                               std::size_t count) const override {
    auto store = fresh();
    store->fill(turns, count);
    return store;
  }
  [[nodiscard]] std::string durability() const override { return synced_ ? "full" : "none"; }
  [[nodiscard]] bool on_this_disk() const override { return own_.has_value(); }
  [[nodiscard]] std::string server() const override {
    return "PostgreSQL " + version_ + (own_ ? " on the same machine" : "");
  }

 private:
  [[nodiscard]] std::unique_ptr<PostgresStore> fresh() const {
    const std::string schema = "duramen_bench_" + std::to_string(::getpid()) + "_" + std::to_string(++made_);
    return std::make_unique<PostgresStore>(conninfo_, schema, own_.has_value());
  }

  std::optional<OwnPostgres> own_;
  std::string conninfo_;
  std::string version_;
  bool synced_ = false;
  mutable int made_ = 0;
};

}  // namespace

std::unique_ptr<StoreSource> make_postgres_source(const std::string& conninfo,
                                                  const std::filesystem::path& directory) {
  return std::make_unique<PostgresSource>(conninfo, directory);
}

dm::Store open_postgres_store(const std::string& address) {
  const auto space = address.find(' ');
  return pg::open(options_of(address.substr(space + 1), address.substr(0, space)));
}

}  // namespace bench
