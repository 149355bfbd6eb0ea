// Texts that PostgreSQL can hold, and texts that it cannot.
#include "providers/postgres/announcement.hpp"
#include "store.hpp"

namespace duramen::test {
namespace {

namespace detail = postgres::detail;

using PostgresValues = OnPostgres;

void expect_nul_refused(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_FALSE(error.retryable);
  EXPECT_NE(error.message.find("NUL"), std::string::npos) << error.message;
}

TEST_F(PostgresValues, ATextWithANulIsRefusedBeforeItIsSent) {
  const auto store = open();
  const auto before = postgres::counters(*store).queries;
  const std::string nul("a\0b", 3);
  const StartRequest request{.instance = nul, .start = {.orchestration = "Orch"}};
  const auto started = store->start_instances({&request, 1});
  ASSERT_FALSE(started);
  expect_nul_refused(started.error());
  TurnCommit commit = fused_turn("a", 1);
  commit.change.output = Payload::text(nul);
  const auto committed = store->commit_turns({&commit, 1});
  ASSERT_FALSE(committed);
  expect_nul_refused(committed.error());
  const auto read = store->get_instance(nul);
  ASSERT_FALSE(read);
  expect_nul_refused(read.error());
  EXPECT_EQ(postgres::counters(*store).queries, before);
}

TEST_F(PostgresValues, InvalidUtf8IsRefused) {
  const auto store = open();
  const StartRequest request{.instance = "\xff\xfe", .start = {.orchestration = "Orch"}};
  const auto started = store->start_instances({&request, 1});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(started.error().retryable);
}

TEST_F(PostgresValues, EveryOtherCharacterIsKept) {
  const auto store = open();
  std::string every;
  for (char c = 1; c < 127; ++c) every.push_back(c);
  every += "\x7f\u0080\u00e9\u4e2d\U0001f600\ufffd";
  const StartRequest request{.instance = every,
                             .start = {.orchestration = every, .input = Payload::text(every)}};
  ASSERT_EQ(store->start_instances({&request, 1}).value().at(0), StartOutcome::created);
  const auto batch = store->fetch_turns({.node = every, .lease = 10s}).value();
  ASSERT_EQ(batch.items.size(), 1u);
  EXPECT_EQ(batch.items[0].instance.value, every);
  EXPECT_EQ(std::get<message::StartOrchestration>(batch.items[0].messages.at(0).body).input.data, every);
}

TEST_F(PostgresValues, AnIdTooLongForAnIndexFailsItsOwnEntry) {
  const auto store = open();
  std::string noise;  // cannot be compressed
  std::uint64_t seed = 1;
  while (noise.size() < 20'000)
    noise += std::to_string(seed = seed * 6364136223846793005ull + 1442695040888963407ull);
  const TurnCommit commits[] = {fused_turn("good", 1), fused_turn(noise, 2), fused_turn("also good", 3)};
  const auto results = store->commit_turns(commits).value();
  EXPECT_EQ(results.at(0).outcome, CommitOutcome::committed);
  EXPECT_EQ(results.at(1).outcome, CommitOutcome::invalid);
  EXPECT_NE(results.at(1).message.find("ids and names must be shorter"), std::string::npos)
      << results.at(1).message;
  EXPECT_EQ(results.at(2).outcome, CommitOutcome::committed);
}

TEST_F(PostgresValues, AnUnreadableMessageIsReportedAndDeletedWithTheCommit) {
  const auto store = open();
  start(*store, "a");
  schema->connection().run(
      "INSERT INTO " + quoted_schema() + ".queue (instance_key, place, sent_at, item) SELECT key, nextval('" +
      quoted_schema() + ".places'), 0, 'no json' FROM " + quoted_schema() + ".instances");
  const auto batch = store->fetch_turns({.node = "n", .lease = 10s}).value();
  ASSERT_EQ(batch.items.size(), 1u);
  EXPECT_TRUE(batch.items[0].unreadable.has_value());
  EXPECT_EQ(batch.items[0].messages.size(), 1u);
  EXPECT_EQ(postgres::counters(*store).unreadable_messages, 1u);
  const TurnCommit commit = first_turn(batch.items[0], 1);
  ASSERT_EQ(store->commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
  EXPECT_EQ(schema->number("SELECT count(*) FROM " + quoted_schema() + ".queue"), 0);
}

TEST_F(PostgresValues, AnUnreadableActivityComesWithItsKey) {
  const auto store = open();
  TurnCommit commit = fused_turn("a", 1);
  commit.new_activities.push_back(activity_of("a", {}, 2));
  const auto committed = store->commit_turns({&commit, 1}).value();
  schema->connection().run("UPDATE " + quoted_schema() + ".worker_queue SET encoding = 'klingon'");
  const auto batch = store->fetch_activities({.node = "n", .lease = 10s}).value();
  ASSERT_EQ(batch.items.size(), 1u);
  EXPECT_TRUE(batch.items[0].unreadable.has_value());
  EXPECT_EQ(batch.items[0].request.key, (ActivityKey{committed[0].incarnation, ExecutionId{1}, EventId{2}}));
}

TEST(PostgresAnnouncement, SurvivesItsPayload) {
  detail::Announcement announcement;
  announcement.activities_ready = true;
  announcement.stolen_from = {"node a", "node b"};
  const auto read = detail::Announcement::from_payload(announcement.to_payload());
  EXPECT_TRUE(read.activities_ready);
  EXPECT_FALSE(read.turns_ready || read.instances || read.stolen_from_all || read.listener_joined);
  EXPECT_TRUE(read.concerns("node a") && read.concerns("node b"));
  EXPECT_FALSE(read.concerns("node c") || read.concerns({}));
}

TEST(PostgresAnnouncement, TooManyNodesBecomeAll) {
  detail::Announcement announcement;
  for (int i = 0; i < 1000; ++i) announcement.stolen_from.insert("node " + std::to_string(i));
  EXPECT_LT(announcement.to_payload().size(), 8000u);
  EXPECT_TRUE(detail::Announcement::from_payload(announcement.to_payload()).concerns("any"));
}

TEST(PostgresAnnouncement, LettersOfLaterVersionsAreIgnored) {
  const auto read = detail::Announcement::from_payload("zoq\tn");
  EXPECT_TRUE(read.turns_ready);
  EXPECT_TRUE(read.concerns("n"));
}

}  // namespace
}  // namespace duramen::test
