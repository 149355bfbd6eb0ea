// Cases of PostgreSQL only: schemas, and a server that a newer Duramen has upgraded.
#include "cli/known_store.hpp"
#include "support/postgres_cluster.hpp"

#include <unistd.h>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class OnPostgres : public ::testing::Test {
 protected:
  void SetUp() override {
    DURAMEN_NEEDS_POSTGRES();
    schema = std::make_unique<PostgresSchema>(PostgresCluster::get()->conninfo());
    server = postgres_address(schema->conninfo(), "postgres");
  }
  /// The schema of this test, which later tests use again.
  [[nodiscard]] std::string store() const { return server + "&schema=" + schema->name(); }
  [[nodiscard]] bool is_there(const std::string& name) const {
    return schema->number("SELECT count(*) FROM pg_namespace WHERE nspname = '" + name + "'") == 1;
  }

  std::unique_ptr<PostgresSchema> schema;
  std::string server;
};

TEST_F(OnPostgres, AStoreIsCreatedOnlyOnRequestAndThenUsed) {
  const std::string database = "cli_" + std::to_string(::getpid());
  schema->connection().script("CREATE DATABASE " + database);
  const std::string address = postgres_address(schema->conninfo(), database);

  const CliResult none = duramen({"list", "--store", address});
  EXPECT_EQ(none.exit, 4);
  EXPECT_THAT(none.err, HasSubstr("there is no store in schema 'duramen'; check the address"));
  EXPECT_THAT(duramen({"start", "Hello", "--store", address}).err, HasSubstr("add --create"));
  EXPECT_EQ(duramen({"start", "Hello", "--id", "h", "--create", "--store", address}).exit, 0);
  const CliResult one = duramen({"list", "--store", address});
  EXPECT_EQ(one.exit, 0);
  EXPECT_THAT(one.out, HasSubstr("Pending"));
  EXPECT_EQ(duramen({"show", "nobody", "--store", address}).exit, 3);
  schema->connection().script("DROP DATABASE " + database + " WITH (FORCE)");
}

TEST_F(OnPostgres, TheAddressNamesTheSchema) {
  const std::string name = "tenant " + std::to_string(::getpid()) + "%";
  const std::string address =
      server + "&schema=tenant%20" + std::to_string(::getpid()) + "%25&connect_timeout=20";
  EXPECT_THAT(duramen({"list", "--store", address}).err,
              HasSubstr("there is no store in schema '" + name + "'"));
  EXPECT_FALSE(is_there(name));
  EXPECT_EQ(duramen({"start", "Hello", "--id", "h", "--create", "--store", address}).exit, 0);
  EXPECT_TRUE(is_there(name));
  EXPECT_EQ(duramen({"list", "--ids", "--store", address}).out, "h\n");
  EXPECT_EQ(duramen({"list", "--ids", "--store", store()}).out, "");
  schema->connection().script("DROP SCHEMA \"" + name + "\" CASCADE");
  for (const char* bad : {"&schema=", "&schema=a%2", "&schema=100%", "&schema=%00"}) {
    EXPECT_EQ(duramen({"list", "--store", server + bad}).exit, 2) << bad;
  }
}

TEST_F(OnPostgres, ASchemaOfANewerDuramenIsReportedOrRefused) {
  /// Restores the schema for the next test.
  struct AsItWas {
    PostgresSchema& schema;
    std::string table = schema.name() + ".duramen_schema";
    std::string version = std::to_string(schema.number("SELECT version FROM " + table));
    std::string works_with = std::to_string(schema.number("SELECT works_with FROM " + table));
    ~AsItWas() {
      schema.connection().script("UPDATE " + table + " SET version = " + version +
                                 ", works_with = " + works_with);
    }
  };
  const AsItWas was{*schema};
  schema->connection().script("UPDATE " + schema->name() + ".duramen_schema SET version = 70");
  const CliResult newer = duramen({"doctor", "--store", store()});
  EXPECT_EQ(newer.exit, 0) << newer.out << newer.err;
  EXPECT_THAT(newer.out, AllOf(HasSubstr("warning"), HasSubstr("version 70, made by a newer Duramen"),
                               HasSubstr("knows " + was.version)));
  EXPECT_EQ(Json::parse(duramen({"doctor", "--json", "--store", store()}).out)["schema_version"], 70);

  schema->connection().script("UPDATE " + schema->name() + ".duramen_schema SET works_with = 70");
  const CliResult refused = duramen({"doctor", "--store", store()});
  EXPECT_EQ(refused.exit, 4);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("needs a Duramen that knows version 70"),
                                 HasSubstr("use the newer Duramen that wrote it")));
}

TEST_F(OnPostgres, AnExportOfAFileIsImported) {
  const TempDir dir;
  const std::string file = "sqlite:" + dir.file("store.db");
  std::string why_not;
  make_known_store(make_place(StoreKind::sqlite, dir, why_not)->open());
  const CliResult exported = duramen({"export", "--status", "ended", "--store", file});
  const CliResult imported = duramen({"import", "--store", store()}, {.input = exported.out});
  EXPECT_EQ(imported.exit, 0) << imported.out << imported.err;
  EXPECT_EQ(duramen({"export", "--all", "--store", store()}).out, exported.out);
}

}  // namespace
}  // namespace duramen::test
