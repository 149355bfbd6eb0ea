// An instance stays with the node that fetched it until its turn is stored: a slow store and blocked code
// neither give it a second holder nor make it poison.
#include "runtime/still_node.hpp"
#include <duramen/orchestration.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace duramen::test {
namespace {

using namespace std::chrono_literals;

class TurnLeasesOf : public ::testing::Test {
 protected:
  TurnLeasesOf() {
    world.registry.add("count", [this](OrchestrationContext&, int value) -> Task<int> {
      ++turns;
      if (const auto now = in_turn) now();
      co_return value;
    });
  }
  /// Puts instances into the store, and fetches them. The answer waits for the loop.
  void fetch(const std::vector<std::string>& instances) {
    for (const std::string& instance : instances) world.enqueue_start(InstanceId(instance), "count", 1);
    refetch();
  }
  void refetch() {
    world.node->turns_ready();
    env.main.drain();
    env.at(Lane::store).drain();
  }
  /// Time passes, and leases are renewed; the loop and the other calls to the store stand still.
  void pass(Duration time) {
    for (; time > 0s; time -= 1s) {
      env.time.advance(1s);
      env.leases.fire();
      env.at(Lane::leases).drain();
    }
  }
  /// The answer to a fetch of another node now.
  std::vector<LeasedInstance> other_node_fetches() {
    TurnFetch request;
    request.node = NodeId("other");
    request.lease = 10s;
    return world.memory->fetch_turns(request).value().items;
  }

  StillNode world;
  StillEnv& env = world.env;
  int turns = 0;
  std::function<void()> in_turn;
};

TEST_F(TurnLeasesOf, WaitingTurnsAreRenewedWhileTheLoopIsBlocked) {
  world.begin();
  fetch({"a", "b"});
  pass(30s);
  EXPECT_TRUE(other_node_fetches().empty());
  env.settle();
  EXPECT_EQ(world.status("a"), Status::completed);
  EXPECT_EQ(world.status("b"), Status::completed);
  EXPECT_EQ(turns, 2);
}

TEST_F(TurnLeasesOf, ATurnIsRenewedWhileItsCommitWaitsForTheStore) {
  world.begin();
  fetch({"a"});
  env.main.drain();
  EXPECT_EQ(turns, 1);
  pass(30s);
  EXPECT_TRUE(other_node_fetches().empty());
  env.settle();
  EXPECT_EQ(world.status("a"), Status::completed);
  EXPECT_EQ(turns, 1);
}

TEST_F(TurnLeasesOf, ATurnThatRunsIsRenewedUpToMaxTurnTime) {
  world.begin();
  in_turn = [&] { pass(59s); };
  fetch({"a"});
  env.settle();
  EXPECT_EQ(world.status("a"), Status::completed);
  EXPECT_EQ(turns, 1);
}

TEST_F(TurnLeasesOf, ATurnThatRunsLongerLosesItsLeaseAndTheOthersAreReleasedUncounted) {
  world.begin();
  std::vector<LeasedInstance> taken;
  in_turn = [&] {
    in_turn = nullptr;
    pass(75s);
    taken = other_node_fetches();  // the second fetch of an instance comes alone
    for (LeasedInstance& next : other_node_fetches()) taken.push_back(std::move(next));
  };
  fetch({"a", "b"});
  env.main.drain();
  ASSERT_EQ(taken.size(), 2u);
  for (const LeasedInstance& leased : taken) {
    EXPECT_EQ(leased.attempt, leased.instance.value == "a" ? 2u : 1u) << leased.instance.value;
  }
  env.settle();
  EXPECT_EQ(turns, 1);  // "b" never began here
  EXPECT_EQ(world.status("a"), Status::pending);
  EXPECT_EQ(world.logged("a turn has run for longer than max_turn_time"), 1u);
}

TEST_F(TurnLeasesOf, LeasesThatASlowStoreLosesAreNotPoison) {
  world.begin();
  fetch({"a"});
  for (int i = 0; i < 15; ++i) {
    env.time.advance(11s);  // no renewal is answered
    env.main.drain();
    env.at(Lane::store).drain();  // fetched again
  }
  EXPECT_EQ(turns, 0);
  env.settle();
  EXPECT_EQ(world.status("a"), Status::completed);
}

TEST_F(TurnLeasesOf, FetchedTurnsWithLittleLeaseLeftAreReleasedUncounted) {
  world.begin();
  world.watched->after_call["fetch_turns"] = [this] { env.time.advance(7s); };
  fetch({"a"});
  env.main.drain();
  EXPECT_EQ(turns, 0);
  const auto leased = other_node_fetches();
  ASSERT_EQ(leased.size(), 1u);
  EXPECT_EQ(leased.front().attempt, 1u);
}

TEST_F(TurnLeasesOf, FetchedActivitiesWithLittleLeaseLeftAreReleasedUncounted) {
  std::vector<std::uint32_t> attempts;
  world.registry.add("Work", [&](ActivityContext& ctx, int value) {
    attempts.push_back(ctx.attempt());
    return value;
  });
  world.registry.add("call", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Work", 1);
  });
  RuntimeOptions options;
  options.max_activities = 1;
  world.begin(options);
  world.watched->after_call["commit_turns"] = [this] { env.time.advance(21s); };
  world.enqueue_start("a", "call", 0);
  refetch();
  env.main.drain();
  env.at(Lane::store).drain();
  world.watched->after_call.clear();
  env.main.drain();
  EXPECT_TRUE(env.at(Lane::activities).jobs.empty());
  env.settle();
  world.node->activities_ready();
  env.settle();
  EXPECT_EQ(attempts, std::vector<std::uint32_t>{1});
  EXPECT_EQ(world.status("a"), Status::completed);
}

