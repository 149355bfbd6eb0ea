// Connecting: its error messages, which hold no secrets, and reconnecting.
#include "holder.hpp"
#include "providers/postgres/back_off.hpp"
#include "providers/postgres/conninfo.hpp"
#include "providers/postgres/error.hpp"
#include "store.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

namespace duramen::test {
namespace {

namespace detail = postgres::detail;

using PostgresConnection = OnPostgres;

std::string value_of(const detail::ConnInfo& conninfo, const std::string& keyword) {
  for (const auto& [known, value] : conninfo.values()) {
    if (known == keyword) return value;
  }
  return {};
}

TEST(PostgresConnInfo, AStringThatCannotBeReadIsRefusedWithoutRepeatingIt) {
  for (const char* text :
       {"host=h password=hunter2 nonsense", "postgresql://u:hunter2@[h/x", "hunter2",
        // Passwords that contain an @ or a /, which ends them early.
        "postgresql://u:x@hunter2@h/db", "postgres://u:1/hunter2@h/db", "postgres://u:hunter2/db"}) {
    const auto opened = postgres::open_provider({.conninfo = text});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::invalid_argument);
    EXPECT_FALSE(opened.error().retryable);
    EXPECT_EQ(opened.error().describe().find("hunter2"), std::string::npos) << opened.error().describe();
  }
}

TEST(PostgresConnInfo, SeveralHostsConnectToTheWritableOne) {
  EXPECT_EQ(value_of(detail::ConnInfo{"host=a,b"}, "target_session_attrs"), "read-write");
  EXPECT_EQ(value_of(detail::ConnInfo{"postgresql://a,b/db"}, "target_session_attrs"), "read-write");
  EXPECT_EQ(value_of(detail::ConnInfo{"host=a,b target_session_attrs=primary"}, "target_session_attrs"),
            "primary");
  EXPECT_EQ(value_of(detail::ConnInfo{"host=a"}, "target_session_attrs"), "");
}

TEST(PostgresConnInfo, ValuesOfTheStringWinOverOurDefaults) {
  EXPECT_EQ(value_of(detail::ConnInfo{"host=a"}, "connect_timeout"), "10");
  EXPECT_EQ(value_of(detail::ConnInfo{"host=a connect_timeout=3 sslmode=verify-full"}, "connect_timeout"),
            "3");
  EXPECT_EQ(value_of(detail::ConnInfo{"host=a connect_timeout=3 sslmode=verify-full"}, "sslmode"),
            "verify-full");
}

TEST(PostgresConnInfo, ItsDescriptionHasNoPassword) {
  const detail::ConnInfo conninfo{"postgresql://me:hunter2@h1,h2/shop?sslpassword=hunter3"};
  EXPECT_EQ(conninfo.description(), "database 'shop' at h1,h2 as 'me'");
}

TEST(PostgresConnInfo, AServerThatIsNotThereIsRetryableAndNamed) {
  const auto opened = postgres::open_provider(
      {.conninfo = "host=/nonexistent dbname=shop user=me password=hunter2", .reconnect_patience = 0ms});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(opened.error().retryable);
  EXPECT_NE(opened.error().message.find("'shop'"), std::string::npos) << opened.error().message;
  EXPECT_EQ(opened.error().message.find("hunter2"), std::string::npos);
}

TEST(PostgresConnInfo, AnErrorThatNamesSeveralServersIsOneLine) {
  const auto opened =
      postgres::open_provider({.conninfo = "host=/nonexistent,/missing user=me", .reconnect_patience = 0ms});
  ASSERT_FALSE(opened);
  const std::string& message = opened.error().message;
  EXPECT_EQ(message.find_first_of("\n\t"), std::string::npos) << message;
  EXPECT_NE(message.find("; connection to server on socket \"/missing"), std::string::npos) << message;
}

TEST(PostgresConnInfo, ALogThatThrowsHidesNoError) {
  int records = 0;
  const auto opened = postgres::open_provider(
      {.conninfo = "host=/nonexistent", .reconnect_patience = 0ms, .log = [&records](const LogRecord&) {
         ++records;
         throw std::runtime_error("no room for logs");
       }});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unavailable);
  EXPECT_GT(records, 0);
}

TEST(PostgresBackOff, PausesGrowToTheLongestAndAreNeverTheSameForAll) {
  detail::BackOff one{100ms, 1s};
  detail::BackOff two{100ms, 1s};
  Duration most{100};
  bool differed = false;
  for (int i = 0; i < 12; ++i) {
    const Duration pause = one.failed();
    EXPECT_GE(pause, most / 2);
    EXPECT_LE(pause, most);
    differed |= pause != two.failed();
    most = std::min<Duration>(most * 2, 1s);
  }
  EXPECT_TRUE(differed);
  one.succeeded();
  EXPECT_LE(one.failed(), 100ms);
}

TEST(PostgresErrors, OnlyErrorsThatMayPassAreRetryable) {
  const auto retryable = [](const char* state) {
    return detail::to_error(detail::SqlError(state, "x"), "op").retryable;
  };
  for (const char* state : {"40001", "40P01", "57P01", "57P02", "57P03", "08006", "53300", "53100", "25006",
                            "57014", "0A000", "26000", "42P05"}) {
    EXPECT_TRUE(retryable(state)) << state;
  }
  for (const char* state : {"42501", "42P01", "22021", "23505", "XX001", "54000"}) {
    EXPECT_FALSE(retryable(state)) << state;
  }
}

