// A real pgbouncer between the nodes and the server: which features work in which mode, and which need a
// direct connection.
#include "e2e/exactly_once.hpp"
#include "providers/postgres/identifier.hpp"
#include "support/postgres_cluster.hpp"
#include "support/postgres_pooler.hpp"
#include "support/signal.hpp"
#include "support/until.hpp"
#include <duramen/client.hpp>
#include <duramen/postgres.hpp>
#include <duramen/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

/// Warnings of a store.
class Warnings {
 public:
  [[nodiscard]] LogSink sink() {
    return [this](const LogRecord& record) {
      if (record.level != LogLevel::warning) return;
      const std::lock_guard lock(mutex_);
      text_.append(record.message).append("\n");
    };
  }
  [[nodiscard]] std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  [[nodiscard]] bool speak_of(const std::string& words) { return text().find(words) != std::string::npos; }

 private:
  std::mutex mutex_;
  std::string text_;
};

/// A listener, so that the store listens.
struct CountingListener final : ProviderListener {
  void turns_ready() override { ++turns; }
  void activities_ready() override {}
  void leases_stolen(std::span<const StolenLease>) override {}
  void stolen_leases_pending() override {}
  void instances_changed(std::span<const ChangedInstance>) override {}
  void unknown_instances_changed() override {}
  std::atomic<int> turns = 0;
};

class Pooler : public ::testing::Test {
 protected:
  void SetUp() override {
    DURAMEN_NEEDS_POSTGRES();
    DURAMEN_NEEDS_PGBOUNCER();
    schema = std::make_unique<PostgresSchema>(PostgresCluster::get()->conninfo());
  }
  /// In transaction mode there are fewer sessions than clients, so that no client keeps a session.
  void begin(const std::string& mode) {
    const bool shared = mode == "transaction";
    pooler = std::make_unique<PostgresPooler>(PostgresCluster::get()->directory(), mode, shared ? 2 : 30);
    options = schema->options();
    options.conninfo = pooler->conninfo();
    options.log = warnings.sink();
    if (!shared) return;
    options.listen_conninfo = schema->conninfo();
    options.prepare_statements = false;
  }
  [[nodiscard]] static Registry orchestrations() {
    Registry registry;
    registry.add("hello", [](OrchestrationContext& ctx, std::string name) -> Task<std::string> {
      const auto greeting = co_await ctx.schedule_activity<std::string>("Greet", name);
      co_await ctx.schedule_timer(1ms);
      co_return greeting;
    });
    registry.add("fan", [](OrchestrationContext& ctx, int width) -> Task<int> {
      std::vector<DurableFuture<int>> all;
      for (int i = 0; i < width; ++i) all.push_back(ctx.schedule_activity<int>("Increment", i));
      int sum = 0;
      for (const int part : co_await ctx.join(std::move(all))) sum += part;
      co_return sum;
    });
    registry.add("count_to", [](OrchestrationContext& ctx, int target) -> Task<int> {
      int value = 0;
      while (value < target) value = co_await ctx.schedule_activity<int>("Increment", value);
      co_return value;
    });
    registry.add("wait", [](OrchestrationContext& ctx) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>("Wait", 0);
    });
    return registry;
  }
  void add_activities(Registry& registry) {
    registry.add("Greet", [](ActivityContext&, std::string name) { return "Hello, " + name + "!"; });
    registry.add("Increment", [](ActivityContext&, int value) { return value + 1; });
    registry.add("Wait", [this](ActivityContext& ctx, int value) -> ActivityTask<int> {
      begun.set(true);
      co_await ctx.cancelled();
      const auto reason = ctx.cancel_reason();
      stopped.set(reason ? std::string(to_string(*reason)) : "for no reason");
      co_return value;
    });
  }
  [[nodiscard]] Registry everything() {
    Registry registry = orchestrations();
    add_activities(registry);
    return registry;
  }
  [[nodiscard]] static RuntimeOptions quiet() {
    RuntimeOptions runtime;
    runtime.log = [](const LogRecord&) {};
    return runtime;
  }
  static void expect_hello_and_fan_out(Client& client, const std::string& prefix = {}) {
    client.start(prefix + "hello", "hello", std::string("pgbouncer")).value();
    client.start(prefix + "fan", "fan", 20).value();
    EXPECT_EQ(client.wait(prefix + "hello", forever).value().output_as<std::string>(), "Hello, pgbouncer!");
    EXPECT_EQ(client.wait(prefix + "fan", forever).value().output_as<int>(), 210);
  }
  /// One node has the activity and another commits the turn that cancels it. Neither polls within an hour.
  void expect_cancel_by_push() {
    const auto there = postgres::open_provider(options).value();
    const auto here = postgres::open_provider(options).value();
    Registry activities;
    add_activities(activities);
    RuntimeOptions long_leases = quiet();
    long_leases.activity_lease = 3h;
    long_leases.session_idle = 24h;
    Runtime worker{Store{there}, activities, long_leases};
    Runtime turns{Store{here}, orchestrations(), quiet()};
    Client client{Store{here}};
    client.start("w", "wait").value();
    ASSERT_TRUE(begun.wait());
    // The second listener announces itself: from then on both listen.
    until([&] {
      return postgres::counters(*there).notifications_received +
                 postgres::counters(*here).notifications_received >
             0;
    });
    client.cancel("w", "enough").value();
    EXPECT_EQ(stopped.wait(), "orchestration_terminal_cancelled");
    EXPECT_EQ(client.wait("w", forever).value().status, Status::cancelled);
  }
  /// Kills the pooler and starts it again while instances run.
  void expect_restarts_survived() {
    constexpr int instances = 24;
    constexpr int steps = 12;
    RuntimeOptions short_leases = quiet();
    short_leases.activity_lease = 2s;
    short_leases.turn_lease = 2s;
    short_leases.poll_interval = 300ms;
    options.longest_reconnect_pause = 200ms;
    const Store store = postgres::open(options);
    Runtime runtime{store, everything(), short_leases};
    Client client{store};
    const Store aside = postgres::open(schema->options());
    Client observer{aside};
    std::atomic<int> acknowledged = 0;
    std::jthread starter([&] {
      for (int i = 0; i < instances; ++i) {
        // A failed start may have been stored; the repeated start then succeeds.
        while (!client.start("i" + std::to_string(i), "count_to", steps)) std::this_thread::sleep_for(5ms);
        ++acknowledged;
      }
    });
    for (const int after : {instances / 3, 2 * instances / 3}) {
      until([&] { return acknowledged >= after; });
      pooler->kill();
      pooler->start();
    }
    for (int i = 0; i < instances; ++i) {
      const std::string id = "i" + std::to_string(i);
      until([&] { return observer.get_instance(id).has_value(); });
      EXPECT_EQ(observer.wait(id, forever).value().output_as<int>(), steps);
      expect_each_step_once(observer, id, steps);
    }
  }

  std::unique_ptr<PostgresSchema> schema;
  std::unique_ptr<PostgresPooler> pooler;
  postgres::Options options;
  Warnings warnings;
  Signal<bool> begun;
  Signal<std::string> stopped;
};

