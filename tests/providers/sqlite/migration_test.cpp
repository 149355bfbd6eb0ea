// Opening a file of an earlier version migrates it, with everything in it.
#include "providers/sqlite/fixture.hpp"
#include "providers/sqlite/schema.hpp"

#include <fstream>
#include <iterator>
#include <thread>

namespace duramen::sqlite::test {

namespace {

constexpr std::int64_t day_one = 1'750'000'000'000;

/// A file as version 1 left it: the schema of that version, and rows of every table.
class Version1File {
 public:
  explicit Version1File(const std::string& path) : raw_(path) {
    raw_.execute(std::string(detail::migrations().front()));
    raw_.execute("PRAGMA application_id = " + std::to_string(0x44555241));
    raw_.execute("PRAGMA user_version = 1");
    raw_.execute("PRAGMA journal_mode = WAL");
    raw_.execute("UPDATE counters SET value = 4097");
    raw_.execute("INSERT INTO boots VALUES (1, 'long ago')");
    add_running();
    add_failed();
    raw_.execute(
        "INSERT INTO parked_messages (instance_id, message_id, visible_at, expires_at, item) VALUES "
        "('later', 'm', "
        "0, 9999999999999, '" +
        to_json(MessageBody{message::QueueMessage{"q", Payload::text("early")}}, "later") + "')");
  }
  RawConnection& raw() { return raw_; }

 private:
  void add_running() {
    const std::string at = std::to_string(day_one);
    raw_.execute(
        "INSERT INTO instances (key, instance_id, name, version, status, execution, last_event_id, "
        "engine_version, "
        "created_at, updated_at, start_digest, commit_token, has_key_values, custom_status_version, "
        "custom_status) "
        "VALUES (1, 'running', 'Hello', '1.0.0', 'Running', 3, 2, 1, " +
        at + ", " + at + " + 5000, 77, 42, 1, 2, 'halfway')");
    raw_.execute("INSERT INTO executions VALUES (1, 1, '1.0.0', 'ContinuedAsNew', 5, " + at +
                 " + 1000), "
                 "(1, 2, '1.0.0', 'ContinuedAsNew', 7, " +
                 at + " + 3000)");
    raw_.execute("INSERT INTO history VALUES (1, 3, 1, 2, '" +
                 encode_events(first_turn("running", 1).events) + "')");
    raw_.execute("INSERT INTO key_values VALUES (1, 'x', '1', 'json', 5, '0', 'json', 4)");
    raw_.execute("INSERT INTO received_messages VALUES (1, 'seen')");
    raw_.execute(
        "INSERT INTO orchestrator_queue (id, instance_key, visible_at, attempt, item) VALUES (1, 1, " + at +
        ", 0, '" + to_json(MessageBody{message::ExternalRaised{"go", Payload::json("1")}}, "running") + "')");
    add_work(2, "NULL, NULL, NULL", "NULL, NULL", 0);
    add_work(3, "9, 1, 'node-a'", "NULL, NULL", 1);
    add_work(4, "NULL, NULL, NULL", "'session', 'gpu'", 0);
  }
  void add_work(int activity, const std::string& lease, const std::string& session_and_tag, int attempt) {
    raw_.execute("INSERT INTO worker_queue VALUES (1, 3, " + std::to_string(activity) + ", " +
                 std::to_string(activity) + ", " + std::to_string(day_one) + ", " + std::to_string(attempt) +
                 ", " + lease + ", 'Greet', 'in', 'text', " + session_and_tag +
                 ", 60000, 30000, 10000, 'Hello', '1.0.0')");
  }
  void add_failed() {
    raw_.execute(
        "INSERT INTO instances (key, instance_id, name, version, status, execution, last_event_id, "
        "engine_version, "
        "created_at, updated_at, start_digest, output, output_encoding, parent_instance, parent_key, "
        "parent_execution, parent_event, failure_kind, failure_type, failure_message, failure_retryable, "
        "failure_details, failure_attempt, failure_timeout) VALUES (2, 'failed', 'Child', '2.0.0', 'Failed', "
        "1, 4, 1, "
        "10, 20, 78, 'half a result', 'text', 'running', 1, 3, 2, 'timeout', 'Slow', 'too slow', 1, '{}', 3, "
        "'heartbeat')");
  }

