// Schemas: one per tenant, created by the first node, and versions that can and cannot work together.
#include "providers/postgres/schema.hpp"

#include "providers/postgres/error.hpp"
#include "providers/postgres/identifier.hpp"
#include "store.hpp"

#include <atomic>
#include <cstdlib>
#include <semaphore>
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
                           ".duramen_schema SET version = 1000, works_with = 999");
  const auto opened = postgres::open_provider(options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::wrong_version);
  EXPECT_FALSE(opened.error().retryable);
  EXPECT_NE(opened.error().message.find("version 999"), std::string::npos) << opened.error().message;
  EXPECT_NE(opened.error().message.find("use the newer Duramen"), std::string::npos);
}

TEST_F(PostgresSchemas, AStoreThatWasOnlyAddedToWorksWithOlderNodes) {
  const postgres::Options options = options_for(unique("expanded_"));
  const auto before = open(options);
  const std::string name = detail::quoted_identifier(options.schema);
  // A later version adds a column and a table.
  schema->connection().script("ALTER TABLE " + name +
                              ".instances ADD COLUMN colour text DEFAULT 'blue'; CREATE TABLE " + name +
                              ".more (x int); UPDATE " + name + ".duramen_schema SET version = version + 1");
  start(*before, "a");
  const auto after = open(options);
  const auto batch = after->fetch_turns({.node = "n", .lease = 10s}).value();
  ASSERT_EQ(batch.items.size(), 1u);
  const TurnCommit commit = first_turn(batch.items[0], 1);
  EXPECT_EQ(before->commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
}

TEST_F(PostgresSchemas, AnEarlierLayoutIsRefusedWithTheWayOut) {
  postgres::Options options = options_for(unique("earlier_"));
  const std::string name = detail::quoted_identifier(options.schema);
  schema->connection().script("CREATE SCHEMA " + name + "; CREATE TABLE " + name +
                              ".instances (id text); CREATE TABLE " + name + ".orchestrator_queue (id int)");
  for (const bool migrate : {true, false}) {
    options.migrate = migrate;
    const auto opened = postgres::open_provider(options);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::wrong_version);
    for (const char* word : {"earlier Duramen", "export", "import"})
      EXPECT_NE(opened.error().message.find(word), std::string::npos) << opened.error().message;
  }
}

TEST_F(PostgresSchemas, ASchemaThatIsChangedUnderARunningProcessStopsIt) {
  const postgres::Options options = options_for(unique("changed_"));
  const auto store = open(options);
  start(*store, "a");
  schema->connection().run("UPDATE " + detail::quoted_identifier(options.schema) +
                           ".duramen_schema SET version = 1000, works_with = 999");
  const auto batch = store->fetch_turns({.node = "n", .lease = 10s});
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, ErrorCode::wrong_version);
  EXPECT_FALSE(batch.error().retryable);
  const auto activities = store->fetch_activities({.node = "n", .lease = 10s});
  ASSERT_FALSE(activities);
  EXPECT_EQ(activities.error().code, ErrorCode::wrong_version);
}

TEST_F(PostgresSchemas, AProcessThatDoesNotKnowTheSchemaLeasesNothing) {
  const postgres::Options options = options_for(unique("unknown_"));
  const auto store = open(options);
  start(*store, "a");
  const auto need = [&](int version) {
    schema->connection().run("UPDATE " + detail::quoted_identifier(options.schema) +
                             ".duramen_schema SET works_with = " + std::to_string(version));
  };
  need(999);
  for (int i = 0; i < 3; ++i) ASSERT_FALSE(store->fetch_turns({.node = "n", .lease = 10s}));
  need(1);
  const auto batch = store->fetch_turns({.node = "n", .lease = 10s}).value();
  ASSERT_EQ(batch.items.size(), 1u);
  EXPECT_EQ(batch.items[0].attempt, 1u);
}

