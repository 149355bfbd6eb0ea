// How the server goes about every statement of the store, on tables that have grown: never through all of a
// table.
#include "store.hpp"

#include <algorithm>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace duramen::test {
namespace {

/// Keeps what the server says about its plans.
class Plans {
 public:
  [[nodiscard]] LogSink sink() {
    return [this](const LogRecord& record) {
      if (record.level != LogLevel::debug) return;
      const std::lock_guard lock(mutex_);
      plans_.emplace_back(record.message);
    };
  }
  [[nodiscard]] std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return plans_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> plans_;
};

constexpr const char* growing[] = {
    "instances",         "executions",      "history",      "key_values",    "orchestrator_queue",
    "received_messages", "parked_messages", "worker_queue", "stolen_leases", "sessions"};

/// Whether a plan reads `table` from one end to the other: as it lies, or along an index without a condition
/// or a limit.
bool reads_all_of(const std::string& table, const std::string& plan) {
  bool limited = false;    // the part of the plan above is a limit
  bool unbounded = false;  // in the part of the plan that scans the table, no condition seen yet
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(cost=") == std::string::npos) {
      if (line.find(" Cond: ") != std::string::npos) unbounded = false;
      continue;
    }
    if (unbounded) return true;
    if (line.find(" on " + table + " ") != std::string::npos) {
      if (line.find("Seq Scan") != std::string::npos) return true;
      unbounded = line.find(" Scan ") != std::string::npos && !limited;
    }
    limited = line.find("Limit ") != std::string::npos;
  }
  return unbounded;
}

class PostgresPlans : public OnPostgres {
 protected:
  /// How to open the store so that the server tells the plan of every statement.
  [[nodiscard]] postgres::Options explained(Plans& plans) const {
    postgres::Options options = schema->options();
    options.conninfo +=
        " options='-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0 "
        "-c auto_explain.log_nested_statements=on -c auto_explain.log_level=notice'";
    options.log = plans.sink();
    return options;
  }

  void SetUp() override {
    OnPostgres::SetUp();
    if (IsSkipped()) return;
    const std::string s = quoted_schema();
    // Many who have ended, some who wait for a timer, some with work that runs elsewhere.
    schema->connection().script(
        "SET search_path TO " + s +
        ";"
        "INSERT INTO instances (key, instance_id, name, version, status, last_event_id, engine_version, "
        "created_at, "
        "updated_at, execution_started_at, start_digest, parent_key) SELECT nextval('numbers'), 'old ' || n, "
        "'Orch', '1', "
        "CASE WHEN n % 10 = 0 THEN 'Running' ELSE 'Completed' END, 2, 1, n, n, n, n, CASE WHEN n % 4 > 0 "
        "THEN n / 4 END "
        "FROM generate_series(1, 20000) n;"
        "INSERT INTO history SELECT key, 1, 1, 2, '[]' FROM instances;"
        "INSERT INTO executions SELECT key, 0, '1', 'ContinuedAsNew', 2, 0, 0 FROM instances;"
        "INSERT INTO key_values (instance_key, key, value) SELECT key, 'k', 'v' FROM instances;"
        "INSERT INTO received_messages SELECT key, 'm' FROM instances;"
        "INSERT INTO orchestrator_queue (instance_key, visible_at, execution, event_id, item) "
        "SELECT key, 4000000000000, 1, 2, '{}' FROM instances WHERE status = 'Running';"
        "INSERT INTO parked_messages (instance_id, visible_at, expires_at, item) "
        "SELECT 'p' || n, 0, 4000000000000, '{}' FROM generate_series(1, 5000) n;"
        "INSERT INTO worker_queue (instance_key, execution, activity, visible_at, attempt, lease_token, "
        "lease_until, "
        "lease_owner, fence, name, session_id, overdue_at, orchestration_name, orchestration_version, "
        "encoding, input) "
        "SELECT key, 1, 3, 0, 1, key, 4000000000000, 'other', 1, 'Act', CASE WHEN key % 4 = 0 THEN 's' || "
        "key END, "
        "4000000000000, 'Orch', '1', 'text', '' FROM instances WHERE status = 'Running';"
        "INSERT INTO sessions SELECT 's' || n, 'other ' || n % 500, 4000000000000, 0 FROM generate_series(1, "
        "5000) n;"
        "INSERT INTO stolen_leases SELECT n, 1, 1, n, 'other', 'timeout', 4000000000000 FROM "
        "generate_series(1, 5000) n;"
        "ANALYZE instances, executions, history, key_values, orchestrator_queue, received_messages, "
        "parked_messages, "
        "worker_queue, stolen_leases, sessions; RESET search_path");
  }
};

