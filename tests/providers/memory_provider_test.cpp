// Promises of the memory provider alone: determinism, its counters, and how long it keeps messages.
#include <duramen/testing/memory_provider.hpp>

#include <duramen/forwarding_provider.hpp>
#include <duramen/testing/manual_clock.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace duramen::testing {
namespace {
using namespace std::chrono_literals;

class MemoryProviderTest : public ::testing::Test {
 protected:
  void start(const std::string& id) {
    const StartRequest request{.instance = id, .start = {.orchestration = "Orch"}};
    ASSERT_EQ(provider.start_instances({&request, 1}).value().at(0), StartOutcome::created);
  }
  EnqueueOutcome send(const std::string& id) {
    const OutboundMessage message{.target = id, .body = message::ExternalRaised{"x", {}}};
    return provider.enqueue_messages({&message, 1}).value().at(0);
  }
  LeasedInstance fetch() { return provider.fetch_turns({.node = "n", .lease = 30s}).value().items.at(0); }
  TurnCommit turn(const LeasedInstance& item) {
    return {.token = CommitToken{++last_token},
            .node = "n",
            .instance = item.instance,
            .incarnation = item.incarnation,
            .basis = HeldLease::all_of(item),
            .execution = item.execution};
  }
  CommitOutcome commit(const TurnCommit& commit) {
    return provider.commit_turns({&commit, 1}).value().at(0).outcome;
  }
  static Event event(std::uint64_t id) { return {EventId{id}, {}, {}, event::ExternalSubscribed{"x"}}; }

