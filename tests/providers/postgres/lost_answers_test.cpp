// Connections that die in the middle of a call: the call takes effect once or not at all, and a repeat
// returns which.
#include "providers/postgres/queries.hpp"
#include "providers/postgres/turn_columns.hpp"
#include "store.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>

#include <atomic>
#include <map>
#include <random>
#include <thread>

namespace duramen::test {
namespace {

namespace detail = postgres::detail;

class PostgresLostAnswers : public OnPostgres {
 protected:
  /// Sends the commit on a connection that ends before the answer is read. Returns the session.
  int send_and_lose(const TurnCommit& commit) {
    const detail::Queries queries{quoted_schema()};
    detail::Connection connection{detail::ConnInfo{schema->conninfo()}, 30s, true, nullptr};
    detail::TurnColumns batch;
    batch.add(commit, {});
    connection.send_and_lose(queries.commit_turns, batch.take({}));
    return connection.session();
  }
  /// The server finishes the statement it has read, even if the client is gone.
  void until_ended(int session) {
    while (schema->number("SELECT count(*) FROM pg_stat_activity WHERE pid = " + std::to_string(session)) >
           0) {
      std::this_thread::sleep_for(1ms);
    }
  }
  /// In every other round the lost commit has finished before the repeat; in the others both run at once.
  [[nodiscard]] CommitResult send_twice(Provider& store, const TurnCommit& commit, int round) {
    const int session = send_and_lose(commit);
    if (round % 2 == 0) until_ended(session);
    CommitResult result = store.commit_turns({&commit, 1}).value().at(0);
    until_ended(session);
    return result;
  }
  [[nodiscard]] std::int64_t count(const std::string& table) {
    return schema->number("SELECT count(*) FROM " + quoted_schema() + "." + table);
  }
};

TEST_F(PostgresLostAnswers, ACommitSentAgainIsStoredOnce) {
  const auto store = open();
  int already = 0;
  constexpr int rounds = 60;
  for (int i = 0; i < rounds; ++i) {
    const std::string id = "i" + std::to_string(i);
    TurnCommit commit = fused_turn(id, 1000u + static_cast<std::uint64_t>(i));
    commit.new_activities.push_back(activity_of(id, {}, 2));
    const CommitResult result = send_twice(*store, commit, i);
    ASSERT_TRUE(result.outcome == CommitOutcome::committed ||
                result.outcome == CommitOutcome::already_committed);
    already += result.outcome == CommitOutcome::already_committed ? 1 : 0;
    EXPECT_EQ(result.incarnation, store->get_instance(id).value()->incarnation);
  }
  EXPECT_EQ(count("instances"), rounds);
  EXPECT_EQ(count("history"), rounds);
  EXPECT_EQ(count("worker_queue"), rounds);
  EXPECT_GT(already, 0) << "none of them arrived the first time: nothing was tried";
}

TEST_F(PostgresLostAnswers, ATurnUnderALeaseSentAgainIsStoredOnce) {
  const auto store = open();
  int already = 0;
  for (int i = 0; i < 40; ++i) {
    start(*store, "i" + std::to_string(i));
    const auto batch = store->fetch_turns({.node = "node", .lease = 30s}).value();
    ASSERT_EQ(batch.items.size(), 1u);
    const TurnCommit commit = first_turn(batch.items[0], 500u + static_cast<std::uint64_t>(i));
    const CommitOutcome outcome = send_twice(*store, commit, i).outcome;
    ASSERT_TRUE(outcome == CommitOutcome::committed || outcome == CommitOutcome::already_committed);
    already += outcome == CommitOutcome::already_committed ? 1 : 0;
  }
  EXPECT_EQ(count("history"), 40);
  EXPECT_EQ(count("queue"), 0);
  EXPECT_GT(already, 0);
}

/// Ends sessions of this schema's stores at random until it is stopped.
class Cutter {
 public:
  explicit Cutter(PostgresSchema& schema)
      : connection_(detail::ConnInfo{schema.conninfo()}, 30s, false, nullptr),
        thread_([this, name = schema.name()](const std::stop_token& stop) {
          std::mt19937 random{7};
          while (!stop.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50 + random() % 250));
            const auto ended = connection_.run(
                "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                "pid <> pg_backend_pid() AND application_name = 'duramen' AND query LIKE '%" +
                name + "%' ORDER BY random() LIMIT 1) x");
            cuts_ += static_cast<int>(ended.integer(0, 0));
          }
        }) {}
  [[nodiscard]] int cuts() const { return cuts_; }

 private:
  detail::Connection connection_;
  std::atomic<int> cuts_ = 0;
  std::jthread thread_;
};

TEST_F(PostgresLostAnswers, WorkGoesOnWhileConnectionsAreCutAtRandom) {
  constexpr int steps = 10;
  int instances = 0;
  Store store{open()};
  Registry registry;
  registry.add("Increment", [](ActivityContext&, int value) { return value + 1; });
  registry.add("count", [](OrchestrationContext& ctx, int target) -> Task<int> {
    int value = 0;
    while (value < target) value = co_await ctx.schedule_activity<int>("Increment", value);
    co_return value;
  });
  RuntimeOptions options;
  options.activity_lease = 5s;
  options.turn_lease = 5s;
  options.poll_interval = 300ms;
  Runtime runtime{store, registry, options};
  Client client{store};
  int cuts = 0;
  {
    Cutter cutter{*schema};
    // While there is work, there are connections to cut.
    for (; cutter.cuts() < 10; ++instances) {
      // A failed start may have been stored; the repeated start then succeeds.
      while (!client.start("i" + std::to_string(instances), "count", steps)) std::this_thread::sleep_for(5ms);
      std::this_thread::sleep_for(20ms);
    }
    cuts = cutter.cuts();
  }
  for (int i = 0; i < instances; ++i) {
    const InstanceId id("i" + std::to_string(i));
    auto end = client.wait(id, 60s);
    while (!end && end.error().retryable) end = client.wait(id, 60s);
    ASSERT_TRUE(end) << end.error().describe();
    ASSERT_EQ(end->status, Status::completed);
    std::map<EventId, int> completions;
    int ends = 0;
    for (const Event& event : client.read_history(id).value()) {
      if (std::holds_alternative<event::ActivityCompleted>(event.body)) ++completions[event.source];
      if (event_class(event) == EventClass::terminal) ++ends;
    }
    EXPECT_EQ(completions.size(), static_cast<std::size_t>(steps));
    for (const auto& [source, times] : completions) EXPECT_EQ(times, 1) << "activity " << source.value;
    EXPECT_EQ(ends, 1);
  }
  EXPECT_GE(cuts, 10);
}

}  // namespace
}  // namespace duramen::test
