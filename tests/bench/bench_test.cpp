// The output and the errors of the benchmark program, on which people and scripts rely. No test of speed.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using nlohmann::json;

struct Output {
  int exit_code = -1;
  std::string text;
};

/// `streams`: where standard error goes.
Output run(const std::string& arguments, const std::string& streams = "") {
  const std::string command = std::string(DURAMEN_BENCH) + " " + arguments + " " + streams;
  FILE* pipe = ::popen(command.c_str(), "r");
  Output output;
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer{};
  while (const std::size_t length = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.text.append(buffer.data(), length);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) output.exit_code = WEXITSTATUS(status);
  return output;
}

std::vector<json> lines_of(const Output& output) {
  std::vector<json> lines;
  std::istringstream text(output.text);
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line, nullptr, false));
  return lines;
}

const std::set<std::string> fields{
    "workload", "store",  "durability", "width",      "count",     "seconds",         "per_second",
    "p50_ms",   "p95_ms", "p99_ms",     "ratio",      "syncs",     "cpu_cores",       "raw_per_second",
    "rss_mib",  "commit", "machine",    "row_writes", "disk_rate", "synced_commit_ms"};

void expect_all_fields(const json& line) {
  ASSERT_TRUE(line.is_object()) << line;
  std::set<std::string> names;
  for (const auto& [name, value] : line.items()) names.insert(name);
  EXPECT_EQ(names, fields) << line;
  EXPECT_GT(line["count"].get<int>(), 0);
  EXPECT_GT(line["seconds"].get<double>(), 0);
  EXPECT_GT(line["per_second"].get<double>(), 0);
  EXPECT_GT(line["rss_mib"].get<double>(), 0);
  EXPECT_FALSE(line["commit"].get<std::string>().empty());
  EXPECT_NE(line["machine"].get<std::string>().find("Linux"), std::string::npos);
  EXPECT_LE(line["p50_ms"].get<double>(), line["p99_ms"].get<double>());
}

TEST(Bench, PrintsOneCompleteJsonLinePerWidthInMemory) {
  const Output output = run("hello --store memory --count 200 --pairs 1 --json", "2>/dev/null");
  EXPECT_EQ(output.exit_code, 0);
  const auto lines = lines_of(output);
  ASSERT_EQ(lines.size(), 2u) << output.text;
  for (const json& line : lines) {
    expect_all_fields(line);
    EXPECT_EQ(line["workload"], "hello");
    EXPECT_EQ(line["store"], "memory");
    EXPECT_EQ(line["count"], 200);
    EXPECT_TRUE(line["ratio"].is_null());
  }
  EXPECT_EQ(lines[0]["width"], 20);
  EXPECT_EQ(lines[1]["width"], 1000);
}

TEST(Bench, ComparesWithTheRawStoreOnSqlite) {
  const Output output = run("hello --count 100 --width 5 --pairs 1 --json", "2>/dev/null");
  EXPECT_EQ(output.exit_code, 0);
  const auto lines = lines_of(output);
  ASSERT_EQ(lines.size(), 1u) << output.text;
  expect_all_fields(lines[0]);
  EXPECT_EQ(lines[0]["durability"], "full");
  EXPECT_EQ(lines[0]["width"], 5);
  EXPECT_GT(lines[0]["raw_per_second"].get<double>(), 0);
  EXPECT_GT(lines[0]["ratio"].get<double>(), 0);
  EXPECT_GT(lines[0]["syncs"].get<double>(), 0);
  EXPECT_GT(lines[0]["row_writes"].get<double>(), 0);
  EXPECT_GT(lines[0]["disk_rate"].get<double>(), 0);
}

TEST(Bench, ReportsWhichPromisesAreKept) {
  const Output output = run("hello --count 100 --width 20 --pairs 1 --json", "2>&1 >/dev/null");
  EXPECT_EQ(output.exit_code, 0);
  for (const char* promise :
       {"ratio to the raw store: ", "ratio to the disk's rate: ", "synced commits each: "})
    EXPECT_NE(output.text.find(std::string("hello width 20: ") + promise), std::string::npos) << output.text;
  // The figure that depends on no machine.
  EXPECT_NE(output.text.find("row writes each: 6, within 12"), std::string::npos) << output.text;
}

TEST(Bench, AStepOfAChainIsOneSyncedCommit) {
  const Output output = run("chain --count 2 --pairs 1 --json", "2>/dev/null");
  EXPECT_EQ(output.exit_code, 0);
  const auto lines = lines_of(output);
  ASSERT_EQ(lines.size(), 1u) << output.text;
  expect_all_fields(lines[0]);
  EXPECT_EQ(lines[0]["count"], 100);
  EXPECT_EQ(lines[0]["syncs"], 1.0);
}

