// The server runs every statement of the store through an index, for any statistics of the tables. The
// statistics are those of the last ANALYZE, and a queue may have been empty then; plans may be from a new
// store.
#include "plans.hpp"

#include "store.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace duramen::test {
namespace {

constexpr const char* growing[] = {"instances",     "executions",        "history",         "key_values",
                                   "queue",         "received_messages", "parked_messages", "worker_queue",
                                   "stolen_leases", "sessions"};

/// The rows that the busiest part of a plan read, including the ones it filtered out.
double most_rows_looked_at(const std::string& plan) {
  double most = 0;
  double loops = 0;
  double rows = 0;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(cost=") != std::string::npos) {
      rows = number_after("(actual rows=", line).value_or(0);
      loops = number_after(" loops=", line).value_or(0);
    } else {
      rows += number_after("Rows Removed by Filter: ", line).value_or(0);
      rows += number_after("Rows Removed by Join Filter: ", line).value_or(0);
      rows += number_after("Rows Removed by Index Recheck: ", line).value_or(0);
    }
    most = std::max(most, loops * rows);
  }
  return most;
}

/// The origin of the server's statistics.
enum class Belief { CountedNow, CountedWhenEmpty, CountedWhenOneHadAll, PlannedWhenNew };

void PrintTo(Belief belief, std::ostream* out) {
  switch (belief) {
    case Belief::CountedNow:
      *out << "CountedNow";
      return;
    case Belief::CountedWhenEmpty:
      *out << "CountedWhenEmpty";
      return;
    case Belief::CountedWhenOneHadAll:
      *out << "CountedWhenOneHadAll";
      return;
    case Belief::PlannedWhenNew:
      *out << "PlannedWhenNew";
      return;
  }
}

class PostgresPlans : public OnPostgres, public ::testing::WithParamInterface<Belief> {
 protected:
  void SetUp() override {
    OnPostgres::SetUp();
    // Dead rows of other tests must not count.
    if (!IsSkipped()) script("TRUNCATE " + tables());
  }

  /// Fills the tables with `fill` and opens the store so that the server reports the plan and the cost of
  /// every statement. `rehearse` runs the later calls once while the tables are small.
  [[nodiscard]] std::shared_ptr<Provider> filled(const std::function<void()>& fill,
                                                 const std::function<void(Provider&)>& rehearse) {
    std::shared_ptr<Provider> store;
    if (GetParam() == Belief::PlannedWhenNew) {
      count();
      store = open(explained());
      rehearse(*store);
      fill();
      plans.clear();
      return store;
    }
    if (GetParam() == Belief::CountedWhenOneHadAll) count_with_all_of_one();
    fill();
    if (GetParam() == Belief::CountedNow) count();
    if (GetParam() == Belief::CountedWhenEmpty) count_as_empty();
    return open(explained());
  }
  void script(const std::string& sql) {
    schema->connection().script("SET search_path TO " + quoted_schema() + ";" + sql + "; RESET search_path");
  }

