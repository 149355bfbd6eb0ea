// A fetch passes over rows that another session has locked. Nothing may wait for the slow poll because of
// that.
#include "holder.hpp"
#include "store.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace duramen::test {
namespace {

class ReadyListener final : public ProviderListener {
 public:
  void turns_ready() override { ++turns; }
  void activities_ready() override { ++activities; }
  void leases_stolen(std::span<const StolenLease> /*stolen*/) override {}
  void stolen_leases_pending() override {}
  void instances_changed(std::span<const ChangedInstance> /*instances*/) override {}
  void unknown_instances_changed() override {}

  std::atomic<int> turns = 0;
  std::atomic<int> activities = 0;
};

class PassedOver : public OnPostgres {
 protected:
  static TurnFetch turns_of(const std::string& orchestration, Duration lease = 1h) {
    return {.node = "n", .lease = lease, .orchestrations = {{{orchestration, {"1"}}}}};
  }
  static ActivityFetch activities_of(const std::string& name, Duration lease = 1h) {
    return {.node = "n", .lease = lease, .names = std::vector<std::string>{name}};
  }
  /// The first turn of an instance with these activities.
  void run_first_turn(Provider& store, int activities, const std::string& session = {}) {
    start(store, "a");
    const auto items = store.fetch_turns(turns_of("Orch")).value().items;
    ASSERT_EQ(items.size(), 1u);
    TurnCommit commit = first_turn(items[0], 1);
    for (int i = 0; i < activities; ++i) {
      commit.new_activities.push_back(activity_of("a", items[0].incarnation, 2u + static_cast<unsigned>(i)));
    }
    if (!session.empty()) commit.new_activities.back().request.session_id = session;
    ASSERT_EQ(store.commit_turns({&commit, 1}).value().at(0).outcome, CommitOutcome::committed);
  }
  /// Waits until the server's clock has passed the end of a lease of 1 ms.
  static void pass_the_lease(Holder& clock) {
    const std::int64_t now = clock.number("SELECT now_ms()");
    while (clock.number("SELECT now_ms()") <= now + 2) continue;
  }
};

TEST_F(PassedOver, AnInstanceThatAnotherSessionHoldsIsFetchedAgainSoon) {
  const auto store = open();
  start(*store, "a");
  Holder holder{*schema};
  holder.lock("a");
  const TurnBatch batch = store->fetch_turns(turns_of("Orch")).value();
  EXPECT_TRUE(batch.items.empty());
  ASSERT_TRUE(batch.next_due);
  EXPECT_LT(*batch.next_due, store->clock().now() + 1s);
}

TEST_F(PassedOver, AnActivityThatAnotherSessionHoldsIsFetchedAgainSoon) {
  const auto store = open();
  run_first_turn(*store, 1);
  Holder holder{*schema};
  holder.run("SELECT 1 FROM worker_queue FOR UPDATE");
  const ActivityBatch batch = store->fetch_activities(activities_of("Act")).value();
  EXPECT_TRUE(batch.items.empty());
  ASSERT_TRUE(batch.next_due);
  EXPECT_LT(*batch.next_due, store->clock().now() + 1s);
}

// While it made them ready it held them, and another node may have passed over them.
TEST_F(PassedOver, AFetchAnnouncesInstancesThatItMadeReadyAndLeft) {
  const auto store = open();
  start(*store, "a");
  ASSERT_EQ(store->fetch_turns(turns_of("Orch", 1ms)).value().items.size(), 1u);
  Holder clock{*schema};
  pass_the_lease(clock);
  ReadyListener listener;
  const auto subscription = store->subscribe("other", listener);
  ASSERT_TRUE(store->fetch_turns(turns_of("Other")).value().items.empty());
  EXPECT_EQ(listener.turns, 1);
  ASSERT_EQ(store->fetch_turns(turns_of("Orch")).value().items.size(), 1u);
}

TEST_F(PassedOver, AFetchAnnouncesActivitiesThatItMadeAvailableAndLeft) {
  const auto store = open();
  run_first_turn(*store, 1);
  ASSERT_EQ(store->fetch_activities(activities_of("Act", 1ms)).value().items.size(), 1u);
  Holder clock{*schema};
  pass_the_lease(clock);
  ReadyListener listener;
  const auto subscription = store->subscribe("other", listener);
  ASSERT_TRUE(store->fetch_activities(activities_of("Other")).value().items.empty());
  EXPECT_EQ(listener.activities, 1);
}

TEST_F(PassedOver, AnActivityBehindARetriedOneThatIsHeldClaimsItsSession) {
  const auto store = open();
  run_first_turn(*store, 2, "mine");
  const auto first = store->fetch_activities(activities_of("Act")).value().items;  // without sessions
  ASSERT_EQ(first.size(), 1u);
  const ActivityRelease release{.lease = first[0].lease};
  ASSERT_TRUE(store->release_activities({&release, 1}));
  Holder holder{*schema};
  holder.run("SELECT 1 FROM worker_queue WHERE session_id IS NULL FOR UPDATE");
  ActivityFetch fetch = activities_of("Act");
  fetch.sessions = SessionClaim{.owner = "n", .lease = 1h, .active = {}};
  const auto items = store->fetch_activities(fetch).value().items;
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].request.session_id, "mine");
  EXPECT_EQ(schema->number("SELECT count(*) FROM " + quoted_schema() + ".sessions"), 1);
}

}  // namespace
}  // namespace duramen::test
