// Calls take their locks in one order: no call fails because of a deadlock.
//
// To make two calls meet, a session of the test holds a row that both need. It releases the row when both
// wait, so each case runs the same way every time.
#include "holder.hpp"
#include "store.hpp"

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace duramen::test {
namespace {

class PostgresLocks : public OnPostgres {
 protected:
  /// A store whose sessions have their own name, with fast deadlock detection.
  [[nodiscard]] std::shared_ptr<Provider> open_watched() {
    postgres::Options options = schema->options();
    options.conninfo += " application_name=" + watched() + " options='-c deadlock_timeout=100ms'";
    return open(options);
  }
  /// Returns when `count` calls of that store wait for a lock.
  void until_waiting(int calls) {
    until("SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + watched() +
              "' AND wait_event_type = 'Lock' AND wait_event IN ('transactionid', 'tuple', 'advisory', "
              "'relation')",
          calls);
  }
  [[nodiscard]] std::vector<std::int64_t> queued(const std::string& id) {
    const std::string s = quoted_schema();
    return {
        schema->number("SELECT count(*) FROM " + s + ".queue q JOIN " + s +
                       ".instances i ON i.key = q.instance_key WHERE i.instance_id = '" + id + "'"),
        schema->number("SELECT count(*) FROM " + s + ".parked_messages WHERE instance_id = '" + id + "'")};
  }

 private:
  [[nodiscard]] std::string watched() const { return "watched-" + schema->name(); }
  void until(const std::string& sql, std::int64_t value) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (schema->number(sql) != value) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "never " << value << ": " << sql;
        return;
      }
      std::this_thread::yield();
    }
  }
};

template <class Call>
[[nodiscard]] auto begin(Call call) {
  return std::async(std::launch::async, std::move(call));
}

/// The answer of a call, which must have succeeded.
template <class T>
[[nodiscard]] T answer(std::future<Result<T>> call) {
  Result<T> result = call.get();
  EXPECT_TRUE(result) << result.error().describe();
  return result ? *result : T{};
}

[[nodiscard]] OutboundMessage message_to(const std::string& id) {
  return {InstanceId{id}, message::QueueMessage{"q", Payload::text("x")}};
}

using Sent = std::vector<EnqueueOutcome>;
constexpr auto enqueued = EnqueueOutcome::enqueued;
constexpr auto parked = EnqueueOutcome::parked;

[[nodiscard]] auto begin_sending(const std::shared_ptr<Provider>& store, std::vector<std::string> ids) {
  return begin([store, ids = std::move(ids)] {
    std::vector<OutboundMessage> messages;
    for (const std::string& id : ids) messages.push_back(message_to(id));
    return store->enqueue_messages(messages);
  });
}

// A raise decides by the nodes that are listed: none may come in while it decides.
TEST_F(PostgresLocks, ARaiseOfTheWriteLevelFindsANodeThatIsReporting) {
  const auto store = open_watched();
  Holder holder{*schema};
  holder.run("SELECT write_node(NULL, 'late', 'r', 0, " + std::to_string(engine_version) +
             ", '{}', 86400000)");
  auto raising = begin([store] { return store->raise_write_level(engine_version + 1, 90s); });
  until_waiting(1);
  holder.release();
  const WriteLevelRaise raise = answer(std::move(raising));
  EXPECT_EQ(raise.level, engine_version);
  EXPECT_EQ(raise.held_back_by, std::vector<NodeId>{"late"});
}

TEST_F(PostgresLocks, ANodeThatReportsDuringARaiseReadsTheRaisedWriteLevel) {
  const auto store = open_watched();
  Holder holder{*schema};
  holder.run("SELECT * FROM raise_write_level(NULL, " + std::to_string(engine_version + 1) + ", 90000)");
  auto reporting = std::async(std::launch::async, [store] {
    NodeRecord late;
    late.node = "late";
    return store->write_node(late).has_value();
  });
  until_waiting(1);
  holder.release();
  EXPECT_TRUE(reporting.get());
  EXPECT_EQ(store->get_write_level().value(), engine_version + 1);
}

