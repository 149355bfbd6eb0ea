// Notifications reach other processes at once, and an unused store gets no queries.
#include "store.hpp"
#include "support/postgres_server.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

namespace duramen::test {
namespace {

class CountingListener final : public ProviderListener {
 public:
  void turns_ready() override { note(turns_); }
  void activities_ready() override { note(work_); }
  void leases_stolen(std::span<const StolenLease>) override { note(stolen_); }
  void stolen_leases_pending() override { note(stolen_); }
  void instances_changed(std::span<const ChangedInstance>) override { note(changes_); }
  void unknown_instances_changed() override { note(changes_); }

  [[nodiscard]] bool receives_turns() { return wait(turns_); }
  [[nodiscard]] bool receives_work() { return wait(work_); }
  [[nodiscard]] bool receives_stolen() { return wait(stolen_); }
  [[nodiscard]] bool receives_changes() { return wait(changes_); }
  [[nodiscard]] bool has_turns() {
    const std::lock_guard lock(mutex_);
    return turns_ > 0;
  }
  [[nodiscard]] int stolen() {
    const std::lock_guard lock(mutex_);
    return stolen_;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    turns_ = work_ = stolen_ = changes_ = 0;
  }

 private:
  void note(int& count) {
    const std::lock_guard lock(mutex_);
    ++count;
    received_.notify_all();
  }
  bool wait(const int& count) {
    std::unique_lock lock(mutex_);
    return received_.wait_for(lock, 20s, [&] { return count > 0; });
  }

  std::mutex mutex_;
  std::condition_variable received_;
  int turns_ = 0, work_ = 0, stolen_ = 0, changes_ = 0;
};

/// Two stores on one schema act as two processes: they share only the server.
class PostgresPush : public OnPostgres {
 protected:
  void SetUp() override {
    OnPostgres::SetUp();
    if (IsSkipped()) return;
    here = open();
    there = open();
    subscription = there->subscribe("there", listener);
    subscription_here = here->subscribe({}, ignored);
    until_received();
  }
  /// Waits until notifications from here arrive there and none is in flight.
  void until_received() {
    for (int i = 0; !listener.has_turns(); ++i) {
      start(*here, "probe " + std::to_string(i));
      std::this_thread::sleep_for(10ms);
    }
    while (postgres::counters(*here).notifications_sent > postgres::counters(*there).notifications_received) {
      std::this_thread::sleep_for(10ms);
    }
    listener.forget();
  }

