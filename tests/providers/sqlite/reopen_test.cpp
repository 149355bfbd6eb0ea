// A store keeps its commits when it is opened again.
#include "providers/sqlite/fixture.hpp"

namespace duramen::sqlite::test {

namespace {

TEST(Reopening, KeepsInstancesHistoriesMessagesAndWork) {
  const TempDir dir;
  const ManualClock clock;
  Incarnation incarnation;
  {
    const auto provider = open_at(dir.file("t.db"), &clock);
    incarnation = commit_one(*provider, first_turn("running", 1)).incarnation;
    start(*provider, "pending");
    const OutboundMessage event{.target = "running",
                                .body = message::ExternalRaised{"go", Payload::json("1")}};
    ASSERT_EQ(provider->enqueue_messages({&event, 1}).value().at(0), EnqueueOutcome::enqueued);
    const OutboundMessage early{.target = "later",
                                .body = message::QueueMessage{"q", Payload::text("early")}};
    ASSERT_EQ(provider->enqueue_messages({&early, 1}).value().at(0), EnqueueOutcome::parked);
  }
  const auto provider = open_at(dir.file("t.db"), &clock);
  const auto info = provider->get_instance("running").value();
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->incarnation, incarnation);
  EXPECT_EQ(info->status, Status::running);
  EXPECT_EQ(info->version, "1.0.0");
  EXPECT_EQ(info->last_event_id, EventId{2});
  EXPECT_EQ(info->created_at, clock.now());
  EXPECT_EQ(provider->read_history("running", ExecutionId{1}, {}).value(), first_turn("running", 1).events);
  EXPECT_EQ(provider->fetch_activities(fetch_work()).value().items.size(), 1u);
  start(*provider, "later");
  const auto batch = provider->fetch_turns(fetch_turns()).value();
  ASSERT_EQ(batch.items.size(), 3u);
  EXPECT_EQ(batch.items[0].instance, InstanceId{"pending"});
  EXPECT_EQ(batch.items[1].instance, InstanceId{"running"});
  EXPECT_EQ(batch.items[2].instance, InstanceId{"later"});
  EXPECT_EQ(batch.items[2].messages.size(), 2u);
}

TEST(Reopening, NeverHandsOutAnIncarnationTwice) {
  const TempDir dir;
  Incarnation last;
  for (int round = 0; round < 3; ++round) {
    const auto provider = open_at(dir.file("t.db"));
    const auto result = commit_one(*provider, first_turn("i-" + std::to_string(round), 1));
    EXPECT_GT(result.incarnation, last);
    last = result.incarnation;
  }
}

TEST(Reopening, KeepsAFailureWithAllItsParts) {
  const TempDir dir;
  Failure failure{.kind = FailureKind::timeout,
                  .type = "Slow",
                  .message = "took too long",
                  .retryable = true,
                  .details = R"({"tries":3})",
                  .attempt = 3,
                  .timeout = TimeoutKind::heartbeat};
  const ParentLink parent{"mother", Incarnation{7}, ExecutionId{2}, EventId{5}};
  {
    const auto provider = open_at(dir.file("t.db"));
    TurnCommit commit = first_turn("failed", 1);
    commit.new_activities.clear();
    commit.change.status = Status::failed;
    commit.change.failure = failure;
    commit.change.parent = parent;
    ASSERT_EQ(commit_one(*provider, commit).outcome, CommitOutcome::committed);
  }
  const auto info = open_at(dir.file("t.db"))->get_instance("failed").value();
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->status, Status::failed);
  EXPECT_EQ(info->failure, failure);
  EXPECT_EQ(info->parent, parent);
}

TEST(Reopening, KeepsTheCustomStatusAndKeyValues) {
  const TempDir dir;
  {
    const auto provider = open_at(dir.file("t.db"));
    TurnCommit commit = first_turn("a", 1);
    commit.new_activities.clear();
    commit.change.status = Status::continued_as_new;
    commit.change.custom_status = CustomStatusChange{"halfway"};
    commit.change.key_values = {{"x", Payload::json("1"), from_unix_ms(5)}, {"y", Payload::text("")}};
    commit.messages.push_back({.target = "a", .body = message::ContinueAsNew{.orchestration = "Hello"}});
    ASSERT_EQ(commit_one(*provider, commit).outcome, CommitOutcome::committed);
  }
  const KeyValues expected{{"x", {Payload::json("1"), from_unix_ms(5)}}, {"y", {Payload::text(""), {}}}};
  const auto provider = open_at(dir.file("t.db"));
  EXPECT_EQ(provider->get_instance("a").value()->custom_status, "halfway");
  EXPECT_EQ(provider->get_instance("a").value()->custom_status_version, 1u);
  EXPECT_EQ(provider->get_key_values("a").value(), expected);
  EXPECT_EQ(provider->fetch_turns(fetch_turns()).value().items.at(0).key_values, expected);
}

