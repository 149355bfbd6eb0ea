// The cost of transactions, counted.
#include "providers/sqlite/fixture.hpp"

namespace duramen::sqlite::test {

namespace {

struct Cost {
  explicit Cost(const Provider& p) : provider(p), before(counters(p)) {}
  [[nodiscard]] std::uint64_t synced() const {
    return counters(provider).synced_commits - before.synced_commits;
  }
  [[nodiscard]] std::uint64_t unsynced() const {
    return counters(provider).unsynced_commits - before.unsynced_commits;
  }
  [[nodiscard]] std::uint64_t rows() const { return counters(provider).row_writes - before.row_writes; }
  const Provider& provider;
  const Counters before;
};

TEST(Costs, AHelloIsTwoSyncedCommitsAndSixRowWrites) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  commit_one(*provider, first_turn("warm-up", 1));  // reserves a block of numbers
  const Cost cost{*provider};
  const TurnCommit first = first_turn("a", 2, LeaseToken{3});
  const TurnCommit last = last_turn(first, commit_one(*provider, first).incarnation, 4, LeaseToken{3});
  ASSERT_EQ(commit_one(*provider, last).outcome, CommitOutcome::committed);
  EXPECT_EQ(cost.synced(), 2u);
  EXPECT_EQ(cost.unsynced(), 0u);
  EXPECT_EQ(cost.rows(), 6u);
}

TEST(Costs, AnInstanceWithKeyValuesPaysForThemWhenTheyChangeAndWhenItEnds) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  commit_one(*provider, first_turn("warm-up", 1));
  const Cost cost{*provider};
  TurnCommit first = first_turn("a", 2, LeaseToken{3});
  first.change.key_values = {{"x", Payload::text("1")}, {"y", Payload::text("1")}};
  const TurnCommit last = last_turn(first, commit_one(*provider, first).incarnation, 4, LeaseToken{3});
  // Three as without keys, the mark that there are keys, and two values.
  EXPECT_EQ(cost.rows(), 6u);
  ASSERT_EQ(commit_one(*provider, last).outcome, CommitOutcome::committed);
  EXPECT_EQ(cost.rows(), 11u);  // three as without, two settled
}

/// A turn under the lease of a fetch that stores one event.
TurnCommit held_turn(const LeasedInstance& item, std::uint64_t token) {
  TurnCommit commit;
  commit.token = CommitToken{token};
  commit.node = "node-a";
  commit.instance = item.instance;
  commit.incarnation = item.incarnation;
  commit.basis = HeldLease::all_of(item);
  commit.execution = item.execution;
  commit.events = {{item.last_event_id.next(), {}, {}, event::ExternalEvent{"go", Payload::json("1")}}};
  return commit;
}

TEST(Costs, AMessageIsOneRowAndItsTurnIsFive) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  commit_one(*provider, first_turn("a", 1));
  const OutboundMessage message{.target = "a", .body = message::ExternalRaised{"go", Payload::json("1")}};
  const Cost sending{*provider};
  ASSERT_TRUE(provider->enqueue_messages({&message, 1}).has_value());
  EXPECT_EQ(sending.rows(), 1u);
  const Cost fetching{*provider};
  const auto item = provider->fetch_turns(fetch_turns()).value().items.at(0);
  EXPECT_EQ(fetching.rows(), 2u);  // the lease, the entry
  const Cost committing{*provider};
  commit_one(*provider, held_turn(item, 2));
  EXPECT_EQ(committing.rows(), 3u);  // the message, the instance, the history
}

TEST(Costs, ManyMessagesAreOneEntry) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  commit_one(*provider, first_turn("a", 1));
  const std::vector<OutboundMessage> messages(
      100, {.target = "a", .body = message::ExternalRaised{"go", Payload::json("1")}});
  ASSERT_TRUE(provider->enqueue_messages(messages).has_value());
  const Cost fetching{*provider};
  const auto item = provider->fetch_turns(fetch_turns()).value().items.at(0);
  EXPECT_EQ(item.messages.size(), 100u);
  EXPECT_EQ(fetching.rows(), 2u);
}

