// Unreadable rows are handed out with their error, so that a node can end them.
#include "providers/sqlite/fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace duramen::sqlite::test {

namespace {

using ::testing::HasSubstr;

OutboundMessage raise(const std::string& target, const std::string& name) {
  return {.target = target, .body = message::ExternalRaised{name, Payload::json("1")}};
}

TEST(AMessageThatCannotBeRead, IsReportedWithItsInstanceAndCountsAsAnAttempt) {
  const TempDir dir;
  ManualClock clock;
  const auto provider = open_at(dir.file("t.db"), &clock);
  start(*provider, "damaged");
  RawConnection{dir.file("t.db")}.execute("UPDATE duramen_queue SET item = '{broken'");
  const auto item = provider->fetch_turns(fetch_turns()).value().items.at(0);
  EXPECT_EQ(item.instance, InstanceId{"damaged"});
  EXPECT_TRUE(item.messages.empty());
  ASSERT_TRUE(item.unreadable.has_value());
  EXPECT_THAT(*item.unreadable, HasSubstr("message 1: "));
  EXPECT_EQ(item.attempt, 1u);
  EXPECT_EQ(counters(*provider).unreadable_messages, 1u);
  EXPECT_TRUE(provider->fetch_turns(fetch_turns("node-b")).value().items.empty()) << "it is leased";

  clock.advance(30s);
  EXPECT_EQ(provider->fetch_turns(fetch_turns()).value().items.at(0).attempt, 2u);
}

TEST(AMessageThatCannotBeRead, HidesNoReadableOne) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  commit_one(*provider, first_turn("a", 1));
  const std::array messages{raise("a", "first"), raise("a", "second"), raise("a", "third")};
  ASSERT_TRUE(provider->enqueue_messages(messages).has_value());
  RawConnection{dir.file("t.db")}.execute("UPDATE duramen_queue SET item = x'00ff' WHERE place = 2");
  const auto item = provider->fetch_turns(fetch_turns()).value().items.at(0);
  ASSERT_EQ(item.messages.size(), 2u);
  EXPECT_EQ(std::get<message::ExternalRaised>(item.messages[1].body).name, "third");
  EXPECT_THAT(*item.unreadable, HasSubstr("message 2: "));
}

TEST(AMessageThatCannotBeRead, IsDeletedByTheCommitOfTheTurn) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  const auto incarnation = commit_one(*provider, first_turn("a", 1)).incarnation;
  const OutboundMessage message = raise("a", "go");
  ASSERT_TRUE(provider->enqueue_messages({&message, 1}).has_value());
  RawConnection raw{dir.file("t.db")};
  raw.execute("UPDATE duramen_queue SET item = '[]'");
  const auto item = provider->fetch_turns(fetch_turns()).value().items.at(0);
  TurnCommit commit;
  commit.token = CommitToken{2};
  commit.node = "node-a";
  commit.instance = "a";
  commit.incarnation = incarnation;
  commit.basis = HeldLease::all_of(item);
  commit.execution = ExecutionId{1};
  ASSERT_EQ(commit_one(*provider, commit).outcome, CommitOutcome::committed);
  EXPECT_EQ(raw.text("SELECT count(*) FROM duramen_queue"), "0");
}

TEST(AMessageThatCannotBeRead, IsDescribedOnlyAFewTimes) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  commit_one(*provider, first_turn("a", 1));
  const std::vector<OutboundMessage> messages(1000, raise("a", "go"));
  ASSERT_TRUE(provider->enqueue_messages(messages).has_value());
  RawConnection{dir.file("t.db")}.execute("UPDATE duramen_queue SET item = ''");
  const auto item = provider->fetch_turns(fetch_turns()).value().items.at(0);
  EXPECT_THAT(*item.unreadable, HasSubstr("and 996 more"));
  EXPECT_LT(item.unreadable->size(), 2000u);
}