// -- a process that stood still -------------------------------------------------------------------

TEST_F(TurnLeasesOf, ATurnDoesNotBeginAfterItsLease) {
  world.begin();
  fetch({"a"});
  env.time.advance(10s);
  env.main.drain();  // before the timers of the leases
  EXPECT_EQ(turns, 0);
  env.settle();
  refetch();
  env.settle();
  EXPECT_EQ(world.status("a"), Status::completed);
}

TEST_F(TurnLeasesOf, ACommitIsNotSentAfterItsLease) {
  world.begin();
  fetch({"a"});
  env.main.drain();
  EXPECT_EQ(turns, 1);
  const int commits = world.watched->calls["commit_turns"];
  env.time.advance(10s);
  env.at(Lane::store).drain();
  EXPECT_EQ(world.watched->calls["commit_turns"], commits);
  env.settle();
  refetch();
  env.settle();
  EXPECT_EQ(world.status("a"), Status::completed);
  EXPECT_EQ(turns, 2);
}

// -- poison ---------------------------------------------------------------------------------------

TEST_F(TurnLeasesOf, PoisonNamesTurnsThatBlock) {
  RuntimeOptions options;
  options.max_attempts = 2;
  world.begin(options);
  world.enqueue_start("a", "count", 1);
  in_turn = [&] { pass(75s); };
  for (int i = 0; i < 3; ++i) {
    refetch();
    env.settle();
    pass(11s);
  }
  const auto info = world.memory->get_instance("a").value();
  ASSERT_EQ(info->status, Status::failed);
  EXPECT_EQ(info->failure->kind, FailureKind::poison);
  EXPECT_NE(info->failure->message.find("2 times it ran for longer than max_turn_time on this node"),
            std::string::npos)
      << info->failure->message;
}

TEST_F(TurnLeasesOf, PoisonThatNoNodeHasSeenNamesACrash) {
  RuntimeOptions options;
  options.max_attempts = 2;
  world.begin(options);
  world.enqueue_start("a", "count", 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(other_node_fetches().size(), 1u);
    env.time.advance(10s);  // that node is gone
  }
  refetch();
  env.settle();
  const auto info = world.memory->get_instance("a").value();
  ASSERT_EQ(info->status, Status::failed);
  EXPECT_NE(info->failure->message.find("2 times no node has stored it: does its code crash the process"),
            std::string::npos)
      << info->failure->message;
}

}  // namespace
}  // namespace duramen::test