  ManualClock clock;
  MemoryProvider provider{clock, {.parked_for = 1min, .tombstone_margin = 10s}};
  std::uint64_t last_token = 0;
};

TEST_F(MemoryProviderTest, AFinishedInstanceLeavesNothingButItself) {
  start("a");
  const LeasedInstance item = fetch();
  TurnCommit first = turn(item);
  first.events = {event(1), event(2), event(3)};
  for (std::uint64_t id : {2, 3}) {
    first.new_activities.push_back(
        {.request = {
             .instance = "a", .key = {item.incarnation, item.execution, EventId{id}}, .name = "Act"}});
  }
  first.messages = {
      {"a", message::TimerFired{item.execution, EventId{3}, clock.now() + 1h}, clock.now() + 1h}};
  ASSERT_EQ(commit(first), CommitOutcome::committed);
  ASSERT_EQ(provider.fetch_activities({.node = "m", .limit = 1, .lease = 30s}).value().items.size(), 1u);
  send("a");
  EXPECT_EQ(provider.snapshot().worker_rows, 2u);
  EXPECT_EQ(provider.snapshot().queued_messages, 2u);

  TurnCommit last = turn(fetch());
  last.events = {event(4)};
  last.change.status = Status::completed;
  last.cancel_rest = CancelReason::orchestration_terminal_completed;
  ASSERT_EQ(commit(last), CommitOutcome::committed);
  Snapshot snapshot = provider.snapshot();
  EXPECT_EQ(snapshot.instances, 1u);
  EXPECT_EQ(snapshot.worker_rows, 0u);
  EXPECT_EQ(snapshot.queued_messages, 0u);
  EXPECT_EQ(snapshot.tombstones, 1u);
  EXPECT_EQ(snapshot.commit_calls, 2u);
  EXPECT_EQ(snapshot.commits, 2u);

  clock.advance(30s + 10s);  // the lease's end, and the margin
  EXPECT_EQ(provider.snapshot().tombstones, 0u);
}

TEST_F(MemoryProviderTest, ParkedMessagesAreDroppedAndCountedWithoutAStart) {
  EXPECT_EQ(send("a"), EnqueueOutcome::parked);
  clock.advance(59s);
  EXPECT_EQ(send("a"), EnqueueOutcome::parked);
  EXPECT_EQ(provider.snapshot().parked_messages, 2u);
  clock.advance(1s);
  EXPECT_EQ(provider.sweep(10).value().parked_dropped, 1u);
  EXPECT_EQ(provider.snapshot().parked_messages, 1u);
  EXPECT_EQ(provider.snapshot().dropped_parked, 1u);
  start("a");
  EXPECT_EQ(fetch().messages.size(), 2u);  // the start and the remaining message
  EXPECT_EQ(provider.snapshot().parked_messages, 0u);
}

TEST_F(MemoryProviderTest, AMessageParkedForTooLongIsNotDeliveredEvenWithoutASweep) {
  EXPECT_EQ(send("a"), EnqueueOutcome::parked);
  clock.advance(1min);
  start("a");
  EXPECT_EQ(fetch().messages.size(), 1u);
  EXPECT_EQ(provider.snapshot().dropped_parked, 1u);
}

TEST_F(MemoryProviderTest, ARefusedCommitIsNotCounted) {
  start("a");
  LeasedInstance item = fetch();
  item.lease = LeaseToken{1};
  EXPECT_EQ(commit(turn(item)), CommitOutcome::lease_lost);
  EXPECT_EQ(provider.snapshot().commit_calls, 1u);
  EXPECT_EQ(provider.snapshot().commits, 0u);
}

TEST_F(MemoryProviderTest, TheSameSeedGivesTheSameTokens) {
  const auto tokens = [](std::uint64_t seed) {
    ManualClock own_clock;
    MemoryProvider own{own_clock, {.seed = seed}};
    std::vector<StartRequest> requests;
    for (const char* id : {"a", "b", "c"})
      requests.push_back({.instance = id, .start = {.orchestration = "O"}});
    (void)own.start_instances(requests);
    std::vector<LeaseToken> drawn;
    const TurnBatch batch = own.fetch_turns({.node = "n", .lease = 30s}).value();
    for (const auto& item : batch.items) drawn.push_back(item.lease);
    return drawn;
  };
  EXPECT_EQ(tokens(7), tokens(7));
  EXPECT_NE(tokens(7), tokens(8));
}

TEST_F(MemoryProviderTest, AStartForLaterHoldsBackWhatArrivesBeforeIt) {
  start("parent");
  TurnCommit first = turn(fetch());
  first.events = {event(1)};
  first.messages = {{"child", message::StartOrchestration{.orchestration = "Child"}, clock.now() + 10s}};
  ASSERT_EQ(commit(first), CommitOutcome::committed);
  EXPECT_EQ(send("child"), EnqueueOutcome::enqueued);
  TurnBatch batch = provider.fetch_turns({.node = "n", .lease = 30s}).value();
  EXPECT_TRUE(batch.items.empty());
  EXPECT_EQ(batch.next_due, clock.now() + 10s);
  clock.advance(10s);
  const LeasedInstance child = fetch();
  ASSERT_EQ(child.messages.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<message::StartOrchestration>(child.messages[0].body));
}

TEST(ManualClock, MovesOnlyWhenTheTestMovesIt) {
  ManualClock clock;
  const TimePoint wall = clock.now();
  const LeaseTime lease = clock.lease_now();
  clock.advance(5s);
  EXPECT_EQ(clock.now(), wall + 5s);
  EXPECT_EQ(clock.lease_now(), lease + 5s);
  clock.jump_wall(-1h);
  EXPECT_EQ(clock.now(), wall + 5s - 1h);
  EXPECT_EQ(clock.lease_now(), lease + 5s);
}

TEST(MemoryProviderSubscription, MayEndAfterItsProvider) {
  struct Silent final : ProviderListener {
    void turns_ready() override { ++calls; }
    void activities_ready() override {}
    void leases_stolen(std::span<const StolenLease>) override {}
    void stolen_leases_pending() override {}
    void instances_changed(std::span<const ChangedInstance>) override {}
    void unknown_instances_changed() override {}
    int calls = 0;
  } listener;
  ManualClock clock;
  auto provider = std::make_unique<MemoryProvider>(clock);
  auto subscription = provider->subscribe("n", listener);
  provider.reset();
  subscription.reset();
  EXPECT_EQ(listener.calls, 0);
}

TEST(MemoryProvider, CountsInstancesAsAProviderThatCanOnlyListThem) {
  ManualClock clock;
  MemoryProvider provider(clock);
  for (const char* id : {"a", "b", "c"}) {
    const StartRequest request{.instance = id, .start = {.orchestration = "Orch"}};
    ASSERT_TRUE(provider.start_instances({&request, 1}));
  }
  for (const std::size_t limit : {0u, 2u, 3u, 9u}) {
    const InstanceCount counted = provider.count_instances({}, limit).value();
    const InstanceCount listed = provider.Provider::count_instances({}, limit).value();
    EXPECT_EQ(counted.instances, listed.instances) << limit;
    EXPECT_EQ(counted.next, listed.next) << limit;
  }
}

TEST(ProviderThatCanOnlyList, CountsOnlyReadableInstances) {
  class Damaged final : public ForwardingProvider {
   public:
    using ForwardingProvider::ForwardingProvider;
    Result<InstancePage> list_instances(const InstanceQuery& query) override {
      auto page = ForwardingProvider::list_instances(query);
      page->instances.front().unreadable = "damaged";
      return page;
    }
  };
  ManualClock clock;
  const auto memory = std::make_shared<MemoryProvider>(clock);
  Damaged provider(memory);
  for (const char* id : {"a", "b"}) {
    const StartRequest request{.instance = id, .start = {.orchestration = "Orch"}};
    ASSERT_TRUE(provider.start_instances({&request, 1}));
  }
  EXPECT_EQ(provider.Provider::count_instances({}, 9).value().open(), 1u);
}

}  // namespace
}  // namespace duramen::testing