  /// Many ended instances, some that wait for a timer, some with running work.
  void grow(int instances, int others) {
    const std::string n = std::to_string(instances);
    const std::string m = std::to_string(others);
    script(
        "INSERT INTO instances (key, instance_id, name, version, status, last_event_id, engine_version, "
        "created_at, "
        "updated_at, execution_started_at, start_digest, parent_key) SELECT nextval('numbers'), 'old ' || n, "
        "'Orch', '1', "
        "CASE WHEN n % 10 = 0 THEN 'Running' ELSE 'Completed' END, 2, 1, n, n, n, n, CASE WHEN n % 4 > 0 "
        "THEN n / 4 END "
        "FROM generate_series(1, " +
        n +
        ") n ON CONFLICT (instance_id) DO NOTHING;"
        "INSERT INTO history SELECT key, 1, 1, 2, NULL, '[]' FROM instances ON CONFLICT DO NOTHING;"
        "INSERT INTO executions SELECT key, 0, '1', 'ContinuedAsNew', 2, 0, 0 FROM instances ON CONFLICT DO "
        "NOTHING;"
        "INSERT INTO key_values (instance_key, key, value) SELECT key, 'k', 'v' FROM instances ON CONFLICT "
        "DO NOTHING;"
        "INSERT INTO received_messages SELECT key, 'm' FROM instances ON CONFLICT DO NOTHING;"
        "INSERT INTO queue (instance_key, place, sent_at, fire_at, waits_until, execution) "
        "SELECT key, 2305843009213693954, 0, 4000000000000, 4000000000000, 1 FROM instances "
        "WHERE status = 'Running' ON CONFLICT DO NOTHING;"
        "UPDATE instances SET ended_at = updated_at WHERE status = 'Completed';"
        "INSERT INTO parked_messages (instance_id, sent_at, until, item) "
        "SELECT 'p' || n, 0, 4000000000000, '{}' FROM generate_series(1, " +
        m +
        ") n;"
        "INSERT INTO worker_queue (instance_key, execution, activity, attempt, lease_token, "
        "lease_until, "
        "lease_owner, fence, name, session_id, overdue_at, orchestration_name, orchestration_version, "
        "encoding, input) "
        "SELECT key, 1, 3, 1, key, 4000000000000, 'other', 1, 'Act', CASE WHEN key % 4 = 0 THEN 's' || "
        "key END, "
        "4000000000000, 'Orch', '1', 'text', '' FROM instances WHERE status = 'Running' ON CONFLICT DO "
        "NOTHING;"
        "INSERT INTO sessions SELECT 's' || n, 'other ' || n % 500, 4000000000000, 4000000000000 "
        "FROM generate_series(1, " +
        m +
        ") n ON CONFLICT DO NOTHING;"
        "INSERT INTO stolen_leases SELECT n, 1, 1, n, 'other', 'timeout', 4000000000000 "
        "FROM generate_series(1, " +
        m + ") n ON CONFLICT DO NOTHING");
  }
  /// A cancel that goes down: to a child of an old instance, and on to its own child.
  void cancel_a_tree(Provider& store, const std::string& tale) {
    ParentLink link{"old 10", store.get_instance("old 10").value().value().incarnation, ExecutionId{1},
                    EventId{2}};
    std::vector<OutboundMessage> cancels;
    for (const std::string& id : {tale + " c", tale + " d"}) {
      StartRequest request = start_of(id);
      request.start.parent = link;
      ASSERT_TRUE(store.start_instances({&request, 1}));
      cancels.push_back({id, message::CancelInstance{.origin = CancelOrigin::parent, .parent = link}});
      link = {id, store.get_instance(id).value().value().incarnation, ExecutionId{1}, EventId{2}};
    }
    ASSERT_EQ(store.enqueue_messages({cancels.data(), 1}).value().at(0), EnqueueOutcome::enqueued);
    ASSERT_EQ(store.enqueue_messages({&cancels[1], 1}).value().at(0), EnqueueOutcome::duplicate);
  }
  /// All calls of a node and its clients, in order.
  void do_everything(Provider& store, const std::string& tale) {
    const std::string a = tale + " a";
    const std::string fused = tale + " fused";
    std::vector<StartRequest> starts{start_of(a), start_of(tale + " b"), start_of("old 1")};
    starts[2].reuse = IdReuse::replace_when_final;
    ASSERT_TRUE(store.start_instances(starts));
    const OutboundMessage messages[] = {{a, message::ExternalRaised{"x", {}}, {}, "id"},
                                        {"nobody", message::ExternalRaised{"x", {}}, {}, "id"},
                                        {InstanceId(tale + " b"), message::CancelInstance{"why"}}};
    ASSERT_TRUE(store.enqueue_messages(messages));
    auto batch = store.fetch_turns({.node = "n", .lease = 1h, .orchestrations = {{{"Orch", {"1"}}}}}).value();
    ASSERT_EQ(batch.items.size(), 3u);
    // The last one is released; it ends below.
    const auto released = std::ranges::find(batch.items, InstanceId{"old 1"}, &LeasedInstance::instance);
    ASSERT_NE(released, batch.items.end());
    std::rotate(released, released + 1, batch.items.end());
    const TurnLease lease{batch.items[2].incarnation, batch.items[2].lease};
    ASSERT_TRUE(store.renew_turns({&lease, 1}, 1h));
    const TurnRelease abandon{lease};
    ASSERT_TRUE(store.release_turns({&abandon, 1}));

    std::vector<TurnCommit> commits;
    for (std::uint64_t i = 0; i < 2; ++i) {
      TurnCommit& commit = commits.emplace_back(first_turn(batch.items[i], 10 + i));
      for (std::uint64_t id = 2; id < 6; ++id) {
        commit.new_activities.push_back(activity_of(commit.instance, commit.incarnation, id));
      }
      commit.new_activities[3].request.session_id = "mine";
      commit.messages.push_back(
          {commit.instance, message::TimerFired{ExecutionId{1}, EventId{9}, from_unix_ms(4'000'000'000'000)},
           from_unix_ms(4'000'000'000'000)});
      commit.messages.push_back({InstanceId("child of " + commit.instance.value),
                                 message::StartOrchestration{.orchestration = "Orch"}});
      commit.change.key_values = {{.key = "k", .value = Payload::text("v")}, {.key = "l"}, {}};
    }
    commits.push_back(fused_turn(fused, 20));
    for (const CommitResult& result : store.commit_turns(commits).value()) {
      ASSERT_EQ(result.outcome, CommitOutcome::committed);
    }
    auto work = store
                    .fetch_activities(
                        {.node = "n", .lease = 1h, .names = {{"Act"}}, .sessions = SessionClaim{"me", 10s}})
                    .value();
    ASSERT_EQ(work.items.size(), 8u);
    const ActivityRenewal renewal{work.items[0].lease, Heartbeat{Payload::text("x")}};
    ASSERT_TRUE(store.renew_activities({&renewal, 1}, 1h));
    const ActivityRelease given_back{work.items[1].lease};
    ASSERT_TRUE(store.release_activities({&given_back, 1}));
    const ActivityAck ack{work.items[2].lease, work.items[2].request.instance, Payload::text("done")};
    ASSERT_TRUE(store.ack_activities({&ack, 1}));
    ASSERT_TRUE(store.renew_sessions(std::vector<std::string>{"me"}, 10s, 10s));
    ASSERT_TRUE(store.release_sessions("me"));
    ASSERT_TRUE(store.read_stolen_leases("n"));
    cancel_a_tree(store, tale);

    // A turn that ends its instance, with work in flight; one that goes on; one whose condition does not
    // hold.
    TurnCommit end;
    end.node = "n";
    end.instance = work.items[3].request.instance;
    end.incarnation = work.items[3].request.key.incarnation;
    end.token = CommitToken{end.incarnation.value + 50};
    end.basis = ConditionalLease{EventId{77}};
    end.execution = ExecutionId{1};
    end.activity_acks = {{work.items[3].lease, end.instance, Payload::text("done")}};
    ASSERT_EQ(store.commit_turns({&end, 1}).value().at(0).outcome, CommitOutcome::condition_failed);
    batch = store.fetch_turns({.node = "n", .limit = 64, .lease = 1h}).value();
    for (int round = 0; !batch.items.empty() && round < 20; ++round) {
      std::vector<TurnCommit> ends;
      for (const LeasedInstance& item : batch.items) {
        TurnCommit& commit = ends.emplace_back();
        commit.token = CommitToken{item.incarnation.value + 100};
        commit.node = "n";
        commit.instance = item.instance;
        commit.incarnation = item.incarnation;
        commit.basis = HeldLease::all_of(item);
        commit.execution = item.execution;
        commit.change.status = Status::failed;
        commit.change.failure = Failure::application("T", "m");
        commit.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
        commit.cancel_rest = CancelReason::orchestration_terminal_failed;
        commit.dropped_timers = {EventId{9}};
      }
      ASSERT_TRUE(store.commit_turns(ends));
      batch = store.fetch_turns({.node = "n", .limit = 64, .lease = 1h}).value();
    }
    ASSERT_TRUE(store.sweep(10));

    // Reads.
    ASSERT_TRUE(store.read_history("old 5", ExecutionId{1}, {}));
    const std::vector<HistoryRequest> histories{{"old 5", ExecutionId{1}, {}},
                                                {"old 6", ExecutionId{1}, EventId{1}}};
    for (const auto& history : store.read_histories(histories)) ASSERT_TRUE(history);
    ASSERT_TRUE(store.get_instance("old 5"));
    ASSERT_TRUE(store.get_key_values("old 5"));
    ASSERT_TRUE(store.list_executions("old 5"));
    ASSERT_TRUE(store.get_instance_tree("old 5"));
    // Only a server with current statistics can choose the shorter of two plans.
    if (GetParam() == Belief::CountedNow) {
      ASSERT_TRUE(store.list_pending_work("old 10"));
      ASSERT_TRUE(store.list_instances({.limit = 20}));
      ASSERT_TRUE(store.list_instances({.filter = {.ids = {{"old 7", "old 8"}}}, .limit = 20}));
      ASSERT_TRUE(store.list_instances({.filter = {.id_prefix = "old 19"}, .limit = 20}));
      ASSERT_TRUE(store.list_instances({.filter = {.statuses = {Status::running}}, .limit = 20}));
    }
    const InstanceId ids[] = {a, fused};
    ASSERT_TRUE(store.prune_executions(ids, {.keep_last = 1}));
    ASSERT_TRUE(store.delete_instances(ids, DeleteMode::force));
  }

