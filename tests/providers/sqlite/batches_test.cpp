// Entries of one batch do not affect each other.
#include "providers/sqlite/fixture.hpp"
#include "providers/sqlite/side_lock.hpp"

#include <fcntl.h>
#include <functional>
#include <future>
#include <stop_token>
#include <thread>
#include <unistd.h>

namespace duramen::sqlite::test {

namespace {

/// True if a process holds a lock on that byte of the file.
bool is_locked(const std::string& path, off_t byte) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_GE(file, 0);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  const bool asked = ::fcntl(file, F_OFD_GETLK, &lock) == 0;
  ::close(file);
  return asked && lock.l_type != F_UNLCK;
}

/// Runs a function when the nth statement from now on begins, on any connection opened during its lifetime.
class AtStatement {
 public:
  AtStatement() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(&AtStatement::watch)); }
  ~AtStatement() {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&AtStatement::watch));
    what_ = {};
  }
  AtStatement(const AtStatement&) = delete;
  AtStatement& operator=(const AtStatement&) = delete;

  void run(int nth, std::function<void()> what) {
    left_ = nth;
    what_ = std::move(what);
  }

 private:
  static int watch(sqlite3* connection, char**, const void*) {
    return sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, &AtStatement::begins, nullptr);
  }
  static int begins(unsigned, void*, void*, void*) {
    if (--left_ == 0 && what_) what_();
    return 0;
  }

  inline static int left_ = 0;
  inline static std::function<void()> what_;
};

TEST(Batches, PreemptionLeavesOutTurnsThatHaveNotBegun) {
  constexpr std::uint64_t turns = 40;
  std::size_t partly = 0;
  for (int nth = 1; nth <= 400; nth += 13) {
    SCOPED_TRACE(nth);
    AtStatement at;
    const auto provider = open_at(":memory:");
    std::vector<TurnCommit> batch;
    for (std::uint64_t i = 0; i < turns; ++i) {
      batch.push_back(first_turn("i-" + std::to_string(i), i + 1));
      batch.back().messages.push_back(
          {.target = batch.back().instance, .body = message::QueueMessage{"q", Payload::text("x")}});
    }
    std::stop_source preempt;
    at.run(nth, [&] { preempt.request_stop(); });
    const auto results = provider->commit_turns(batch, preempt.get_token()).value();
    at.run(0, {});
    if (!results.empty() && results.size() < turns) ++partly;
    if (!preempt.stop_requested()) ASSERT_EQ(results.size(), turns);
    for (std::size_t i = 0; i < turns; ++i) {
      const bool stored = i < results.size();
      if (stored) EXPECT_EQ(results[i].outcome, CommitOutcome::committed);
      const auto& instance = batch[i].instance;
      ASSERT_EQ(provider->get_instance(instance).value().has_value(), stored) << i;
      // Its message was sent if and only if the turn was stored.
      EXPECT_EQ(provider->list_pending_work(instance).value().messages.size(), stored ? 1u : 0u) << i;
    }
    // The others can be committed again.
    const std::vector<TurnCommit> rest(batch.begin() + static_cast<std::ptrdiff_t>(results.size()),
                                       batch.end());
    for (const CommitResult& result : provider->commit_turns(rest).value())
      EXPECT_EQ(result.outcome, CommitOutcome::committed);
  }
  EXPECT_GT(partly, 5u);
}

TEST(Batches, AnEntryThatCannotBeStoredDoesNotFailTheOthers) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  std::vector<TurnCommit> batch{first_turn("a", 1), first_turn("b", 2), first_turn("c", 3)};
  batch[1].new_activities.push_back(batch[1].new_activities[0]);  // the same row twice
  const auto results = provider->commit_turns(batch).value();
  EXPECT_EQ(results[0].outcome, CommitOutcome::committed);
  EXPECT_EQ(results[1].outcome, CommitOutcome::invalid);
  EXPECT_NE(results[1].message.find("UNIQUE"), std::string::npos) << results[1].message;
  EXPECT_EQ(results[2].outcome, CommitOutcome::committed);
  EXPECT_TRUE(provider->get_instance("a").value().has_value());
  EXPECT_FALSE(provider->get_instance("b").value().has_value());
  EXPECT_TRUE(provider->get_instance("c").value().has_value());
  EXPECT_NE(results[0].incarnation, results[2].incarnation);
  EXPECT_EQ(counters(*provider).synced_commits, 1u);
}

TEST(Batches, TwoTurnsOfOneInstanceActAsIfSentOneAfterTheOther) {
  const auto provider = open_at(":memory:");
  const TurnCommit first = first_turn("a", 1, LeaseToken{9});
  const auto incarnation = commit_one(*provider, first).incarnation;
  const std::vector<TurnCommit> batch{last_turn(first, incarnation, 2, LeaseToken{9}),
                                      last_turn(first, incarnation, 2, LeaseToken{9}),
                                      last_turn(first, incarnation, 3, LeaseToken{9})};
  const auto results = provider->commit_turns(batch).value();
  EXPECT_EQ(results[0].outcome, CommitOutcome::committed);
  EXPECT_EQ(results[1].outcome, CommitOutcome::already_committed);
  EXPECT_EQ(results[2].outcome, CommitOutcome::condition_failed);
  EXPECT_EQ(results[2].acks.at(0).outcome, AckOutcome::lease_lost);
}