TEST_F(PostgresPlans, NoStatementReadsThroughAWholeTable) {
  Plans plans;
  const auto store = open(explained(plans));

  // Everything a node and its clients do, in one story.
  std::vector<StartRequest> starts{start_of("a"), start_of("b"), start_of("old 1")};
  starts[2].reuse = IdReuse::replace_when_final;
  ASSERT_TRUE(store->start_instances(starts));
  const OutboundMessage messages[] = {{"a", work::ExternalRaised{"x", {}}, {}, "id"},
                                      {"nobody", work::ExternalRaised{"x", {}}, {}, "id"},
                                      {"b", work::CancelInstance{"why"}}};
  ASSERT_TRUE(store->enqueue_for_orchestrator(messages));
  auto batch =
      store->fetch_orchestration_items({.node = "n", .lease = 10s, .orchestrations = {{{"Orch", {"1"}}}}})
          .value();
  ASSERT_EQ(batch.items.size(), 3u);
  const TurnLease lease{batch.items[2].incarnation, batch.items[2].lease};
  ASSERT_TRUE(store->renew_orchestration_item_locks({&lease, 1}, 10s));
  const TurnAbandon abandon{lease};
  ASSERT_TRUE(store->abandon_orchestration_items({&abandon, 1}));

  std::vector<TurnCommit> commits;
  for (std::uint64_t i = 0; i < 2; ++i) {
    TurnCommit& commit = commits.emplace_back(first_turn(batch.items[i], 10 + i));
    for (std::uint64_t a = 2; a < 6; ++a) {
      commit.worker_items.push_back(activity_of(commit.instance, commit.incarnation, a));
    }
    commit.worker_items[3].activity.session_id = "mine";
    commit.messages.push_back({commit.instance,
                               work::TimerFired{ExecutionId{1}, EventId{9}, from_unix_ms(4'000'000'000'000)},
                               from_unix_ms(4'000'000'000'000)});
    commit.messages.push_back(
        {InstanceId("child of " + commit.instance.value), work::StartOrchestration{.orchestration = "Orch"}});
    commit.change.key_values = {{.key = "k", .value = Payload::text("v")}, {.key = "l"}, {}};
  }
  commits.push_back(fused_turn("fused", 20));
  for (const CommitResult& result : store->ack_orchestration_items(commits).value()) {
    ASSERT_EQ(result.outcome, CommitOutcome::committed);
  }
  auto work = store
                  ->fetch_work_items(
                      {.node = "n", .lease = 10s, .names = {{"Act"}}, .sessions = SessionClaim{"me", 10s}})
                  .value();
  ASSERT_EQ(work.items.size(), 8u);
  const WorkRenewal renewal{work.items[0].lease, Heartbeat{Payload::text("x")}};
  ASSERT_TRUE(store->renew_work_item_locks({&renewal, 1}, 10s));
  const WorkAbandon given_back{work.items[1].lease};
  ASSERT_TRUE(store->abandon_work_items({&given_back, 1}));
  const WorkAck ack{work.items[2].lease, work.items[2].activity.instance, Payload::text("done")};
  ASSERT_TRUE(store->ack_work_items({&ack, 1}));
  ASSERT_TRUE(store->renew_sessions(std::vector<std::string>{"me"}, 10s, 10s));
  ASSERT_TRUE(store->release_sessions("me"));
  ASSERT_TRUE(store->read_stolen_leases("n"));

  // A turn that ends its instance, with work in flight; one that goes on; one whose condition does not hold.
  TurnCommit end;
  end.token = CommitToken{30};
  end.node = "n";
  end.instance = work.items[3].activity.instance;
  end.incarnation = work.items[3].activity.key.incarnation;
  end.basis = ConditionalLease{EventId{77}};
  end.execution = ExecutionId{1};
  end.work_acks = {{work.items[3].lease, end.instance, Payload::text("done")}};
  ASSERT_EQ(store->ack_orchestration_items({&end, 1}).value().at(0).outcome, CommitOutcome::condition_failed);
  batch = store->fetch_orchestration_items({.node = "n", .limit = 64, .lease = 10s}).value();
  for (int round = 0; !batch.items.empty() && round < 20; ++round) {
    std::vector<TurnCommit> ends;
    for (const OrchestrationItem& item : batch.items) {
      TurnCommit& commit = ends.emplace_back();
      commit.token = CommitToken{item.incarnation.value + 100};
      commit.node = "n";
      commit.instance = item.instance;
      commit.incarnation = item.incarnation;
      commit.basis = HeldLease{item.lease};
      commit.execution = item.execution;
      commit.change.status = Status::failed;
      commit.change.failure = Failure::application("T", "m");
      commit.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
      commit.cancel_rest = CancelReason::orchestration_terminal_failed;
      commit.dropped_timers = {EventId{9}};
    }
    ASSERT_TRUE(store->ack_orchestration_items(ends));
    batch = store->fetch_orchestration_items({.node = "n", .limit = 64, .lease = 10s}).value();
  }
  ASSERT_TRUE(store->sweep(10));

  // Looking.
  ASSERT_TRUE(store->read_history("old 5", ExecutionId{1}, {}));
  const std::vector<HistoryRequest> histories{{"old 5", ExecutionId{1}, {}},
                                              {"old 6", ExecutionId{1}, EventId{1}}};
  for (const auto& history : store->read_histories(histories)) ASSERT_TRUE(history);
  ASSERT_TRUE(store->get_instance("old 5"));
  ASSERT_TRUE(store->get_key_values("old 5"));
  ASSERT_TRUE(store->list_executions("old 5"));
  ASSERT_TRUE(store->get_instance_tree("old 5"));
  ASSERT_TRUE(store->list_pending_work("old 10"));
  ASSERT_TRUE(store->list_instances({.limit = 20}));
  ASSERT_TRUE(store->list_instances({.filter = {.ids = {{"old 7", "old 8"}}}, .limit = 20}));
  ASSERT_TRUE(store->list_instances({.filter = {.id_prefix = "old 19"}, .limit = 20}));
  ASSERT_TRUE(store->list_instances({.filter = {.statuses = {Status::running}}, .limit = 20}));
  const InstanceId ids[] = {"a", "fused"};
  ASSERT_TRUE(store->prune_executions(ids, {.keep_last = 1}));
  ASSERT_TRUE(store->delete_instances(ids, DeleteMode::force));

  std::size_t seen = 0;
  for (const std::string& plan : plans.all()) {
    if (plan.find("plan:") == std::string::npos) continue;
    ++seen;
    for (const char* table : growing) EXPECT_FALSE(reads_all_of(table, plan)) << plan;
  }
  EXPECT_GT(seen, 100u) << "the server has said too little to prove anything";
}