  /// No part of any plan read more rows than that.
  void expect_rows_looked_at(double at_most) {
    std::size_t seen = 0;
    for (const std::string& plan : plans.all()) {
      if (plan.find("plan:") == std::string::npos) continue;
      ++seen;
      EXPECT_LE(most_rows_looked_at(plan), at_most) << plan;
    }
    EXPECT_GT(seen, 10u) << "the server has said too little to prove anything";
  }

  Plans plans;

 private:
  [[nodiscard]] postgres::Options explained() { return plans.explained(schema->options()); }
  static std::string tables() {
    std::string names;
    for (const char* table : growing) names += (names.empty() ? "" : ", ") + std::string(table);
    return names;
  }
  void count() { script("ANALYZE " + tables()); }
  /// The rows stay. The rollback does not undo the statistics.
  void count_as_empty() {
    std::string sql = "BEGIN;";
    for (const char* table : growing) sql += "DELETE FROM " + std::string(table) + ";";
    script(sql + "ANALYZE " + tables() + "; ROLLBACK");
  }
  void count_with_all_of_one() {
    script(
        "INSERT INTO queue (instance_key, place, sent_at, item) SELECT 0, n, 0, '{}' FROM "
        "generate_series(1, 5000) n;"
        "INSERT INTO worker_queue (instance_key, execution, activity, attempt, fence, name, "
        "orchestration_name, "
        "orchestration_version, encoding, input) SELECT 0, 1, n, 0, 0, 'Act', 'Orch', '1', 'text', '' "
        "FROM generate_series(1, 5000) n;"
        "ANALYZE " +
        tables() + "; DELETE FROM queue; DELETE FROM worker_queue");
  }
};

