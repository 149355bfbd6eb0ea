// The entry of an instance: every change that gives it another one.
#include "providers/sqlite/fixture.hpp"

namespace duramen::sqlite::test {

namespace {

OutboundMessage raise(const std::string& target) {
  return {.target = target, .body = message::ExternalRaised{"go", Payload::json("1")}};
}

void send(Provider& provider, const OutboundMessage& message) {
  ASSERT_EQ(provider.enqueue_messages({&message, 1}).value().at(0), EnqueueOutcome::enqueued);
}

/// A turn that takes the first message and stores nothing else.
TurnCommit turn_of_first(const LeasedInstance& item, std::uint64_t token) {
  TurnCommit commit;
  commit.token = CommitToken{token};
  commit.node = "node-a";
  commit.instance = item.instance;
  commit.incarnation = item.incarnation;
  commit.basis = HeldLease{item.lease, {item.messages.at(0).place}};
  commit.execution = item.execution;
  return commit;
}

TEST(AnEntry, GoesToTheNextMessageWithTheCommitOfATurn) {
  const auto provider = open_at(":memory:");
  commit_one(*provider, first_turn("a", 1));
  for (int i = 0; i < 3; ++i) send(*provider, raise("a"));
  for (std::uint64_t left : {3u, 2u, 1u}) {
    const auto items = provider->fetch_turns(fetch_turns()).value().items;
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].messages.size(), left);
    commit_one(*provider, turn_of_first(items[0], 10 + left));
  }
  EXPECT_TRUE(provider->fetch_turns(fetch_turns()).value().items.empty());
}

TEST(AnEntry, IsOpenToEveryNodeOnceACancelNeedsNoCode) {
  const auto provider = open_at(":memory:");
  commit_one(*provider, first_turn("a", 1));
  send(*provider, raise("a"));
  TurnFetch other = fetch_turns("node-b");
  other.orchestrations = {{{"Other", {"1.0.0"}}}};
  EXPECT_TRUE(provider->fetch_turns(other).value().items.empty());
  send(*provider, {.target = "a", .body = message::CancelInstance{"enough", CancelMode::terminate}});
  EXPECT_EQ(provider->fetch_turns(other).value().items.size(), 1u);
}

// A second message of the timer took the entry away, and no fetch found the instance again.
TEST(AnEntry, StaysWithATimerThatIsSentAgain) {
  ManualClock clock;
  const auto provider = open_at(":memory:", &clock);
  commit_one(*provider, first_turn("a", 1));
  const OutboundMessage timer{.target = "a",
                              .body = message::TimerFired{ExecutionId{1}, EventId{5}, clock.now()}};
  send(*provider, timer);
  ASSERT_EQ(provider->fetch_turns(fetch_turns()).value().items.size(), 1u);
  send(*provider, timer);
  EXPECT_TRUE(provider->fetch_turns(fetch_turns("node-b")).value().items.empty());
  clock.advance(1min);
  EXPECT_EQ(provider->fetch_turns(fetch_turns("node-b")).value().items.size(), 1u);
}

// It asked for the version of the start, so nodes without the next version fetched it.
TEST(AnEntry, OfAContinueAsNewInAFirstTurnNamesTheVersionAskedFor) {
  const auto provider = open_at(":memory:");
  TurnCommit only = first_turn("a", 1);
  std::get<FusedStart>(only.basis).request.start.version = "1.0.0";
  only.new_activities.clear();
  only.events = {only.events[0], {EventId{2}, {}, {}, event::OrchestrationContinuedAsNew{}}};
  only.change.status = Status::continued_as_new;
  only.messages = {
      {.target = "a", .body = message::ContinueAsNew{.orchestration = "Hello", .version = "3.0.0"}}};
  ASSERT_EQ(commit_one(*provider, only).outcome, CommitOutcome::committed);
  TurnFetch fetch = fetch_turns();
  fetch.orchestrations = {{{"Hello", {"1.0.0"}}}};
  EXPECT_TRUE(provider->fetch_turns(fetch).value().items.empty());
  fetch.orchestrations = {{{"Hello", {"3.0.0"}}}};
  EXPECT_EQ(provider->fetch_turns(fetch).value().items.size(), 1u);
}

