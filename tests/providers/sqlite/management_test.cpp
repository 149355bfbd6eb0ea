// The cost of management calls, and removal without leftovers in the file.
#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/fixture.hpp"
#include "providers/sqlite/instance_list.hpp"

namespace duramen::sqlite::test {

namespace {

TurnCommit child_turn(const std::string& id, std::uint64_t token, const std::string& parent, Incarnation of) {
  TurnCommit commit = first_turn(id, token);
  commit.change.parent = ParentLink{parent, of, ExecutionId{1}, EventId{2}};
  return commit;
}

TurnCommit finished_turn(const std::string& id, std::uint64_t token) {
  TurnCommit commit = first_turn(id, token);
  commit.new_activities.clear();
  commit.change.status = Status::completed;
  commit.change.output = Payload::text("done");
  return commit;
}

DeleteResult delete_one(Provider& provider, const InstanceId& id, DeleteMode mode) {
  return provider.delete_instances({&id, 1}, mode).value().at(0);
}

/// The number of rows in all tables with data of instances.
std::string rows_left(RawConnection& raw) {
  return raw.text(
      "SELECT (SELECT count(*) FROM duramen_instances) + (SELECT count(*) FROM duramen_executions) + (SELECT "
      "count(*) FROM "
      "duramen_history) + "
      "(SELECT count(*) FROM duramen_key_values) + (SELECT count(*) FROM duramen_queue) + "
      "(SELECT count(*) FROM duramen_received_messages) + (SELECT count(*) FROM duramen_worker_queue)");
}

/// An instance with two executions, key-values, messages and a waiting activity.
Incarnation add_full_instance(Provider& provider, const std::string& id, std::uint64_t token) {
  TurnCommit first = first_turn(id, token);
  first.new_activities.clear();
  first.change.status = Status::continued_as_new;
  first.change.key_values = {{"x", Payload::text("1")}};
  first.messages.push_back({.target = id, .body = message::ContinueAsNew{.orchestration = "Hello"}});
  const Incarnation incarnation = commit_one(provider, first).incarnation;
  const auto item = provider.fetch_turns(fetch_turns()).value().items.at(0);
  TurnCommit second = first_turn(id, token + 1);
  second.basis = HeldLease::all_of(item);
  second.incarnation = incarnation;
  second.execution = ExecutionId{2};
  second.new_activities.at(0).request.key = {incarnation, ExecutionId{2}, EventId{2}};
  second.messages.push_back(
      {.target = id,
       .body = message::TimerFired{ExecutionId{2}, EventId{3}, from_unix_ms(9'000'000'000'000)},
       .visible_at = from_unix_ms(9'000'000'000'000)});
  EXPECT_EQ(commit_one(provider, second).outcome, CommitOutcome::committed);
  const OutboundMessage event{
      .target = id, .body = message::ExternalRaised{"go", Payload::json("1")}, .message_id = "m"};
  EXPECT_EQ(provider.enqueue_messages({&event, 1}).value().at(0), EnqueueOutcome::enqueued);
  return incarnation;
}

TEST(Deleting, LeavesNothingOfAnInstanceInAnyTable) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  add_full_instance(*provider, "a", 1);
  const DeleteResult deleted = delete_one(*provider, "a", DeleteMode::force);
  EXPECT_EQ(deleted, (DeleteResult{.instances = 1, .executions = 2, .events = 4, .messages = 3}));
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(rows_left(raw), "0");
}

TEST(Deleting, AFamilyOfThousandsTakesAFewStatements) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  const Incarnation root = commit_one(*provider, first_turn("root", 1)).incarnation;
  std::vector<TurnCommit> children;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    children.push_back(child_turn("child-" + std::to_string(i), 10 + i, "root", root));
  }
  const auto stored = provider->commit_turns(children).value();
  // A chain below one of them.
  Incarnation above = stored.at(7).incarnation;
  for (std::uint64_t i = 0; i < 200; ++i) {
    above =
        commit_one(*provider, child_turn("deep-" + std::to_string(i), 5000 + i, "any", above)).incarnation;
  }
  EXPECT_EQ(provider->get_instance_tree("root").value().size(), 2201u);
  EXPECT_EQ(provider->get_instance_tree("deep-0").value().size(), 200u);
  EXPECT_EQ(delete_one(*provider, "root", DeleteMode::finished).outcome, DeleteOutcome::not_finished);
  EXPECT_EQ(delete_one(*provider, "deep-199", DeleteMode::force).outcome, DeleteOutcome::has_parent);
  EXPECT_EQ(delete_one(*provider, "root", DeleteMode::force).instances, 2201u);
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(rows_left(raw), "0");
}

TEST(Deleting, AChildWhoseParentIsGoneIsPossible) {
  const auto provider = open_at(":memory:");
  const Incarnation root = commit_one(*provider, finished_turn("root", 1)).incarnation;
  TurnCommit child = finished_turn("child", 2);
  child.change.parent = ParentLink{"root", root, ExecutionId{1}, EventId{2}};
  commit_one(*provider, child);
  EXPECT_EQ(delete_one(*provider, "child", DeleteMode::force).outcome, DeleteOutcome::has_parent);
  StartRequest again = start_request("root");
  again.reuse = IdReuse::replace_when_final;
  ASSERT_EQ(provider->start_instances({&again, 1}).value().at(0), StartOutcome::created);

  InstanceQuery roots;
  roots.filter.roots_only = true;
  EXPECT_EQ(provider->list_instances(roots).value().instances.size(), 2u);
  EXPECT_EQ(delete_one(*provider, "child", DeleteMode::finished).outcome, DeleteOutcome::deleted);
}

