// export and import: histories from one store to another.
#include "cli/known_store.hpp"

#include <fstream>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class ImportAndExport : public KnownStore {
 protected:
  CliResult elsewhere(std::vector<std::string> arguments, const CliSetting& setting = {}) const {
    arguments.insert(arguments.end(), {"--store", "sqlite:" + dir.file("other.db")});
    return duramen(arguments, setting);
  }
  std::string file = dir.file("histories.jsonl");
};

TEST_P(ImportAndExport, ExportWritesEveryEventOnALine) {
  const CliResult one = run({"export", "order-1"});
  EXPECT_EQ(one.exit, 0);
  EXPECT_EQ(one.out, run({"history", "order-1", "--json"}).out);
  EXPECT_EQ(one.err, "1 instance, 4 events\n");
  EXPECT_EQ(run({"export", "order-1", "--json"}).out, one.out);
  EXPECT_EQ(run({"export", "--name", "Checkout", "-o", file}).exit, 0);
  std::ifstream written(file);
  EXPECT_EQ(json_lines(std::string(std::istreambuf_iterator<char>(written), {})).size(), 10u);
}

TEST_P(ImportAndExport, ExportReportsAMissingDirectory) {
  const CliResult result = run({"export", "--all", "-o", dir.file("none/x.jsonl")});
  EXPECT_EQ(result.exit, 2);
  EXPECT_THAT(result.err, HasSubstr("cannot be written: No such file or directory"));
  EXPECT_EQ(run({"export", "no-such"}).exit, 3);
  EXPECT_EQ(run({"export"}).exit, 2);
}

TEST_P(ImportAndExport, AnImportEqualsItsExport) {
  ASSERT_EQ(run({"export", "--status", "ended", "-o", file}).exit, 0);
  const CliResult missing = elsewhere({"import", file});
  EXPECT_EQ(missing.exit, 4);
  EXPECT_THAT(missing.err, HasSubstr("add --create"));
  const CliResult result = elsewhere({"import", file, "--create"});
  EXPECT_EQ(result.exit, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("imported 5 instances"));
  EXPECT_EQ(elsewhere({"export", "--all"}).out, run({"export", "--status", "ended"}).out);
  for (const char* id : {"order-1", "order-2", "stopped", "ticker", "poisoned"}) {
    Json here = json({"show", id})["instance"];
    Json there = Json::parse(elsewhere({"show", id, "--json"}).out)["instance"];
    for (Json* info : {&here, &there}) {
      info->erase("created_at");
      info->erase("updated_at");
      info->erase("ended_at");
    }
    EXPECT_EQ(here, there);
  }
  EXPECT_EQ(elsewhere({"kv", "ticker", "round"}).out, "3\n");
  EXPECT_EQ(Json::parse(elsewhere({"show", "ticker", "--json"}).out)["executions"].size(), 3u);
}

TEST_P(ImportAndExport, ARunningInstanceIsNotImported) {
  const CliResult exported = run({"export", "--all"});
  const CliResult result = elsewhere({"import", "--create"}, {.input = exported.out});
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("imported 5 instances"), HasSubstr("\"waits\" has not ended")));
}

TEST_P(ImportAndExport, ImportKeepsExistingInstancesUnlessAskedToReplace) {
  ASSERT_EQ(run({"export", "order-1", "-o", file}).exit, 0);
  ASSERT_EQ(run({"start", "Checkout", "--id", "order-1", "--input", "5", "--replace"}).exit, 0);
  const CliResult left = run({"import", file});
  EXPECT_EQ(left.exit, 1);
  EXPECT_THAT(left.out, HasSubstr("the id is taken"));
  EXPECT_EQ(json({"import", file, "--replace", "--dry-run"})["replaced"], Json::array({"order-1"}));
  EXPECT_EQ(run({"import", file, "--replace"}).exit, 2);  // asks
  EXPECT_EQ(json({"show", "order-1"})["instance"]["status"], "Pending");
  EXPECT_EQ(run({"import", file, "--replace", "--yes"}).exit, 0);
  EXPECT_EQ(json({"show", "order-1"})["instance"]["output"], "receipt-1");
}

TEST_P(ImportAndExport, AFailedImportReplacesNothing) {
  ASSERT_EQ(run({"prune", "ticker", "--keep-last", "1", "--yes"}).exit, 0);
  ASSERT_EQ(run({"export", "ticker", "-o", file}).exit, 0);
  const CliResult result = run({"import", file, "--replace", "--yes"});
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.out, HasSubstr("the ones before were pruned"));
  EXPECT_EQ(json({"show", "ticker"})["instance"]["output"], 3);
}

TEST_P(ImportAndExport, ABrokenFileImportsNothing) {
  const CliResult exported = run({"export", "order-1"});
  const CliResult result = elsewhere({"import", "-", "--create"}, {.input = exported.out + "{\"broken\n"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("standard input, line 5: not JSON"), HasSubstr("nothing was imported")));
  EXPECT_EQ(Json::parse(elsewhere({"stats", "--json"}).out)["total_instances"], 0);
  EXPECT_EQ(elsewhere({"import", dir.file("none.jsonl"), "--create"}).exit, 3);
}

TEST_P(ImportAndExport, ChildrenAreAttachedToTheirParents) {
  ASSERT_EQ(run({"cancel", "family", "--mode", "terminate"}).exit, 0);
  {
    CliProcess server(on_store({"run", std::string(DURAMEN_MODULES) + "/known.so", "--log", "error"}));
    ASSERT_EQ(run({"wait", "family", "family::sub::1.2", "--timeout", "60s"}).exit, 1);
    server.signal(SIGTERM);
    EXPECT_EQ(server.finish().exit, 0);
  }
  ASSERT_EQ(run({"export", "--prefix", "family", "-o", file}).exit, 0);
  ASSERT_EQ(elsewhere({"import", file, "--create"}).exit, 0);
  EXPECT_EQ(Json::parse(elsewhere({"tree", "family", "--json"}).out)["children"].size(), 1u);
}

DURAMEN_ON_EVERY_STORE(ImportAndExport);

}  // namespace
}  // namespace duramen::test