TEST(AChild, OfAParentWithAQueuedCancelIsBornWithIt) {
  const auto provider = open_at(":memory:");
  commit_one(*provider, first_turn("a", 1));
  send(*provider, raise("a"));
  const auto item = provider->fetch_turns(fetch_turns()).value().items.at(0);
  send(*provider, {.target = "a", .body = message::CancelInstance{"enough", CancelMode::terminate}});
  TurnCommit turn = turn_of_first(item, 2);
  message::StartOrchestration child = start_request("b").start;
  child.parent = ParentLink{"a", item.incarnation, ExecutionId{1}, EventId{2}};
  turn.messages.push_back({.target = "b", .body = child});
  ASSERT_EQ(commit_one(*provider, turn).outcome, CommitOutcome::committed);
  EXPECT_EQ(provider->get_instance("b").value().value().cancel_asked, CancelMode::terminate);
  for (const LeasedInstance& leased : provider->fetch_turns(fetch_turns()).value().items) {
    if (leased.instance != InstanceId{"b"}) continue;
    ASSERT_EQ(leased.messages.size(), 2u);
    EXPECT_EQ(std::get<message::CancelInstance>(leased.messages[1].body).reason, "enough");
  }
}

TEST(AMissedHeartbeat, FailsNoAttemptWhoseHolderMayBeDead) {
  ManualClock clock;
  const auto provider = open_at(":memory:", &clock);
  TurnCommit first = first_turn("a", 1);
  first.new_activities[0].request.options.heartbeat = 10s;
  commit_one(*provider, first);
  const auto held = provider->fetch_activities(fetch_work()).value().items.at(0);
  ASSERT_TRUE(provider
                  ->renew_activities(
                      std::array{ActivityRenewal{held.lease, std::nullopt, ActivityProgress::begins}}, 30s)
                  .has_value());
  clock.advance(10s);
  EXPECT_EQ(provider->sweep(10).value().overdue, 0u);
  ASSERT_TRUE(provider->renew_activities(std::array{ActivityRenewal{held.lease}}, 30s).has_value());
  EXPECT_EQ(provider->sweep(10).value().overdue, 1u) << "it lives and is silent";
}

TEST(ALimitOnWaiting, BeginsAnewWithABootOfTheMachine) {
  const TempDir dir;
  ManualClock clock;
  {
    const auto provider = open_at(dir.file("t.db"), &clock);
    TurnCommit first = first_turn("a", 1);
    first.new_activities[0].request.options.schedule_to_start = 10s;
    commit_one(*provider, first);
  }
  clock.advance(9s);
  RawConnection{dir.file("t.db")}.execute("UPDATE duramen_boots SET boot_id = 'the boot before this one'");
  const auto provider = open_at(dir.file("t.db"), &clock);
  EXPECT_EQ(provider->sweep(10).value().overdue, 0u);
  clock.advance(9s);
  EXPECT_EQ(provider->sweep(10).value().overdue, 0u);
  clock.advance(1s);
  EXPECT_EQ(provider->sweep(10).value().overdue, 1u);
}

TEST(ParkedMail, GetsItsWholeTimeAnewWithABootOfTheMachine) {
  const TempDir dir;
  ManualClock clock;
  const OutboundMessage message{"a", message::ExternalRaised{"x", Payload::text("1")}};
  {
    const auto provider = open_at(dir.file("t.db"), &clock);
    ASSERT_EQ(provider->enqueue_messages({&message, 1}).value().at(0), EnqueueOutcome::parked);
  }
  clock.advance(23h);
  RawConnection{dir.file("t.db")}.execute("UPDATE duramen_boots SET boot_id = 'the boot before this one'");
  const auto provider = open_at(dir.file("t.db"), &clock);
  EXPECT_EQ(provider->get_queue_depths().value().parked, 1u);
  for (const std::size_t left : {1u, 0u}) {
    EXPECT_TRUE(provider->sweep(10));
    clock.advance(left == 1 ? 23h : 2h);
    EXPECT_TRUE(provider->sweep(10));
    EXPECT_EQ(provider->get_queue_depths().value().parked, left);
  }
}

TEST(AFence, StandsAboveTheBaseOfItsActivity) {
  const auto provider = open_at(":memory:");
  TurnCommit first = first_turn("a", 1);
  first.new_activities[0].request.fence_base = 7;
  commit_one(*provider, first);
  EXPECT_EQ(provider->fetch_activities(fetch_work()).value().items.at(0).fence >> 32u, 7u);
}

}  // namespace

}  // namespace duramen::sqlite::test
