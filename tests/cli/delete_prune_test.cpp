// delete and prune: keeping a store in order.
#include "cli/known_store.hpp"

namespace duramen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class DeleteAndPrune : public KnownStore {
 protected:
  int total() const { return json({"stats"})["total_instances"]; }
};

TEST_P(DeleteAndPrune, DeleteAsksFirst) {
  const CliResult refused = run({"delete", "order-1"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("Delete 1 instance"), HasSubstr("--yes")));
  EXPECT_EQ(total(), 9);
}

TEST_P(DeleteAndPrune, DeleteRemovesTheNamedInstances) {
  const CliResult result = run({"delete", "order-1", "ticker", "--yes"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("deleted 2 instances, 4 executions"));
  EXPECT_EQ(total(), 7);
  EXPECT_EQ(run({"show", "order-1"}).exit, 3);
}

TEST_P(DeleteAndPrune, DeleteKeepsRunningInstancesUnlessForced) {
  const CliResult kept = run({"delete", "family", "--yes"});
  EXPECT_EQ(kept.exit, 1);
  EXPECT_THAT(kept.out, HasSubstr("has not ended"));
  EXPECT_EQ(total(), 9);
  EXPECT_EQ(json({"delete", "family", "--yes", "--force"})["instances"], 2);
  EXPECT_EQ(total(), 7);
}

TEST_P(DeleteAndPrune, DeleteReportsChildrenAndUnknownIds) {
  const CliResult child = run({"delete", "family::sub::1.2", "--yes"});
  EXPECT_EQ(child.exit, 1);
  EXPECT_THAT(child.out, HasSubstr("goes with the root"));
  EXPECT_EQ(run({"delete", "no-such", "--yes"}).exit, 3);
  EXPECT_EQ(run({"delete"}).exit, 2);
}

TEST_P(DeleteAndPrune, DeleteByFilterRemovesEndedInstances) {
  const auto plan = json({"delete", "--all", "--dry-run"});
  EXPECT_EQ(plan["matched"].size(), 5u);
  EXPECT_EQ(total(), 9);
  EXPECT_EQ(run({"delete", "--status", "failed"}).exit, 2);  // asks
  EXPECT_EQ(json({"delete", "--status", "failed", "--yes"})["deleted"].size(), 2u);
  EXPECT_EQ(total(), 7);
  EXPECT_EQ(json({"delete", "--ended-before", "now", "--limit", "1", "--yes"})["deleted"].size(), 1u);
}

TEST_P(DeleteAndPrune, PruneRemovesOldExecutions) {
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

DURAMEN_ON_EVERY_STORE(DeleteAndPrune);

}  // namespace
}  // namespace duramen::test
