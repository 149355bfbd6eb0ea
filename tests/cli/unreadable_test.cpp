// A row that cannot be read is named, hides no other, and shows in the exit code.
#include "cli/known_store.hpp"

#include <fstream>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr int partial = 6;

class Unreadable : public KnownStore {
 protected:
  void give_unknown_status(const std::string& id) {
    place->sql("UPDATE @instances SET status = 'Zombie' WHERE instance_id = '" + id + "'");
  }
  void break_history(const std::string& id) {
    place->sql(
        "UPDATE @history SET events = '{broken' WHERE instance_key = (SELECT key FROM @instances WHERE "
        "instance_id = '" +
        id + "')");
  }
};

TEST_P(Unreadable, AnInstanceInAnUnknownStatusIsNamedAndTheOthersAreListed) {
  give_unknown_status("order-1");
  const CliResult list = run({"list"});
  EXPECT_EQ(list.exit, partial);
  EXPECT_THAT(list.out, AllOf(HasSubstr("order-1 "), HasSubstr("unreadable"), HasSubstr("order-2"),
                              HasSubstr("nobody")));
  EXPECT_EQ(list.err,
            "duramen: instance \"order-1\" cannot be read: its status 'Zombie' is unknown; use the Duramen "
            "that wrote "
            "it, or delete the instance\n");
  EXPECT_EQ(run({"list", "--ids", "--all"}).exit, partial);
  EXPECT_EQ(run({"list", "--status", "failed"}).exit, 0);

  const Json document = json({"list", "--results"}, partial);
  EXPECT_EQ(document["instances"].size(), 9u);
  for (const Json& instance : document["instances"]) {
    EXPECT_EQ(instance.contains("unreadable"), instance["instance_id"] == "order-1");
    EXPECT_EQ(instance["status"].is_null(), instance["instance_id"] == "order-1");
  }
}

TEST_P(Unreadable, AnInstanceInAnUnknownStatusIsCountedAndFoundByTheDoctor) {
  give_unknown_status("order-1");
  EXPECT_THAT(run({"stats"}).out, HasSubstr("Unreadable"));
  const Json stats = json({"stats"});
  EXPECT_EQ(stats["unreadable"], 1);
  EXPECT_EQ(stats["total_instances"], 9);
  EXPECT_EQ(json({"top", "--rounds", "1"})["unreadable"], 1);
  EXPECT_THAT(run({"top", "--rounds", "1"}).out, HasSubstr("unreadable 1"));
  const CliResult doctor = run({"doctor", "--stuck-after", "1h"});
  EXPECT_EQ(doctor.exit, 1) << doctor.err;
  EXPECT_THAT(doctor.out,
              AllOf(HasSubstr("\"order-1\": the store's record of it cannot be read: its status 'Zombie'"),
                    HasSubstr("poison: 1 instance")));
  EXPECT_THAT(
      run({"explain", "order-1"}).out,
      HasSubstr("It is stuck: the store's record of it cannot be read: its status 'Zombie' is unknown"));
  const CliResult show = run({"show", "order-1"});
  EXPECT_EQ(show.exit, partial);
  EXPECT_THAT(show.out, AllOf(HasSubstr("Checkout"), HasSubstr("unreadable")));
  EXPECT_THAT(show.err, HasSubstr("instance \"order-1\" cannot be read"));
  EXPECT_EQ(run({"history", "order-1"}).exit, 0);
  EXPECT_EQ(run({"kv", "order-1"}).exit, 0);
  const CliResult wait = run({"wait", "order-1"});
  EXPECT_EQ(wait.exit, 4);
  EXPECT_THAT(wait.err, HasSubstr("instance \"order-1\" cannot be read"));
}

TEST_P(Unreadable, AChildInAnUnknownStatusDoesNotHideItsTree) {
  give_unknown_status("family::sub::1.2");
  const CliResult tree = run({"tree", "family"});
  EXPECT_EQ(tree.exit, partial);
  EXPECT_THAT(tree.out, AllOf(HasSubstr("Running"), HasSubstr("unreadable")));
  EXPECT_THAT(tree.err, HasSubstr("family::sub::1.2"));
  EXPECT_EQ(json({"tree", "family"}, partial)["children"][0]["instance"]["status"], nullptr);
  EXPECT_THAT(run({"explain", "family"}).out,
              HasSubstr("its sub-orchestration \"family::sub::1.2\" is stuck"));
}

TEST_P(Unreadable, AnInstanceInAnUnknownStatusCanBeExportedCancelledAndDeleted) {
  const std::string before = run({"export", "order-1"}).out;
  give_unknown_status("order-1");
  const CliResult exported = run({"export", "order-1"});
  EXPECT_EQ(exported.exit, 0) << exported.err;
  EXPECT_EQ(exported.out, before);
  EXPECT_EQ(run({"cancel", "order-1"}).exit, 0);
  EXPECT_EQ(run({"raise", "order-1", "hello"}).exit, 0);
  EXPECT_EQ(run({"delete", "order-1", "--yes"}).exit, 1) << "it may not have ended";
  const CliResult deleted = run({"delete", "order-1", "--force", "--yes"});
  EXPECT_EQ(deleted.exit, 0) << deleted.err;
  EXPECT_EQ(run({"show", "order-1"}).exit, 3);
}