TEST_F(PostgresLocks, AStartThatMayReplaceAndAMessageThatWaitsForItsInstanceDoNotWaitForEachOther) {
  const auto store = open();
  start(*store, "there");
  std::atomic<bool> done{false};
  std::jthread starter([&] {
    while (!done) {
      StartRequest again = start_of("there");
      again.reuse = IdReuse::replace_when_final;
      const auto outcome = store->start_instances({&again, 1});
      EXPECT_TRUE(outcome) << outcome.error().describe();
    }
  });
  for (int i = 0; i < 300; ++i) {
    const OutboundMessage messages[] = {
        {InstanceId("not yet " + std::to_string(i)), message::QueueMessage{"q", Payload::text("x")}},
        {"there", message::QueueMessage{"q", Payload::text("x")}}};
    const auto outcome = store->enqueue_messages(messages);
    EXPECT_TRUE(outcome) << outcome.error().describe();
  }
  done = true;
}

// The first took the creation lock after the instance; the second took the parking lock before it.
TEST_F(PostgresLocks, AStartThatIsSentAndAMessageThatWaitsForItsInstanceDoNotWaitForEachOther) {
  const auto store = open_watched();
  start(*store, "there");
  Holder holder{*schema};
  holder.lock("there");
  auto starting = begin([store] {
    const OutboundMessage again{"there", message::StartOrchestration{.orchestration = "Orch"}};
    return store->enqueue_messages({&again, 1});
  });
  until_waiting(1);
  auto sending = begin_sending(store, {"nobody", "there"});
  until_waiting(2);
  holder.release();
  EXPECT_EQ(answer(std::move(starting)), Sent{EnqueueOutcome::duplicate});
  EXPECT_EQ(answer(std::move(sending)), (Sent{parked, enqueued}));
}

// Parking was found necessary only after the instances were locked.
TEST_F(PostgresLocks, AMessageWhoseInstanceIsJustDeletedIsParkedWithoutWaitingForStarts) {
  const auto store = open_watched();
  start(*store, "there");
  start(*store, "going");
  Holder holder{*schema};
  holder.run("SELECT erase_instances(0, ARRAY(SELECT key FROM instances WHERE instance_id = 'going'))");
  auto sending = begin_sending(store, {"going", "there"});
  until_waiting(1);
  auto starting = begin([store] {
    StartRequest again = start_of("there");
    again.reuse = IdReuse::replace_when_final;
    return store->start_instances({&again, 1});
  });
  until_waiting(2);
  holder.release();
  EXPECT_EQ(answer(std::move(sending)), (Sent{parked, enqueued}));
  EXPECT_EQ(answer(std::move(starting)), std::vector{StartOutcome::exists});
  EXPECT_EQ(queued("there").at(0), 2);
  EXPECT_EQ(queued("going").at(1), 1);
}

// Both held the creation lock, and both wanted the parking lock.
TEST_F(PostgresLocks, TurnsThatCreateInstancesAndSendToUnknownOnesDoNotWaitForEachOther) {
  const auto store = open_watched();
  start(*store, "there");
  Holder holder{*schema};
  holder.lock("there");
  const auto begin_turn = [&](const std::string& id, std::uint64_t token) {
    return begin([store, id, token] {
      TurnCommit commit = fused_turn(id, token);
      commit.messages = {message_to("there"), message_to("nobody")};
      return store->commit_turns({&commit, 1});
    });
  };
  auto first = begin_turn("first", 1);
  until_waiting(1);
  auto second = begin_turn("second", 2);
  until_waiting(2);
  holder.release();
  for (auto* turn : {&first, &second}) {
    for (const CommitResult& result : answer(std::move(*turn))) {
      EXPECT_EQ(result.outcome, CommitOutcome::committed);
    }
  }
  EXPECT_EQ(queued("there").at(0), 3);
  EXPECT_EQ(queued("nobody").at(1), 2);
}

