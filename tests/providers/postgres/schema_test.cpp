// Schemas: one per tenant, created by the first node, and versions that can and cannot work together.
#include "providers/postgres/schema.hpp"

#include "providers/postgres/error.hpp"
#include "providers/postgres/identifier.hpp"
#include "store.hpp"

#include <atomic>
#include <thread>

namespace duramen::test {
namespace {

namespace detail = postgres::detail;

/// A schema that the test creates and removes.
class PostgresSchemas : public OnPostgres {
 protected:
  [[nodiscard]] postgres::Options options_for(const std::string& name) {
    made.push_back(name);
    drop(name);
    postgres::Options options = schema->options();
    options.schema = name;
    return options;
  }
  void TearDown() override {
    for (const std::string& name : made) drop(name);
  }
  void drop(const std::string& name) {
    schema->connection().script("SET client_min_messages TO warning; DROP SCHEMA IF EXISTS " +
                                detail::quoted_identifier(name) + " CASCADE");
  }
  std::vector<std::string> made;
};

std::string unique(const std::string& name) { return name + std::to_string(::getpid()); }

TEST_F(PostgresSchemas, TenantsOfOneDatabaseAreIsolated) {
  const auto one = open(options_for(unique("tenant one ")));
  const auto two = open(options_for(unique("Tenant\"; DROP TABLE x; -- ")));
  start(*one, "a");
  EXPECT_TRUE(one->get_instance("a").value().has_value());
  EXPECT_FALSE(two->get_instance("a").value().has_value());
  start(*two, "a");
  EXPECT_EQ(one->get_metrics().value().total_instances(), 1u);
}

TEST_F(PostgresSchemas, AnInvalidNameIsRefused) {
  for (const std::string& name : {std::string(), std::string(64, 'x'), std::string("a\0b", 3)}) {
    postgres::Options options = schema->options();
    options.schema = name;
    const auto opened = postgres::open_provider(options);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::invalid_argument);
  }
}

TEST_F(PostgresSchemas, ManyConcurrentOpensCreateItOnce) {
  const postgres::Options options = options_for(unique("raced_"));
  std::atomic<int> opened = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] { opened += postgres::open_provider(options).has_value() ? 1 : 0; });
    }
  }
  EXPECT_EQ(opened, 6);
}

TEST_F(PostgresSchemas, AStoreOfANewerDuramenThatNeedsANewerOneIsRefused) {
  const postgres::Options options = options_for(unique("newer_"));
  (void)open(options);
  schema->connection().run("UPDATE " + detail::quoted_identifier(options.schema) +
                           ".schema_version SET version = 1000, works_with = 999");
  const auto opened = postgres::open_provider(options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::wrong_version);
  EXPECT_FALSE(opened.error().retryable);
  EXPECT_NE(opened.error().message.find("version 1000"), std::string::npos) << opened.error().message;
  EXPECT_NE(opened.error().message.find("use the newer Duramen"), std::string::npos);
}

TEST_F(PostgresSchemas, AStoreThatWasOnlyAddedToWorksWithOlderNodes) {
  const postgres::Options options = options_for(unique("expanded_"));
  const auto before = open(options);
  const std::string name = detail::quoted_identifier(options.schema);
  // A later version adds a column and a table.
  schema->connection().script("ALTER TABLE " + name +
                              ".instances ADD COLUMN colour text DEFAULT 'blue'; CREATE TABLE " + name +
                              ".more (x int); UPDATE " + name + ".schema_version SET version = version + 1");
  start(*before, "a");
  const auto after = open(options);
  const auto batch = after->fetch_turns({.node = "n", .lease = 10s}).value();
  ASSERT_EQ(batch.items.size(), 1u);
  const TurnCommit commit = first_turn(batch.items[0], 1);
  EXPECT_EQ(before->commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
}

TEST_F(PostgresSchemas, WithoutMigrationTheSchemaMustBeThere) {
  postgres::Options options = options_for(unique("absent_"));
  options.migrate = false;
  const auto opened = postgres::open_provider(options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::wrong_version);
  EXPECT_NE(opened.error().message.find("migrate = true"), std::string::npos) << opened.error().message;
  options.migrate = true;
  (void)open(options);
  options.migrate = false;
  EXPECT_TRUE(postgres::open_provider(options));
}

TEST_F(PostgresSchemas, TablesOfAnotherProgramAreLeftAlone) {
  const postgres::Options options = options_for(unique("foreign_"));
  const std::string name = detail::quoted_identifier(options.schema);
  schema->connection().script("CREATE SCHEMA " + name + "; CREATE TABLE " + name + ".sessions (id int)");
  const auto opened = postgres::open_provider(options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(opened.error().message.find("another program"), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace duramen::test
