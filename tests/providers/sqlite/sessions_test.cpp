// The cost of a fetch when most waiting rows are for other nodes; sessions and limits after a boot.
#include "providers/sqlite/sessions.hpp"

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/fixture.hpp"
#include "providers/sqlite/schema.hpp"
#include "providers/sqlite/work_selection.hpp"

namespace duramen::sqlite::test {

namespace {

/// The tables of a store in memory, filled with waiting rows, and a count of SQLite's instructions.
class Queue {
 public:
  Queue() : connection_(":memory:", detail::Connection::Mode::read_write) {
    detail::migrate_schema(connection_, {.path = ":memory:"});
    sessions_ = std::make_unique<detail::Sessions>(connection_);
    selection_ = std::make_unique<detail::WorkSelection>(connection_, *sessions_);
  }

  /// `session`, `tag` and `name` are SQL, in which x is the number of the row.
  void fill(int count, const std::string& session, const std::string& tag, const std::string& name) {
    const std::string first = std::to_string(next_);
    const std::string last = std::to_string(next_ + count - 1);
    connection_.execute(
        "WITH RECURSIVE n (x) AS (VALUES (" + first + ") UNION ALL SELECT x + 1 FROM n WHERE x < " + last +
        ") INSERT INTO duramen_worker_queue (instance_key, execution, activity, position, visible_at, "
        "attempt, name, "
        "input, "
        "encoding, session_id, tag, orchestration_name, orchestration_version) SELECT 1, 1, x, x, 0, 0, " +
        name + ", '', 'text', " + session + ", " + tag + ", 'o', '1' FROM n");
    next_ += count;
  }
  void hold(const std::string& session, const std::string& owner) {
    sessions_->claim(time_, session, {.owner = owner, .lease = 30s});
  }

  struct Answer {
    std::vector<std::uint64_t> activities;
    std::int64_t steps = 0;  ///< instructions of SQLite's machine
    std::optional<TimePoint> next_due;
  };
  Answer select(const ActivityFetch& request) {
    Answer answer;
    const auto count = [](void* steps) {
      ++*static_cast<std::int64_t*>(steps);
      return 0;
    };
    sqlite3_progress_handler(connection_.handle(), 1, count, &answer.steps);
    const auto selected = selection_->select(time_, request, request.limit);
    sqlite3_progress_handler(connection_.handle(), 0, nullptr, nullptr);
    for (const auto& row : selected.rows) answer.activities.push_back(row.key.activity.value);
    answer.next_due = selected.next_due;
    return answer;
  }