TEST(Bench, EveryOtherWorkloadRunsOnSqlite) {
  const Output output =
      run("latency fanout cancel cancel2 store fairness --count 3 --pairs 1 --width 3 --json", "2>/dev/null");
  EXPECT_EQ(output.exit_code, 0);
  std::vector<std::string> names;
  for (const json& line : lines_of(output)) {
    expect_all_fields(line);
    names.push_back(line["workload"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "latency", "fanout", "cancel-coroutine", "cancel-function", "cancel-coroutine-loaded",
                       "cancel-function-loaded", "cancel-coroutine-loaded", "cancel-function-loaded",
                       "cancel2-client", "cancel2-steal", "cancel2-client-loaded", "cancel2-steal-loaded",
                       "store", "store-acks", "store-renewals", "fairness"}));
}

/// Empty at first: every later entry is a leftover.
class EmptyDirectory {
 public:
  EmptyDirectory() { std::filesystem::create_directories(path_); }
  ~EmptyDirectory() { std::filesystem::remove_all(path_); }
  EmptyDirectory(const EmptyDirectory&) = delete;
  EmptyDirectory& operator=(const EmptyDirectory&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] bool is_empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("bench-test-" + std::to_string(::getpid()));
};

bool has_no_postgres(const Output& output) {
  return output.text.find("is not installed") != std::string::npos ||
         output.text.find("built without PostgreSQL") != std::string::npos;
}

TEST(Bench, ComparesWithTheRawStoreOnAPostgresServerOfItsOwnAndLeavesNothingBehind) {
  const EmptyDirectory directory;
  // Enough steps that an occasional synced commit of other work does not matter.
  const std::string arguments = "hello chain --store postgres --count 50 --width 5 --pairs 1 --json --dir ";
  const Output output = run(arguments + directory.path(), "2>&1");
  if (has_no_postgres(output)) GTEST_SKIP() << output.text;
  EXPECT_EQ(output.exit_code, 0) << output.text;
  std::vector<json> lines;
  for (json& line : lines_of(output)) {
    if (line.is_object()) lines.push_back(std::move(line));  // the other lines are for people
  }
  ASSERT_EQ(lines.size(), 2u) << output.text;
  for (const json& line : lines) {
    expect_all_fields(line);
    EXPECT_EQ(line["store"], "postgres");
    EXPECT_EQ(line["durability"], "full");
    EXPECT_NE(line["machine"].get<std::string>().find("PostgreSQL"), std::string::npos);
    EXPECT_GT(line["raw_per_second"].get<double>(), 0);
    EXPECT_GT(line["ratio"].get<double>(), 0);
    EXPECT_GT(line["disk_rate"].get<double>(), 0);
  }
  // The two turns of a hello write and delete an instance, two rows of history and the work.
  EXPECT_NEAR(lines[0]["row_writes"].get<double>(), 6.0, 0.5);
  EXPECT_LE(lines[0]["syncs"].get<double>(), 2.1);
  // A step writes its turn, the instance, the ended work and the next work; the last step has no next work.
  EXPECT_NEAR(lines[1]["row_writes"].get<double>(), 4.0, 0.5);
  EXPECT_NEAR(lines[1]["syncs"].get<double>(), 1.0, 0.1);
  EXPECT_TRUE(directory.is_empty());
}

// The server's user may have no access to the build directory; it has access to a temporary directory.
TEST(Bench, EveryOtherWorkloadOfPostgresRunsThere) {
  const EmptyDirectory directory;
  const std::string arguments =
      "latency fanout long timers events processes cancel cancel2 masscancel --count 10 ";
  const Output output =
      run(arguments + "--store postgres --width 3 --pairs 1 --json --dir " + directory.path(), "2>&1");
  if (has_no_postgres(output)) GTEST_SKIP() << output.text;
  EXPECT_EQ(output.exit_code, 0) << output.text;
  std::vector<std::string> names;
  std::istringstream text(output.text);
  for (std::string line; std::getline(text, line);) {
    const json row = json::parse(line, nullptr, false);
    if (row.is_object() && row.contains("store")) names.push_back(row["workload"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"latency",
                                             "fanout",
                                             "timers",
                                             "events-queue",
                                             "events-each",
                                             "processes-1",
                                             "processes-2",
                                             "processes-4",
                                             "cancel-coroutine",
                                             "cancel-function",
                                             "cancel-coroutine-loaded",
                                             "cancel-function-loaded",
                                             "cancel-coroutine-loaded",
                                             "cancel-function-loaded",
                                             "cancel2-client",
                                             "cancel2-steal",
                                             "cancel2-client-loaded",
                                             "cancel2-steal-loaded",
                                             "masscancel-running",
                                             "masscancel-queued",
                                             "masscancel-loaded"}))
      << output.text;
}

TEST(Bench, ComparesAStoreOfFewInstancesWithOneOfManyOnPostgres) {
  const EmptyDirectory directory;
  const Output output = run("growth --store postgres --count 3000 --json --dir " + directory.path(), "2>&1");
  if (has_no_postgres(output)) GTEST_SKIP() << output.text;
  EXPECT_EQ(output.exit_code, 0) << output.text;
  EXPECT_NE(output.text.find("\"figure\":\"cancel\",\"size\":3000"), std::string::npos) << output.text;
}

