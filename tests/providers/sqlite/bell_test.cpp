// Stores that share a file are notified of each other's commits.
#include "providers/sqlite/fixture.hpp"

#include <condition_variable>
#include <thread>

namespace duramen::sqlite::test {

namespace {

constexpr auto generous = 20s;

/// Counts notifications, and lets a test wait for them.
class Recorder final : public ProviderListener {
 public:
  void turns_ready() override { note(orchestrator_work); }
  void activities_ready() override { note(worker_work); }
  void leases_stolen(std::span<const StolenLease> stolen) override {
    const std::lock_guard guard{mutex_};
    named_leases_.insert(named_leases_.end(), stolen.begin(), stolen.end());
    ++stolen_;
    changed_.notify_all();
  }
  void stolen_leases_pending() override { note(stolen_); }
  void instances_changed(std::span<const ChangedInstance> instances) override {
    const std::lock_guard guard{mutex_};
    for (const duramen::ChangedInstance& changed : instances) named_instances_.push_back(changed.instance);
    ++instances_;
    changed_.notify_all();
  }
  void unknown_instances_changed() override { note(instances_); }

  int orchestrator_work = 0;
  int worker_work = 0;

  template <class Condition>
  [[nodiscard]] bool wait_until(Condition condition) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, generous, [&] { return condition(*this); });
  }
  int stolen_ = 0;
  int instances_ = 0;
  std::vector<StolenLease> named_leases_;
  std::vector<InstanceId> named_instances_;

 private:
  void note(int& count) {
    const std::lock_guard guard{mutex_};
    ++count;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
};

TEST(Listeners, OfTheSameStoreAreNotifiedByTheCommittingThreadBeforeTheCallReturns) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  Recorder recorder;
  const auto subscription = provider->subscribe("node-a", recorder);
  start(*provider, "a");
  EXPECT_EQ(recorder.orchestrator_work, 1);
  EXPECT_EQ(recorder.named_instances_, std::vector<InstanceId>{"a"});
  commit_one(*provider, first_turn("b", 1));
  EXPECT_EQ(recorder.worker_work, 1);
}

TEST(Listeners, ReceiveNothingAfterTheirSubscriptionEnds) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  Recorder recorder;
  auto subscription = provider->subscribe("node-a", recorder);
  subscription.reset();
  start(*provider, "a");
  EXPECT_EQ(recorder.orchestrator_work, 0);
}

TEST(Listeners, LearnOfATimerThatIsDueBeforeTheirNextPoll) {
  ManualClock clock;
  const auto provider = open_at(":memory:", &clock);
  start(*provider, "a");
  (void)provider->fetch_turns(fetch_turns()).value();
  Recorder recorder;
  const auto subscription = provider->subscribe("node-a", recorder);
  std::uint64_t event = 1;
  const auto send = [&](Duration delay) {
    const OutboundMessage message{
        .target = "a", .body = message::TimerFired{ExecutionId{1}, EventId{++event}, clock.now() + delay}};
    EXPECT_EQ(provider->enqueue_messages({&message, 1}).value().at(0), EnqueueOutcome::enqueued);
  };
  send(10s);
  EXPECT_EQ(recorder.orchestrator_work, 1);
  EXPECT_EQ(provider->fetch_turns(fetch_turns()).value().next_due, clock.now() + 10s);
  send(20s);
  EXPECT_EQ(recorder.orchestrator_work, 1);
  send(5s);
  EXPECT_EQ(recorder.orchestrator_work, 2);
}

TEST(Bell, WakesASecondStoreOnTheSameFileInTheSameProcess) {
  const TempDir dir;
  const auto ours = open_at(dir.file("t.db"));
  const auto theirs = open_at(dir.file("t.db"));
  Recorder recorder;
  const auto subscription = theirs->subscribe("node-b", recorder);
  start(*ours, "a");
  ASSERT_TRUE(
      recorder.wait_until([](const Recorder& r) { return r.orchestrator_work > 0 && r.instances_ > 0; }));
  EXPECT_TRUE(recorder.named_instances_.empty());
  const auto batch = theirs->fetch_turns(fetch_turns("node-b")).value();
  EXPECT_EQ(batch.items.size(), 1u);
}

TEST(Bell, NotifiesANodeOfAnotherStoreOfItsStolenLease) {
  const TempDir dir;
  const auto ours = open_at(dir.file("t.db"));
  const auto theirs = open_at(dir.file("t.db"));
  const TurnCommit first = first_turn("a", 1);
  const auto incarnation = commit_one(*ours, first).incarnation;
  const auto work = theirs->fetch_activities(fetch_work("node-b")).value().items.at(0);
  Recorder recorder;
  const auto subscription = theirs->subscribe("node-b", recorder);

  TurnCommit last = last_turn(first, incarnation, 2, work.lease.token);
  last.activity_acks.clear();
  const auto result = commit_one(*ours, last);
  ASSERT_EQ(result.stolen.size(), 1u);
  EXPECT_EQ(result.stolen[0].owner, NodeId{"node-b"});
  ASSERT_TRUE(recorder.wait_until([](const Recorder& r) { return r.stolen_ > 0; }));
  const auto stolen = theirs->read_stolen_leases("node-b").value();
  ASSERT_EQ(stolen.size(), 1u);
  EXPECT_EQ(stolen[0].lease, work.lease);
  EXPECT_EQ(stolen[0].reason, CancelReason::orchestration_terminal_completed);
}

TEST(Bell, WakesAStoreInAnotherProcess) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  Recorder recorder;
  const auto subscription = provider->subscribe("node-a", recorder);
  ChildProcess other{{"--second-process", "write", dir.file("t.db"), "a-", "1"}};
  EXPECT_TRUE(recorder.wait_until([](const Recorder& r) { return r.instances_ > 0; }));
  EXPECT_EQ(other.wait(), 0);
}

TEST(Bell, ACommitWithoutABellIsNoticed) {
  const TempDir dir;
  const auto provider = open_at(dir.file("t.db"));
  Recorder recorder;
  const auto subscription = provider->subscribe("node-a", recorder);
  RawConnection{dir.file("t.db")}.execute("UPDATE duramen_counters SET value = value + 1");
  EXPECT_TRUE(
      recorder.wait_until([](const Recorder& r) { return r.orchestrator_work > 0 && r.instances_ > 0; }));
}

TEST(Bell, SubscriptionsComeAndGoWhileOthersCommit) {
  const TempDir dir;
  const auto ours = open_at(dir.file("t.db"));
  const auto theirs = open_at(dir.file("t.db"));
  std::jthread writer{[&](const std::stop_token& stop) {
    for (int i = 0; i < 200 && !stop.stop_requested(); ++i) start(*ours, "i-" + std::to_string(i));
  }};
  for (int i = 0; i < 100; ++i) {
    auto recorder = std::make_unique<Recorder>();
    auto subscription = theirs->subscribe("node-b", *recorder);
    auto direct = ours->subscribe("node-a", *recorder);
    std::this_thread::yield();
    direct.reset();
    subscription.reset();
    recorder.reset();  // a late callback would touch freed memory
  }
}

}  // namespace

}  // namespace duramen::sqlite::test
