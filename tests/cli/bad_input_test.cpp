// An error is one line with what to do and the documented exit code; it leaves nothing behind.
#include "cli/known_store.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// One line to standard error, nothing to standard output.
void expect_complaint(const CliResult& result, int exit, const std::string& says) {
  EXPECT_EQ(result.exit, exit) << result.err;
  EXPECT_THAT(result.err, AllOf(StartsWith("duramen: "), HasSubstr(says)));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
}

class BadStore : public ::testing::Test {
 protected:
  TempDir dir;
};

TEST_F(BadStore, AMissingStoreIsReportedAndNotCreated) {
  const std::string path = dir.file("none.db");
  const std::vector<std::vector<std::string>> commands{
      {"list"},
      {"show", "x"},
      {"history", "x"},
      {"tree", "x"},
      {"explain", "x"},
      {"start", "X"},
      {"wait", "x"},
      {"cancel", "x"},
      {"raise", "x", "e"},
      {"enqueue", "x", "q"},
      {"kv", "x"},
      {"delete", "x"},
      {"prune", "x", "--keep-last", "1"},
      {"stats"},
      {"top"},
      {"doctor"},
      {"export", "--all"},
      {"import"},
      {"run", std::string(DURAMEN_MODULES) + "/known.so"},
      {"replay", std::string(DURAMEN_MODULES) + "/known.so"}};
  for (std::vector<std::string> command : commands) {
    SCOPED_TRACE(command.front());
    command.insert(command.end(), {"--store", "sqlite:" + path});
    expect_complaint(duramen(command), 4, "there is no store " + path);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST_F(BadStore, AMissingOrWrongAddressIsReportedWithTheRightForm) {
  expect_complaint(duramen({"list"}), 2, "Give --store sqlite:FILE");
  expect_complaint(duramen({"list", "--store", "orders.db"}), 2, "did you mean sqlite:orders.db?");
  expect_complaint(duramen({"list", "--store", "host=h password=hunter2"}), 2,
                   "\"host=h password=***\" is no address of a store");
  expect_complaint(duramen({"list", "--store", "sqlite:"}), 2, "names no file");
  expect_complaint(duramen({"list", "--store", "sqlite::memory:"}), 2, "name a file");
}

TEST_F(BadStore, TheAddressMayComeFromTheEnvironment) {
  const CliResult result =
      duramen({"list"}, {.environment = {{"DURAMEN_STORE", "sqlite:" + dir.file("none.db")}}});
  expect_complaint(result, 4, "there is no store");
}

TEST_F(BadStore, AFileThatIsNoDatabaseIsLeftAsItIs) {
  const std::string path = dir.file("letter.txt");
  const std::string content(2000, 'x');
  std::ofstream(path) << content;
  expect_complaint(duramen({"list", "--store", "sqlite:" + path}), 4, "letter.txt");
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), content);
}

TEST_F(BadStore, AnEmptyFileStaysEmpty) {
  const std::string path = dir.file("empty.db");
  std::ofstream(path).flush();
  expect_complaint(duramen({"list", "--store", "sqlite:" + path}), 4, "is empty");
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
}

TEST_F(BadStore, ADirectoryIsNoStore) {
  expect_complaint(duramen({"list", "--store", "sqlite:" + dir.file("")}), 4, "");
}

TEST_F(BadStore, AnUnreachableServerIsReported) {
  const CliResult result =
      duramen({"list", "--store", "postgres://ada:secret@127.0.0.1:1/none?connect_timeout=1"});
  EXPECT_EQ(result.exit, 4) << result.err;
  EXPECT_THAT(result.err, AllOf(StartsWith("duramen: "), Not(HasSubstr("secret"))));
}

class BadInput : public KnownStore {};
class BadFile : public KnownFile {};

TEST_F(BadFile, MissingPermissionIsReported) {
  const bool root = ::geteuid() == 0;  // root may write everything
  ::chmod(path.c_str(), 0444);
  ::chmod(dir.file("").c_str(), root ? 0755 : 0700);
  const CliResult result = run({"list"}, {.as_nobody = root});
  if (result.exit == 127) GTEST_SKIP() << "nobody else may run the program here";
  expect_complaint(result, 4, "cannot be written to");
  ::chmod(dir.file("").c_str(), 0700);
  const CliResult locked = run({"list"}, {.as_nobody = root});
  expect_complaint(locked, 4, "cannot be written to");
}

TEST_F(BadFile, AStoreOfANewerDuramenIsReported) {
  place->sql("UPDATE duramen_schema SET version = 999");
  expect_complaint(run({"list"}), 4, "use the newer Duramen that wrote it");
}

TEST_P(BadInput, AnUnknownIdIsReported) {
  for (const char* command : {"show", "history", "tree", "explain", "wait", "kv", "export"}) {
    SCOPED_TRACE(command);
    expect_complaint(run({command, "no-such"}), 3, "there is no instance \"no-such\"; check the id");
  }
  expect_complaint(run({"history", "no-such", "--follow"}), 3, "no-such");
}

TEST_P(BadInput, AnInvalidIdIsReported) {
  expect_complaint(run({"show", ""}), 2, "");
  expect_complaint(run({"show", std::string(2000, 'x')}), 2, "");
  expect_complaint(run({"show", "broken-\xff"}), 2, "");
}