  CountingListener listener;
  CountingListener ignored;
  std::shared_ptr<Provider> here;
  std::shared_ptr<Provider> there;
  std::unique_ptr<Subscription> subscription;
  std::unique_ptr<Subscription> subscription_here;
};

TEST_F(PostgresPush, AStartNotifiesOtherNodes) {
  start(*here, "a");
  EXPECT_TRUE(listener.receives_turns());
  EXPECT_TRUE(listener.receives_changes());
}

TEST_F(PostgresPush, NewWorkNotifiesOtherNodes) {
  TurnCommit commit = fused_turn("a", 1);
  commit.new_activities.push_back(activity_of("a", {}, 2));
  ASSERT_TRUE(here->commit_turns({&commit, 1}));
  EXPECT_TRUE(listener.receives_work());
}

TEST_F(PostgresPush, AStolenLeaseNotifiesItsHolderWhichReadsIt) {
  TurnCommit commit = fused_turn("a", 1);
  commit.new_activities.push_back(activity_of("a", {}, 2));
  const Incarnation incarnation = here->commit_turns({&commit, 1}).value().at(0).incarnation;
  const auto held = there->fetch_activities({.node = "there", .lease = 30s}).value().items;
  ASSERT_EQ(held.size(), 1u);
  CountingListener bystander;
  const auto another = there->subscribe("another", bystander);

  TurnCommit cancel;
  cancel.token = CommitToken{2};
  cancel.node = "here";
  cancel.instance = "a";
  cancel.incarnation = incarnation;
  cancel.basis = ConditionalLease{EventId{1}};
  cancel.execution = ExecutionId{1};
  cancel.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
  const auto result = here->commit_turns({&cancel, 1}).value().at(0);
  ASSERT_EQ(result.outcome, CommitOutcome::committed);
  ASSERT_EQ(result.stolen.size(), 1u);

  EXPECT_TRUE(listener.receives_stolen());
  const auto stolen = there->read_stolen_leases("there").value();
  ASSERT_EQ(stolen.size(), 1u);
  EXPECT_EQ(stolen[0].lease, held[0].lease);
  EXPECT_EQ(stolen[0].reason, CancelReason::select_loser);
  EXPECT_EQ(bystander.stolen(), 0);
}

TEST_F(PostgresPush, OneBatchIsOneNotification) {
  listener.forget();
  const auto before = postgres::counters(*here).notifications_sent;
  std::vector<StartRequest> many;
  for (int i = 0; i < 200; ++i) many.push_back(start_of("i" + std::to_string(i)));
  ASSERT_TRUE(here->start_instances(many));
  EXPECT_TRUE(listener.receives_turns());
  EXPECT_EQ(postgres::counters(*here).notifications_sent, before + 1);
}

TEST_F(PostgresPush, LessUrgentNotificationsAreSentOnceInFiveMilliseconds) {
  const auto before = postgres::counters(*here).notifications_sent;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    // It gives no node anything to do.
    const TurnCommit commit = fused_turn("i" + std::to_string(i), 1);
    ASSERT_TRUE(here->commit_turns({&commit, 1}));
  }
  const auto sent = postgres::counters(*here).notifications_sent - before;
  EXPECT_LE(sent, 2 + (std::chrono::steady_clock::now() - began) / 5ms);
  EXPECT_TRUE(listener.receives_changes());
}

TEST_F(PostgresPush, TheLastNotificationOfAnEndingProcessArrives) {
  start(*here, "a");
  ASSERT_TRUE(listener.receives_turns() && listener.receives_changes());
  listener.forget();
  // Not urgent: it would wait, so soon after the other.
  const TurnCommit commit = fused_turn("b", 1);
  ASSERT_TRUE(here->commit_turns({&commit, 1}));
  subscription_here.reset();
  here.reset();
  EXPECT_TRUE(listener.receives_changes());
}

TEST_F(PostgresPush, AReconnectedListenerIsNotifiedOfEverything) {
  listener.forget();
  schema->connection().run(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
      "WHERE pid <> pg_backend_pid() AND application_name = 'duramen' AND pid IN "
      "(SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock')");
  EXPECT_TRUE(listener.receives_turns());
  EXPECT_TRUE(listener.receives_work());
  EXPECT_TRUE(listener.receives_stolen());
  EXPECT_TRUE(listener.receives_changes());
}

TEST_F(OnPostgres, AStoreThatIsAloneSendsNoNotifications) {
  const auto store = open();
  CountingListener listener;
  const auto subscription = store->subscribe("n", listener);
  // The first call may come before the store knows that it is alone.
  int calls = 0;
  std::uint64_t sent = 1, before = 0;
  while (sent != before) {
    before = postgres::counters(*store).notifications_sent;
    for (int i = 0; i < 20; ++i) start(*store, "i" + std::to_string(calls++));
    ASSERT_TRUE(listener.receives_turns());
    sent = postgres::counters(*store).notifications_sent;
    ASSERT_LT(calls, 2000) << "it goes on sending";
  }
}

/// The number of statements in a server's log.
std::size_t statements_in(const std::string& log) {
  std::ifstream file{log};
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    // The application name, then the execution: each is logged once, for every protocol.
    if (line.starts_with("duramen LOG:  execute ") || line.starts_with("duramen LOG:  statement: ")) ++count;
  }
  return count;
}

TEST(PostgresIdle, ANodeSendsAtMostOneQueryPerSecondAsTheServerCountsThem) {
  DURAMEN_NEEDS_POSTGRES();
  PostgresServer server;
  server.start({"log_statement=all", "log_line_prefix=%a "});
  const auto provider = postgres::open_provider({.conninfo = server.conninfo()}).value();
  Store store{provider};
  Registry registry;
  registry.add("Act", [](ActivityContext&, int value) { return value; });
  registry.add("orch", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Act", 1);
  });
  Runtime runtime{store, registry};
  Client client{store};
  client.start("a", "orch").value();
  ASSERT_EQ(client.wait("a", 30s).value().status, Status::completed);
  const auto counted_here = [&] {
    const postgres::Counters counted = postgres::counters(*provider);
    return counted.queries + counted.listener_queries;
  };
  ASSERT_GT(statements_in(server.log()), counted_here() / 2) << "the server writes down what it is asked";

  // After a second without a query, the end of the instance has no further effect.
  for (std::uint64_t last = 0, now = counted_here(); last != now; now = counted_here()) {
    last = now;
    std::this_thread::sleep_for(1s);
  }
  const auto before = statements_in(server.log());
  const auto before_here = counted_here();
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(6s);  // measures the idle store
  const auto sent = statements_in(server.log()) - before;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  EXPECT_LE(static_cast<double>(sent), seconds);
  EXPECT_LE(static_cast<double>(counted_here() - before_here), seconds);
}

}  // namespace
}  // namespace duramen::test