TEST(Deleting, NotifiesTheHoldersInOtherProcesses) {
  const TempDir dir;
  const auto here = open_at(dir.file("t.db"));
  const auto there = open_at(dir.file("t.db"));
  commit_one(*here, first_turn("a", 1));
  const auto work = there->fetch_activities(fetch_work("node-b")).value().items.at(0);
  ASSERT_EQ(delete_one(*here, "a", DeleteMode::force).outcome, DeleteOutcome::deleted);
  const auto stolen = there->read_stolen_leases("node-b").value();
  ASSERT_EQ(stolen.size(), 1u);
  EXPECT_EQ(stolen[0].lease, work.lease);
  EXPECT_EQ(stolen[0].reason, CancelReason::instance_deleted);
  const ActivityAck late{work.lease, "a", Payload::text("late")};
  const AckResult answer = there->ack_activities({&late, 1}).value().at(0);
  EXPECT_EQ(answer.outcome, AckOutcome::cancelled);
  EXPECT_EQ(answer.reason, CancelReason::instance_deleted);
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(rows_left(raw), "0");
}

TEST(Pruning, RemovesTheHistoryAndKeepsTheKeyValues) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  add_full_instance(*provider, "a", 1);
  const InstanceId id{"a"};
  const auto pruned = provider->prune_executions({&id, 1}, {.keep_last = 0}).value().at(0);
  EXPECT_EQ(pruned, (PruneResult{.found = true, .executions = 1, .events = 2}));
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(raw.text("SELECT group_concat(DISTINCT execution) FROM duramen_history"), "2");
  EXPECT_EQ(provider->list_executions("a").value().size(), 1u);
  EXPECT_EQ(provider->get_key_values("a").value().size(), 1u);
  EXPECT_EQ(provider->prune_executions({&id, 1}, {}).error().code, ErrorCode::invalid_argument);
}

TEST(AList, DoesNotReadTheResultsItLeavesOut) {
  const TempDir dir;
  {
    const auto provider = open_at(dir.file("t.db"));
    for (std::uint64_t i = 0; i < 20; ++i) {
      TurnCommit commit = finished_turn("i-" + std::to_string(i), 1 + i);
      commit.change.output = Payload::text(std::string(1u << 20, 'x'));
      commit_one(*provider, commit);
    }
  }
  const auto pages_read = [&](bool with_results) {
    detail::Connection connection{dir.file("t.db"), detail::Connection::Mode::read_only};
    detail::InstanceList list{connection};
    int before = 0, after = 0, ignored = 0;
    sqlite3_db_status(connection.handle(), SQLITE_DBSTATUS_CACHE_MISS, &before, &ignored, 0);
    EXPECT_EQ(list.page({.limit = 20, .with_results = with_results}).instances.size(), 20u);
    sqlite3_db_status(connection.handle(), SQLITE_DBSTATUS_CACHE_MISS, &after, &ignored, 0);
    return after - before;
  };
  EXPECT_LT(pages_read(false), 50);
  EXPECT_GT(pages_read(true), 5000);
}

TEST(AList, FindsIdsByTheirBytes) {
  const auto provider = open_at(":memory:");
  for (const char* id : {"a", "a%", "a%b", "a_", "A%", "aé", "aê", "b"}) start(*provider, id);
  const auto found = [&](const char* prefix) {
    InstanceQuery query;
    query.filter.id_prefix = prefix;
    query.order = InstanceOrder::oldest_first;
    std::string ids;
    for (const auto& info : provider->list_instances(query).value().instances)
      ids += info.instance.value + " ";
    return ids;
  };
  EXPECT_EQ(found("a%"), "a% a%b ");
  EXPECT_EQ(found("a_"), "a_ ");
  EXPECT_EQ(found("a\xc3"), "aé aê ");
  EXPECT_EQ(found("aé"), "aé ");
  EXPECT_EQ(found("B"), "");
  EXPECT_EQ(found(""), "a a% a%b a_ A% aé aê b ");
}

TEST(AList, TreatsTextFromOutsideAsTextOnly) {
  const auto provider = open_at(":memory:");
  start(*provider, "a");
  InstanceQuery query;
  query.filter.name = "Hello' OR '1' = '1";
  EXPECT_TRUE(provider->list_instances(query).value().instances.empty());
  query.filter.name.reset();
  query.filter.ids = {{"a\"]", "x'; DROP TABLE instances; --"}};
  EXPECT_TRUE(provider->list_instances(query).value().instances.empty());
  query.filter.ids = {{"a\"]", "a"}};
  EXPECT_EQ(provider->list_instances(query).value().instances.size(), 1u);
}

}  // namespace

}  // namespace duramen::sqlite::test