TEST_P(Unreadable, OneHistoryIsNamedAndTheOthersAreExported) {
  const CliResult whole = run({"export", "--all"});
  break_history("order-2");
  for (const bool json : {false, true}) {
    const CliResult exported = run(json ? std::vector<std::string>{"export", "--all", "--json"}
                                        : std::vector<std::string>{"export", "--all"});
    EXPECT_EQ(exported.exit, partial);
    EXPECT_THAT(exported.err,
                HasSubstr("duramen: \"order-2\" was left out, as its history cannot be read: "));
    EXPECT_THAT(exported.out, AllOf(HasSubstr("order-1"), HasSubstr("poisoned"), Not(HasSubstr("order-2"))));
  }
  const std::string file = dir.file("histories.jsonl");
  EXPECT_EQ(run({"export", "--all", "-o", file}).exit, partial);
  std::ifstream written(file);
  const std::string text(std::istreambuf_iterator<char>(written), {});
  EXPECT_LT(text.size(), whole.out.size());
  EXPECT_THAT(text, HasSubstr("poisoned"));

  const CliResult replay =
      run({"replay", std::string(DURAMEN_MODULES) + "/known.so", "--name", "Checkout", "--json"});
  EXPECT_EQ(replay.exit, 1) << replay.err;
  const Json report = Json::parse(replay.out);
  EXPECT_EQ(report["findings"][0]["kind"], "unreadable");
  EXPECT_EQ(report["findings"][0]["instance_id"], "order-2");
  EXPECT_EQ(report["instances"], 3);
}

TEST_P(Unreadable, OneExecutionIsNamedAndTheOthersAreShown) {
  place->sql(
      "UPDATE @history SET events = '{broken' WHERE execution = 2 AND instance_key = (SELECT key FROM "
      "@instances WHERE "
      "instance_id = 'ticker')");
  const CliResult history = run({"history", "ticker", "--all"});
  EXPECT_EQ(history.exit, partial);
  EXPECT_THAT(history.out,
              AllOf(HasSubstr("execution 1"), HasSubstr("execution 3"), Not(HasSubstr("execution 2"))));
  EXPECT_THAT(history.err, HasSubstr("execution 2 was left out, as it cannot be read: "));
}

TEST_P(Unreadable, InvalidJsonOutputIsShownAsText) {
  place->sql(
      "UPDATE @instances SET output = '{broken', output_encoding = 'json' WHERE instance_id = 'order-1'");
  EXPECT_EQ(json({"show", "order-1"})["instance"]["output"], "{broken");
  EXPECT_EQ(json({"list", "--results"})["instances"].size(), 9u);
}

TEST_P(Unreadable, ATreeWhoseRootIsItsOwnChildIsShownOnce) {
  place->sql(
      "UPDATE @instances SET parent_instance = 'family::sub::1.2', parent_key = (SELECT c.key FROM "
      "@instances "
      "c WHERE "
      "c.instance_id = 'family::sub::1.2') WHERE instance_id = 'family'");
  const Json tree = json({"tree", "family"});
  EXPECT_EQ(tree["children"].size(), 1u);
  EXPECT_EQ(tree["children"][0]["children"].size(), 0u);
}

TEST_P(Unreadable, AHistoryOfAnInstanceThatHasEndedDoesNotMakeItStuck) {
  break_history("order-1");
  const CliResult explained = run({"explain", "order-1"});
  EXPECT_EQ(explained.exit, 0);
  EXPECT_THAT(explained.out, AllOf(HasSubstr("completed"), HasSubstr("Its history cannot be read: "),
                                   Not(HasSubstr("stuck"))));
}

TEST_P(Unreadable, AnInvalidIdHidesNoOther) {
  if (GetParam() == StoreKind::postgres) GTEST_SKIP() << "the server keeps it out";
  place->sql("UPDATE @instances SET instance_id = CAST(x'61ff' AS TEXT) WHERE instance_id = 'waits'");
  const CliResult exported = run({"export", "--all"});
  EXPECT_EQ(exported.exit, partial);
  EXPECT_THAT(exported.out, HasSubstr("order-1"));
  EXPECT_EQ(run({"replay", std::string(DURAMEN_MODULES) + "/known.so"}).exit, 1);
  EXPECT_THAT(run({"doctor"}).out, HasSubstr("an instance id is UTF-8 text"));
  EXPECT_EQ(json({"list"})["instances"].size(), 9u);
}

TEST_P(Unreadable, AFailureThatIsNoJsonHidesNoOther) {
  if (GetParam() == StoreKind::sqlite) GTEST_SKIP() << "it keeps failures in columns";
  place->sql("UPDATE @instances SET failure = '{broken' WHERE instance_id = 'order-2'");
  EXPECT_EQ(run({"list"}).exit, 0) << "results are not asked for";
  EXPECT_EQ(json({"list", "--results"}, partial)["instances"].size(), 9u);
  EXPECT_THAT(run({"doctor"}).out,
              AllOf(HasSubstr("\"order-2\": its failure cannot be read"), HasSubstr("poison: 1")));
}

DURAMEN_ON_EVERY_STORE(Unreadable);

}  // namespace
}  // namespace duramen::test