// A migration that waits for a table holds up every call that comes after it.
TEST_F(PostgresSchemas, AMigrationThatFindsATableInUseGivesUpAndSucceedsLater) {
  const postgres::Options options = options_for(unique("migrated_"));
  const auto store = open(options);
  constexpr std::string_view files[] = {"ALTER TABLE instances ADD COLUMN colour text"};
  std::vector<detail::Migration> later(detail::migrations().begin(), detail::migrations().end());
  later.push_back({files, 1});
  const std::string instances = detail::quoted_identifier(options.schema) + ".instances";
  detail::Connection migrator{detail::ConnInfo{options.conninfo}, 30s, false, nullptr};
  EXPECT_THROW(detail::open_schema(migrator, options.schema, false, later), detail::StoreError);
  schema->connection().script("BEGIN; LOCK TABLE " + instances + " IN ACCESS SHARE MODE");
  // A migration that waits gets the table after some seconds.
  std::binary_semaphore gave_up{0};
  std::thread user([&] {
    (void)gave_up.try_acquire_for(3s);
    schema->connection().script("COMMIT");
  });
  try {
    detail::open_schema(migrator, options.schema, true, later, 50ms);
    ADD_FAILURE() << "it has waited for a table in use";
  } catch (const detail::SqlError& error) {
    EXPECT_EQ(error.state(), "55P03");  // lock_not_available
  }
  gave_up.release();
  user.join();
  EXPECT_EQ(detail::stored_schema_version(migrator, options.schema), 1);
  detail::open_schema(migrator, options.schema, true, later, 50ms);
  EXPECT_EQ(detail::stored_schema_version(migrator, options.schema), 2);
  start(*store, "the older process goes on");
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

// A new sequence has the number 1 as its last and as its next: the floors had passed the first entry.
TEST_F(PostgresSchemas, TheFirstInstanceOfANewStoreIsInTheNextFetch) {
  const auto store = open(options_for(unique("first_")));
  const auto fetch = [&](const char* node) {
    return store->fetch_turns({.node = node, .lease = 10s, .orchestrations = {{{"Orch", {"1"}}}}})
        .value()
        .items;
  };
  for (const char* node : {"1", "2", "3", "4"}) EXPECT_EQ(fetch(node).size(), 0u);
  start(*store, "a");
  EXPECT_EQ(fetch("5").size(), 1u);
}

// The clock of the node is an hour behind that of the server: so it is after a step of either.
TEST_F(PostgresSchemas, AStepOfTheNodesClockMovesNoTimer) {
  const postgres::Options options = options_for(unique("ahead_"));
  const auto store = open(options);
  (void)store->fetch_turns({.node = "n", .lease = 10s});
  const std::string name = detail::quoted_identifier(options.schema);
  schema->connection().run(
      "CREATE OR REPLACE FUNCTION " + name +
      ".now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT floor(extract(epoch FROM "
      "clock_timestamp()) * 1000)::bigint + 3600000'");
  (void)store->fetch_turns({.node = "m", .lease = 10s});
  const std::int64_t server = schema->number("SELECT " + name + ".now_ms()");
  const std::int64_t known = to_unix_ms(store->clock().now());
  EXPECT_LT(std::abs(known - server), 60'000);
  // Set by that clock, it is due on the server.
  TurnCommit commit = fused_turn("a", 1);
  const TimePoint at = store->clock().now() - 1min;
  commit.messages = {{"a", message::TimerFired{ExecutionId{1}, EventId{5}, at}, at}};
  ASSERT_TRUE(store->commit_turns({&commit, 1}));
  const auto batch = store->fetch_turns({.node = "o", .lease = 10s}).value();
  ASSERT_EQ(batch.items.size(), 1u);
  EXPECT_EQ(batch.items[0].messages.size(), 1u);
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

TEST_F(PostgresSchemas, AStoreHasAnIdOfItsOwn) {
  const PostgresSchema other{schema->conninfo()};
  const std::string id(open()->store_id());
  EXPECT_EQ(open()->store_id(), id);
  EXPECT_NE(open(other.options())->store_id(), id);
}

}  // namespace
}  // namespace duramen::test
