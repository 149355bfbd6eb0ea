// The reading commands: list, show, history, tree, explain, kv, stats, top.
#include "cli/known_store.hpp"

#include <algorithm>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class ListAndShow : public KnownStore {
 protected:
  std::vector<std::string> ids(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "list");
    const nlohmann::json document = json(std::move(arguments));
    std::vector<std::string> found;
    for (const auto& info : document.at("instances")) found.push_back(info.at("instance_id"));
    return found;
  }
};

TEST_P(ListAndShow, ListShowsEveryInstanceOnALine) {
  const CliResult result = run({"list"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 10);  // titles and nine instances
  EXPECT_THAT(result.out, StartsWith("ID "));
  EXPECT_THAT(result.out, HasSubstr("order-1"));
  EXPECT_THAT(result.out, HasSubstr("waiting for approval"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));  // no colour in a pipe
}

TEST_P(ListAndShow, ListFiltersByEverything) {
  EXPECT_THAT(ids({"--status", "failed"}), UnorderedElementsAre("order-2", "poisoned"));
  EXPECT_THAT(ids({"--status", "completed,cancelled"}), UnorderedElementsAre("order-1", "ticker", "stopped"));
  EXPECT_THAT(ids({"--status", "open", "--roots"}), UnorderedElementsAre("waits", "family", "nobody"));
  EXPECT_THAT(ids({"--name", "Approval"}), UnorderedElementsAre("waits", "stopped"));
  EXPECT_THAT(ids({"--prefix", "order-"}), UnorderedElementsAre("order-1", "order-2"));
  EXPECT_THAT(ids({"--parent", "family"}), ElementsAre("family::sub::1.2"));
  EXPECT_THAT(ids({"--name", "Checkout", "--version", "2.0.0"}), IsEmpty());
  EXPECT_THAT(ids({"--since", "1h", "--status", "failed"}), UnorderedElementsAre("order-2", "poisoned"));
  EXPECT_THAT(ids({"--before", "2020-01-01"}), IsEmpty());
  EXPECT_THAT(ids({"--ended-before", "now", "--name", "Ticker"}), ElementsAre("ticker"));
}

TEST_P(ListAndShow, ListGoesPageByPageInBothDirections) {
  const auto first = json({"list", "--limit", "4", "--sort", "oldest"});
  ASSERT_EQ(first["instances"].size(), 4u);
  ASSERT_TRUE(first["next"].is_number());
  const auto second = json({"list", "--limit", "4", "--sort", "oldest", "--after", first["next"].dump()});
  EXPECT_EQ(second["instances"].size(), 4u);
  EXPECT_NE(second["instances"][0]["instance_id"], first["instances"][0]["instance_id"]);
  EXPECT_EQ(ids({"--limit", "2", "--all"}).size(), 9u);
  EXPECT_THAT(run({"list", "--limit", "2"}).err, HasSubstr("there are more: add --after "));
  auto newest = ids({"--sort", "newest"});
  std::reverse(newest.begin(), newest.end());
  EXPECT_EQ(newest, ids({"--sort", "oldest"}));
}

TEST_P(ListAndShow, ListShowsResultsAndBareIds) {
  EXPECT_THAT(run({"list", "--results", "--name", "Checkout"}).out,
              AllOf(HasSubstr("receipt-1"), HasSubstr("card declined")));
  EXPECT_EQ(run({"list", "--ids", "--prefix", "order-", "--sort", "oldest"}).out, "order-1\norder-2\n");
  EXPECT_THAT(run({"list", "--prefix", "none"}).err, HasSubstr("no instance matches"));
}

TEST_P(ListAndShow, ShowPrintsEverythingAboutAnInstance) {
  EXPECT_THAT(run({"show", "order-1"}).out, AllOf(HasSubstr("Checkout 1.0.0"), HasSubstr("receipt-1")));
  EXPECT_THAT(run({"show", "order-2"}).out,
              AllOf(HasSubstr("card declined"), HasSubstr("std::runtime_error")));
  const CliResult ticker = run({"show", "ticker"});
  EXPECT_THAT(ticker.out,
              AllOf(HasSubstr("ContinuedAsNew"), HasSubstr("Key-values"), HasSubstr("EXECUTION")));
  EXPECT_THAT(run({"show", "nobody"}).out, HasSubstr("StartOrchestration"));
  const auto document = json({"show", "order-1"});
  EXPECT_EQ(document["instance"]["output"], "receipt-1");
  EXPECT_EQ(document["instance"]["output_encoding"], "text");
  EXPECT_EQ(document["executions"].size(), 1u);
  EXPECT_EQ(json({"show", "order-2"})["instance"]["failure"]["kind"], "application");
}

TEST_P(ListAndShow, HistoryDescribesEvents) {
  const CliResult result = run({"history", "order-1"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("OrchestrationStarted"), HasSubstr("Checkout 1.0.0 with 1"),
                    HasSubstr("Charge returned \"receipt-1\""), HasSubstr("OrchestrationCompleted")));
  EXPECT_THAT(run({"history", "stopped"}).out, HasSubstr("changed her mind"));
}

TEST_P(ListAndShow, HistoryInJsonIsTheInterchangeForm) {
  const auto events = json_lines(run({"history", "order-1", "--json"}).out);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["type"], "OrchestrationStarted");
  EXPECT_EQ(events[3]["type"], "OrchestrationCompleted");
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["event_id"], i + 1);
    EXPECT_EQ(events[i]["instance_id"], "order-1");
  }
}