TEST(Batches, AMessageOfOneTurnDoesNotBlockAnother) {
  const auto provider = open_at(":memory:");
  const TurnCommit first = first_turn("b", 1, LeaseToken{9});
  const auto incarnation = commit_one(*provider, first).incarnation;
  TurnCommit sender = first_turn("a", 2);
  sender.messages.push_back({.target = "b", .body = message::QueueMessage{"q", Payload::text("x")}});
  TurnCommit receiver = last_turn(first, incarnation, 3, LeaseToken{9});
  receiver.events.pop_back();
  receiver.change = {};
  receiver.cancel_rest.reset();
  const std::vector<TurnCommit> batch{sender, receiver};
  const auto results = provider->commit_turns(batch).value();
  EXPECT_EQ(results[0].outcome, CommitOutcome::committed);
  EXPECT_EQ(results[1].outcome, CommitOutcome::committed);
  EXPECT_EQ(provider->fetch_turns(fetch_turns()).value().items.at(0).instance, InstanceId{"b"});
}

TEST(Batches, ReportAWaitForAnotherStore) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  start(*provider, "alone");
  EXPECT_FALSE(provider->is_contended());

  detail::SideLock another_store(dir.file("t.db-lock"));
  for (int i = 0; !provider->is_contended() && i < 100; ++i) {
    another_store.lock();
    auto started = std::async(std::launch::async, [&] { start(*provider, "waits-" + std::to_string(i)); });
    // After the turnstile it requests the write lock; that request may not have been made yet.
    const auto ended = [&] { return started.wait_for(0s) == std::future_status::ready; };
    while (!ended() && !is_locked(dir.file("t.db-lock"), 2)) std::this_thread::yield();
    another_store.unlock();
    started.get();
  }
  EXPECT_TRUE(provider->is_contended());
  start(*provider, "alone-again");
  EXPECT_FALSE(provider->is_contended());
}

TEST(Batches, ManyCancelledActivitiesGoInOneStep) {
  const auto provider = open_at(":memory:");
  TurnCommit first = first_turn("a", 1);
  const NewActivity one = first.new_activities.at(0);
  first.new_activities.clear();
  for (std::uint64_t i = 0; i < 100; ++i) {
    NewActivity item = one;
    item.request.key.activity = EventId{10 + i};
    if (i % 2 == 0) item.born_leased = LeaseToken{1000 + i};
    first.new_activities.push_back(item);
  }
  TurnCommit second;
  second.token = CommitToken{2};
  second.node = "node-a";
  second.instance = "a";
  second.incarnation = commit_one(*provider, first).incarnation;
  second.basis = ConditionalLease{EventId{2}};
  second.execution = ExecutionId{1};
  for (std::uint64_t i = 0; i < 90; ++i) {
    second.cancelled_activities.push_back(
        {EventId{10 + i}, i < 10 ? CancelReason::timeout : CancelReason::select_loser});
  }
  const auto result = commit_one(*provider, second);
  ASSERT_EQ(result.outcome, CommitOutcome::committed);
  EXPECT_EQ(result.stolen.size(), 45u);
  for (const StolenLease& stolen : result.stolen) {
    EXPECT_EQ(stolen.owner, NodeId{"node-a"});
    EXPECT_EQ(stolen.reason,
              stolen.lease.key.activity < EventId{20} ? CancelReason::timeout : CancelReason::select_loser);
  }
  EXPECT_EQ(provider->fetch_activities(fetch_work()).value().items.size(), 5u);
}

TEST(Messages, WithoutAnInstanceForADayAreDroppedAndCounted) {
  ManualClock clock;
  const auto provider = open_at(":memory:", &clock);
  const auto send = [&](const char* target) {
    const OutboundMessage message{.target = target, .body = message::QueueMessage{"q", Payload::text("x")}};
    EXPECT_EQ(provider->enqueue_messages({&message, 1}).value().at(0), EnqueueOutcome::parked);
  };
  send("a");
  clock.advance(24h);
  send("b");
  EXPECT_EQ(counters(*provider).expired_messages, 1u);
  start(*provider, "a");
  start(*provider, "b");
  const auto batch = provider->fetch_turns(fetch_turns()).value();
  ASSERT_EQ(batch.items.size(), 2u);
  EXPECT_EQ(batch.items[0].messages.size(), 1u);
  EXPECT_EQ(batch.items[1].messages.size(), 2u);
}

}  // namespace

}  // namespace duramen::sqlite::test
