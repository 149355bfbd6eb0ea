// The same program on the other store.
#include "cli/known_store.hpp"
#include "support/postgres_cluster.hpp"

#include <unistd.h>

namespace duramen::test {
namespace {

using ::testing::HasSubstr;

TEST(OnPostgres, AStoreIsMadeOnlyWhenAskedForAndThenUsed) {
  const PostgresCluster* const cluster = PostgresCluster::get();
  if (cluster == nullptr) GTEST_SKIP() << "no PostgreSQL here: " << PostgresCluster::why_not();
  PostgresSchema schema{cluster->conninfo()};
  const std::string database = "cli_" + std::to_string(::getpid());
  schema.connection().script("CREATE DATABASE " + database);
  const std::string host = cluster->conninfo().substr(5, cluster->conninfo().find(' ') - 5);
  const std::string store = "postgres:///" + database + "?host=" + host + "&user=postgres";

  const CliResult none = duramen({"list", "--store", store});
  EXPECT_EQ(none.exit, 4);
  EXPECT_THAT(none.err, HasSubstr("there is no store in schema 'duramen'"));
  EXPECT_EQ(duramen({"start", "Hello", "--id", "h", "--create", "--store", store}).exit, 0);
  const CliResult one = duramen({"list", "--store", store});
  EXPECT_EQ(one.exit, 0);
  EXPECT_THAT(one.out, HasSubstr("Pending"));
  EXPECT_EQ(duramen({"show", "nobody", "--store", store}).exit, 3);
  schema.connection().script("DROP DATABASE " + database + " WITH (FORCE)");
}

}  // namespace
}  // namespace duramen::test