// A turn that starts a child and sends it a message parks nothing: it does not block other starts.
TEST_F(PostgresLocks, ATurnThatSendsToItsNewChildDoesNotBlockOtherStarts) {
  const auto store = open_watched();
  start(*store, "there");
  Holder holder{*schema};
  holder.lock("there");
  auto turn = begin([store] {
    TurnCommit commit = fused_turn("parent", 1);
    commit.messages = {{"child", message::StartOrchestration{.orchestration = "Orch"}},
                       message_to("child"),
                       message_to("parent"),
                       message_to("there")};
    return store->commit_turns({&commit, 1});
  });
  until_waiting(1);
  start(*store, "another");
  holder.release();
  EXPECT_EQ(answer(std::move(turn)).at(0).outcome, CommitOutcome::committed);
  EXPECT_EQ(queued("child").at(0), 2);
  EXPECT_EQ(queued("parent").at(0), 1);
}

TEST_F(PostgresLocks, PruningAndSendingDoNotWaitForEachOther) {
  const auto store = open_watched();
  for (const char* id : {"a", "b", "c"}) start(*store, id);
  Holder holder{*schema};
  holder.lock("b");
  auto pruning = begin([store] {
    const InstanceId ids[] = {"c", "b", "a"};
    return store->prune_executions(ids, {.keep_last = 1});
  });
  until_waiting(1);
  auto sending = begin_sending(store, {"a", "c"});
  until_waiting(2);
  holder.release();
  for (const PruneResult& result : answer(std::move(pruning))) EXPECT_TRUE(result.found);
  EXPECT_EQ(answer(std::move(sending)), (Sent{enqueued, enqueued}));
}

TEST_F(PostgresLocks, DeletingAndSendingDoNotWaitForEachOther) {
  const auto store = open_watched();
  for (const char* id : {"a", "b", "c"}) start(*store, id);
  Holder holder{*schema};
  holder.lock("b");
  auto deleting = begin([store] {
    const InstanceId ids[] = {"c", "b", "a"};
    return store->delete_instances(ids, DeleteMode::force);
  });
  until_waiting(1);
  auto sending = begin_sending(store, {"a", "c"});
  until_waiting(2);
  holder.release();
  for (const DeleteResult& result : answer(std::move(deleting))) {
    EXPECT_EQ(result.outcome, DeleteOutcome::deleted);
  }
  EXPECT_EQ(answer(std::move(sending)), (Sent{parked, parked}));
}

TEST_F(PostgresLocks, DeletingFamiliesAndSendingDoNotWaitForEachOther) {
  const auto store = open_watched();
  start(*store, "old");
  start(*store, "young");
  StartRequest child = start_of("child of old");
  child.start.parent = ParentLink{"old", store->get_instance("old").value()->incarnation, ExecutionId{1}, {}};
  ASSERT_EQ(store->start_instances({&child, 1}).value().at(0), StartOutcome::created);
  Holder holder{*schema};
  holder.lock("child of old");
  auto deleting = begin([store] {
    const InstanceId ids[] = {"old", "young"};
    return store->delete_instances(ids, DeleteMode::force);
  });
  until_waiting(1);
  auto sending = begin_sending(store, {"young", "child of old"});
  until_waiting(2);
  holder.release();
  const auto deleted = answer(std::move(deleting));
  ASSERT_EQ(deleted.size(), 2u);
  EXPECT_EQ(deleted[0].instances, 2u);
  EXPECT_EQ(deleted[1].instances, 1u);
  EXPECT_EQ(answer(std::move(sending)), (Sent{parked, parked}));
}

