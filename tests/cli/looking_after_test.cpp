// delete, prune, doctor: keeping a store in order.
#include "cli/known_store.hpp"

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class LookingAfter : public KnownStore {
 protected:
  int total() const { return json({"stats"})["total_instances"]; }
};

TEST_F(LookingAfter, DeleteAsksFirst) {
  const CliResult refused = run({"delete", "order-1"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("Delete 1 instance"), HasSubstr("--yes")));
  EXPECT_EQ(total(), 9);
}

TEST_F(LookingAfter, DeleteRemovesWhatWasNamed) {
  const CliResult result = run({"delete", "order-1", "ticker", "--yes"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("deleted 2 instances, 4 executions"));
  EXPECT_EQ(total(), 7);
  EXPECT_EQ(run({"show", "order-1"}).exit, 3);
}

TEST_F(LookingAfter, DeleteKeepsWhatHasNotEndedUnlessForced) {
  const CliResult kept = run({"delete", "family", "--yes"});
  EXPECT_EQ(kept.exit, 1);
  EXPECT_THAT(kept.out, HasSubstr("has not ended"));
  EXPECT_EQ(total(), 9);
  EXPECT_EQ(json({"delete", "family", "--yes", "--force"})["instances"], 2);
  EXPECT_EQ(total(), 7);
}

TEST_F(LookingAfter, DeleteOfAChildOrOfNothingSaysSo) {
  const CliResult child = run({"delete", "family::sub::1.2", "--yes"});
  EXPECT_EQ(child.exit, 1);
  EXPECT_THAT(child.out, HasSubstr("goes with the root"));
  EXPECT_EQ(run({"delete", "no-such", "--yes"}).exit, 3);
  EXPECT_EQ(run({"delete"}).exit, 2);
}

TEST_F(LookingAfter, DeleteByFilterTakesWhatHasEnded) {
  const auto plan = json({"delete", "--all", "--dry-run"});
  EXPECT_EQ(plan["matched"].size(), 5u);
  EXPECT_EQ(total(), 9);
  EXPECT_EQ(run({"delete", "--status", "failed"}).exit, 2);  // asks
  EXPECT_EQ(json({"delete", "--status", "failed", "--yes"})["deleted"].size(), 2u);
  EXPECT_EQ(total(), 7);
  EXPECT_EQ(json({"delete", "--ended-before", "now", "--limit", "1", "--yes"})["deleted"].size(), 1u);
}

TEST_F(LookingAfter, PruneRemovesOldExecutions) {
  EXPECT_EQ(run({"prune", "ticker"}).exit, 2);
  EXPECT_EQ(run({"prune", "ticker", "--keep-last", "1"}).exit, 2);  // asks
  EXPECT_EQ(json({"prune", "--all", "--keep-last", "1", "--dry-run"})["executions"], 0);
  const CliResult result = run({"prune", "ticker", "--keep-last", "1", "--yes"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("removed 2 executions"));
  EXPECT_EQ(json({"show", "ticker"})["executions"].size(), 1u);
  EXPECT_EQ(run({"prune", "no-such", "--keep-last", "1", "--yes"}).exit, 3);
  EXPECT_EQ(json({"prune", "--name", "Ticker", "--older-than", "now", "--yes"})["executions"], 0);
}

TEST_F(LookingAfter, DoctorFindsPoisonAndWhatIsStuck) {
  const CliResult result = run({"doctor", "--stuck-after", "1ms"});
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("poison: 1 instance failed as poison"), HasSubstr("(poisoned)"),
                    HasSubstr("stuck: \"nobody\": a message to it (StartOrchestration) has been waiting"),
                    HasSubstr("waiting: 2 instances can only go on with an event"), HasSubstr("2 problems"), HasSubstr("clock: the clocks agree"), HasSubstr("orphans: every open child")));
  const auto document = json({"doctor", "--stuck-after", "1ms"}, 1);
  EXPECT_EQ(document["healthy"], false);
}

TEST_F(LookingAfter, DoctorIsContentWithAHealthyStore) {
  ASSERT_EQ(run({"delete", "poisoned", "--yes"}).exit, 0);
  const CliResult result = run({"doctor", "--stuck-after", "1h"});
  EXPECT_EQ(result.exit, 0) << result.out;
  EXPECT_THAT(result.out, AllOf(HasSubstr("schema: "), HasSubstr("locks: "), HasSubstr("nothing is wrong")));
}

TEST_F(LookingAfter, DoctorSaysWhenItHasNotSeenAll) {
  EXPECT_THAT(run({"doctor", "--limit", "1"}).out, HasSubstr("--limit N looks at more"));
}

TEST_F(LookingAfter, DoctorFindsParkedMessages) {
  ASSERT_EQ(run({"raise", "later", "go"}).exit, 0);
  EXPECT_THAT(run({"doctor"}).out, HasSubstr("parked: 1 message for instances that do not exist"));
}

}  // namespace
}  // namespace duramen::test