TEST(KeyValues, LeaveNoRowsBehind) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  RawConnection raw{dir.file("t.db")};
  TurnCommit commit = first_turn("a", 1);
  commit.new_activities.clear();
  commit.change.status = Status::completed;
  commit.change.key_values = {{"x", Payload::text("1")}, {"y", Payload::text("1")}, {"y", std::nullopt}};
  ASSERT_EQ(commit_one(*provider, commit).outcome, CommitOutcome::committed);
  EXPECT_EQ(raw.text("SELECT group_concat(key) FROM duramen_key_values"), "x");
  StartRequest again = start_request("a");
  again.reuse = IdReuse::replace_when_final;
  ASSERT_EQ(provider->start_instances({&again, 1}).value().at(0), StartOutcome::created);
  EXPECT_EQ(raw.text("SELECT count(*) FROM duramen_key_values"), "0");
}

TEST(Reopening, ClosesIntoOneFileWithoutALog) {
  const TempDir dir;
  {
    const auto provider = open_at(dir.file("t.db"));
    start(*provider, "a");
    EXPECT_GE(std::filesystem::file_size(dir.file("t.db-wal")), 4u << 20);
  }
  EXPECT_FALSE(std::filesystem::exists(dir.file("t.db-wal")));
}

TEST(History, IsReadFromTheMiddleOfATurn) {
  const auto provider = open_at(":memory:");
  const auto first = first_turn("a", 1, LeaseToken{9});
  const auto incarnation = commit_one(*provider, first).incarnation;
  commit_one(*provider, last_turn(first, incarnation, 2, LeaseToken{9}));
  for (std::uint64_t after = 0; after <= 5; ++after) {
    const auto events = provider->read_history("a", ExecutionId{1}, EventId{after}).value();
    ASSERT_EQ(events.size(), after < 4 ? 4 - after : 0) << after;
    if (!events.empty()) EXPECT_EQ(events.front().id, EventId{after + 1});
  }
}

TEST(Executions, ThatContinuedAsNewAreKept) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  TurnCommit first = first_turn("a", 1);
  first.new_activities.clear();
  first.change.status = Status::continued_as_new;
  first.messages.push_back({.target = "a", .body = message::ContinueAsNew{.orchestration = "Hello"}});
  ASSERT_EQ(commit_one(*provider, first).outcome, CommitOutcome::committed);
  const auto item = provider->fetch_turns(fetch_turns()).value().items.at(0);
  EXPECT_EQ(item.status, Status::continued_as_new);

  TurnCommit next = first_turn("a", 2);
  next.new_activities.clear();
  next.incarnation = item.incarnation;
  next.basis = HeldLease::all_of(item);
  next.execution = ExecutionId{2};
  ASSERT_EQ(commit_one(*provider, next).outcome, CommitOutcome::committed);
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(raw.text("SELECT group_concat(execution || ' ' || status, ', ') FROM "
                     "(SELECT * FROM duramen_all_executions ORDER BY execution)"),
            "1 ContinuedAsNew, 2 Running");
  EXPECT_EQ(provider->read_history("a", ExecutionId{1}, {}).value().size(), 2u);
  EXPECT_EQ(provider->read_history("a", ExecutionId{2}, {}).value().size(), 2u);
}

TEST(AStoreUnderARelativePath, SurvivesAChangeOfTheWorkingDirectory) {
  const TempDir dir;
  std::filesystem::create_directory(dir.file("elsewhere"));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.file(""));
  const auto provider = open_at("t.db");
  start(*provider, "a");
  std::filesystem::current_path(dir.file("elsewhere"));
  const auto metrics = provider->get_metrics();
  const bool made_another = std::filesystem::exists("t.db");
  std::filesystem::current_path(before);
  ASSERT_TRUE(metrics) << metrics.error().describe();
  EXPECT_EQ(metrics->total_instances(), 1u);
  EXPECT_FALSE(made_another);
}

TEST(InMemory, AStoreNeedsNoFileAndEndsWithTheProvider) {
  for (int round = 0; round < 2; ++round) {
    const auto provider = open_at(":memory:");
    start(*provider, "a");
    EXPECT_EQ(provider->fetch_turns(fetch_turns()).value().items.size(), 1u);
    EXPECT_TRUE(provider->get_instance("a").value().has_value());
  }
  EXPECT_FALSE(std::filesystem::exists(":memory:-lock"));
}

}  // namespace

}  // namespace duramen::sqlite::test
