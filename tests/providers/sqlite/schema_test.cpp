// The schema of the file: its names, its version, and the files that are refused.
#include "providers/sqlite/schema.hpp"

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/fixture.hpp"

#include <gmock/gmock.h>

#include <array>
#include <fstream>
#include <iterator>
#include <thread>

namespace duramen::sqlite::test {

namespace {

using ::testing::HasSubstr;

// Adds a column with a value: a later version of the schema.
constexpr std::string_view made_up = "ALTER TABLE duramen_instances ADD COLUMN made_up INTEGER DEFAULT 7;";
constexpr std::string_view broken = "CREATE TABLE duramen_new (x); CREATE TABLE duramen_queue (x);";

std::string bytes_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// A file as an earlier build left it.
void make_earlier_file(const std::string& path, int version) {
  RawConnection raw{path};
  raw.execute("CREATE TABLE instances (key INTEGER PRIMARY KEY, instance_id TEXT NOT NULL UNIQUE)");
  raw.execute("PRAGMA application_id = " + std::to_string(0x44555241));
  raw.execute("PRAGMA user_version = " + std::to_string(version));
}

std::array<std::string_view, 2> with_next(std::string_view next) {
  return {detail::migrations().front(), next};
}

void migrate(const std::string& path, std::span<const std::string_view> known, bool allowed = true) {
  detail::Connection connection{path, detail::Connection::Mode::read_write};
  detail::migrate_schema(connection, {.path = path, .migrate = allowed}, known);
}

TEST(TheSchema, HasThePrefixDuramenInAllItsNames) {
  const TempDir dir;
  open_at(dir.file("t.db"));
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(
      raw.text("SELECT group_concat(name) FROM sqlite_schema WHERE name NOT LIKE 'duramen\\_%' ESCAPE '\\' "
               "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"),
      "");
  EXPECT_EQ(raw.text("SELECT version FROM duramen_schema"), std::to_string(detail::migrations().size()));
}

TEST(TheSchema, KeepsEarlierBuildsAwayByTheUserVersion) {
  const TempDir dir;
  open_at(dir.file("t.db"));
  EXPECT_EQ(RawConnection{dir.file("t.db")}.text("PRAGMA user_version"), "3");
}

TEST(AFileOfAnEarlierBuild, IsRefusedWithTheWayOut) {
  for (const int version : {1, 2}) {
    SCOPED_TRACE(version);
    const TempDir dir;
    make_earlier_file(dir.file("t.db"), version);
    const std::string before = bytes_of(dir.file("t.db"));
    for (const bool share : {false, true}) {
      const auto refused = open_provider({.path = dir.file("t.db"), .share_file = share});
      ASSERT_FALSE(refused.has_value());
      EXPECT_EQ(refused.error().code, ErrorCode::wrong_version);
      EXPECT_THAT(
          refused.error().message,
          HasSubstr(dir.file("t.db") + " was written by an earlier Duramen (schema " +
                    std::to_string(version) +
                    "); export its ended instances with that build (`duramen export`), finish the open "
                    "ones there, and import into a new store"));
    }
    EXPECT_EQ(bytes_of(dir.file("t.db")), before);
  }
}

TEST(AFileOfANewerVersion, IsRefusedAndNotTouched) {
  const TempDir dir;
  open_at(dir.file("t.db"));
  {
    RawConnection raw{dir.file("t.db")};
    raw.execute("UPDATE duramen_schema SET version = 999");
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const std::string before = bytes_of(dir.file("t.db"));
  const auto refused = open_provider({.path = dir.file("t.db")});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::wrong_version);
  EXPECT_EQ(bytes_of(dir.file("t.db")), before);
}

// -- sharing a file

TEST(AFileWithTablesOfAnotherProgram, IsRefusedUnlessItMayBeShared) {
  const TempDir dir;
  {
    RawConnection raw{dir.file("t.db")};
    raw.execute("CREATE TABLE instances (x); INSERT INTO instances VALUES ('theirs')");
    raw.execute("PRAGMA user_version = 41; PRAGMA application_id = 42");
  }
  const auto refused = open_provider({.path = dir.file("t.db")});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_THAT(refused.error().message, HasSubstr("share_file"));

  {
    const auto provider = open_provider({.path = dir.file("t.db"), .share_file = true}).value();
    start(*provider, "ours");
    EXPECT_EQ(provider->fetch_turns(fetch_turns()).value().items.size(), 1u);
  }
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(raw.text("SELECT x FROM instances"), "theirs");
  EXPECT_EQ(raw.text("PRAGMA user_version"), "41");
  EXPECT_EQ(raw.text("PRAGMA application_id"), "42");
}

TEST(AFileWithTablesOfAnotherProgram, IsNotSharedIfOneOfThemHasANameOfOurs) {
  const std::pair<const char*, const char*> strangers[] = {
      {"CREATE TABLE duramen_queue (x)", "table duramen_queue"},
      {"CREATE TABLE Duramen_Schema (x)", "table Duramen_Schema"},
      {"CREATE VIEW duramen_nodes AS SELECT 1", "view duramen_nodes"},
      {"CREATE TABLE theirs (x); CREATE INDEX duramen_index ON theirs (x)", "index duramen_index"}};
  for (const auto& [sql, name] : strangers) {
    const TempDir dir;
    RawConnection{dir.file("t.db")}.execute(sql);
    const std::string before = bytes_of(dir.file("t.db"));
    const auto refused = open_provider({.path = dir.file("t.db"), .share_file = true});
    ASSERT_FALSE(refused.has_value()) << sql;
    EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
    EXPECT_EQ(refused.error().message,
              dir.file("t.db") + " has a " + name +
                  " that is not of a store, and a store cannot share the file with it: names that begin with "
                  "duramen_ are its own; rename it, or choose another path for the store");
    EXPECT_EQ(bytes_of(dir.file("t.db")), before);
  }
}

TEST(AFileWithTablesOfAnotherProgram, IsOpenedOnceItHasAStore) {
  const TempDir dir;
  start(*open_at(dir.file("t.db")), "a");
  RawConnection{dir.file("t.db")}.execute("CREATE TABLE theirs (x)");
  EXPECT_TRUE(open_at(dir.file("t.db"))->get_instance("a").value().has_value());
}

// -- the id of the store

TEST(TheStoreId, IsTheFilesOwnAndACopyKeepsIt) {
  const TempDir dir;
  const std::string first(open_at(dir.file("a.db"))->store_id());
  EXPECT_EQ(open_at(dir.file("a.db"))->store_id(), first);
  EXPECT_NE(open_at(dir.file("b.db"))->store_id(), first);
  RawConnection{dir.file("a.db")}.execute("VACUUM INTO '" + dir.file("copy.db") + "'");
  EXPECT_EQ(open_at(dir.file("copy.db"))->store_id(), first);
}

// -- migrations, with a made-up one

TEST(AMigration, KeepsWhatTheFileHas) {
  const TempDir dir;
  start(*open_at(dir.file("t.db")), "a");
  migrate(dir.file("t.db"), with_next(made_up));
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(raw.text("SELECT version FROM duramen_schema"), "2");
  EXPECT_EQ(raw.text("SELECT instance_id || made_up FROM duramen_instances"), "a7");
  migrate(dir.file("t.db"), with_next(made_up));  // nothing is left to do
  EXPECT_EQ(raw.text("SELECT version FROM duramen_schema"), "2");
}

TEST(AMigration, OfANewFileRunsAllVersions) {
  const TempDir dir;
  migrate(dir.file("t.db"), with_next(made_up));
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(raw.text("SELECT version FROM duramen_schema"), "2");
  EXPECT_EQ(raw.text("SELECT count(*) FROM pragma_table_info('duramen_instances') WHERE name = 'made_up'"),
            "1");
}

TEST(AMigration, ThatIsNotAllowedRefusesTheFile) {
  const TempDir dir;
  open_at(dir.file("t.db"));
  try {
    migrate(dir.file("t.db"), with_next(made_up), false);
    FAIL() << "it was migrated";
  } catch (const std::exception& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("has schema version 1, this Duramen needs 2"));
  }
  EXPECT_EQ(RawConnection{dir.file("t.db")}.text("SELECT version FROM duramen_schema"), "1");
  EXPECT_TRUE(open_provider({.path = dir.file("t.db"), .migrate = false}).has_value())
      << "a file of the current version needs none";
}

TEST(AMigration, ThatFailsLeavesTheFileUnchanged) {
  const TempDir dir;
  start(*open_at(dir.file("t.db")), "a");
  EXPECT_ANY_THROW(migrate(dir.file("t.db"), with_next(broken)));
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(raw.text("SELECT version FROM duramen_schema"), "1");
  EXPECT_EQ(raw.text("SELECT count(*) FROM sqlite_schema WHERE name = 'duramen_new'"), "0");
  EXPECT_TRUE(open_at(dir.file("t.db"))->get_instance("a").value().has_value());
}

TEST(AMigration, StopsAProcessThatHasTheFileOpen) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  start(*provider, "a");
  migrate(dir.file("t.db"), with_next(made_up));
  const StartRequest request = start_request("b");
  for (int i = 0; i < 2; ++i) {
    const auto refused = provider->start_instances({&request, 1});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::wrong_version);
    EXPECT_FALSE(refused.error().retryable);
  }
  EXPECT_FALSE(provider->fetch_turns(fetch_turns()).has_value());
  EXPECT_EQ(RawConnection{dir.file("t.db")}.text("SELECT count(*) FROM duramen_instances"), "1");
}

TEST(ANewFile, MayBeOpenedByManyAtOnce) {
  const TempDir dir;
  std::atomic<int> opened = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        if (open_provider({.path = dir.file("t.db")})) ++opened;
      });
    }
  }
  EXPECT_EQ(opened, 6);
}

}  // namespace

}  // namespace duramen::sqlite::test
