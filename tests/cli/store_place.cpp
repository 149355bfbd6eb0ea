#include "cli/store_place.hpp"

#include <duramen/sqlite.hpp>
#ifdef DURAMEN_CLI_POSTGRES
#include "support/postgres_cluster.hpp"
#endif

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace duramen::test {

namespace {

/// The SQL with the names that the tables have in a store.
std::string with_names(std::string statements, const std::string& prefix) {
  for (std::size_t at = 0; (at = statements.find('@', at)) != std::string::npos; at += prefix.size()) {
    statements.replace(at, 1, prefix);
  }
  return statements;
}

class SqlitePlace final : public StorePlace {
 public:
  explicit SqlitePlace(const TempDir& directory)
      : path_(directory.file("store.db")), script_(directory.file("script.sql")) {}

  [[nodiscard]] std::string address() const override { return "sqlite:" + path_; }
  [[nodiscard]] Store open() const override {
    return sqlite::open({.path = path_, .durability = sqlite::Options::Durability::off});
  }
  void sql(const std::string& statements) override {
    std::ofstream(script_) << with_names(statements, "duramen_");
    if (std::system(("sqlite3 -bail '" + path_ + "' < '" + script_ + "'").c_str()) != 0) {
      throw std::runtime_error("sqlite3 refused: " + statements);
    }
  }

 private:
  std::string path_;
  std::string script_;
};

#ifdef DURAMEN_CLI_POSTGRES
class PostgresPlace final : public StorePlace {
 public:
  explicit PostgresPlace(const PostgresCluster& cluster) : schema_(cluster.conninfo()) {}

  [[nodiscard]] std::string address() const override {
    return postgres_address(schema_.conninfo(), "postgres") + "&schema=" + schema_.name();
  }
  [[nodiscard]] Store open() const override { return postgres::open(schema_.options()); }
  void sql(const std::string& statements) override {
    schema_.connection().script("SET search_path TO " + schema_.name() + ";" + with_names(statements, "") +
                                ";RESET search_path");
  }

 private:
  PostgresSchema schema_;
};
#endif

}  // namespace

std::string name_of(StoreKind kind) { return kind == StoreKind::sqlite ? "sqlite" : "postgres"; }

std::vector<StoreKind> store_kinds() {
#ifdef DURAMEN_CLI_POSTGRES
  return {StoreKind::sqlite, StoreKind::postgres};
#else
  return {StoreKind::sqlite};
#endif
}

std::string postgres_address(const std::string& conninfo, const std::string& database) {
  // "host=/the/directory user=postgres ..."
  const std::string host = conninfo.substr(5, conninfo.find(' ') - 5);
  return "postgres:///" + database + "?host=" + host + "&user=postgres";
}

std::unique_ptr<StorePlace> make_place(StoreKind kind, const TempDir& directory, std::string& why_not) {
  if (kind == StoreKind::sqlite) return std::make_unique<SqlitePlace>(directory);
#ifdef DURAMEN_CLI_POSTGRES
  if (const PostgresCluster* const cluster = PostgresCluster::get())
    return std::make_unique<PostgresPlace>(*cluster);
  why_not = "no PostgreSQL here: " + PostgresCluster::why_not();
#else
  why_not = "built without PostgreSQL";
#endif
  return nullptr;
}

}  // namespace duramen::test
