// Leases are measured by the clock that counts from the machine's boot.
#include "providers/sqlite/fixture.hpp"

namespace duramen::sqlite::test {

namespace {

TEST(Leases, AreNeitherFreedNorFrozenByAJumpOfTheWallClock) {
  const TempDir dir;
  ManualClock clock;
  const auto provider = open_at(dir.file("t.db"), &clock);
  start(*provider, "turn");
  commit_one(*provider, first_turn("work", 1));
  const auto turn = provider->fetch_turns(fetch_turns()).value().items.at(0);
  const auto work = provider->fetch_activities(fetch_work()).value().items.at(0);

  clock.jump_wall(24h);
  EXPECT_TRUE(provider->fetch_turns(fetch_turns("node-b")).value().items.empty());
  EXPECT_TRUE(provider->fetch_activities(fetch_work("node-b")).value().items.empty());
  const TurnLease turn_lease{turn.incarnation, turn.lease};
  EXPECT_TRUE(provider->renew_turns({&turn_lease, 1}, 30s).value().at(0));
  EXPECT_EQ(provider->renew_activities(std::array{ActivityRenewal{work.lease}}, 30s).value().at(0).outcome,
            RenewOutcome::renewed);

  clock.advance(31s);
  EXPECT_EQ(provider->fetch_turns(fetch_turns("node-b")).value().items.size(), 1u);
  EXPECT_EQ(provider->fetch_activities(fetch_work("node-b")).value().items.size(), 1u);
}

TEST(Leases, EndWithTheBootOfTheMachine) {
  const TempDir dir;
  // Stands still: only the boot can end a lease.
  const ManualClock clock;
  ActivityLease held;
  {
    const auto provider = open_at(dir.file("t.db"), &clock);
    start(*provider, "turn");
    commit_one(*provider, first_turn("work", 1));
    ASSERT_EQ(provider->fetch_turns(fetch_turns()).value().items.size(), 1u);
    held = provider->fetch_activities(fetch_work()).value().items.at(0).lease;
  }
  {
    const auto provider = open_at(dir.file("t.db"), &clock);
    EXPECT_TRUE(provider->fetch_turns(fetch_turns("node-b")).value().items.empty());
    EXPECT_TRUE(provider->fetch_activities(fetch_work("node-b")).value().items.empty());
  }
  RawConnection{dir.file("t.db")}.execute("UPDATE duramen_boots SET boot_id = 'the boot before this one'");
  const auto provider = open_at(dir.file("t.db"), &clock);
  EXPECT_EQ(provider->renew_activities(std::array{ActivityRenewal{held}}, 30s).value().at(0).outcome,
            RenewOutcome::lease_lost);
  EXPECT_EQ(provider->fetch_turns(fetch_turns("node-b")).value().items.size(), 1u);
  EXPECT_EQ(provider->fetch_activities(fetch_work("node-b")).value().items.size(), 1u);
}

TEST(Leases, ThatEndAreNeverRevived) {
  ManualClock clock;
  const auto provider = open_at(":memory:", &clock);
  commit_one(*provider, first_turn("work", 1));
  const auto work = provider->fetch_activities(fetch_work()).value().items.at(0);
  clock.advance(30s);
  EXPECT_EQ(provider->renew_activities(std::array{ActivityRenewal{work.lease}}, 30s).value().at(0).outcome,
            RenewOutcome::lease_lost);
  const ActivityAck ack{work.lease, "work", Payload::text("late")};
  EXPECT_EQ(provider->ack_activities({&ack, 1}).value().at(0).outcome, AckOutcome::lease_lost);
}

TEST(StolenLeases, AreForgottenSomeTimeAfterTheLeaseWouldHaveEnded) {
  const TempDir dir;
  ManualClock clock;
  const auto provider = open_at(dir.file("t.db"), &clock);
  const auto steal = [&](const std::string& id, std::uint64_t token) {
    const LeaseToken lease{token};
    const TurnCommit first = first_turn(id, token + 1, lease);
    TurnCommit last = last_turn(first, commit_one(*provider, first).incarnation, token + 2, lease);
    last.node = "node-b";
    last.activity_acks.clear();
    EXPECT_EQ(commit_one(*provider, last).stolen.size(), 1u);
    return last;
  };
  steal("a", 100);
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(raw.text("SELECT count(*) FROM duramen_stolen_leases"), "1");
  EXPECT_EQ(provider->read_stolen_leases("node-a").value().size(), 1u);
  EXPECT_EQ(provider->read_stolen_leases("node-a").value().size(), 0u);
  clock.advance(10min);
  steal("b", 200);
  EXPECT_EQ(raw.text("SELECT group_concat(lease_token) FROM duramen_stolen_leases"), "200");
}

TEST(StolenLeases, OfTheCommittingNodeCostNoRowAndKeepTheirReason) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  const LeaseToken lease{5};
  const TurnCommit first = first_turn("a", 1, lease);
  TurnCommit last = last_turn(first, commit_one(*provider, first).incarnation, 2, lease);
  const ActivityAck ack = last.activity_acks.at(0);
  last.activity_acks.clear();
  ASSERT_EQ(commit_one(*provider, last).stolen.size(), 1u);
  EXPECT_EQ(RawConnection{dir.file("t.db")}.text("SELECT count(*) FROM duramen_stolen_leases"), "0");
  const auto answer = provider->ack_activities({&ack, 1}).value().at(0);
  EXPECT_EQ(answer.outcome, AckOutcome::cancelled);
  EXPECT_EQ(answer.reason, CancelReason::orchestration_terminal_completed);
}

}  // namespace

}  // namespace duramen::sqlite::test