class PoolerInEitherMode : public Pooler, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    Pooler::SetUp();
    if (!IsSkipped()) begin(GetParam());
  }
};

TEST_P(PoolerInEitherMode, ASchemaIsMadeAndInstancesRunThroughIt) {
  options.schema = "made_through_a_pooler_" + std::to_string(::getpid());
  {
    const Store store = postgres::open(options);
    Runtime runtime{store, everything(), quiet()};
    Client client{store};
    expect_hello_and_fan_out(client);
  }
  EXPECT_EQ(warnings.text(), "");
  schema->connection().script("SET client_min_messages TO warning; DROP SCHEMA " +
                              postgres::detail::quoted_identifier(options.schema) + " CASCADE");
}

TEST_P(PoolerInEitherMode, ACancelReachesAnotherNodeByPush) { expect_cancel_by_push(); }

TEST_P(PoolerInEitherMode, ItIsRestartedInTheMiddleOfWorkAndNothingIsLost) { expect_restarts_survived(); }

INSTANTIATE_TEST_SUITE_P(Pgbouncer, PoolerInEitherMode, ::testing::Values("session", "transaction"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(Pooler, InSessionModeANodeIsNotifiedByOthersAndNotByItself) {
  begin("session");
  const auto one = postgres::open_provider(options).value();
  CountingListener listener;
  const auto subscription = one->subscribe("n", listener);
  const auto other = postgres::open_provider(options).value();
  const auto another_subscription = other->subscribe("m", listener);
  const auto sent = [&](const Provider& store) { return postgres::counters(store).notifications_sent; };
  const auto received = [&](const Provider& store) {
    return postgres::counters(store).notifications_received;
  };
  int started = 0;
  const auto start = [&](Provider& store) {
    const StartRequest request{.instance = "i" + std::to_string(started++),
                               .start = {.orchestration = "Orch"}};
    ASSERT_TRUE(store.start_instances({&request, 1}));
  };
  until([&] {
    start(*one);
    return received(*other) > 0;
  });
  until([&] { return received(*other) == sent(*one); });
  until([&] { return received(*one) == sent(*other); });
}

TEST_F(Pooler, InTransactionModeANodeLogsAWarningAndFindsCancelsByRenewing) {
  begin("transaction");
  options.listen_conninfo.clear();
  RuntimeOptions short_leases = quiet();
  short_leases.activity_lease = 1500ms;
  short_leases.poll_interval = 200ms;
  const auto there = postgres::open_provider(options).value();
  Registry activities;
  add_activities(activities);
  Runtime worker{Store{there}, activities, short_leases};
  Runtime turns{postgres::open(options), orchestrations(), short_leases};
  until([&] { return warnings.speak_of("listen_conninfo"); });
  Client client{postgres::open(schema->options())};
  client.start("w", "wait").value();
  ASSERT_TRUE(begun.wait());
  client.cancel("w", "enough").value();
  EXPECT_EQ(stopped.wait(), "orchestration_terminal_cancelled");
  EXPECT_EQ(postgres::counters(*there).notifications_received, 0u);
}

TEST_F(Pooler, ANodeThatCannotListenNotifiesTheOthers) {
  begin("transaction");
  const auto direct = postgres::open_provider(schema->options()).value();
  options.listen_conninfo.clear();
  const auto not_listening = postgres::open_provider(options).value();
  CountingListener listener, unused;
  const auto one = direct->subscribe("direct", listener);
  const auto two = not_listening->subscribe("pooled", unused);
  int started = 0;
  until([&] {
    const StartRequest request{.instance = "i" + std::to_string(started++),
                               .start = {.orchestration = "Orch"}};
    EXPECT_TRUE(not_listening->start_instances({&request, 1}));
    return listener.turns > 0;
  });
}

TEST_F(Pooler, NotificationsLeaveTheSessionsOfOthersAsDurableAsTheyWere) {
  begin("transaction");
  options.listen_conninfo.clear();
  const auto one = postgres::open_provider(options).value();
  CountingListener listener;
  const auto subscription = one->subscribe("n", listener);
  until([&] { return warnings.speak_of("listen_conninfo"); });
  int started = 0;
  until([&] {
    const StartRequest request{.instance = "i" + std::to_string(started++),
                               .start = {.orchestration = "Orch"}};
    EXPECT_TRUE(one->start_instances({&request, 1}));
    return postgres::counters(*one).notifications_sent > 3;
  });
  // The next client on each of the sessions.
  std::vector<std::unique_ptr<postgres::detail::Connection>> both;
  for (int i = 0; i < 2; ++i) {
    both.push_back(std::make_unique<postgres::detail::Connection>(
        postgres::detail::ConnInfo{options.conninfo}, 30s, false, nullptr));
    both.back()->run("BEGIN");
    EXPECT_EQ(both.back()->run("SELECT current_setting('synchronous_commit')").string(0, 0), "on");
    EXPECT_EQ(both.back()->run("SELECT count(*) FROM pg_listening_channels()").integer(0, 0), 0);
  }
  for (const auto& connection : both) connection->run("ROLLBACK");
}

/// The session that a client currently gets.
std::int64_t session_of(postgres::detail::Connection& client) {
  return client.run("SELECT pg_backend_pid()::bigint").integer(0, 0);
}

TEST_F(Pooler, AStatementPreparedByAnotherStoreIsNotUsed) {
  begin("transaction");
  const auto client = [&](bool prepares) {
    return std::make_unique<postgres::detail::Connection>(postgres::detail::ConnInfo{options.conninfo}, 30s,
                                                          prepares, nullptr);
  };
  const auto theirs = client(true);
  const auto ours = client(true);
  const auto holder = client(false);
  const auto another_holder = client(false);
  const postgres::detail::Query their_statement{"statement", "SELECT 1::bigint"};
  const postgres::detail::Query our_statement{"statement", "SELECT 2::bigint"};
  // Each client prepares its statement in one of the two sessions.
  holder->run("BEGIN");
  EXPECT_EQ(theirs->run(their_statement, {}).integer(0, 0), 1);
  const std::int64_t their_session = session_of(*theirs);
  another_holder->run("BEGIN");
  holder->run("ROLLBACK");
  EXPECT_EQ(ours->run(our_statement, {}).integer(0, 0), 2);
  ASSERT_NE(session_of(*ours), their_session);
  // Then only the session of the other client is free.
  holder->run("BEGIN");
  another_holder->run("ROLLBACK");
  ASSERT_EQ(session_of(*ours), their_session);
  EXPECT_EQ(ours->run(our_statement, {}).integer(0, 0), 2);
  EXPECT_FALSE(ours->prepares());
  holder->run("ROLLBACK");
}

TEST_F(Pooler, PreparedStatementsInTransactionModeAreGivenUpAndTenantsDoNotMix) {
  begin("transaction");
  options.prepare_statements = true;
  const PostgresSchema neighbour{PostgresCluster::get()->conninfo()};
  postgres::Options of_neighbour = options;
  of_neighbour.schema = neighbour.name();
  const Store one = postgres::open(options);
  const Store two = postgres::open(of_neighbour);
  Runtime runtime_one{one, everything(), quiet()};
  Runtime runtime_two{two, everything(), quiet()};
  Client client_one{one};
  Client client_two{two};
  for (int i = 0; i < 5; ++i) {
    std::thread beside([&] { expect_hello_and_fan_out(client_two, "two." + std::to_string(i)); });
    expect_hello_and_fan_out(client_one, "one." + std::to_string(i));
    beside.join();
  }
  EXPECT_TRUE(warnings.speak_of("prepare_statements = false")) << warnings.text();
  for (const auto& [name, own] : {std::pair{schema->name(), "one."}, {neighbour.name(), "two."}}) {
    EXPECT_EQ(schema->number("SELECT count(*) FROM \"" + name + "\".instances"), 10);
    EXPECT_EQ(schema->number("SELECT count(*) FROM \"" + name + "\".instances WHERE instance_id LIKE '" +
                             own + "%'"),
              10);
  }
}

}  // namespace
}  // namespace duramen::test
