// run, replay, version: a user's own code in a shared object.
#include "cli/known_store.hpp"
#include <duramen/module.hpp>

#include <algorithm>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

std::string module(const std::string& name) { return std::string(DURAMEN_MODULES) + "/" + name + ".so"; }

class Modules : public KnownStore {};
class ModuleFile : public KnownFile {};

TEST_P(Modules, RunServesAModuleUntilItIsStopped) {
  CliProcess server(on_store({"run", module("known"), "--node", "node-x", "--log", "error"}));
  ASSERT_TRUE(server.wait_for_output("node node-x serves"));
  EXPECT_EQ(run({"start", "Checkout", "--id", "order-7", "--input", "7", "--wait", "--timeout", "60s"}).exit,
            0);
  server.signal(SIGTERM);
  const CliResult result = server.finish();
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("Checkout 1.0.0"), HasSubstr("stopping"), HasSubstr("stopped")));
}

TEST_P(Modules, RunReleasesActivitiesThatOutlastTheDeadline) {
  CliProcess server(on_store({"run", module("known"), "--deadline", "100ms", "--log", "error", "--json"}));
  ASSERT_TRUE(server.wait_for_output("serving"));
  ASSERT_EQ(run({"start", "Slow", "--id", "slow"}).exit, 0);
  while (json({"stats"})["queues"]["worker_leased"] != 1) {
  }
  server.signal(SIGINT);
  const CliResult result = server.finish();
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(json_lines(result.out).back()["state"], "stopped");
  const auto document = json({"show", "slow"});
  EXPECT_EQ(document["instance"]["status"], "Running");
  ASSERT_EQ(document["activities"].size(), 1u);
  EXPECT_EQ(document["activities"][0]["owner"], nullptr);
}

TEST(ModuleServer, MakesAStoreOnlyIfAskedTo) {
  const TempDir dir;
  const std::string path_of_new = dir.file("new.db");
  CliProcess server(
      {"run", module("known"), "--store", "sqlite:" + path_of_new, "--create", "--log", "error"});
  ASSERT_TRUE(server.wait_for_output("serves"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish().exit, 0);
  EXPECT_EQ(duramen({"stats", "--store", "sqlite:" + path_of_new}).exit, 0);
}

TEST_F(ModuleFile, IsRefusedIfItDoesNotFit) {
  for (const char* command : {"run", "replay"}) {
    SCOPED_TRACE(command);
    const CliResult other = run({command, module("other_abi")});
    EXPECT_EQ(other.exit, 2);
    EXPECT_THAT(other.err,
                AllOf(HasSubstr("was built for \"duramen 0.0 gcc libstdc++\""), HasSubstr("build it again")));
    const CliResult none = run({command, module("no_module")});
    EXPECT_EQ(none.exit, 2);
    EXPECT_THAT(none.err, HasSubstr("write DURAMEN_MODULE"));
    EXPECT_EQ(run({command, dir.file("none.so")}).exit, 3);
    const CliResult text = run({command, path});
    EXPECT_EQ(text.exit, 2);
    EXPECT_THAT(text.err, HasSubstr("cannot be loaded"));
    EXPECT_THAT(run({command, module("throwing")}).err, HasSubstr("could not register its code: no licence"));
  }
}

TEST_P(Modules, TheSameCodeReplaysTheStore) {
  const CliResult result = run({"replay", module("known")});
  EXPECT_EQ(result.exit, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("no difference that matters"));
}

TEST_P(Modules, ChangedCodeIsFoundInAFileOfHistories) {
  const std::string file = dir.file("histories.jsonl");
  ASSERT_EQ(run({"export", "--prefix", "order-", "-o", file}).exit, 0);
  const CliResult good = duramen({"replay", module("known"), file});
  EXPECT_EQ(good.exit, 0) << good.out;
  const CliResult bad = duramen({"replay", module("changed"), file});
  EXPECT_EQ(bad.exit, 1);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("\"order-1\", execution 1 (Checkout 1.0.0) does not replay"),
                             HasSubstr("\"Reserve\""), HasSubstr("changed.cpp"), HasSubstr("2 problems")));
  const CliResult document = duramen({"replay", module("changed"), file, "--json"});
  EXPECT_EQ(Json::parse(document.out)["ok"], false);
  EXPECT_EQ(Json::parse(document.out)["findings"][0]["kind"], "nondeterminism");
}

TEST_P(Modules, ReplayReportsUnreadableFiles) {
  EXPECT_THAT(duramen({"replay", module("known")}).err, HasSubstr("which histories?"));
  const CliResult missing = duramen({"replay", module("known"), dir.file("none.jsonl")});
  EXPECT_EQ(missing.exit, 1);
  EXPECT_THAT(missing.out, HasSubstr("cannot be opened"));
  const CliResult broken = duramen({"replay", module("known"), "-"}, {.input = "{}\n"});
  EXPECT_EQ(broken.exit, 1);
  EXPECT_THAT(broken.out, HasSubstr("standard input, line 1"));
  EXPECT_EQ(run({"replay", module("changed"), "--name", "Approval"}).exit, 1);  // no code for it
}

TEST(Version, IsThatOfTheProjectAndOfItsHeaders) {
  const Json document = Json::parse(duramen({"version", "--json"}).out);
  const std::string version = document["version"];
  EXPECT_EQ(version, DURAMEN_VERSION);
  EXPECT_THAT(version, StartsWith(DURAMEN_MODULE_VERSION "."));
  EXPECT_EQ(document["module_abi"], DURAMEN_MODULE_ABI);
  EXPECT_THAT(duramen({"--version"}).out, HasSubstr(version));
}

DURAMEN_ON_EVERY_STORE(Modules);

}  // namespace
}  // namespace duramen::test
