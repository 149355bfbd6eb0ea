// What can be wrong with a file, and what the error says about it.
#include "providers/sqlite/fixture.hpp"

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace duramen::sqlite::test {

namespace {

Error failure_to_open(const std::string& path) {
  auto opened = open_provider({.path = path});
  EXPECT_FALSE(opened.has_value());
  return opened ? Error{} : opened.error();
}

TEST(OpeningAFile, GivesItASchemaVersionAndANameOfItsOwn) {
  const TempDir dir;
  open_at(dir.file("t.db"));
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(raw.text("PRAGMA user_version"), "2");
  EXPECT_EQ(raw.text("PRAGMA application_id"), std::to_string(0x44555241));
  EXPECT_EQ(raw.text("PRAGMA journal_mode"), "wal");
}

TEST(OpeningAFile, RefusesOneOfANewerVersion) {
  const TempDir dir;
  open_at(dir.file("t.db"));
  RawConnection{dir.file("t.db")}.execute("PRAGMA user_version = 999");
  const Error error = failure_to_open(dir.file("t.db"));
  EXPECT_EQ(error.code, ErrorCode::wrong_version);
  EXPECT_NE(error.message.find("999"), std::string::npos) << error.message;
  EXPECT_FALSE(error.retryable);
}

TEST(OpeningAFile, RefusesTextAndLeavesNothingBesideIt) {
  const TempDir dir;
  std::ofstream{dir.file("notes.txt")} << std::string(5000, 'x');
  EXPECT_EQ(failure_to_open(dir.file("notes.txt")).code, ErrorCode::corrupt);
  EXPECT_FALSE(std::filesystem::exists(dir.file("notes.txt-lock")));
}

TEST(OpeningAFile, RefusesTheDatabaseOfAnotherProgramAndLeavesItAlone) {
  const TempDir dir;
  RawConnection{dir.file("other.db")}.execute("CREATE TABLE theirs (x)");
  EXPECT_EQ(failure_to_open(dir.file("other.db")).code, ErrorCode::corrupt);
  EXPECT_EQ(RawConnection{dir.file("other.db")}.text("SELECT group_concat(name) FROM sqlite_schema"),
            "theirs");
}

TEST(OpeningAFile, SaysThatTheDirectoryIsMissing) {
  const TempDir dir;
  const Error error = failure_to_open(dir.file("nowhere/t.db"));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_NE(error.message.find("nowhere/t.db"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("directory"), std::string::npos) << error.message;
}

TEST(OpeningAFile, SaysThatTheDirectoryCannotBeWrittenTo) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TempDir dir;
  std::filesystem::create_directory(dir.file("closed"));
  ::chmod(dir.file("closed").c_str(), 0500);
  EXPECT_EQ(failure_to_open(dir.file("closed/t.db")).code, ErrorCode::unavailable);
}

TEST(OpeningAFile, RefusesAnEmptyPath) { EXPECT_EQ(failure_to_open("").code, ErrorCode::invalid_argument); }

TEST(OpeningAFile, FindsADamagedOneCorrupt) {
  const TempDir dir;
  {
    const auto provider = open_at(dir.file("t.db"));
    for (int i = 0; i < 50; ++i) start(*provider, "instance-" + std::to_string(i));
  }
  {
    std::fstream file{dir.file("t.db"), std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(4096);
    file << std::string(60'000, '\x5a');
  }
  const auto opened = open_provider({.path = dir.file("t.db")});
  const auto read =
      opened ? (*opened)->get_instance("instance-1") : Result<std::optional<InstanceInfo>>{opened.error()};
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::corrupt);
}

TEST(AStoreUnderARelativePath, IsCountedAlsoWhenTheProgramHasChangedItsDirectory) {
  const TempDir dir;
  std::filesystem::create_directory(dir.file("elsewhere"));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.file(""));
  const auto provider = open_at("t.db");
  start(*provider, "a");
  std::filesystem::current_path(dir.file("elsewhere"));
  const auto metrics = provider->get_metrics();
  const bool made_another = std::filesystem::exists("t.db");
  std::filesystem::current_path(before);
  ASSERT_TRUE(metrics) << metrics.error().describe();
  EXPECT_EQ(metrics->total_instances(), 1u);
  EXPECT_FALSE(made_another);
}

TEST(AFullDisk, FailsTheCallAsRetryableAndLosesNothing) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  start(*provider, "before");

  // No file of this process may grow beyond what the log has already: to SQLite that is a full disk.
  struct rlimit unlimited{};
  ::getrlimit(RLIMIT_FSIZE, &unlimited);
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{4u << 20, unlimited.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  StartRequest large = start_request("large");
  large.start.input = Payload::text(std::string(8u << 20, 'x'));
  const auto refused = provider->start_instances({&large, 1});
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, previous);

  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(refused.error().retryable);
  EXPECT_TRUE(provider->get_instance("before").value().has_value());
  EXPECT_FALSE(provider->get_instance("large").value().has_value());
  EXPECT_EQ(provider->start_instances({&large, 1}).value().at(0), StartOutcome::created);
}

TEST(InMemory, AStoreNeedsNoFileAndEndsWithTheProvider) {
  for (int round = 0; round < 2; ++round) {
    const auto provider = open_at(":memory:");
    start(*provider, "a");
    EXPECT_EQ(provider->fetch_turns(fetch_turns()).value().items.size(), 1u);
    EXPECT_TRUE(provider->get_instance("a").value().has_value());
  }
  EXPECT_FALSE(std::filesystem::exists(":memory:-lock"));
}

}  // namespace

}  // namespace duramen::sqlite::test