TEST_P(ListAndShow, HistoryShowsAnExecutionOrAllOfThem) {
  EXPECT_THAT(run({"history", "ticker", "--execution", "1"}).out, HasSubstr("OrchestrationContinuedAsNew"));
  EXPECT_THAT(run({"history", "ticker"}).out, HasSubstr("OrchestrationCompleted"));
  const std::string all = run({"history", "ticker", "--all"}).out;
  EXPECT_THAT(all, AllOf(HasSubstr("execution 1"), HasSubstr("execution 2"), HasSubstr("execution 3")));
  const CliResult missing = run({"history", "ticker", "--execution", "7"});
  EXPECT_EQ(missing.exit, 3);
  EXPECT_THAT(missing.err, HasSubstr("has no execution 7"));
}

TEST_P(ListAndShow, HistoryFollowsUntilTheEnd) {
  CliProcess follower(on_store({"history", "waits", "--follow"}));
  ASSERT_TRUE(follower.wait_for_output("ExternalSubscribed"));
  ASSERT_EQ(run({"cancel", "waits", "--reason", "enough", "--by", "bob", "--mode", "terminate"}).exit, 0);
  // No node serves the store: this process takes the message in.
  CliProcess server(on_store({"run", std::string(DURAMEN_MODULES) + "/known.so", "--log", "error"}));
  const CliResult result = follower.finish();
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("by bob, at once: enough"), HasSubstr("OrchestrationFailed")));
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish().exit, 0);
}

TEST_P(ListAndShow, FollowingAnEndedInstanceShowsItAndEnds) {
  const CliResult result = run({"history", "ticker", "--follow", "--json"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_EQ(json_lines(result.out).back()["type"], "OrchestrationCompleted");
}

TEST_P(ListAndShow, AVeryLongTimeAgoIsBeforeEveryInstance) {
  EXPECT_EQ(json({"list", "--since", "2147483647y"})["instances"].size(), 9u);
  EXPECT_EQ(json({"list", "--before", "2147483647y"})["instances"].size(), 0u);
}

TEST_P(ListAndShow, TreeShowsChildrenUnderTheirParents) {
  EXPECT_THAT(run({"tree", "family"}).out, AllOf(HasSubstr("family "), HasSubstr("└─ family::sub::1.2")));
  const auto document = json({"tree", "family"});
  EXPECT_EQ(document["instance"]["instance_id"], "family");
  ASSERT_EQ(document["children"].size(), 1u);
  EXPECT_EQ(document["children"][0]["instance"]["orchestration_name"], "Child");
}

TEST_P(ListAndShow, ExplainNamesTheWaitsOfAnInstance) {
  const CliResult waits = run({"explain", "waits"});
  EXPECT_EQ(waits.exit, 0);
  EXPECT_THAT(waits.out, AllOf(HasSubstr("It waits for"), HasSubstr("event 'approved'")));
  EXPECT_THAT(run({"explain", "stopped"}).out, HasSubstr("changed her mind"));
  EXPECT_THAT(run({"explain", "waits", "--stuck-after", "1ms"}).out,
              HasSubstr("It waits for an answer from outside"));
  const auto document = json({"explain", "family"});
  ASSERT_EQ(document["waits"].size(), 1u);
  EXPECT_EQ(document["waits"][0]["kind"], "child");
  EXPECT_EQ(document["waits"][0]["child_status"], "Running");
  EXPECT_EQ(document["stuck"], nullptr);
}

TEST_P(ListAndShow, KvShowsAllKeysOrTheValueOfOne) {
  EXPECT_THAT(run({"kv", "ticker"}).out, AllOf(HasSubstr("round"), HasSubstr("name")));
  EXPECT_EQ(run({"kv", "ticker", "round"}).out, "3\n");
  EXPECT_EQ(run({"kv", "ticker", "name"}).out, "ticker\n");
  EXPECT_EQ(json({"kv", "ticker", "round"})["value"], 3);
  EXPECT_EQ(json({"kv", "ticker"})["key_values"].size(), 2u);
  const CliResult missing = run({"kv", "ticker", "colour"});
  EXPECT_EQ(missing.exit, 3);
  EXPECT_THAT(missing.err, HasSubstr("no key \"colour\""));
  EXPECT_THAT(run({"kv", "order-1"}).err, HasSubstr("no key-values"));
  EXPECT_EQ(run({"kv", "waits", "never", "--wait", "--timeout", "10ms"}).exit, 5);
  EXPECT_EQ(run({"kv", "ticker", "round", "--wait"}).out, "3\n");
}

TEST_P(ListAndShow, StatsCountsInstancesAndQueues) {
  const auto document = json({"stats"});
  EXPECT_EQ(document["total_instances"], 9);
  EXPECT_EQ(document["instances"]["Failed"], 2);
  EXPECT_EQ(document["instances"]["Completed"], 2);
  EXPECT_EQ(document["instances"]["Cancelled"], 1);
  EXPECT_EQ(document["instances"]["Pending"], 1);
  EXPECT_EQ(document["queues"]["orchestrator_due"], 1);
  EXPECT_THAT(run({"stats"}).out, AllOf(HasSubstr("All instances"), HasSubstr("messages to instances")));
}

TEST_P(ListAndShow, TopIsOneLinePerRoundInAPipe) {
  const CliResult result = run({"top", "--rounds", "2", "--interval", "1ms"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2);
  EXPECT_THAT(result.out, AllOf(HasSubstr("failed 2"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(json({"top", "--rounds", "1"})["instances"]["Failed"], 2);
}

TEST_P(ListAndShow, ReadingCommandsChangeNothing) {
  const std::string before = run({"stats", "--json"}).out;
  for (const char* command : {"list", "stats", "doctor"}) (void)run({command});
  EXPECT_EQ(run({"stats", "--json"}).out, before);
}

DURAMEN_ON_EVERY_STORE(ListAndShow);

}  // namespace
}  // namespace duramen::test
