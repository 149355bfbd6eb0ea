// The cost of fetching turns when most of what waits is for other nodes, and the entries of instances.
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/fixture.hpp"
#include "providers/sqlite/schema.hpp"
#include "providers/sqlite/turn_fetcher.hpp"

namespace duramen::sqlite::test {

namespace {

using detail::InstanceRow;

/// The tables of a store in memory, and a count of SQLite's instructions.
class Tables {
 public:
  Tables()
      : connection_(":memory:", detail::Connection::Mode::read_write),
        migrated_((detail::migrate_schema(connection_, {.path = ":memory:"}), true)),
        numbers_(connection_),
        instances_(connection_),
        queue_(connection_, numbers_),
        key_values_(connection_),
        fetcher_(connection_, numbers_, instances_, queue_, key_values_) {}

  InstanceRow start(const std::string& id, const std::string& name) {
    const StartRequest request = start_request(id);
    message::StartOrchestration start = request.start;
    start.orchestration = name;
    const InstanceRow row =
        instances_.insert(time, numbers_, {.id = request.instance, .start = start}).value();
    queue_.insert_start(time, row, to_json(start, request.instance), std::nullopt, notices_);
    return row;
  }
  /// Instances of a name, with their starts.
  void start_many(int count, const std::string& name) {
    const std::string n =
        "WITH RECURSIVE n (x) AS (VALUES (1000000) UNION ALL SELECT x + 1 FROM n WHERE x < " +
        std::to_string(999'999 + count) + ") ";
    connection_.execute(n +
                        "INSERT INTO duramen_instances (key, instance_id, name, version, status, execution, "
                        "last_event_id, engine_version, created_at, updated_at, execution_started_at, "
                        "start_digest) SELECT x, 'many-' || x, '" +
                        name + "', '', 'Pending', 1, 0, 0, 0, 0, 0, 0 FROM n");
    connection_.execute(
        n +
        "INSERT INTO duramen_queue (instance_key, place, sent_at, capability, ready_at, ready_no, "
        "item) SELECT x, 1, 0, '1\n" +
        name + "\n', 0, x, '{}' FROM n");
  }
  /// Messages behind the first of an instance.
  void send_many(const InstanceRow& target, int count) {
    connection_.execute("WITH RECURSIVE n (x) AS (VALUES (100) UNION ALL SELECT x + 1 FROM n WHERE x < " +
                        std::to_string(99 + count) +
                        ") INSERT INTO duramen_queue (instance_key, place, sent_at, item) SELECT " +
                        std::to_string(target.key.value) + ", x, 5, '" +
                        to_json(message::ExternalRaised{"go", Payload::json("1")}, "x") + "' FROM n");
  }
  void add_timer(const InstanceRow& target, std::uint64_t event, std::int64_t fire_at) {
    queue_.insert_timer(time, target.key, {ExecutionId{1}, EventId{event}, from_unix_ms(fire_at)}, notices_);
  }

  struct Answer {
    std::vector<std::string> instances;
    std::int64_t steps = 0;  ///< instructions of SQLite's machine
  };
  Answer fetch(const std::vector<std::string>& names, std::size_t limit = 16) {
    TurnFetch request = fetch_turns();
    request.limit = limit;
    request.orchestrations.emplace();
    for (const std::string& name : names) request.orchestrations->push_back({name, {"1.0.0"}});
    Answer answer;
    const auto count = [](void* steps) {
      ++*static_cast<std::int64_t*>(steps);
      return 0;
    };
    sqlite3_progress_handler(connection_.handle(), 1, count, &answer.steps);
    std::optional<TimePoint> next_due;
    if (fetcher_.any_ready(time, request, next_due)) {
      const TurnBatch batch = fetcher_.fetch(time, request, [&] { return LeaseToken{++last_token_}; });
      for (const LeasedInstance& item : batch.items) answer.instances.push_back(item.instance.value);
    }
    sqlite3_progress_handler(connection_.handle(), 0, nullptr, nullptr);
    return answer;
  }
  std::int64_t number(const std::string& sql) { return connection_.query_number(sql); }

  detail::TransactionTime time{.now = 1'000'000, .lease_now = (std::int64_t{1} << 48) + 1'000'000};

 private:
  detail::Connection connection_;
  bool migrated_;
  detail::NumberAllocator numbers_;
  detail::Instances instances_;
  detail::OrchestratorQueue queue_;
  detail::KeyValueTable key_values_;
  detail::TurnFetcher fetcher_;
  providers::Notices notices_;
  std::uint64_t last_token_ = 0;
};

using Names = std::vector<std::string>;

TEST(AFetchOfTurns, CostsTheSameBesideManyInstancesThatItCannotRun) {
  Tables empty, full;
  full.start_many(200'000, "Unknown");
  EXPECT_TRUE(full.fetch({"Mine", "Zebra"}).instances.empty());
  EXPECT_LE(full.fetch({"Mine", "Zebra"}).steps, empty.fetch({"Mine", "Zebra"}).steps + 60);

  empty.start("a", "Mine");
  full.start("a", "Mine");
  const auto alone = empty.fetch({"Mine", "Zebra"});
  const auto beside = full.fetch({"Mine", "Zebra"});
  EXPECT_EQ(beside.instances, Names{"a"});
  EXPECT_LE(beside.steps, alone.steps + 120);
}

TEST(AFetchOfTurns, CostsTheSameBesideALeasedInstanceWithManyMessages) {
  Tables empty, full;
  const InstanceRow busy = full.start("busy", "Mine");
  full.send_many(busy, 100'000);
  ASSERT_EQ(full.fetch({"Mine"}).instances, Names{"busy"});
  empty.start("busy", "Mine");
  ASSERT_EQ(empty.fetch({"Mine"}).instances, Names{"busy"});
  EXPECT_LE(full.fetch({"Mine"}).steps, empty.fetch({"Mine"}).steps);

  empty.start("a", "Mine");
  full.start("a", "Mine");
  const auto alone = empty.fetch({"Mine"});
  const auto beside = full.fetch({"Mine"});
  EXPECT_EQ(beside.instances, Names{"a"});
  EXPECT_LE(beside.steps, alone.steps);
}

TEST(AFetchOfTurns, CostsNoMoreForAFullInboxThanItsLimitsAllow) {
  Tables few, many;
  few.send_many(few.start("a", "Mine"), 2'000);
  many.send_many(many.start("a", "Mine"), 100'000);
  const auto short_queue = few.fetch({"Mine"});
  const auto long_queue = many.fetch({"Mine"});
  EXPECT_EQ(long_queue.instances, Names{"a"});
  EXPECT_LE(long_queue.steps, short_queue.steps);
}

TEST(AFetchOfTurns, LooksOnceAtATimerOfAnInstanceThatItCannotRun) {
  Tables tables;
  for (int i = 0; i < 50; ++i) {
    const InstanceRow row = tables.start("i-" + std::to_string(i), "Theirs");
    tables.number("DELETE FROM duramen_queue WHERE instance_key = " + std::to_string(row.key.value) +
                  " RETURNING 1");
    tables.add_timer(row, 2, 500'000);
  }
  const auto first = tables.fetch({"Mine"});
  EXPECT_TRUE(first.instances.empty());
  EXPECT_EQ(tables.number("SELECT count(*) FROM duramen_queue WHERE due_at IS NOT NULL"), 0);
  EXPECT_EQ(tables.number("SELECT count(*) FROM duramen_queue WHERE capability IS NOT NULL"), 50);
  EXPECT_LT(tables.fetch({"Mine"}).steps, first.steps / 20);
  EXPECT_EQ(tables.fetch({"Theirs"}, 100).instances.size(), 50u);
}

TEST(AFetchOfTurns, TakesDueTimersInTurnWithMessages) {
  Tables tables;
  const InstanceRow sleeper = tables.start("sleeper", "Mine");
  tables.number("DELETE FROM duramen_queue RETURNING 1");
  tables.add_timer(sleeper, 2, 999'000);
  tables.time.lease_now -= 500;
  tables.start("between", "Mine");
  tables.time.lease_now += 500;
  tables.start("last", "Mine");
  EXPECT_EQ(tables.fetch({"Mine"}, 1).instances, Names{"sleeper"});
  EXPECT_EQ(tables.fetch({"Mine"}, 2).instances, (Names{"between", "last"}));
}

TEST(AFetchOfTurns, MovesAnEntryWhoseLeaseWasRenewed) {
  const TempDir dir;
  ManualClock clock;
  const auto provider = open_at(dir.file("t.db"), &clock);
  start(*provider, "a");
  const auto item = provider->fetch_turns(fetch_turns()).value().items.at(0);
  const TurnLease lease{item.incarnation, item.lease};
  clock.advance(20s);
  ASSERT_TRUE(provider->renew_turns({&lease, 1}, 60s).value().at(0));
  clock.advance(20s);
  EXPECT_TRUE(provider->fetch_turns(fetch_turns()).value().items.empty()) << "renewed";
  const auto before = counters(*provider).row_writes;
  EXPECT_TRUE(provider->fetch_turns(fetch_turns()).value().items.empty());
  EXPECT_EQ(counters(*provider).row_writes, before) << "the entry waits for the new end";
  clock.advance(40s);
  EXPECT_EQ(provider->fetch_turns(fetch_turns()).value().items.size(), 1u);
}

TEST(ATimerThatWasNoticed, FiresEvenIfTheClockWasSetBack) {
  const TempDir dir;
  ManualClock clock;
  const auto provider = open_at(dir.file("t.db"), &clock);
  TurnCommit first = first_turn("a", 1);
  first.messages.push_back(
      {.target = "a", .body = message::TimerFired{ExecutionId{1}, EventId{2}, clock.now() + 10s}});
  commit_one(*provider, first);
  clock.advance(10s);
  TurnFetch other = fetch_turns("node-b");
  other.orchestrations = {{{"Other", {"1.0.0"}}}};
  EXPECT_TRUE(provider->fetch_turns(other).value().items.empty());

  clock.jump_wall(-1h);
  EXPECT_TRUE(provider->fetch_turns(fetch_turns()).value().items.empty()) << "not due any more";
  clock.jump_wall(1h);
  EXPECT_EQ(provider->fetch_turns(fetch_turns()).value().items.size(), 1u);
}

}  // namespace

}  // namespace duramen::sqlite::test