 private:
  detail::Connection connection_;
  std::unique_ptr<detail::Sessions> sessions_;
  std::unique_ptr<detail::WorkSelection> selection_;
  const detail::TransactionTime time_{.now = 1'000'000, .lease_now = (std::int64_t{1} << 48) + 1'000};
  int next_ = 1;
};

using Activities = std::vector<std::uint64_t>;
// Far below one instruction for each of a hundred thousand rows.
constexpr std::int64_t few = 10'000;
constexpr int many = 100'000;

TEST(AFetch, DoesNotWalkThroughAHundredThousandRowsOfAnotherTag) {
  Queue queue;
  queue.fill(many, "NULL", "'gpu'", "'Render'");
  queue.fill(2, "NULL", "NULL", "'Greet'");
  queue.fill(1, "NULL", "'cpu'", "'Greet'");
  const auto plain = queue.select(fetch_work());
  EXPECT_EQ(plain.activities, (Activities{many + 1, many + 2}));
  EXPECT_LT(plain.steps, few);
  ActivityFetch tagged = fetch_work();
  tagged.tags = TagFilter::default_and({"cpu"});
  const auto both = queue.select(tagged);
  EXPECT_EQ(both.activities, (Activities{many + 1, many + 2, many + 3}));
  EXPECT_LT(both.steps, few);
  tagged.tags = TagFilter::any();
  EXPECT_EQ(queue.select(tagged).activities.size(), tagged.limit);
}

TEST(AFetch, DoesNotWalkThroughAHundredThousandRowsOfAnotherName) {
  Queue queue;
  queue.fill(many, "NULL", "NULL", "'Unknown'");
  queue.fill(1, "NULL", "NULL", "'Greet'");
  ActivityFetch request = fetch_work();
  request.names = {"Greet"};
  const auto answer = queue.select(request);
  EXPECT_EQ(answer.activities, (Activities{many + 1}));
  EXPECT_LT(answer.steps, few);
}

TEST(AFetch, DoesNotWalkThroughAHundredThousandRowsOfAnotherNodesSession) {
  Queue queue;
  queue.fill(many, "'theirs'", "NULL", "'Greet'");
  queue.fill(3, "'ours'", "NULL", "'Greet'");
  queue.fill(1, "'nobodys'", "NULL", "'Greet'");
  queue.hold("theirs", "them");
  queue.hold("ours", "us");
  ActivityFetch request = fetch_work();
  const auto without = queue.select(request);
  EXPECT_TRUE(without.activities.empty());
  EXPECT_LT(without.steps, few);
  request.sessions = SessionClaim{.owner = "us", .lease = 30s};
  const auto with = queue.select(request);
  EXPECT_EQ(with.activities, (Activities{many + 1, many + 2, many + 3, many + 4}));
  EXPECT_LT(with.steps, few);
  EXPECT_EQ(with.next_due, from_unix_ms(1'000'000) + 30s);  // the other lease may end
}

TEST(AFetch, TakesTheFirstOfAHundredThousandSessionsWithoutReadingAll) {
  Queue queue;
  queue.fill(many, "'session ' || x", "NULL", "'Greet'");
  ActivityFetch request = fetch_work();
  request.sessions = SessionClaim{.owner = "us", .lease = 30s, .max_active = 3};
  const auto answer = queue.select(request);
  EXPECT_EQ(answer.activities, (Activities{1, 2, 3}));
}

TEST(AFetch, KeepsTheOrderAndTheLimitOfSessionsForAnyBacklog) {
  // With 1,000, the first rows are more than a scan in order of time reads.
  for (const int theirs : {10, 1'000}) {
    Queue queue;
    queue.fill(theirs, "'theirs'", "NULL", "'Greet'");
    queue.fill(1, "'z'", "NULL", "'Greet'");
    queue.fill(1, "'a'", "'gpu'", "'Greet'");
    queue.fill(1, "'a'", "NULL", "'Greet'");
    queue.fill(1, "'b'", "NULL", "'Greet'");
    queue.fill(1, "'z'", "NULL", "'Greet'");
    queue.hold("theirs", "them");
    const auto row = [&](int n) { return static_cast<std::uint64_t>(theirs + n); };
    ActivityFetch request = fetch_work();
    request.sessions = SessionClaim{.owner = "us", .lease = 30s, .max_active = 2};
    EXPECT_EQ(queue.select(request).activities, (Activities{row(1), row(3), row(5)})) << theirs;
    request.sessions->active = {"b", "else"};
    EXPECT_EQ(queue.select(request).activities, (Activities{row(4)})) << theirs;
    request.sessions->active = {};
    request.tags = TagFilter::only({"gpu"});
    EXPECT_EQ(queue.select(request).activities, (Activities{row(2)})) << theirs;
    request.limit = 1;
    request.tags = TagFilter::any();
    EXPECT_EQ(queue.select(request).activities, (Activities{row(1)})) << theirs;
  }
}

/// An instance with one activity of a session, or with limits.
TurnCommit with_activity(const std::string& id, std::uint64_t token,
                         const std::optional<std::string>& session, ActivityOptions options = {}) {
  TurnCommit commit = first_turn(id, token);
  commit.new_activities.at(0).request.session_id = session;
  commit.new_activities.at(0).request.options = options;
  return commit;
}

ActivityFetch fetch_as(const std::string& owner) {
  ActivityFetch request = fetch_work("node-" + owner);
  request.sessions = SessionClaim{.owner = owner, .lease = 10min};
  return request;
}

TEST(Sessions, EndWithTheBootOfTheMachine) {
  const TempDir dir;
  // Stands still: only the boot can end a lease.
  const ManualClock clock;
  {
    const auto provider = open_at(dir.file("t.db"), &clock);
    commit_one(*provider, with_activity("a", 1, "s"));
    commit_one(*provider, with_activity("b", 2, "s"));
    ActivityFetch request = fetch_as("x");
    request.limit = 1;
    ASSERT_EQ(provider->fetch_activities(request).value().items.size(), 1u);
    EXPECT_TRUE(provider->fetch_activities(fetch_as("y")).value().items.empty());
  }
  RawConnection{dir.file("t.db")}.execute("UPDATE duramen_boots SET boot_id = 'the boot before this one'");
  const auto provider = open_at(dir.file("t.db"), &clock);
  EXPECT_EQ(provider->renew_sessions(std::array{std::string("x")}, 30s, 1h).value(), 0u);
  EXPECT_EQ(provider->get_queue_depths().value().sessions, 0u);
  // The activity that was leased is handed out alone: it may have caused the boot.
  EXPECT_EQ(provider->fetch_activities(fetch_as("y")).value().items.at(0).request.instance, InstanceId{"a"});
  EXPECT_EQ(provider->fetch_activities(fetch_as("y")).value().items.at(0).request.instance, InstanceId{"b"});
}

TEST(Sessions, AreSharedByEveryOpenStore) {
  const TempDir dir;
  const auto here = open_at(dir.file("t.db"));
  const auto there = open_at(dir.file("t.db"));
  commit_one(*here, with_activity("a", 1, "s"));
  ASSERT_EQ(here->fetch_activities(fetch_as("x")).value().items.size(), 1u);
  commit_one(*here, with_activity("b", 2, "s"));
  EXPECT_TRUE(there->fetch_activities(fetch_as("y")).value().items.empty());
  EXPECT_EQ(here->release_sessions("x").value(), 1u);
  EXPECT_EQ(there->fetch_activities(fetch_as("y")).value().items.size(), 1u);
}

TEST(Limits, OfAnAttemptThatTheMachineDidNotSurviveAreForgotten) {
  const TempDir dir;
  const ManualClock clock;
  {
    const auto provider = open_at(dir.file("t.db"), &clock);
    commit_one(*provider, with_activity("a", 1, std::nullopt, {.start_to_close = 5s, .heartbeat = 1s}));
    ASSERT_EQ(provider->fetch_activities(fetch_work()).value().items.size(), 1u);
  }
  RawConnection{dir.file("t.db")}.execute("UPDATE duramen_boots SET boot_id = 'the boot before this one'");
  const auto provider = open_at(dir.file("t.db"), &clock);
  EXPECT_EQ(provider->sweep(10).value().overdue, 0u);
  const auto again = provider->fetch_activities(fetch_work()).value().items;
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].attempt, 2u);
}

TEST(Limits, AreNotSweptWhenALeaseEndedFirst) {
  ManualClock clock;
  const auto provider = open_at(":memory:", &clock);
  commit_one(*provider, with_activity("a", 1, std::nullopt, {.start_to_close = 40s}));
  ASSERT_EQ(provider->fetch_activities(fetch_work("node-a", 30s)).value().items.size(), 1u);
  clock.advance(80s);  // the limit counts from the end of the lease
  EXPECT_EQ(provider->sweep(10).value().overdue, 0u);
  EXPECT_EQ(provider->sweep(10).value().next_due, std::nullopt);
  EXPECT_EQ(provider->fetch_activities(fetch_work("node-b")).value().items.at(0).attempt, 2u);
}

TEST(Limits, AreHintedAtBeforeTheyPassAndNotAfter) {
  ManualClock clock;
  const auto provider = open_at(":memory:", &clock);
  commit_one(*provider, with_activity("a", 1, std::nullopt, {.schedule_to_start = 40s}));
  ActivityFetch nothing = fetch_work();
  nothing.names = {"Another"};
  EXPECT_EQ(provider->fetch_activities(nothing).value().next_due, clock.now() + 40s);
  EXPECT_EQ(provider->sweep(10).value().next_due, clock.now() + 40s);
  clock.advance(40s);
  EXPECT_EQ(provider->fetch_activities(nothing).value().next_due, std::nullopt);
  EXPECT_EQ(provider->sweep(10).value().overdue, 1u);
}

TEST(Limits, OfTheLongestDurationNeverPass) {
  ManualClock clock;
  const auto provider = open_at(":memory:", &clock);
  const ActivityOptions endless{Duration::max(), Duration::max(), Duration::max()};
  commit_one(*provider, with_activity("a", 1, std::nullopt, endless));
  EXPECT_EQ(provider->sweep(10).value().overdue, 0u);
  const auto item = provider->fetch_activities(fetch_work("node-a", Duration::max())).value().items.at(0);
  EXPECT_EQ(item.request.options, endless);
  const ActivityRenewal alive{item.lease, Heartbeat{}};
  EXPECT_EQ(provider->renew_activities({&alive, 1}, Duration::max()).value().at(0).outcome,
            RenewOutcome::renewed);
  clock.advance(24h * 365);
  EXPECT_EQ(provider->sweep(10).value().overdue, 0u);
  const ActivityRelease back{item.lease, Duration::max(), false};
  ASSERT_TRUE(provider->release_activities({&back, 1}).has_value());
  EXPECT_EQ(provider->sweep(10).value().overdue, 0u);
}

TEST(Fences, GrowEvenIfTheMachineForgotALease) {
  const TempDir dir;
  const ManualClock clock;
  std::uint64_t before = 0;
  {
    const auto provider = open_at(dir.file("t.db"), &clock);
    commit_one(*provider, first_turn("a", 1));
    before = provider->fetch_activities(fetch_work()).value().items.at(0).fence;
  }
  // A power loss removes the lease.
  RawConnection raw{dir.file("t.db")};
  raw.execute(
      "UPDATE duramen_worker_queue SET lease_token = NULL, lease_until = NULL, lease_owner = NULL, attempt = "
      "0, "
      "leases = 0");
  raw.execute("UPDATE duramen_boots SET boot_id = 'the boot before this one'");
  const auto provider = open_at(dir.file("t.db"), &clock);
  EXPECT_GT(provider->fetch_activities(fetch_work()).value().items.at(0).fence, before);
}

TEST(Sweeping, AnIdleStoreWritesNothing) {
  const auto provider = open_at(":memory:");
  const auto before = counters(*provider).row_writes;
  ASSERT_TRUE(provider->sweep(100).has_value());
  EXPECT_EQ(counters(*provider).row_writes, before);
}

}  // namespace

}  // namespace duramen::sqlite::test
