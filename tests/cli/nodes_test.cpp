// nodes, upgrade, and the parts of doctor and explain that read the nodes.
#include "cli/known_store.hpp"
#include <duramen/provider.hpp>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

class NodeCommands : public KnownStore {
 protected:
  void SetUp() override {
    KnownStore::SetUp();
    if (!IsSkipped()) store.emplace(place->open());
  }
  void add_node(const NodeId& id, std::uint32_t reads_up_to = engine_version) {
    NodeRecord node;
    node.node = id;
    node.host = "host-a";
    node.pid = 42;
    node.version = "9.8.7";
    node.max_engine_version = reads_up_to;
    node.orchestrations = {{"Checkout", {"1.0.0", "2.0.0"}}};
    node.activities = {"Charge"};
    node.capacity = 8;
    node.running = 3;
    ASSERT_TRUE(store->provider()->write_node(node));
  }
  /// As if an older Duramen had made the store.
  void lower_the_write_level() { place->sql("UPDATE @settings SET value = 0 WHERE name = 'write_level'"); }
  Json doctor_on_levels() {
    const Json document = json({"doctor", "--stuck-after", "1h"}, 1);
    for (const Json& finding : document["findings"]) {
      if (finding["check"] == "levels") return finding;
    }
    return {};
  }

  std::optional<Store> store;
};

TEST_P(NodeCommands, NodesAreListed) {
  EXPECT_THAT(run({"nodes"}).err, HasSubstr("no runtime works on the store"));
  add_node("node-a");
  EXPECT_THAT(run({"nodes"}).out, AllOf(HasSubstr("node-a"), HasSubstr("host-a"), HasSubstr("9.8.7"),
                                        HasSubstr("3/8"), HasSubstr("Checkout 1.0.0 2.0.0")));
  const Json node = json({"nodes"});
  EXPECT_EQ(node["node"], "node-a");
  EXPECT_EQ(node["live"], true);
  EXPECT_EQ(node["pid"], 42);
  EXPECT_EQ(node["max_engine_version"], engine_version);
  EXPECT_EQ(node["orchestrations"][0]["versions"][1], "2.0.0");
}

TEST_P(NodeCommands, AFinishedUpgradeLeavesNothingToDo) {
  const CliResult result = run({"upgrade"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("Schema version"), HasSubstr("nothing is left to do")));
  EXPECT_EQ(json({"upgrade", "--finish"})["finished"], true);
}

TEST_P(NodeCommands, AnUpgradeIsFinishedWhenNoLiveNodeReadsLess) {
  lower_the_write_level();
  add_node("behind", 0);
  EXPECT_THAT(run({"upgrade"}).out,
              AllOf(HasSubstr("behind (pid 42 on host-a"), HasSubstr("stop or upgrade")));
  const Json refused = json({"upgrade", "--finish"}, 1);
  EXPECT_EQ(refused["write_level"], 0);
  EXPECT_THAT(refused["held_back_by"], ElementsAre("behind"));
  ASSERT_TRUE(store->provider()->remove_node("behind", ""));
  EXPECT_THAT(run({"upgrade"}).out, HasSubstr("duramen upgrade --finish ends the upgrade"));
  const Json finished = json({"upgrade", "--finish"});
  EXPECT_EQ(finished["write_level"], engine_version);
  EXPECT_EQ(finished["finished"], true);
  EXPECT_THAT(finished["held_back_by"], IsEmpty());
}

TEST_P(NodeCommands, AnUpgradeThatTheStoreRefusesNamesTheNodesOfItsAnswer) {
  lower_the_write_level();
  add_node("damaged", 0);
  // Not readable as an engine version: the list shows another.
  place->sql("UPDATE @nodes SET max_level = -1");
  const Json refused = json({"upgrade", "--finish"}, 1);
  EXPECT_EQ(refused["finished"], false);
  EXPECT_THAT(refused["held_back_by"], ElementsAre("damaged"));
  EXPECT_THAT(run({"upgrade", "--finish"}).out,
              AllOf(HasSubstr("stop or upgrade"), Not(HasSubstr("every live node reads"))));
}

TEST_P(NodeCommands, TheDoctorNamesAnUpgradeThatIsNotFinished) {
  EXPECT_EQ(doctor_on_levels()["grade"], "ok");
  add_node("behind", 0);
  EXPECT_EQ(doctor_on_levels()["grade"], "warning");
  EXPECT_THAT(doctor_on_levels()["text"].get<std::string>(), HasSubstr("upgrade them: behind"));
  lower_the_write_level();
  EXPECT_THAT(doctor_on_levels()["text"].get<std::string>(), HasSubstr("hold it back: behind"));
  ASSERT_TRUE(store->provider()->remove_node("behind", ""));
  EXPECT_THAT(doctor_on_levels()["text"].get<std::string>(), HasSubstr("duramen upgrade --finish raises it"));
}

TEST_P(NodeCommands, ExplainSaysThatNoLiveNodeHasTheCode) {
  add_node("node-a");
  EXPECT_THAT(run({"explain", "nobody", "--stuck-after", "1h"}).out,
              HasSubstr("it waits for a node that has the orchestration 'Nobody'"));
  EXPECT_THAT(run({"explain", "nobody", "--stuck-after", "1ms"}).out,
              HasSubstr("no live node has the orchestration 'Nobody'"));
}

TEST_P(NodeCommands, TheDoctorIsPatientWithAFreshInstanceThatNoLiveNodeCanRun) {
  add_node("node-a");
  const auto stuck = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "doctor");
    return run(arguments).out;
  };
  EXPECT_THAT(stuck({"--stuck-after", "1h"}), Not(HasSubstr("no live node has")));
  EXPECT_THAT(stuck({"--stuck-after", "1ms"}), HasSubstr("no live node has the orchestration 'Nobody'"));
}

DURAMEN_ON_EVERY_STORE(NodeCommands);

}  // namespace
}  // namespace duramen::test
