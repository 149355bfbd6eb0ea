// Entries of one batch do not harm each other.
#include "providers/sqlite/fixture.hpp"

namespace duramen::sqlite::test {

namespace {

TEST(Batches, AnEntryThatCannotBeStoredDoesNotFailTheOthers) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  std::vector<TurnCommit> batch{first_turn("a", 1), first_turn("b", 2), first_turn("c", 3)};
  batch[1].worker_items.push_back(batch[1].worker_items[0]);  // the same row twice
  const auto results = provider->ack_orchestration_items(batch).value();
  EXPECT_EQ(results[0].outcome, CommitOutcome::committed);
  EXPECT_EQ(results[1].outcome, CommitOutcome::invalid);
  EXPECT_EQ(results[2].outcome, CommitOutcome::committed);
  EXPECT_TRUE(provider->get_instance("a").value().has_value());
  EXPECT_FALSE(provider->get_instance("b").value().has_value());
  EXPECT_TRUE(provider->get_instance("c").value().has_value());
  EXPECT_NE(results[0].incarnation, results[2].incarnation);
  EXPECT_EQ(counters(*provider).synced_commits, 1u);
}

TEST(Batches, TwoTurnsOfOneInstanceActAsIfSentOneAfterTheOther) {
  const auto provider = open_at(":memory:");
  const TurnCommit first = first_turn("a", 1, LeaseToken{9});
  const auto incarnation = commit_one(*provider, first).incarnation;
  const std::vector<TurnCommit> batch{last_turn(first, incarnation, 2, LeaseToken{9}),
                                      last_turn(first, incarnation, 2, LeaseToken{9}),
                                      last_turn(first, incarnation, 3, LeaseToken{9})};
  const auto results = provider->ack_orchestration_items(batch).value();
  EXPECT_EQ(results[0].outcome, CommitOutcome::committed);
  EXPECT_EQ(results[1].outcome, CommitOutcome::already_committed);
  EXPECT_EQ(results[2].outcome, CommitOutcome::condition_failed);
  EXPECT_EQ(results[2].acks.at(0).outcome, AckOutcome::lease_lost);
}

TEST(Batches, AMessageOfOneTurnDoesNotStandInTheWayOfAnother) {
  const auto provider = open_at(":memory:");
  const TurnCommit first = first_turn("b", 1, LeaseToken{9});
  const auto incarnation = commit_one(*provider, first).incarnation;
  TurnCommit sender = first_turn("a", 2);
  sender.messages.push_back({.target = "b", .item = work::QueueMessage{"q", Payload::text("x")}});
  TurnCommit receiver = last_turn(first, incarnation, 3, LeaseToken{9});
  receiver.events.pop_back();
  receiver.change = {};
  receiver.cancel_rest.reset();
  const std::vector<TurnCommit> batch{sender, receiver};
  const auto results = provider->ack_orchestration_items(batch).value();
  EXPECT_EQ(results[0].outcome, CommitOutcome::committed);
  EXPECT_EQ(results[1].outcome, CommitOutcome::committed);
  EXPECT_EQ(provider->fetch_orchestration_items(fetch_turns()).value().items.at(0).instance, InstanceId{"b"});
}

TEST(Batches, ManyCancelledActivitiesGoInOneStep) {
  const auto provider = open_at(":memory:");
  TurnCommit first = first_turn("a", 1);
  const WorkerItem one = first.worker_items.at(0);
  first.worker_items.clear();
  for (std::uint64_t i = 0; i < 100; ++i) {
    WorkerItem item = one;
    item.activity.key.activity = EventId{10 + i};
    if (i % 2 == 0) item.born_leased = LeaseToken{1000 + i};
    first.worker_items.push_back(item);
  }
  TurnCommit second;
  second.token = CommitToken{2};
  second.node = "node-a";
  second.instance = "a";
  second.incarnation = commit_one(*provider, first).incarnation;
  second.basis = ConditionalLease{EventId{2}};
  second.execution = ExecutionId{1};
  for (std::uint64_t i = 0; i < 90; ++i) {
    second.cancelled_activities.push_back(
        {EventId{10 + i}, i < 10 ? CancelReason::timeout : CancelReason::select_loser});
  }
  const auto result = commit_one(*provider, second);
  ASSERT_EQ(result.outcome, CommitOutcome::committed);
  EXPECT_EQ(result.stolen.size(), 45u);
  for (const StolenLease& stolen : result.stolen) {
    EXPECT_EQ(stolen.owner, NodeId{"node-a"});
    EXPECT_EQ(stolen.reason,
              stolen.lease.key.activity < EventId{20} ? CancelReason::timeout : CancelReason::select_loser);
  }
  EXPECT_EQ(provider->fetch_work_items(fetch_work()).value().items.size(), 5u);
}

TEST(Messages, WhoseInstanceDoesNotComeWithinADayAreDroppedAndCounted) {
  TestClock clock;
  const auto provider = open_at(":memory:", &clock);
  const auto send = [&](const char* target) {
    const OutboundMessage message{.target = target, .item = work::QueueMessage{"q", Payload::text("x")}};
    EXPECT_EQ(provider->enqueue_for_orchestrator({&message, 1}).value().at(0), EnqueueOutcome::parked);
  };
  send("a");
  clock.advance(24h);
  send("b");
  EXPECT_EQ(counters(*provider).expired_messages, 1u);
  start(*provider, "a");
  start(*provider, "b");
  const auto batch = provider->fetch_orchestration_items(fetch_turns()).value();
  ASSERT_EQ(batch.items.size(), 2u);
  EXPECT_EQ(batch.items[0].messages.size(), 1u);
  EXPECT_EQ(batch.items[1].messages.size(), 2u);
}

}  // namespace

}  // namespace duramen::sqlite::test