TEST_F(PostgresLocks, DeletingAndRenewingDoNotWaitForEachOther) {
  const auto store = open_watched();
  std::vector<TurnCommit> commits;
  for (const char* id : {"a", "b", "c"}) {
    TurnCommit& commit = commits.emplace_back(fused_turn(id, commits.size() + 1));
    commit.new_activities.push_back(activity_of(id, {}, 2));
  }
  ASSERT_TRUE(store->commit_turns(commits));
  const auto work = store->fetch_activities({.node = "n", .lease = 1h}).value().items;
  ASSERT_EQ(work.size(), 3u);
  Holder holder{*schema};
  holder.run("SELECT 1 FROM worker_queue WHERE instance_key = " +
             std::to_string(work[1].lease.key.incarnation.value) + " FOR UPDATE");
  auto deleting = begin([store] {
    const InstanceId ids[] = {"c", "b", "a"};
    return store->delete_instances(ids, DeleteMode::force);
  });
  until_waiting(1);
  auto renewing = begin([store, work] {
    const ActivityRenewal renewals[] = {{work[0].lease}, {work[2].lease}};
    return store->renew_activities(renewals, 1h);
  });
  until_waiting(2);
  holder.release();
  for (const DeleteResult& result : answer(std::move(deleting))) {
    EXPECT_EQ(result.outcome, DeleteOutcome::deleted);
  }
  for (const RenewResult& result : answer(std::move(renewing))) {
    EXPECT_EQ(result.outcome, RenewOutcome::cancelled);
  }
}