  RawConnection raw_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(AFileOfVersion1, IsBroughtToTheCurrentVersion) {
  const TempDir dir;
  {
    Version1File{dir.file("t.db")};
  }
  open_at(dir.file("t.db"));
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(raw.text("PRAGMA user_version"), std::to_string(detail::migrations().size()));
  EXPECT_EQ(raw.text("PRAGMA integrity_check"), "ok");

  // It now equals a new file.
  open_at(dir.file("new.db"));
  const std::string schema =
      "SELECT group_concat(type || ' ' || name || ' ' || coalesce(sql, ''), ';') FROM "
      "(SELECT * FROM sqlite_schema ORDER BY type, name)";
  EXPECT_EQ(raw.text(schema), RawConnection{dir.file("new.db")}.text(schema));
}

TEST(AFileOfVersion1, KeepsItsInstances) {
  const TempDir dir;
  {
    Version1File{dir.file("t.db")};
  }
  const auto provider = open_at(dir.file("t.db"));

  const auto running = provider->get_instance("running").value();
  ASSERT_TRUE(running.has_value());
  EXPECT_EQ(running->incarnation, Incarnation{1});
  EXPECT_EQ(running->status, Status::running);
  EXPECT_EQ(running->execution, ExecutionId{3});
  EXPECT_EQ(running->last_event_id, EventId{2});
  EXPECT_EQ(running->created_at, from_unix_ms(day_one));
  EXPECT_EQ(running->custom_status, "halfway");
  EXPECT_EQ(running->custom_status_version, 2u);
  EXPECT_EQ(provider->read_history("running", ExecutionId{3}, {}).value(), first_turn("running", 1).events);
  EXPECT_EQ(provider->get_key_values("running").value().at("x").value, Payload::json("1"));

  const auto failed = provider->get_instance("failed").value();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->output, Payload::text("half a result"));
  const Failure failure{.kind = FailureKind::timeout,
                        .type = "Slow",
                        .message = "too slow",
                        .retryable = true,
                        .details = "{}",
                        .attempt = 3,
                        .timeout = TimeoutKind::heartbeat};
  EXPECT_EQ(failed->failure, failure);
  EXPECT_EQ(failed->parent, (ParentLink{"running", Incarnation{1}, ExecutionId{3}, EventId{2}}));
  EXPECT_EQ(provider->get_instance_tree("running").value().size(), 2u);
}

TEST(AFileOfVersion1, LearnsWhenItsExecutionsBegan) {
  const TempDir dir;
  {
    Version1File{dir.file("t.db")};
  }
  const auto provider = open_at(dir.file("t.db"));
  const auto executions = provider->list_executions("running").value();
  ASSERT_EQ(executions.size(), 3u);
  EXPECT_EQ(executions[0].started_at, from_unix_ms(day_one));
  EXPECT_EQ(executions[0].ended_at, from_unix_ms(day_one + 1000));
  EXPECT_EQ(executions[1].started_at, from_unix_ms(day_one + 1000));
  EXPECT_EQ(executions[2].started_at, from_unix_ms(day_one + 3000));
  EXPECT_EQ(executions[2].ended_at, std::nullopt);
}

TEST(AFileOfVersion1, KeepsItsMessagesAndItsWork) {
  const TempDir dir;
  {
    Version1File{dir.file("t.db")};
  }
  ManualClock clock;
  const auto provider = open_at(dir.file("t.db"), &clock);

  const auto turn = provider->fetch_turns(fetch_turns()).value().items.at(0);
  EXPECT_EQ(turn.instance, InstanceId{"running"});
  ASSERT_EQ(turn.messages.size(), 1u);
  EXPECT_EQ(turn.key_values.at("x").value, Payload::json("0"));
  const OutboundMessage repeat{
      .target = "running", .body = message::ExternalRaised{"go", Payload::json("1")}, .message_id = "seen"};
  EXPECT_EQ(provider->enqueue_messages({&repeat, 1}).value().at(0), EnqueueOutcome::duplicate);
  start(*provider, "later");
  EXPECT_EQ(provider->fetch_turns(fetch_turns()).value().items.at(0).messages.size(), 2u);

  ActivityFetch request = fetch_work();
  request.tags = TagFilter::any();
  request.sessions = SessionClaim{.owner = "owner", .lease = 30s};
  const auto fresh = provider->fetch_activities(request).value().items;
  ASSERT_EQ(fresh.size(), 2u);
  EXPECT_EQ(fresh[0].request.key.activity, EventId{2});
  EXPECT_EQ(fresh[0].request.options.schedule_to_start, 60s);
  EXPECT_EQ(fresh[1].request.tag, "gpu");
  EXPECT_EQ(fresh[1].request.session_id, "session");
  // The lease of an earlier boot has ended.
  const auto again = provider->fetch_activities(request).value().items;
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].request.key.activity, EventId{3});
  EXPECT_EQ(again[0].attempt, 2u);
  EXPECT_GT(again[0].fence, 1u);
}