TEST_F(PostgresConnection, IdleConnectionsThatTheServerEndedAreReplacedUnnoticed) {
  const auto store = open();
  start(*store, "a");
  for (int round = 0; round < 3; ++round) {
    schema->connection().run(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND application_name = 'duramen' AND query LIKE '%" +
        schema->name() + "%' AND state = 'idle'");
    // The end of a session takes a moment to arrive.
    while (schema->number("SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                          "AND application_name = 'duramen' AND query LIKE '%" +
                          schema->name() + "%'") > 0) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(store->get_instance("a").value().has_value());
  }
  EXPECT_GE(postgres::counters(*store).connections_opened, 4u);
}

TEST_F(PostgresConnection, ManyThreadsShareFewConnections) {
  postgres::Options options = schema->options();
  options.max_connections = 2;
  const auto store = open(options);
  std::atomic<int> created = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10; ++i) {
          const StartRequest request = start_of("i" + std::to_string(t) + "." + std::to_string(i));
          created += store->start_instances({&request, 1}).value().at(0) == StartOutcome::created ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(created, 80);
  EXPECT_LE(postgres::counters(*store).connections_opened, 3u);  // two, and one for the listener
}

TEST_F(PostgresConnection, WorksWithoutPreparedStatementsAsThroughAPooler) {
  postgres::Options options = schema->options();
  options.prepare_statements = false;
  const auto store = open(options);
  TurnCommit commit = fused_turn("a", 1);
  commit.new_activities.push_back(activity_of("a", {}, 2));
  ASSERT_EQ(store->commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
  const auto work = store->fetch_activities({.node = "n", .lease = 10s}).value();
  ASSERT_EQ(work.items.size(), 1u);
  const ActivityAck ack{work.items[0].lease, "a", Payload::text("done")};
  EXPECT_EQ(store->ack_activities({&ack, 1}).value().at(0).outcome, AckOutcome::done);
  EXPECT_EQ(store->fetch_turns({.node = "n", .lease = 10s}).value().items.size(), 1u);
}

TEST_F(PostgresConnection, AServerThatDoesNotAnswerInTimeIsGivenUp) {
  postgres::Options options = schema->options();
  const auto store = open();
  start(*store, "a");
  // Long enough for everything except the held row.
  options.call_timeout = 3s;
  const auto impatient = open(options);
  // Another session holds the row that the call needs.
  schema->connection().run("BEGIN");
  schema->connection().run("SELECT 1 FROM " + quoted_schema() + ".instances FOR UPDATE");
  const OutboundMessage message{"a", message::ExternalRaised{"x", {}}};
  const auto sent = impatient->enqueue_messages({&message, 1});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(sent.error().retryable);
  schema->connection().run("ROLLBACK");
}

TEST_F(PostgresConnection, AnAbandonedCallIsCancelledOnTheServer) {
  const auto store = open();
  start(*store, "a");
  postgres::Options options = schema->options();
  options.call_timeout = 3s;
  const auto impatient = open(options);
  Holder holder(*schema);
  holder.run("LOCK TABLE instances IN ACCESS EXCLUSIVE MODE");
  EXPECT_FALSE(impatient->fetch_turns({.node = "n", .lease = 10s}));
  // The statement that was abandoned waits no more, although the lock is held.
  const std::string waiting =
      "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = "
      "c.relnamespace WHERE NOT l.granted AND n.nspname = '" +
      schema->name() + "'";
  const auto give_up = std::chrono::steady_clock::now() + 5s;
  while (holder.number(waiting) > 0 && std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(holder.number(waiting), 0);
  holder.release();
  const auto batch = store->fetch_turns({.node = "n", .lease = 10s}).value();
  ASSERT_EQ(batch.items.size(), 1u);
  EXPECT_EQ(batch.items[0].attempt, 1u);
}

// A cancel would end its wait for a synchronous standby.
TEST_F(PostgresConnection, AnAbandonedCommitIsNotCancelledOnTheServer) {
  const auto store = open();
  start(*store, "a");
  const auto item = store->fetch_turns({.node = "n", .lease = 1h}).value().items.at(0);
  postgres::Options options = schema->options();
  options.call_timeout = 1s;
  // Only a cancel could end it.
  options.conninfo += " options='-c statement_timeout=60000 -c client_connection_check_interval=60000'";
  const auto impatient = open(options);
  Holder holder(*schema);
  holder.lock("a");
  const TurnCommit commit = first_turn(item, 1);
  EXPECT_FALSE(impatient->commit_turns({&commit, 1}));
  // A cancel has a connection of its own, which the server accepts after those that asked before.
  const auto give_up = std::chrono::steady_clock::now() + 500ms;
  const std::string waiting =
      "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND wait_event_type = 'Lock'";
  while (holder.number(waiting) == 1 && std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(holder.number(waiting), 1) << "it still waits";
  holder.release();
}

TEST_F(PostgresConnection, ARenewalGivesUpWhileAnotherCanFollowInTime) {
  const auto store = open();
  start(*store, "a");
  const auto batch = store->fetch_turns({.node = "n", .lease = 3s}).value();
  ASSERT_EQ(batch.items.size(), 1u);
  Holder holder(*schema);
  holder.lock("a");
  const TurnLease lease{batch.items[0].incarnation, batch.items[0].lease};
  const auto sent = std::chrono::steady_clock::now();
  const auto renewed = store->renew_turns({&lease, 1}, 3s);
  ASSERT_FALSE(renewed);
  EXPECT_TRUE(renewed.error().retryable);
  EXPECT_LT(std::chrono::steady_clock::now() - sent, 15s);  // not the call timeout of 30 seconds
  holder.release();
}

}  // namespace
}  // namespace duramen::test