TEST(Bench, ComparesAStoreOfFewInstancesWithOneOfMany) {
  const Output output = run("growth --count 3000 --json", "2>/dev/null");
  EXPECT_EQ(output.exit_code, 0);
  std::vector<std::string> figures;
  for (const json& line : lines_of(output)) {
    figures.push_back(line["figure"].get<std::string>() + " " + line["size"].dump());
    EXPECT_GT(line["ns_each"].get<double>(), 0) << line;
    EXPECT_EQ(line["size"] == 3000, !line["growth"].is_null()) << line;
  }
  EXPECT_EQ(figures, (std::vector<std::string>{"fetch 1000", "fetch 3000", "commit 1000", "commit 3000",
                                               "cancel 1000", "cancel 3000"}));
}

TEST(Bench, TheEngineAlonePrintsOneLinePerFigureAndSize) {
  const Output output = run("replay --width 20 --width 10 --pairs 1 --json", "2>/dev/null");
  EXPECT_EQ(output.exit_code, 0);
  const std::set<std::string> names{"workload", "figure",     "size",   "runs",   "per_second",
                                    "ns_each",  "bytes_each", "growth", "commit", "machine"};
  std::set<std::string> timed;
  std::set<std::string> weighed;
  for (const json& line : lines_of(output)) {
    ASSERT_TRUE(line.is_object()) << line;
    std::set<std::string> found;
    for (const auto& [name, value] : line.items()) found.insert(name);
    EXPECT_EQ(found, names) << line;
    EXPECT_EQ(line["workload"], "replay");
    const bool time = !line["ns_each"].is_null();
    EXPECT_EQ(time, line["bytes_each"].is_null()) << line;
    EXPECT_GT(line[time ? "ns_each" : "bytes_each"].get<double>(), 0) << line;
    // The smallest size comes first; the other is compared with it.
    EXPECT_EQ(time && line["size"] == 20, !line["growth"].is_null()) << line;
    (time ? timed : weighed).insert(line["figure"].get<std::string>() + " " + line["size"].dump());
  }
  EXPECT_EQ(timed.size(), 26u) << output.text;
  EXPECT_EQ(weighed, (std::set<std::string>{"open-activity 20", "open-task 20", "resident-on-activity 20",
                                            "resident-on-timer 20"}));
  EXPECT_TRUE(timed.contains("replay-sequence 10") && timed.contains("join-turn-each-reverse 20"))
      << output.text;
}

TEST(Bench, PrintsATableForPeople) {
  const Output output = run("latency --store memory --count 20 --pairs 1", "2>/dev/null");
  EXPECT_EQ(output.exit_code, 0);
  EXPECT_NE(output.text.find("workload"), std::string::npos);
  EXPECT_NE(output.text.find("latency"), std::string::npos);
}

TEST(Bench, ScaleComparesEveryCallWithAnEmptyStore) {
  const Output output = run("scale --count 300 --json", "2>/dev/null");
  ASSERT_EQ(output.exit_code, 0) << output.text;
  const auto lines = lines_of(output);
  std::size_t backlogs = 0;
  for (const auto& line : lines) {
    EXPECT_EQ(line["workload"], "scale");
    const bool backlog = line["figure"].get<std::string>().starts_with("backlog");
    backlogs += backlog ? 1 : 0;
    EXPECT_GT(line[backlog ? "ns_each" : "growth"].get<double>(), 0) << line;
  }
  EXPECT_EQ(backlogs, 6u) << output.text;
  EXPECT_EQ(lines.size(), backlogs + 6) << output.text;
}

TEST(Bench, ShowsHelpWithEveryWorkload) {
  const Output output = run("--help");
  EXPECT_EQ(output.exit_code, 0);
  for (const char* name : {"hello", "chain", "latency", "fanout", "cancel", "cancel2", "store", "growth",
                           "fairness", "scale", "replay"}) {
    EXPECT_NE(output.text.find(name), std::string::npos) << name;
  }
}

TEST(Bench, RefusesAnUnknownWorkloadAndListsTheOthers) {
  const Output output = run("no-such-thing", "2>&1");
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.text.find("no-such-thing"), std::string::npos);
  EXPECT_NE(output.text.find("hello chain latency fanout long timers events processes resident"),
            std::string::npos);
}

TEST(Bench, RefusesUnknownOptions) {
  for (const char* arguments :
       {"--no-such-option", "--width", "--width none", "--width 0", "--store paper", "cancel2 --store memory",
        "store --store postgres", "resident --store postgres", "--dir does/not/exist"}) {
    const Output output = run(arguments, "2>&1");
    EXPECT_EQ(output.exit_code, 2) << arguments << "\n" << output.text;
  }
}

}  // namespace
