// doctor: it finds every kind of planted trouble, and nothing in a healthy store.
#include "cli/known_store.hpp"

#include <map>
#include <set>
#include <sstream>

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

const std::string child = "family::sub::1.2";

class Doctor : public KnownStore {
 protected:
  /// The findings of one check with their grade: "warning: text".
  std::vector<std::string> findings(const std::string& check, std::vector<std::string> options = {},
                                    const CliSetting& setting = {}) const {
    options.insert(options.begin(), {"doctor", "--json"});
    const CliResult result = run(options, setting);
    const Json document = Json::parse(result.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << result.out << result.err;
    std::vector<std::string> found;
    bool healthy = true;
    for (const Json& finding : document["findings"]) {
      healthy = healthy && finding["grade"] != "problem";
      if (finding["check"] != check) continue;
      found.push_back(finding["grade"].get<std::string>() + ": " + finding["text"].get<std::string>());
      for (const Json& id : finding["instance_ids"]) found.back() += " (" + id.get<std::string>() + ")";
    }
    EXPECT_EQ(result.exit, healthy ? 0 : 1);
    EXPECT_EQ(document["healthy"], healthy);
    return found;
  }

  /// Each finding as "kind: instance": from the doctor, and from an explanation of every instance.
  std::set<std::string> judged_by_doctor() const {
    const std::map<std::string, std::string> kinds{
        {"stuck", "stuck"}, {"locks", "let_go"}, {"waiting", "unsent"}, {"orphans", "orphan"}};
    std::set<std::string> judged;
    const CliResult doctor = run({"doctor", "--json", "--stuck-after", "1ms"});
    const Json document = Json::parse(doctor.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << doctor.err;
    for (const Json& finding : document["findings"]) {
      const auto kind = kinds.find(finding["check"]);
      if (kind == kinds.end()) continue;
      for (const Json& id : finding["instance_ids"])
        judged.insert(kind->second + ": " + id.get<std::string>());
    }
    return judged;
  }
  std::set<std::string> judged_by_explaining() const {
    std::vector<std::string> command{"explain", "--json", "--stuck-after", "1ms"};
    std::istringstream ids(run({"list", "--ids", "--all"}).out);
    for (std::string id; std::getline(ids, id);) command.push_back(id);
    std::set<std::string> judged;
    const CliResult explained = run(command);
    EXPECT_EQ(explained.exit, 0) << explained.err;
    for (const Json& document : json_lines(explained.out)) {
      bool stuck = false;
      for (const Json& finding : document["findings"]) {
        stuck = stuck || finding["kind"] == "stuck";
        judged.insert(finding["kind"].get<std::string>() + ": " +
                      document["instance"]["instance_id"].get<std::string>());
      }
      EXPECT_EQ(document["stuck"].is_null(), !stuck);
    }
    return judged;
  }
};

TEST_P(Doctor, FindsNothingInAHealthyStore) {
  ASSERT_EQ(run({"delete", "poisoned", "--yes"}).exit, 0);
  const CliResult result = run({"doctor", "--stuck-after", "1h"});
  EXPECT_EQ(result.exit, 0) << result.out;
  EXPECT_THAT(result.out, AllOf(HasSubstr("schema: "), HasSubstr("clock: the clocks agree"),
                                HasSubstr("locks: 0 turns in hand"), HasSubstr("stuck: none of 4"),
                                HasSubstr("orphans: every open child"), HasSubstr("parked: no message"),
                                HasSubstr("poison: no instance"), HasSubstr("nothing is wrong"),
                                Not(HasSubstr("warning"))));
}

TEST_P(Doctor, ShowsTheSchemaOfTheStoreAndTheOneItKnows) {
  const Json document = json({"doctor"}, 1);
  EXPECT_GE(document["schema_version"].get<int>(), 1);
  EXPECT_EQ(document["schema_version"], document["known_schema_version"]);
  EXPECT_THAT(findings("schema"),
              ElementsAre(HasSubstr("ok: version " + document["schema_version"].dump() +
                                    ", the newest that this duramen knows; 9 instances")));
}

TEST_P(Doctor, FindsPoison) {
  EXPECT_THAT(findings("poison"),
              ElementsAre(AllOf(HasSubstr("problem: 1 instance failed as poison"), HasSubstr("(poisoned)"))));
}

TEST_P(Doctor, FindsStuckAndWaitingInstances) {
  EXPECT_THAT(
      findings("stuck", {"--stuck-after", "1ms"}),
      ElementsAre(HasSubstr("problem: \"nobody\": a message to it (StartOrchestration) has been waiting")));
  EXPECT_THAT(findings("waiting", {"--stuck-after", "1ms"}),
              ElementsAre(HasSubstr("warning: 3 instances can only go on with an event")));
  EXPECT_THAT(run({"doctor", "--stuck-after", "1ms"}).out, HasSubstr("2 problems"));
}

TEST_P(Doctor, AgreesWithExplainAboutMissingMessages) {
  const std::set<std::string> expected{"stuck: nobody", "unsent: waits", "unsent: family",
                                       "unsent: " + child};
  EXPECT_EQ(judged_by_doctor(), expected);
  EXPECT_EQ(judged_by_explaining(), expected);
  EXPECT_THAT(
      run({"explain", "waits", "--stuck-after", "1ms"}).out,
      AllOf(HasSubstr("It waits for an answer from outside: it can only go on with the event 'approved'"),
            Not(HasSubstr("stuck"))));
}

TEST_P(Doctor, AgreesWithExplainAboutMessagesThatNoNodeTakes) {
  ASSERT_EQ(run({"raise", "waits", "approved"}).exit, 0);
  ASSERT_EQ(run({"enqueue", child, "a-queue-that-nothing-reads"}).exit, 0);
  const std::set<std::string> held_up{"stuck: nobody", "stuck: waits", "stuck: family", "stuck: " + child};
  EXPECT_EQ(judged_by_doctor(), held_up);
  EXPECT_EQ(judged_by_explaining(), held_up);
  EXPECT_THAT(findings("stuck", {"--stuck-after", "1ms"}),
              Contains(AllOf(HasSubstr("\"waits\": a message to it (ExternalRaised) has been waiting"),
                             HasSubstr("no node has taken it"))));
  EXPECT_THAT(findings("stuck", {"--stuck-after", "1ms"}),
              Contains(AllOf(HasSubstr("\"" + child + "\": a message to it (QueueMessage) has been waiting"),
                             HasSubstr("(holds up family)"))));
  EXPECT_THAT(findings("waiting", {"--stuck-after", "1ms"}), IsEmpty());

  // A parent receives messages as well.
  ASSERT_EQ(run({"raise", "family", "hello"}).exit, 0);
  EXPECT_EQ(judged_by_doctor(), held_up);
  EXPECT_EQ(judged_by_explaining(), held_up);
  EXPECT_THAT(findings("stuck", {"--stuck-after", "1ms"}),
              Contains(HasSubstr("\"family\": a message to it")));
}

TEST_P(Doctor, AgreesWithExplainAboutUnreadableInstances) {
  ASSERT_EQ(run({"raise", "waits", "approved"}).exit, 0);
  place->sql(
      "UPDATE @queue SET item = '{broken';"
      "UPDATE @history SET events = '{broken' WHERE instance_key = (SELECT key FROM @instances WHERE "
      "instance_id = "
      "'family');"
      "UPDATE @instances SET status = 'Zombie' WHERE instance_id = 'order-1'");
  const std::set<std::string> expected{"stuck: nobody", "stuck: waits", "stuck: family", "stuck: order-1",
                                       "unsent: " + child};
  EXPECT_EQ(judged_by_doctor(), expected);
  EXPECT_EQ(judged_by_explaining(), expected);
}

TEST_P(Doctor, FindsAChildWithoutAParent) {
  EXPECT_THAT(findings("orphans"), ElementsAre(HasSubstr("ok: ")));
  place->sql(
      "UPDATE @instances SET status = 'Completed', updated_at = updated_at - 3600000 WHERE instance_id = "
      "'family'");
  EXPECT_THAT(findings("orphans"),
              ElementsAre(AllOf(HasSubstr("problem: 1 open child instance without an open parent"),
                                HasSubstr("(family::sub::1.2)"))));
  EXPECT_EQ(judged_by_doctor(), judged_by_explaining());
  EXPECT_THAT(judged_by_explaining(), Contains("orphan: " + child));
  place->sql("DELETE FROM @instances WHERE instance_id = 'family'");
  EXPECT_THAT(findings("orphans"), ElementsAre(HasSubstr("problem: 1 open child instance")));
  EXPECT_EQ(judged_by_doctor(), judged_by_explaining());
}

TEST_P(Doctor, FindsInstancesOfTheFuture) {
  place->sql("UPDATE @instances SET updated_at = updated_at + 3600000 WHERE instance_id = 'order-1'");
  EXPECT_THAT(findings("clock"),
              ElementsAre(AllOf(HasSubstr("problem: some instances were last changed in the future"),
                                HasSubstr("(order-1)"))));
}

TEST_P(Doctor, FindsAClockThatIsOff) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer wants to be loaded first, and so does the clock";
#endif
  const CliSetting behind{.environment = {{"LD_PRELOAD", std::string(DURAMEN_MODULES) + "/shifted_clock.so"},
                                          {"SHIFT_SECONDS", "-3600"}}};
  // A file has no clock: the times that others wrote show it.
  EXPECT_THAT(findings("clock", {}, behind),
              ElementsAre(HasSubstr(GetParam() == StoreKind::sqlite
                                        ? "problem: some instances were last changed in the future"
                                        : " ahead of this machine's; set both by NTP")));
}

TEST_P(Doctor, ShowsLeaseHoldersAndExpiredLeases) {
  CliProcess server(on_store(
      {"run", std::string(DURAMEN_MODULES) + "/known.so", "--node", "node-x", "--log", "error", "--json"}));
  ASSERT_TRUE(server.wait_for_output("serving"));
  ASSERT_EQ(run({"start", "Slow", "--id", "slow"}).exit, 0);
  while (json({"stats"})["queues"]["worker_leased"] != 1) {
  }
  EXPECT_THAT(findings("locks"),
              ElementsAre(HasSubstr("ok: 0 turns in hand, 1 activity lease of node node-x")));
  server.signal(SIGKILL);
  EXPECT_EQ(server.finish().exit, 128 + SIGKILL);
  place->sql("UPDATE @worker_queue SET lease_until = 1");  // the lease has ended
  EXPECT_THAT(
      findings("locks", {"--stuck-after", "1ms"}),
      ElementsAre(HasSubstr("ok: 0 turns in hand"),
                  AllOf(HasSubstr("warning: 1 activity lease ended without a result"), HasSubstr("(slow)"))));
  EXPECT_EQ(judged_by_doctor(), judged_by_explaining());
  EXPECT_THAT(judged_by_explaining(), Contains("let_go: slow"));
}

TEST_P(Doctor, ReportsAnIncompleteCheck) {
  EXPECT_THAT(findings("stuck", {"--limit", "1"}), Contains(HasSubstr("--limit N checks more")));
}

TEST_P(Doctor, FindsParkedMessages) {
  ASSERT_EQ(run({"raise", "later", "go"}).exit, 0);
  EXPECT_THAT(findings("parked"),
              ElementsAre(HasSubstr("warning: 1 message for instances that do not exist")));
}

DURAMEN_ON_EVERY_STORE(Doctor);

}  // namespace
}  // namespace duramen::test
