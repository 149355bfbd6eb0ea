#include "providers/postgres/floors.hpp"

#include "holder.hpp"
#include "plans.hpp"
#include "store.hpp"

#include <optional>
#include <string>
#include <vector>

namespace duramen::test {
namespace {

using postgres::detail::Floors;

class AFloor : public ::testing::Test {
 protected:
  struct Seen {
    std::int64_t last = 0;
    std::int64_t oldest = 0;  ///< the oldest open transaction
    std::optional<std::int64_t> own_id = {};
    std::int64_t lowest = 0;  ///< the lowest entry; 0: none
    std::int64_t time = 0;
  };
  bool fetch(const Seen& seen) {
    const Floors::Begin begin = floors.begin(names);
    return floors.end(names, begin,
                      {.last = seen.last,
                       .time = seen.time,
                       .xmin = seen.oldest,
                       .own_id = seen.own_id,
                       .lowest = {seen.lowest}});
  }
  /// Where the next fetch begins; the first one of all looks from the beginning.
  std::int64_t next() {
    (void)floors.begin(names);
    return floors.begin(names).ready.at(0);
  }

  Floors floors;
  const std::vector<std::string> names{"1\nhello\n1.0.0"};
};

TEST_F(AFloor, StaysBelowTheNumbersOfATransactionThatIsStillOpen) {
  fetch({.last = 100, .oldest = 10, .own_id = 20});
  fetch({.last = 200, .oldest = 19, .own_id = 30});  // transaction 19 may have taken a number up to 100
  fetch({.last = 200, .oldest = 19, .own_id = 31});
  EXPECT_EQ(next(), Floors::before_all);
}

TEST_F(AFloor, PassesTheNumbersThatWereTakenBeforeEveryOpenTransaction) {
  fetch({.last = 100, .oldest = 10, .own_id = 20});
  fetch({.last = 200, .oldest = 20, .own_id = 30});  // it looked when 100 was settled
  EXPECT_EQ(next(), 100);
}

TEST_F(AFloor, DoesNotMoveByFetchesWithoutAnId) {
  // Nothing orders their transactions among the others.
  for (int i = 0; i < 5; ++i) fetch({.last = 100, .oldest = 20});
  EXPECT_EQ(next(), Floors::before_all);
}

TEST_F(AFloor, StaysBelowTheLowestEntry) {
  fetch({.last = 100, .oldest = 10, .own_id = 20});
  fetch({.last = 200, .oldest = 20, .own_id = 30, .lowest = 40});
  EXPECT_EQ(next(), 39);
}

TEST_F(AFloor, NeedsAnIdOnlyWhileItIsBehind) {
  EXPECT_TRUE(floors.begin(names).wants_id);
  fetch({.last = 100, .oldest = 10, .own_id = 20, .time = 1'000});
  EXPECT_FALSE(floors.begin(names).wants_id) << "a settlement is under way";
  fetch({.last = 100, .oldest = 20, .time = 2'000});
  EXPECT_FALSE(floors.begin(names).wants_id) << "all numbers are settled";
  fetch({.last = 100, .oldest = 20, .time = 7'000});
  EXPECT_TRUE(floors.begin(names).wants_id) << "the times are not";
  fetch({.last = 101, .oldest = 20, .time = 2'000});
  EXPECT_TRUE(floors.begin(names).wants_id);
}

// After a failover to a server that had not received the last transactions.
TEST_F(AFloor, IsGivenUpWhenTheNumbersHaveFallen) {
  EXPECT_TRUE(fetch({.last = 100, .oldest = 10, .own_id = 20}));
  EXPECT_TRUE(fetch({.last = 100, .oldest = 20}));
  EXPECT_FALSE(fetch({.last = 90, .oldest = 15}));
  EXPECT_EQ(next(), Floors::before_all);
}

/// The floors of a store on a real server.
TEST_F(AFloor, IsPassedEveryTenSecondsForEachCapability) {
  const std::vector<std::string> others{"1\nother\n1.0.0"};
  const auto began = Floors::Steady::now();
  const auto fetch_at = [&](const std::vector<std::string>& wanted, std::chrono::seconds after) {
    const Floors::Begin begin = floors.begin(wanted, began + after);
    EXPECT_TRUE(
        floors.end(wanted, begin, {.last = 100, .xmin = 20, .own_id = 20, .lowest = {0}}, began + after));
    return begin.ready.at(0);
  };
  for (const auto& wanted : {names, others, names, others}) fetch_at(wanted, 0s);
  EXPECT_EQ(fetch_at(names, 1s), 100);
  EXPECT_EQ(fetch_at(names, Floors::all_after), Floors::before_all);
  EXPECT_EQ(fetch_at(others, Floors::all_after), Floors::before_all);
  EXPECT_EQ(fetch_at(others, Floors::all_after + 1s), 100);
}

class PostgresFloors : public OnPostgres {
 protected:
  /// Always of another node: an empty answer to the same node would be repeated without the server.
  [[nodiscard]] TurnBatch fetch(Provider& store) {
    const NodeId node{"n" + std::to_string(++nodes)};
    return store.fetch_turns({.node = node, .lease = 1h, .orchestrations = {{{"Orch", {"1"}}}}}).value();
  }
  void run_first_turn(Provider& store, const std::string& id) {
    start(store, id);
    const auto items = fetch(store).items;
    ASSERT_EQ(items.size(), 1u);
    const TurnCommit commit = first_turn(items[0], items[0].incarnation.value);
    ASSERT_EQ(store.commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
  }
  /// Numbers are taken, and fetches with and without an id follow one another.
  void go_on(Provider& store, const std::string& tale) {
    for (int i = 0; i < 3; ++i) {
      run_first_turn(store, tale + std::to_string(i));
      EXPECT_EQ(fetch(store).items.size(), 0u);
    }
  }

  int nodes = 0;
};

TEST_F(PostgresFloors, AMessageOfATransactionThatWasOpenDuringOtherFetchesIsInTheNextFetch) {
  const auto store = open();
  run_first_turn(*store, "a");
  Holder sender{*schema};
  sender.lock("a");
  sender.run(
      "SELECT put_messages(now_ms(), ARRAY(SELECT key FROM instances WHERE instance_id = 'a'), NULL, NULL, "
      "ARRAY['{}'])");
  go_on(*store, "other ");
  sender.release();
  const auto items = fetch(*store).items;
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].instance, InstanceId{"a"});
}

TEST_F(PostgresFloors, ALeaseThatEndedWhileItsTransactionWasOpenIsInTheNextFetch) {
  const auto store = open();
  go_on(*store, "before ");
  start(*store, "a");
  Holder fetcher{*schema};
  fetcher.run(
      "SELECT * FROM fetch_turns(NULL, NULL, 1, 1, 7, 1, 1, ARRAY[E'1\nOrch\n'], ARRAY[-1::bigint], '{}', "
      "1000, 1000000, 1000000, -1, false, 1)");
  const std::int64_t end = fetcher.number("SELECT max(wake_at) FROM queue WHERE wake_at IS NOT NULL");
  while (fetcher.number("SELECT now_ms()") <= end + 1) continue;
  go_on(*store, "other ");
  fetcher.release();
  const auto items = fetch(*store).items;
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].instance, InstanceId{"a"});
}

// The entry keeps its row and gets another capability, whose floor had passed its number.
TEST_F(PostgresFloors, ACancelThatEveryNodeCanTakeIsInTheNextFetch) {
  const auto store = open();
  const StartRequest foreign{.instance = "a", .start = {.orchestration = "Foreign"}};
  ASSERT_TRUE(store->start_instances({&foreign, 1}));
  go_on(*store, "other ");
  const OutboundMessage cancel{"a", message::CancelInstance{"why"}};
  ASSERT_TRUE(store->enqueue_messages({&cancel, 1}));
  const auto items = fetch(*store).items;
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].instance, InstanceId{"a"});
}

// A reader keeps its snapshot while other nodes take all messages and timers: their rows stay in the indexes.
TEST_F(PostgresFloors, AnIdleNodeDoesNotWalkOverRowsThatAnOldSnapshotKeeps) {
  Plans plans;
  const auto store = open(plans.explained(schema->options()));
  (void)fetch(*store);
  Holder reader{*schema};
  reader.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  (void)reader.number("SELECT count(*) FROM instances");
  const std::string s = quoted_schema();
  schema->connection().script(
      "SET search_path TO " + s +
      "; INSERT INTO queue (instance_key, place, sent_at, item, capability, ready_no) SELECT n, 0, 0, '{}', "
      "E'1\nOrch\n1', nextval('places') FROM generate_series(1, 4000) n;"
      "UPDATE queue SET ready_no = NULL, wake_at = now_ms() - instance_key % 1000;"
      "INSERT INTO queue (instance_key, place, sent_at, fire_at, waits_until) SELECT n, 2305843009213693953, "
      "0, "
      "now_ms() - n % 1000, now_ms() - n % 1000 FROM generate_series(1, 4000) n;"
      "DELETE FROM queue; RESET search_path");
  for (int i = 0; i < 4; ++i) (void)fetch(*store);
  plans.clear();
  EXPECT_EQ(fetch(*store).items.size(), 0u);
  EXPECT_LE(plans.most_pages_read(), 60);
}

}  // namespace
}  // namespace duramen::test