// A batch with a turn that cannot be stored is stored turn by turn, in one transaction.
TEST_F(PostgresLocks, TurnsThatAreStoredOneByOneAndSendingDoNotWaitForEachOther) {
  const auto store = open_watched();
  for (const char* id : {"a", "b", "c"}) start(*store, id);
  const auto items = store->fetch_turns({.node = "n", .lease = 1h}).value().items;
  ASSERT_EQ(items.size(), 3u);
  // Only the second attempt gets this far: the first fails earlier, at the turn that cannot be stored.
  Holder holder{*schema};
  holder.run("INSERT INTO key_values (instance_key, key, value) VALUES (" +
             std::to_string(items[1].incarnation.value) + ", 'k', 'v')");
  auto turns = begin([&] {
    std::string noise;  // cannot be compressed
    std::uint64_t seed = 1;
    while (noise.size() < 20'000)
      noise += std::to_string(seed = seed * 6364136223846793005ull + 1442695040888963407ull);
    TurnCommit commits[] = {first_turn(items[2], 1), first_turn(items[1], 2), first_turn(items[0], 3),
                            fused_turn(noise, 4)};
    commits[1].change.key_values.push_back({.key = "k", .value = Payload::text("w")});
    return store->commit_turns(commits);
  });
  until_waiting(1);
  auto sending = begin_sending(store, {"a", "c"});
  until_waiting(2);
  holder.release();
  const auto results = answer(std::move(turns));
  ASSERT_EQ(results.size(), 4u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(results[i].outcome, CommitOutcome::committed);
  EXPECT_EQ(results[3].outcome, CommitOutcome::invalid);
  EXPECT_EQ(answer(std::move(sending)), (Sent{enqueued, enqueued}));
}

/// A turn of a running instance, which waits at its history until `holder` rolls back.
[[nodiscard]] TurnCommit turn_that_waits(Provider& store, Holder& holder, const std::string& id) {
  TurnCommit commit = fused_turn(id, 1);
  commit.new_activities = {activity_of(id, {}, 2)};
  commit.new_activities[0].request.session_id = "session";
  EXPECT_EQ(store.commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
  TurnCommit next;
  next.token = CommitToken{2};
  next.node = "node";
  next.instance = id;
  next.incarnation = store.get_instance(id).value()->incarnation;
  next.basis = ConditionalLease{EventId{1}};
  next.execution = ExecutionId{1};
  next.change.version = "1";
  next.events.push_back({.id = EventId{2}, .body = event::CustomStatusUpdated{"half"}});
  holder.run("INSERT INTO history VALUES (" + std::to_string(next.incarnation.value) +
             ", 1, 2, 2, NULL, '[]')");
  return next;
}

[[nodiscard]] TurnCommit fused_with_child(const std::string& id, const std::string& child) {
  TurnCommit commit = fused_turn(id, 9);
  commit.messages = {{child, message::StartOrchestration{.orchestration = "Orch"}}};
  return commit;
}

// Each had created its own instance and wanted the id of the other for a child.
TEST_F(PostgresLocks, TurnsWhoseInstancesAndChildrenCrossDoNotWaitForEachOther) {
  const auto store = open_watched();
  Holder holder{*schema};
  holder.run(
      "INSERT INTO instances (key, instance_id, name, created_at, updated_at, execution_started_at, "
      "start_digest) VALUES (nextval('numbers'), 'm', 'Orch', 0, 0, 0, 0)");
  auto first = begin([&] {
    const TurnCommit commits[] = {fused_with_child("b", "a"), fused_turn("m", 1)};
    return store->commit_turns(commits);
  });
  until_waiting(1);
  auto second = begin([&] {
    const TurnCommit commit = fused_with_child("a", "b");
    return store->commit_turns({&commit, 1});
  });
  until_waiting(2);
  holder.run("ROLLBACK");
  for (const CommitResult& result : answer(std::move(first)))
    EXPECT_EQ(result.outcome, CommitOutcome::committed);
  EXPECT_EQ(answer(std::move(second)).at(0).outcome, CommitOutcome::start_refused);
  EXPECT_EQ(queued("a").at(0), 1);
  EXPECT_EQ(queued("b").at(0), 0);
}

// The first had created the instance and wanted the session; the second, the other way around.
TEST_F(PostgresLocks, TurnsThatUseASessionAndCreateAnInstanceDoNotWaitForEachOther) {
  const auto store = open_watched();
  Holder holder{*schema};
  TurnCommit waits = turn_that_waits(*store, holder, "there");
  TurnCommit other = fused_turn("other", 3);
  other.new_activities = {activity_of("other", {}, 2)};
  other.new_activities[0].request.session_id = "session";
  ASSERT_TRUE(store->commit_turns({&other, 1}));
  const auto work =
      store->fetch_activities({.node = "n", .lease = 1h, .sessions = SessionClaim{"me", 1h}}).value().items;
  ASSERT_EQ(work.size(), 2u);
  waits.activity_acks = {{work[0].lease, "there", Payload::text("done")}};
  auto first = begin([&] {
    const TurnCommit commits[] = {fused_turn("child", 4), waits};
    return store->commit_turns(commits);
  });
  until_waiting(1);
  auto second = begin([&] {
    TurnCommit commit = waits;
    commit.token = CommitToken{5};
    commit.instance = "other";
    commit.incarnation = work[1].lease.key.incarnation;
    commit.activity_acks = {{work[1].lease, "other", Payload::text("done")}};
    commit.messages = {{"child", message::StartOrchestration{.orchestration = "Orch"}}};
    return store->commit_turns({&commit, 1});
  });
  until_waiting(2);
  holder.run("ROLLBACK");
  for (const CommitResult& result : answer(std::move(first)))
    EXPECT_EQ(result.outcome, CommitOutcome::committed);
  EXPECT_EQ(answer(std::move(second)).at(0).outcome, CommitOutcome::committed);
}

/// A fetch that has found an entry, and waits for the lock on its instance.
[[nodiscard]] auto begin_fetching(const std::shared_ptr<Provider>& store) {
  return begin([store]() -> Result<std::vector<LeasedInstance>> {
    auto batch = store->fetch_turns({.node = "n", .lease = 1h, .orchestrations = {{{"Orch", {"1"}}}}});
    if (!batch) return batch.error();
    return std::move(batch->items);
  });
}

TEST_F(PostgresLocks, AnInstanceThatNeedsAnotherNodeMeanwhileIsNotFetched) {
  const auto store = open_watched();
  start(*store, "a");
  Holder holder{*schema};
  holder.run("LOCK TABLE instances IN EXCLUSIVE MODE");
  auto fetching = begin_fetching(store);
  until_waiting(1);
  holder.run("UPDATE queue SET capability = E'2\\nOrch\\n'");
  holder.release();
  EXPECT_EQ(answer(std::move(fetching)).size(), 0u);
  EXPECT_EQ(schema->number("SELECT count(*) FROM " + quoted_schema() + ".queue WHERE ready_no IS NOT NULL"),
            1);
}

/// An instance whose entry is a timer that is in the future again: the clock was set back.
void wait_for_a_timer_again(Provider& store, PostgresSchema& schema) {
  TurnCommit commit = fused_turn("a", 1);
  for (const std::uint64_t event : {5, 6}) {
    commit.messages.push_back(
        {"a", message::TimerFired{ExecutionId{1}, EventId{event}, from_unix_ms(1)}, from_unix_ms(1)});
  }
  ASSERT_TRUE(store.commit_turns({&commit, 1}));
  const auto item = store.fetch_turns({.node = "n", .lease = 1h}).value().items.at(0);
  const TurnRelease release{{item.incarnation, item.lease}, {}, false};
  ASSERT_TRUE(store.release_turns({&release, 1}));
  const std::string s = '"' + schema.name() + '"';
  schema.connection().run("UPDATE " + s + ".queue SET fire_at = 4000000000000 WHERE capability IS NOT NULL");
}

TEST_F(PostgresLocks, AnInstanceThatIsLeasedMeanwhileKeepsItsEntry) {
  const auto store = open_watched();
  wait_for_a_timer_again(*store, *schema);
  Holder holder{*schema};
  holder.run("DELETE FROM queue WHERE capability IS NULL");
  holder.release();
  start(*store, "b");
  holder.run("BEGIN");
  holder.run("LOCK TABLE instances IN EXCLUSIVE MODE");
  auto fetching = begin_fetching(store);
  until_waiting(1);
  holder.run("UPDATE queue SET ready_no = NULL, wake_at = 4000000000000 WHERE fire_at IS NOT NULL");
  holder.run(
      "UPDATE instances SET lease_token = 1, lease_until = 4000000000000, attempt = 1 WHERE instance_id = "
      "'a'");
  holder.release();
  EXPECT_EQ(answer(std::move(fetching)).size(), 1u);  // b
  const std::string s = quoted_schema();
  EXPECT_EQ(schema->number("SELECT count(*) FROM " + s + ".queue q JOIN " + s +
                           ".instances i ON i.entry_place = q.place WHERE q.capability IS NOT NULL AND "
                           "q.fire_at IS NOT NULL AND q.wake_at IS NOT NULL AND q.waits_until IS NULL"),
            1);
}

TEST_F(PostgresLocks, AnInstanceThatIsFetchedForAnotherTimerKeepsItsEntry) {
  const auto store = open_watched();
  wait_for_a_timer_again(*store, *schema);
  EXPECT_EQ(answer(begin_fetching(store)).size(), 1u);
  const std::string s = quoted_schema();
  EXPECT_EQ(schema->number("SELECT count(*) FROM " + s + ".queue q JOIN " + s +
                           ".instances i ON i.entry_place = q.place WHERE q.capability IS NOT NULL AND "
                           "q.wake_at IS NOT NULL AND q.waits_until IS NULL"),
            1);
}

TEST_F(PostgresLocks, AParkedMessageThatIsJustSweptIsNotDelivered) {
  const auto store = open_watched();
  const OutboundMessage message = message_to("a");
  ASSERT_EQ(store->enqueue_messages({&message, 1}).value(), Sent{parked});
  Holder sweeper{*schema};
  sweeper.run("DELETE FROM parked_messages");
  auto starting = begin([store] {
    const StartRequest request = start_of("a");
    return store->start_instances({&request, 1});
  });
  until_waiting(1);
  sweeper.release();
  EXPECT_EQ(answer(std::move(starting)), std::vector{StartOutcome::created});
  EXPECT_EQ(queued("a"), (std::vector<std::int64_t>{1, 0}));
}

}  // namespace
}  // namespace duramen::test