TEST(AFileOfVersion1, HasTheLimitsOfItsActivitiesEnforcedFromNowOn) {
  const TempDir dir;
  {
    Version1File{dir.file("t.db")};
  }
  ManualClock clock;
  const auto provider = open_at(dir.file("t.db"), &clock);
  clock.advance(60s);
  const SweepResult swept = provider->sweep(10).value();
  // The activity that had begun waits for its next attempt.
  EXPECT_EQ(swept.overdue, 2u);
  EXPECT_EQ(provider->fetch_activities(fetch_work()).value().items.size(), 1u);
}

TEST(AFileOfVersion1, MayBeOpenedByManyAtOnce) {
  const TempDir dir;
  {
    Version1File{dir.file("t.db")};
  }
  std::atomic<int> opened = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        const auto provider = open_provider({.path = dir.file("t.db")});
        if (provider && (*provider)->get_instance("running").value()) ++opened;
      });
    }
  }
  EXPECT_EQ(opened, 6);
}

TEST(AFileOfVersion1, StaysUnchangedWhenItsMigrationFails) {
  const TempDir dir;
  {
    Version1File file{dir.file("t.db")};
    file.raw().execute("CREATE TABLE sessions (somebody, elses)");
  }
  EXPECT_FALSE(open_provider({.path = dir.file("t.db")}).has_value());
  RawConnection raw{dir.file("t.db")};
  EXPECT_EQ(raw.text("PRAGMA user_version"), "1");
  EXPECT_EQ(raw.text("SELECT group_concat(instance_id) FROM instances"), "failed,running");
  EXPECT_EQ(raw.text("SELECT count(*) FROM sqlite_schema WHERE name = 'worker_queue_waiting'"), "1");

  raw.execute("DROP TABLE sessions");
  EXPECT_TRUE(open_provider({.path = dir.file("t.db")}).has_value());
}

TEST(AFileOfANewerVersion, IsRefusedAndNotTouched) {
  const TempDir dir;
  {
    Version1File file{dir.file("t.db")};
    file.raw().execute("PRAGMA user_version = 999");
    file.raw().execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const std::string before = bytes_of(dir.file("t.db"));
  const auto refused = open_provider({.path = dir.file("t.db")});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::wrong_version);
  EXPECT_EQ(bytes_of(dir.file("t.db")), before);
}

}  // namespace

}  // namespace duramen::sqlite::test