TEST(Costs, ATimerIsOneRowAndItsTurnIsFive) {
  const TempDir dir;
  ManualClock clock;
  const auto provider = open_at(dir.file("t.db"), &clock);
  commit_one(*provider, first_turn("warm-up", 1));
  TurnCommit first = first_turn("a", 2);
  first.messages.push_back(
      {.target = "a", .body = message::TimerFired{ExecutionId{1}, EventId{2}, clock.now() + 10s}});
  const Cost setting{*provider};
  commit_one(*provider, first);
  EXPECT_EQ(setting.rows(), 4u);  // three as without
  clock.advance(10s);
  const Cost fetching{*provider};
  const auto item = provider->fetch_turns(fetch_turns()).value().items.at(0);
  EXPECT_EQ(fetching.rows(), 2u);
  const Cost committing{*provider};
  commit_one(*provider, held_turn(item, 3));
  EXPECT_EQ(committing.rows(), 3u);
}

TEST(Costs, AChildIsTwoRows) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  commit_one(*provider, first_turn("warm-up", 1));
  TurnCommit first = first_turn("a", 2);
  message::StartOrchestration child = start_request("b").start;
  child.parent = ParentLink{"a", {}, ExecutionId{1}, EventId{2}};
  first.messages.push_back({.target = "b", .body = child});
  const Cost cost{*provider};
  commit_one(*provider, first);
  EXPECT_EQ(cost.rows(), 5u);  // three as without
}

TEST(Costs, ABatchOfTurnsIsOneSyncedCommit) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  std::vector<TurnCommit> batch;
  for (std::uint64_t i = 0; i < 50; ++i) batch.push_back(first_turn("i-" + std::to_string(i), 100 + i));
  const Cost cost{*provider};
  ASSERT_TRUE(provider->commit_turns(batch).has_value());
  EXPECT_EQ(cost.synced(), 1u);
}

TEST(Costs, LeasesDoNotWaitForTheDisk) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  start(*provider, "turn");
  commit_one(*provider, first_turn("work", 1));
  const Cost cost{*provider};
  const auto turn = provider->fetch_turns(fetch_turns()).value().items.at(0);
  const auto work = provider->fetch_activities(fetch_work()).value().items.at(0);
  const TurnLease turn_lease{turn.incarnation, turn.lease};
  ASSERT_TRUE(provider->renew_turns({&turn_lease, 1}, 60s).has_value());
  ASSERT_TRUE(provider->renew_activities(std::array{ActivityRenewal{work.lease}}, 60s).has_value());
  const TurnRelease turn_back{.lease = turn_lease};
  ASSERT_TRUE(provider->release_turns({&turn_back, 1}).has_value());
  const ActivityRelease work_back{.lease = work.lease};
  ASSERT_TRUE(provider->release_activities({&work_back, 1}).has_value());
  EXPECT_EQ(cost.synced(), 0u);
  EXPECT_EQ(cost.unsynced(), 6u);
}

TEST(Costs, AskingAnIdleStoreForWorkWritesNothing) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  const Cost cost{*provider};
  ASSERT_TRUE(provider->fetch_turns(fetch_turns()).has_value());
  ASSERT_TRUE(provider->fetch_activities(fetch_work()).has_value());
  ASSERT_TRUE(provider->read_stolen_leases("node-a").has_value());
  EXPECT_EQ(cost.rows() + cost.synced() + cost.unsynced(), 0u);
}

TEST(Costs, TheWalIsCheckpointedBeforeItGrowsLarge) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  for (int i = 0; i < 120; ++i) {
    StartRequest request = start_request("i-" + std::to_string(i));
    request.start.input = Payload::text(std::string(256u << 10, 'x'));
    ASSERT_TRUE(provider->start_instances({&request, 1}).has_value());
  }
  EXPECT_LT(std::filesystem::file_size(dir.file("t.db-wal")), 16u << 20);
  EXPECT_GT(std::filesystem::file_size(dir.file("t.db")), 10u << 20);
}

TEST(Costs, WithoutDurabilityNothingWaitsForTheDisk) {
  const TempDir dir;
  const auto provider =
      open_provider({.path = dir.file("t.db"), .durability = Options::Durability::off}).value();
  const Cost cost{*provider};
  start(*provider, "a");
  EXPECT_EQ(cost.synced(), 0u);
  EXPECT_EQ(cost.unsynced(), 1u);
}

}  // namespace

}  // namespace duramen::sqlite::test