INSTANTIATE_TEST_SUITE_P(Believing, PostgresPlans,
                         ::testing::Values(Belief::CountedNow, Belief::CountedWhenEmpty,
                                           Belief::CountedWhenOneHadAll, Belief::PlannedWhenNew),
                         ::testing::PrintToStringParamName());

TEST_P(PostgresPlans, NoStatementReadsThroughAWholeTable) {
  grow(20, 10);
  const auto store =
      filled([&] { grow(20'000, 5'000); }, [&](Provider& small) { do_everything(small, "first"); });
  do_everything(*store, "second");
  expect_rows_looked_at(500);
}

TEST_P(PostgresPlans, AFetchReadsNoMoreOfABacklogThanItTakes) {
  const auto begin = [](Provider& provider, const std::string& tale, std::size_t count) {
    std::vector<StartRequest> starts;
    for (std::size_t i = 0; i < count; ++i) starts.push_back(start_of(tale + std::to_string(i)));
    ASSERT_TRUE(provider.start_instances(starts));
  };
  const auto one_turn = [](Provider& provider) {
    auto batch = provider.fetch_turns({.node = "n", .limit = 8, .lease = 1h}).value();
    std::vector<TurnCommit> commits;
    for (const LeasedInstance& item : batch.items) {
      TurnCommit& commit = commits.emplace_back(first_turn(item, item.incarnation.value));
      commit.new_activities.push_back(activity_of(commit.instance, commit.incarnation, 2));
    }
    ASSERT_TRUE(provider.commit_turns(commits));
  };
  const auto store = filled(
      [&] {
        const auto other = open();
        begin(*other, "working ", 2'000);
        for (int i = 0; i < 250; ++i) one_turn(*other);
        begin(*other, "waiting ", 2'000);
      },
      [&](Provider& small) {
        begin(small, "small ", 3);
        one_turn(small);
        ASSERT_EQ(small.fetch_activities({.node = "n", .limit = 8, .lease = 1h}).value().items.size(), 3u);
      });
  for (int i = 0; i < 3; ++i) {
    one_turn(*store);
    ASSERT_EQ(store->fetch_activities({.node = "n", .limit = 8, .lease = 1h}).value().items.size(), 8u);
  }
  expect_rows_looked_at(100);
}

// Twice the size costs twice the work, not four times.
TEST_P(PostgresPlans, ACommitReadsEachRowAFewTimesAtAnySize) {
  const auto with_activities = [](Provider& provider, const std::string& id, std::uint64_t count) {
    start(provider, id);
    const auto item =
        provider.fetch_turns({.node = "n", .limit = 1, .lease = 1h, .orchestrations = {{{"Orch"}}}})
            .value()
            .items.at(0);
    TurnCommit commit = first_turn(item, item.incarnation.value);
    for (std::uint64_t i = 0; i < count; ++i) {
      commit.new_activities.push_back(activity_of(commit.instance, commit.incarnation, i + 2));
      commit.messages.push_back(
          {commit.instance,
           message::TimerFired{ExecutionId{1}, EventId{i + 5'000}, from_unix_ms(4'000'000'000'000)},
           from_unix_ms(4'000'000'000'000)});
    }
    ASSERT_EQ(provider.commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
  };
  const auto cancel = [](Provider& provider, const std::string& id, std::uint64_t count) {
    const OutboundMessage wake{id, message::ExternalRaised{"x", {}}};
    ASSERT_TRUE(provider.enqueue_messages({&wake, 1}));
    const auto work = provider.fetch_activities({.node = "other", .limit = count / 2, .lease = 1h}).value();
    ASSERT_EQ(work.items.size(), count / 2);
    std::vector<ActivityRenewal> renewals;
    for (const LeasedActivity& item : work.items) renewals.push_back({item.lease});
    ASSERT_TRUE(provider.renew_activities(renewals, 1h));
    const auto item =
        provider.fetch_turns({.node = "n", .limit = 1, .lease = 1h, .orchestrations = {{{"Orch"}}}})
            .value()
            .items.at(0);
    TurnCommit commit = first_turn(item, item.incarnation.value + 1'000'000);
    commit.events.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      commit.cancelled_activities.push_back({EventId{i + 2}, CancelReason::select_loser});
      commit.dropped_timers.push_back(EventId{i + 5'000});
      commit.messages.push_back({InstanceId(id + " child " + std::to_string(i)),
                                 message::StartOrchestration{.orchestration = "Child"}});
      commit.messages.push_back(
          {InstanceId(id), message::ExternalRaised{"x", {}}, {}, "id " + std::to_string(i)});
    }
    const auto result = provider.commit_turns({&commit, 1}).value().at(0);
    ASSERT_EQ(result.outcome, CommitOutcome::committed);
    ASSERT_EQ(result.stolen.size(), count / 2);
    ASSERT_TRUE(provider.renew_activities(renewals, 1h));
    std::vector<ActivityAck> acks;
    for (const LeasedActivity& gone : work.items) acks.push_back({gone.lease, id, Payload::text("late")});
    ASSERT_TRUE(provider.ack_activities(acks));
  };
  const auto store = filled([&] { with_activities(*open(), "large", 2'000); },
                            [&](Provider& small) {
                              with_activities(small, "small", 4);
                              cancel(small, "small", 4);
                              const InstanceId gone{"small"};
                              ASSERT_TRUE(small.delete_instances({&gone, 1}, DeleteMode::force));
                            });
  cancel(*store, "large", 2'000);
  expect_rows_looked_at(10'000);
}

TEST_P(PostgresPlans, ABatchReadsEachRowAFewTimesAtAnySize) {
  const auto batches = [](Provider& provider, const std::string& tale, std::size_t count) {
    std::vector<StartRequest> starts;
    std::vector<OutboundMessage> messages;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string id = tale + " " + std::to_string(i);
      messages.push_back({id, message::ExternalRaised{"parked", {}}, {}, "m"});
      starts.push_back(start_of(id));
    }
    ASSERT_TRUE(provider.enqueue_messages(messages));
    ASSERT_TRUE(provider.start_instances(starts));
    ASSERT_TRUE(provider.start_instances(starts));
    ASSERT_TRUE(provider.enqueue_messages(messages));
    auto turns = provider.fetch_turns({.node = "n", .limit = count, .lease = 1h}).value().items;
    ASSERT_EQ(turns.size(), count);
    std::vector<TurnLease> turn_leases;
    std::vector<TurnRelease> abandoned;
    for (const LeasedInstance& item : turns) {
      turn_leases.push_back({item.incarnation, item.lease});
      abandoned.push_back({turn_leases.back(), {}, false});
    }
    ASSERT_TRUE(provider.renew_turns(turn_leases, 1h));
    ASSERT_TRUE(provider.release_turns(abandoned));
    turns = provider.fetch_turns({.node = "n", .limit = count, .lease = 1h}).value().items;
    ASSERT_EQ(turns.size(), count);
    std::vector<TurnCommit> commits;
    for (const LeasedInstance& item : turns) {
      TurnCommit& commit = commits.emplace_back(first_turn(item, item.incarnation.value));
      for (std::uint64_t id = 2; id < 4; ++id) {
        commit.new_activities.push_back(activity_of(commit.instance, commit.incarnation, id));
        commit.new_activities.back().request.session_id = "session " + item.instance.value;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      commits.push_back(fused_turn(tale + " fused " + std::to_string(i), i + 1));
    }
    for (const CommitResult& result : provider.commit_turns(commits).value()) {
      ASSERT_EQ(result.outcome, CommitOutcome::committed);
    }
    // Half of the ids are taken.
    commits.clear();
    for (std::size_t i = 0; i < count; ++i) {
      commits.push_back(fused_turn(tale + " fused " + std::to_string(count / 2 + i), count + i + 1));
    }
    std::size_t refused = 0;
    for (const CommitResult& result : provider.commit_turns(commits).value()) {
      if (result.outcome == CommitOutcome::start_refused) ++refused;
    }
    ASSERT_EQ(refused, count / 2);
    const ActivityFetch fetch{
        .node = "n", .limit = count, .lease = 1h, .sessions = SessionClaim{"me", 1h, {}, 2 * count}};
    const auto first = provider.fetch_activities(fetch).value().items;
    const auto second = provider.fetch_activities(fetch).value().items;
    ASSERT_EQ(first.size() + second.size(), 2 * count);
    std::vector<ActivityRenewal> renewals;
    std::vector<ActivityAck> acks;
    for (const LeasedActivity& item : first) {
      renewals.push_back({item.lease, Heartbeat{Payload::text("half")}});
      acks.push_back({item.lease, item.request.instance, Payload::text("done")});
    }
    for (const RenewResult& result : provider.renew_activities(renewals, 1h).value()) {
      ASSERT_EQ(result.outcome, RenewOutcome::renewed);
    }
    ASSERT_TRUE(provider.ack_activities(acks));
    std::vector<ActivityRelease> given_back;
    for (const LeasedActivity& item : second) given_back.push_back({item.lease});
    ASSERT_TRUE(provider.release_activities(given_back));
    ASSERT_TRUE(provider.renew_sessions(std::vector<std::string>{"me"}, 1h, 1h));
    ASSERT_TRUE(provider.release_sessions("me"));
    std::vector<InstanceId> ids;
    for (const StartRequest& request : starts) ids.push_back(request.instance);
    ASSERT_TRUE(provider.prune_executions(ids, {.keep_last = 1}));
    ASSERT_TRUE(provider.delete_instances(ids, DeleteMode::force));
  };
  const auto store = filled([] {}, [&](Provider& small) { batches(small, "small", 4); });
  batches(*store, "large", 500);
  expect_rows_looked_at(5'000);
}

// Rows that are not due are not even skipped: they are never read.
TEST_P(PostgresPlans, AFetchAndAConditionalCommitDoNotPassOverTheTimersOfAnInstance) {
  const auto begin = [](Provider& provider, const std::string& id, std::uint64_t timers) {
    start(provider, id);
    const auto item = provider.fetch_turns({.node = "n", .limit = 1, .lease = 1h}).value().items.at(0);
    TurnCommit commit = first_turn(item, item.incarnation.value);
    for (std::uint64_t i = 0; i < timers; ++i) {
      commit.messages.push_back(
          {commit.instance,
           message::TimerFired{ExecutionId{1}, EventId{i + 2}, from_unix_ms(4'000'000'000'000)},
           from_unix_ms(4'000'000'000'000)});
    }
    ASSERT_EQ(provider.commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
  };
  const auto go_on = [](Provider& provider, const std::string& id) {
    TurnCommit commit;
    commit.node = "n";
    commit.instance = id;
    commit.incarnation = provider.get_instance(id).value()->incarnation;
    commit.token = CommitToken{commit.incarnation.value + 1};  // not the one of begin()
    commit.basis = ConditionalLease{EventId{1}};
    commit.execution = ExecutionId{1};
    commit.events.push_back({.id = EventId{2}, .body = event::CustomStatusUpdated{"half"}});
    ASSERT_EQ(provider.commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
    const OutboundMessage wake{id, message::ExternalRaised{"x", {}}};
    ASSERT_TRUE(provider.enqueue_messages({&wake, 1}));
    ASSERT_EQ(provider.fetch_turns({.node = "n", .limit = 8, .lease = 1h}).value().items.size(), 1u);
  };
  const std::vector<std::string> large{"large 1", "large 2", "large 3"};
  const auto store = filled(
      [&] {
        for (const std::string& id : large) begin(*open(), id, 20'000);
      },
      [&](Provider& small) {
        begin(small, "small", 4);
        go_on(small, "small");
      });
  for (const std::string& id : large) go_on(*store, id);
  // The best of three: the server also counts reads of its catalogues.
  std::map<std::string, double> pages;
  for (const std::string& plan : plans.all()) {
    const std::string query = plan.substr(0, plan.find("(cost=")).substr(plan.find("Query Text"));
    if (query.find("queue") == std::string::npos) continue;
    const auto known = pages.try_emplace(query, pages_read(plan)).first;
    known->second = std::min(known->second, pages_read(plan));
  }
  EXPECT_GE(pages.size(), 5u) << "the server has said too little to prove anything";
  for (const auto& [query, read] : pages) EXPECT_LE(read, 40) << query;
}

}  // namespace
}  // namespace duramen::test
