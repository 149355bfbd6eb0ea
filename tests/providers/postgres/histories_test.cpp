// A batch of histories is read in one query.
#include "store.hpp"

#include <string>
#include <vector>

namespace duramen::test {
namespace {

class PostgresHistories : public OnPostgres {};

TEST_F(PostgresHistories, AreReadTogetherInOneRoundTrip) {
  const auto store = open();
  std::vector<TurnCommit> commits;
  std::vector<HistoryRequest> wanted;
  for (std::uint64_t i = 0; i < 50; ++i) {
    commits.push_back(fused_turn("i" + std::to_string(i), i + 1));
    wanted.push_back({commits.back().instance, ExecutionId{1}, {}});
  }
  ASSERT_TRUE(store->commit_turns(commits));
  wanted.insert(wanted.begin() + 20, {"nobody", ExecutionId{1}, {}});
  wanted.push_back({"i7", ExecutionId{1}, EventId{~std::uint64_t{0}}});

  const std::uint64_t before = postgres::counters(*store).queries;
  const auto histories = store->read_histories(wanted);
  EXPECT_EQ(postgres::counters(*store).queries, before + 1);
  ASSERT_EQ(histories.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool has_any = i != 20 && i + 1 != wanted.size();
    ASSERT_TRUE(histories[i]) << i;
    EXPECT_EQ(histories[i]->size(), has_any ? 1u : 0u) << i;
  }
}

TEST_F(PostgresHistories, OneThatCannotBeAskedForDoesNotSpoilTheOthers) {
  const auto store = open();
  const TurnCommit commit = fused_turn("there", 1);
  ASSERT_TRUE(store->commit_turns({&commit, 1}));
  const std::vector<HistoryRequest> wanted{{InstanceId(std::string("no\0body", 7)), ExecutionId{1}, {}},
                                           {"there", ExecutionId{1}, {}}};
  const auto histories = store->read_histories(wanted);
  ASSERT_EQ(histories.size(), 2u);
  EXPECT_FALSE(histories[0]);
  ASSERT_TRUE(histories[1]);
  EXPECT_EQ(histories[1]->size(), 1u);
}

TEST_F(PostgresHistories, OneThatCannotBeReadDoesNotSpoilTheOthers) {
  const auto store = open();
  const std::vector<TurnCommit> commits{fused_turn("broken", 1), fused_turn("whole", 2)};
  ASSERT_TRUE(store->commit_turns(commits));
  const std::string s = quoted_schema();
  schema->connection().script("UPDATE " + s +
                              ".history SET events = '[{' WHERE instance_key = (SELECT key FROM " + s +
                              ".instances WHERE instance_id = 'broken')");
  const std::vector<HistoryRequest> wanted{{"broken", ExecutionId{1}, {}}, {"whole", ExecutionId{1}, {}}};
  const auto histories = store->read_histories(wanted);
  ASSERT_EQ(histories.size(), 2u);
  EXPECT_FALSE(histories[0]);
  ASSERT_TRUE(histories[1]);
  EXPECT_EQ(histories[1]->size(), 1u);
}

}  // namespace
}  // namespace duramen::test