TEST(AnInstanceInAnUnknownStatus, IsListedWithItsErrorAndHidesNoOther) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  for (const char* id : {"a", "b", "c"}) start(*provider, id);
  RawConnection{dir.file("t.db")}.execute(
      "UPDATE duramen_instances SET status = 'Zombie' WHERE instance_id = 'b'");
  InstanceQuery query;
  query.limit = 2;
  query.order = InstanceOrder::oldest_first;
  const InstancePage page = provider->list_instances(query).value();
  ASSERT_EQ(page.instances.size(), 2u);
  EXPECT_FALSE(page.instances[0].unreadable.has_value());
  EXPECT_EQ(page.instances[1].instance, InstanceId{"b"});
  EXPECT_EQ(page.instances[1].name, "Hello");
  EXPECT_THAT(page.instances[1].unreadable.value_or(""), HasSubstr("'Zombie'"));
  EXPECT_TRUE(page.next) << "the page after it begins behind it";
  EXPECT_TRUE(provider->get_instance_tree("b").value().at(0).unreadable.has_value());
  EXPECT_TRUE(provider->list_executions("b").value().at(0).unreadable.has_value());
  const StoreMetrics metrics = provider->get_metrics().value();
  EXPECT_EQ(metrics.unreadable, 1u);
  EXPECT_EQ(metrics.total_instances(), 3u);

  const auto alone = provider->get_instance("b");
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::corrupt);
  EXPECT_THAT(alone.error().message, HasSubstr("instance \"b\" cannot be read: "));
}

TEST(AnInstanceInAnUnknownStatus, FailsNoBatchThatItIsIn) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  TurnCommit turns[2];
  for (int i = 0; i < 2; ++i) {
    const std::string id = i == 0 ? "sound" : "damaged";
    turns[i].incarnation =
        commit_one(*provider, first_turn(id, static_cast<std::uint64_t>(1 + i))).incarnation;
    turns[i].instance = id;
  }
  RawConnection raw{dir.file("t.db")};
  raw.execute("UPDATE duramen_instances SET status = 'Zombie' WHERE instance_id = 'damaged'");
  const std::array messages{raise("damaged", "go"), raise("sound", "go")};
  const auto sent = provider->enqueue_messages(messages);
  ASSERT_TRUE(sent.has_value()) << sent.error().message;
  for (const LeasedInstance& item : provider->fetch_turns(fetch_turns()).value().items) {
    TurnCommit& turn = turns[item.instance == "sound" ? 0 : 1];
    turn.token = CommitToken{10 + item.incarnation.value};
    turn.node = "node-a";
    turn.basis = HeldLease::all_of(item);
    turn.execution = ExecutionId{1};
    turn.change.status = Status::running;
  }
  const auto results = provider->commit_turns(turns);
  ASSERT_TRUE(results.has_value()) << results.error().message;
  for (const CommitResult& result : *results) EXPECT_EQ(result.outcome, CommitOutcome::committed);
  EXPECT_EQ(raw.text("SELECT status FROM duramen_instances WHERE instance_id = 'damaged'"), "Running")
      << "mended by it";

  raw.execute("UPDATE duramen_instances SET status = 'Zombie' WHERE instance_id = 'damaged'");
  const std::array ids{InstanceId{"damaged"}, InstanceId{"sound"}};
  const auto deleted = provider->delete_instances(ids, DeleteMode::force);
  ASSERT_TRUE(deleted.has_value()) << deleted.error().message;
  for (const DeleteResult& result : *deleted) EXPECT_EQ(result.outcome, DeleteOutcome::deleted);
}

class AWorkRowThatCannotBeRead : public ::testing::TestWithParam<const char*> {};