TEST_P(BadInput, BrokenJsonIsReportedWithItsPlace) {
  expect_complaint(run({"start", "X", "--input", "{\"a\":"}), 2, "--input, byte 6: that is not JSON");
  expect_complaint(run({"start", "X", "--input", "hello"}), 2, "use --text for plain text");
  expect_complaint(run({"start", "X", "--input", ""}), 2, "that is not JSON");
  expect_complaint(run({"raise", "waits", "e", "--data", "-"}, {.input = "[1,"}), 2,
                   "--data, byte 4: that is not JSON");
  expect_complaint(run({"start", "X", "--input", "[1, 1e999]"}), 2,
                   "--input, byte 5: the number 1e999 is too large; write it as a JSON string");
  expect_complaint(run({"enqueue", "waits", "q", "--data", "@" + dir.file("none")}), 3, "cannot be read");
  expect_complaint(run({"start", "X", "--input", "@" + dir.file("")}), 3, "cannot be read");
}

TEST_P(BadInput, AVersionThatNoNodeCanHaveIsReported) {
  for (const char* version : {"", "abc", "1", "01.2.3"}) {
    SCOPED_TRACE(version);
    expect_complaint(run({"start", "X", "--id", "v", "--version", version}), 2,
                     "is not a version; write three numbers without leading zeros, like 1.2.3");
  }
  EXPECT_EQ(run({"show", "v"}).exit, 3);
}

TEST_P(BadInput, AnEmptyIdIsReported) {
  expect_complaint(run({"start", "X", "--id", ""}), 2, "--id: must not be empty; leave it out");
}

TEST_P(BadInput, ExplainAnswersForEveryIdAndReportsTheUnknownOnes) {
  const CliResult result = run({"explain", "no-such", "waits"});
  EXPECT_EQ(result.exit, 3);
  EXPECT_THAT(result.out, HasSubstr("\"waits\" is running"));
  EXPECT_THAT(result.err, HasSubstr("duramen: there is no instance \"no-such\"; check the id"));
}

TEST_P(BadInput, AClosedPipeEndsItQuietly) {
  // More than a pipe holds, so that the program is still writing when the reader closes it.
  std::string big(60'000, 'x');
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(run({"start", "X", "--id", "big-" + std::to_string(i), "--text", "-"}, {.input = big}).exit, 0);
  }
  ASSERT_EQ(run({"cancel", "--prefix", "big-", "--yes"}).exit, 0);
  for (const char* command : {"history", "list"}) {
    SCOPED_TRACE(command);
    std::vector<std::string> arguments{command};
    if (std::string(command) == "history") arguments.insert(arguments.end(), {"ticker", "--all"});
    CliProcess process(on_store(arguments));
    process.close_output();
    const CliResult result = process.finish();
    EXPECT_THAT(result.err, IsEmpty());
    EXPECT_TRUE(result.exit == 141 || result.exit == 0) << result.exit;  // 0: all was written before
  }
  EXPECT_EQ(json({"stats"})["total_instances"], 14);
}

TEST_F(BadFile, AFullDiskUnderTheOutputIsReported) {
  const std::string command =
      std::string(DURAMEN_CLI) + " list --store sqlite:" + path + " > /dev/full 2> " + dir.file("err");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::ifstream err(dir.file("err"));
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(err), {}), HasSubstr("No space left on device"));
}

DURAMEN_ON_EVERY_STORE(BadInput);

TEST(BadCommandLine, IsReportedWithAPointerToHelp) {
  expect_complaint(duramen({"lst"}), 2, "there is no command \"lst\"; try: duramen --help");
  expect_complaint(duramen({"list", "--stat", "failed"}), 2, "--stat");
  expect_complaint(duramen({"list", "--status", "broken"}), 2, "there is no status \"broken\"");
  expect_complaint(duramen({"list", "--limit", "0"}), 2, "--limit");
  expect_complaint(duramen({"list", "--limit", "many"}), 2,
                   "--limit: \"many\" is not a count; write a whole number like 10");
  expect_complaint(duramen({"list", "--since", "yesterday"}), 2, "is no time");
  expect_complaint(duramen({"list", "--sort", "size"}), 2, "newest or oldest");
  expect_complaint(duramen({"wait", "waits", "--timeout", "30"}), 2, "is no length of time");
  expect_complaint(duramen({"show"}), 2, "ID is required; try: duramen show --help");
  expect_complaint(duramen({"start", "X", "--input", "1", "--text", "1"}), 2, "--text");
  expect_complaint(duramen({"completion", "fish"}), 2, "there is one for bash and one for zsh");
  expect_complaint(duramen({"list", "--color", "blue"}), 2, "--color is auto, always or never");
}

TEST(BadCommandLine, WithoutACommandGetsHelp) {
  const CliResult result = duramen({});
  EXPECT_EQ(result.exit, 2);
  EXPECT_THAT(result.err, HasSubstr("Subcommands:"));
  EXPECT_EQ(duramen({"--help"}).exit, 0);
  EXPECT_THAT(duramen({"list", "--help"}).out, HasSubstr("Usage: duramen list"));
}

}  // namespace
}  // namespace duramen::test