// What the server believes about the queue is then a guess, and too much.
TEST_F(PostgresPlans, AFetchLooksAtTheQueueFirst_AlsoBeforeTheServerHasCountedIt) {
  schema->connection().script("SET search_path TO " + quoted_schema() +
                              "; TRUNCATE orchestrator_queue, worker_queue, stolen_leases;"
                              "DELETE FROM instances WHERE status = 'Running' OR key > 1000;"
                              "ANALYZE instances; RESET search_path");
  Plans plans;
  const auto store = open(explained(plans));
  start(*store, "a");
  ASSERT_EQ(store->fetch_orchestration_items({.node = "n", .limit = 64, .lease = 10s}).value().items.size(),
            1u);
  ASSERT_TRUE(store->fetch_work_items({.node = "n", .limit = 64, .lease = 10s}));
  for (const std::string& plan : plans.all()) EXPECT_FALSE(reads_all_of("instances", plan)) << plan;
}

TEST_F(PostgresPlans, AFetchBesideAGreatBacklogReadsNoMoreOfItThanItTakes) {
  std::vector<StartRequest> backlog;
  for (int i = 0; i < 2000; ++i) backlog.push_back(start_of("waiting " + std::to_string(i)));
  ASSERT_TRUE(open()->start_instances(backlog));
  schema->connection().script("ANALYZE " + quoted_schema() + ".instances, " + quoted_schema() +
                              ".orchestrator_queue");
  Plans plans;
  const auto store = open(explained(plans));
  ASSERT_EQ(store->fetch_orchestration_items({.node = "n", .limit = 8, .lease = 10s}).value().items.size(),
            8u);
  std::size_t seen = 0;
  for (const std::string& plan : plans.all()) {
    if (plan.find("SKIP LOCKED") == std::string::npos ||
        plan.find("orchestrator_queue m") == std::string::npos)
      continue;
    ++seen;
    EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("Bitmap"), std::string::npos) << plan;
  }
  EXPECT_EQ(seen, 2u) << "the one that has waited longest, and the others";
}

}  // namespace
}  // namespace duramen::test
