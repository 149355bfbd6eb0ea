// Much that a call does not need does not slow it: tests count the pages that the server reads.
#include "plans.hpp"
#include "store.hpp"

namespace duramen::test {
namespace {

class PostgresSizes : public OnPostgres {
 protected:
  void script(const std::string& sql) {
    schema->connection().script("SET search_path TO " + quoted_schema() + ";" + sql + "; RESET search_path");
  }
  [[nodiscard]] std::string key_of(const std::string& id) const {
    return "(SELECT key FROM instances WHERE instance_id = '" + id + "')";
  }
  /// The fewest pages of three calls: the server also counts reads of its catalogues.
  template <class Call>
  [[nodiscard]] double pages_of(Call call) {
    double fewest = 1e9;
    for (int i = 0; i < 3; ++i) {
      plans.clear();
      call(i);
      fewest = std::min(fewest, plans.most_pages_read());
    }
    return fewest;
  }

  Plans plans;
};

// 520 messages of 2 MiB are more than the server puts into one value, and more than a client has memory for.
TEST_F(PostgresSizes, AnInstanceWithAGigabyteOfMailIsFetchedInParts) {
  const auto store = open();
  TurnCommit begin = fused_turn("a", 1);
  ASSERT_TRUE(store->commit_turns({&begin, 1}));
  const OutboundMessage small{"a", message::ExternalRaised{"x", Payload::text("@")}};
  ASSERT_TRUE(store->enqueue_messages({&small, 1}));
  // They compress well: the server does it fast where it has lz4.
  script(
      "DO $$ BEGIN SET default_toast_compression TO lz4; EXCEPTION WHEN OTHERS THEN NULL; END $$;"
      "INSERT INTO queue (instance_key, place, sent_at, item) "
      "SELECT q.instance_key, nextval('places'), q.sent_at, l.item FROM queue q CROSS JOIN "
      "(SELECT replace(item, '@', repeat('x', 2 << 20)) AS item FROM queue LIMIT 1) l "
      "CROSS JOIN generate_series(1, 520)");
  start(*store, "b");
  for (std::uint64_t turn = 1; turn <= 2; ++turn) {
    const auto items = store->fetch_turns({.node = "n", .lease = 1h}).value().items;
    ASSERT_FALSE(items.empty());
    const LeasedInstance& a = items.at(0);
    ASSERT_EQ(a.instance, InstanceId{"a"});
    EXPECT_GE(a.messages.size(), 3u);
    EXPECT_LE(a.messages.size(), 5u);
    EXPECT_EQ(items.size(), turn == 1 ? 2u : 1u);
    TurnCommit commit = first_turn(a, turn + 1);
    commit.events.clear();
    ASSERT_EQ(store->commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
  }
}

// The server puts at most 1 GB into one array: parked mail moves in parts of 16 MiB.
TEST_F(PostgresSizes, ParkedMailOfAnySizeMovesInOrderWhenItsInstanceStarts) {
  const auto store = open();
  constexpr std::size_t count = 20;
  for (std::size_t i = 0; i < count; ++i) {
    const OutboundMessage large{
        "a", message::ExternalRaised{std::to_string(i), Payload::text(std::string(2u << 20u, 'x'))}};
    ASSERT_EQ(store->enqueue_messages({&large, 1}).value().at(0), EnqueueOutcome::parked);
  }
  start(*store, "a");
  EXPECT_EQ(schema->number("SELECT count(*) FROM " + quoted_schema() + ".parked_messages"), 0);
  const auto items =
      store->fetch_turns({.node = "n", .lease = 1h, .max_bytes = 100u << 20u, .max_total_bytes = 100u << 20u})
          .value()
          .items;
  ASSERT_EQ(items.at(0).messages.size(), count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(std::get<message::ExternalRaised>(items[0].messages[i + 1].body).name, std::to_string(i));
  }
}

// One message of the protocol has at most a gigabyte.
TEST_F(PostgresSizes, MailThatIsPutBackGoesInPartsOfAboutEightMebibytes) {
  const auto store = open();
  start(*store, "a");
  const auto items = store->fetch_turns({.node = "n", .lease = 1h}).value().items;
  ASSERT_EQ(items.size(), 1u);
  TurnCommit end = first_turn(items[0], 1);
  end.change.status = Status::continued_as_new;
  end.messages = {{"a", message::ContinueAsNew{.orchestration = "Orch"}}};
  for (int i = 0; i < 10; ++i)
    end.put_back.emplace_back(
        message::QueueMessage{"jobs", Payload::text(std::string(std::size_t{4} << 20u, 'x'))});
  const std::uint64_t before = postgres::counters(*store).queries;
  ASSERT_EQ(store->commit_turns({&end, 1}).value().at(0).outcome, CommitOutcome::committed);
  EXPECT_GE(postgres::counters(*store).queries - before, 5u);
}

TEST_F(PostgresSizes, AHeldCommitDoesNotReadTheTimersOfItsInstance) {
  const auto store = open(plans.explained(schema->options()));
  TurnCommit begin = fused_turn("a", 1);
  ASSERT_TRUE(store->commit_turns({&begin, 1}));
  script("INSERT INTO queue (instance_key, place, sent_at, fire_at, waits_until, execution) SELECT " +
         key_of("a") +
         ", 2305843009213693952 + n, 0, 4000000000000 + n, 4000000000000 + n, 1 "
         "FROM generate_series(10, 100000) n");
  const double pages = pages_of([&](int call) {
    const OutboundMessage wake{"a", message::ExternalRaised{"x", {}}};
    ASSERT_TRUE(store->enqueue_messages({&wake, 1}));
    const auto items = store->fetch_turns({.node = "n", .lease = 1h}).value().items;
    ASSERT_EQ(items.size(), 1u);
    TurnCommit commit = first_turn(items[0], 10 + static_cast<std::uint64_t>(call));
    commit.events.clear();
    commit.dropped_timers = {EventId{10 + static_cast<std::uint64_t>(call)}};
    ASSERT_EQ(store->commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
  });
  EXPECT_LE(pages, 150);
}

TEST_F(PostgresSizes, AFetchDoesNotReadActivitiesOfOtherTagsAndSessions) {
  const auto store = open(plans.explained(schema->options()));
  script(
      "INSERT INTO worker_queue (instance_key, execution, activity, attempt, fence, name, tag, session_id, "
      "orchestration_name, orchestration_version, encoding, input) SELECT n, 1, 1, 0, 0, 'Act', "
      "CASE WHEN n % 3 = 0 THEN 'gpu' END, CASE WHEN n % 3 = 1 THEN 'theirs' END, 'Orch', '1', 'text', '' "
      "FROM generate_series(1, 30000) n WHERE n % 3 < 2;"
      "INSERT INTO sessions VALUES ('theirs', 'other', 4000000000000, 4000000000000)");
  const double pages = pages_of([&](int) {
    const auto batch = store->fetch_activities(
        {.node = "n", .lease = 1h, .names = {{"Act"}}, .sessions = SessionClaim{"me", 10s}});
    ASSERT_TRUE(batch);
    ASSERT_EQ(batch->items.size(), 0u);
  });
  EXPECT_LE(pages, 60);
}

}  // namespace
}  // namespace duramen::test