TEST_P(AWorkRowThatCannotBeRead, IsHandedOutUnderALeaseAndCanBeFailed) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  const auto incarnation = commit_one(*provider, first_turn("a", 1)).incarnation;
  commit_one(*provider, first_turn("sound", 2));
  RawConnection raw{dir.file("t.db")};
  raw.execute("UPDATE duramen_worker_queue SET " + std::string(GetParam()) +
              " WHERE instance_key = " + std::to_string(incarnation.value));
  ActivityFetch request = fetch_work();
  request.tags = TagFilter::any();
  request.sessions = SessionClaim{.owner = "owner", .lease = 30s};
  const auto items = provider->fetch_activities(request).value().items;
  ASSERT_EQ(items.size(), 2u);
  const auto& damaged = items[0].unreadable ? items[0] : items[1];
  ASSERT_TRUE(damaged.unreadable.has_value());
  EXPECT_EQ(damaged.lease.key, (ActivityKey{incarnation, ExecutionId{1}, EventId{2}}));
  EXPECT_EQ(damaged.request.key, damaged.lease.key);
  EXPECT_TRUE(damaged.lease.token);
  EXPECT_EQ(damaged.attempt, 1u);

  const Failure failure{
      .kind = FailureKind::infrastructure, .type = "Unreadable", .message = *damaged.unreadable};
  const ActivityAck ack{damaged.lease, damaged.request.instance, failure};
  EXPECT_EQ(provider->ack_activities({&ack, 1}).value().at(0).outcome, AckOutcome::done);
  const auto turn = provider->fetch_turns(fetch_turns()).value().items.at(0);
  EXPECT_EQ(turn.instance, InstanceId{"a"});
  ASSERT_EQ(turn.messages.size(), 1u) << turn.unreadable.value_or("");
  EXPECT_EQ(std::get<message::ActivityFailed>(turn.messages[0].body).details, failure);
}

INSTANTIATE_TEST_SUITE_P(Damage, AWorkRowThatCannotBeRead,
                         ::testing::Values("encoding = 'morse'", "input = x'00ff'",
                                           "input = CAST(x'ff' AS TEXT)", "name = CAST(x'c328' AS TEXT)",
                                           "session_id = x'01'", "tag = CAST(x'ff' AS TEXT)",
                                           "start_to_close = -5",
                                           "details = 'x', details_encoding = 'morse'"));

TEST(AWorkRowThatStandsInNoLane, BlocksNoOtherRow) {
  for (const char* damage :
       {"name = x'01'", "tag = x'01'", "session_id = x'01', tag = x'01', name = x'01'"}) {
    const TempDir dir;
    const auto provider = open_at(dir.file("t.db"));
    commit_one(*provider, first_turn("a", 1));
    RawConnection{dir.file("t.db")}.execute("UPDATE duramen_worker_queue SET " + std::string(damage));
    commit_one(*provider, first_turn("sound", 2));
    ActivityFetch request = fetch_work();
    request.tags = TagFilter::any();
    request.sessions = SessionClaim{.owner = "owner", .lease = 30s};
    const auto items = provider->fetch_activities(request).value().items;
    EXPECT_TRUE(
        std::ranges::any_of(items, [](const auto& item) { return item.request.instance == "sound"; }));
  }
}

TEST(AWorkRowWithoutItsInstance, IsHandedOutAndGoneWhenItIsAcknowledged) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  commit_one(*provider, first_turn("a", 1));
  RawConnection raw{dir.file("t.db")};
  raw.execute("DELETE FROM duramen_instances");
  const auto item = provider->fetch_activities(fetch_work()).value().items.at(0);
  EXPECT_THAT(item.unreadable.value_or(""), HasSubstr("instance does not exist"));
  const ActivityAck ack{item.lease, item.request.instance, Payload::text("x")};
  EXPECT_EQ(provider->ack_activities({&ack, 1}).value().at(0).outcome, AckOutcome::done);
  EXPECT_EQ(raw.text("SELECT count(*) FROM duramen_worker_queue"), "0");
  EXPECT_EQ(raw.text("SELECT count(*) FROM duramen_queue"), "0");
}

}  // namespace

}  // namespace duramen::sqlite::test
