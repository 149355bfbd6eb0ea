// Managing instances while a runtime works on them: status, deletion, pruning, reuse of an id.
#include "e2e/scenario.hpp"

#include <thread>

namespace duramen::test {
namespace {

class Managed : public Scenario {
 protected:
  Managed() {
    add("sleeper", [](OrchestrationContext& ctx, int value) -> Task<int> {
      co_return value + co_await ctx.schedule_wait<int>("go");
    });
    add("tree", [](OrchestrationContext& ctx, int) -> Task<int> {
      auto both =
          co_await ctx.join2(ctx.schedule_sub_orchestration<int>("sleeper", 1, ChildOptions().id("left")),
                             ctx.schedule_sub_orchestration<int>("sleeper", 2, ChildOptions().id("right")));
      co_return std::get<0>(both) + std::get<1>(both);
    });
    add("rounds", [](OrchestrationContext& ctx, int left) -> Task<int> {
      co_await ctx.schedule_activity<int>("Double", left);
      if (left > 0) co_return co_await ctx.continue_as_new(left - 1);
      co_return 0;
    });
    add("throws", [](OrchestrationContext&, int) -> Task<int> { throw std::runtime_error("on purpose"); });
  }
};

TEST_F(Managed, AStatusFollowsAnInstanceFromItsStartToItsEnd) {
  EXPECT_EQ(world.client.get_instance("s").error().code, ErrorCode::not_found);
  world.client.start("s", "sleeper", 1).value();
  EXPECT_EQ(world.status("s"), Status::pending);  // visible once the start is durable
  world.run();
  until_event("s", "ExternalSubscribed");
  EXPECT_EQ(world.status("s"), Status::running);
  world.client.raise_event("s", "go", 2).value();
  EXPECT_EQ(world.client.wait("s", forever).value().output_as<int>(), 3);
  EXPECT_EQ(world.status("s"), Status::completed);
  EXPECT_EQ(finish("f", "throws", 1).status, Status::failed);
  world.client.start("c", "sleeper", 1).value();
  world.client.cancel("c", "enough").value();
  EXPECT_EQ(world.client.wait("c", forever).value().status, Status::cancelled);
  EXPECT_EQ(finish("n", "rounds", 3).status, Status::completed);
  EXPECT_EQ(world.client.get_instance("n").value().execution, ExecutionId{4});
  const StoreMetrics metrics = world.client.metrics().value();
  EXPECT_EQ(metrics.count(Status::completed), 2u);
  EXPECT_EQ(metrics.count(Status::failed), 1u);
  EXPECT_EQ(metrics.count(Status::cancelled), 1u);
}

TEST_F(Managed, TheSameStartTwiceIsOneInstanceAndAnEndedIdIsLeftAsItIs) {
  world.run();
  EXPECT_EQ(world.client.start("s", "sleeper", 1).value(), StartOutcome::created);
  EXPECT_EQ(world.client.start("s", "sleeper", 1).value(), StartOutcome::exists);
  EXPECT_EQ(world.client.start("s", "rounds", 1).error().code, ErrorCode::already_exists);
  EXPECT_EQ(world.client.start("s", "sleeper", 2).error().code, ErrorCode::already_exists);
  world.client.raise_event("s", "go", 1).value();
  EXPECT_EQ(world.client.wait("s", forever).value().output_as<int>(), 2);
  EXPECT_EQ(world.client.start("s", "sleeper", 1).value(), StartOutcome::exists);
  EXPECT_EQ(world.client.get_instance("s").value().output_as<int>(), 2);
  EXPECT_EQ(world.events("s", "OrchestrationStarted"), 1u);
}

TEST_F(Managed, AnIdIsFreeAfterADeleteAndNothingOfTheOldInstanceReachesTheNew) {
  add("waiter", [](OrchestrationContext& ctx, int value) -> Task<int> {
    auto call = ctx.schedule_activity<int>("Wait", value).start();
    co_return value + co_await ctx.schedule_wait<int>("go");
  });
  world.run();
  world.client.start("i", "waiter", 1).value();
  world.until([&] { return waiters.begun() == 1; });
  world.client.delete_instance("i", DeleteMode::force).value();
  world.client.start("i", "waiter", 10).value();
  world.until([&] { return waiters.begun() == 2; });
  // A late answer to the old instance, with its numbers.
  inject("i", message::ActivityCompleted{ExecutionId{9}, EventId{2}, Payload::json("1")});
  world.client.raise_event("i", "go", 5).value();
  EXPECT_EQ(world.client.wait("i", forever).value().output_as<int>(), 15);
  world.until([&] { return waiters.stops().size() == 2; });
  EXPECT_EQ(waiters.stops().at(0).reason, CancelReason::instance_deleted);
}

TEST_F(Managed, ATreeGoesAsAWholeAndOnlyWhenItHasEndedOrByForce) {
  world.run();
  world.client.start("t", "tree", 1).value();
  until_event("left", "ExternalSubscribed");
  until_event("right", "ExternalSubscribed");
  EXPECT_EQ(world.client.get_instance_tree("t").value().size(), 3u);
  EXPECT_EQ(world.client.get_instance_tree("nobody").error().code, ErrorCode::not_found);
  EXPECT_EQ(world.client.delete_instance("t").error().code, ErrorCode::conflict);
  EXPECT_EQ(world.client.delete_instance("left", DeleteMode::force).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(world.client.delete_instance("t", DeleteMode::force).value().instances, 3u);
  EXPECT_EQ(world.client.get_instance("left").error().code, ErrorCode::not_found);
  EXPECT_EQ(world.client.delete_instance("t").error().code, ErrorCode::not_found);
  // The runtime goes on.
  EXPECT_EQ(finish("r", "rounds", 2).status, Status::completed);
  world.expect_nothing_left();
}

TEST_F(Managed, ConcurrentDeletesHarmNoOtherInstance) {
  world.run();
  for (int i = 0; i < 20; ++i) world.client.start("r" + std::to_string(i), "rounds", 5).value();
  std::vector<std::thread> deleters;
  for (int t = 0; t < 2; ++t) {
    deleters.emplace_back([this] {
      for (int i = 0; i < 20; i += 2) {
        const auto result = world.client.delete_instance("r" + std::to_string(i), DeleteMode::force);
        EXPECT_TRUE(result || result.error().code == ErrorCode::not_found);
      }
    });
  }
  for (std::thread& thread : deleters) thread.join();
  for (int i = 1; i < 20; i += 2) {
    EXPECT_EQ(world.client.wait("r" + std::to_string(i), forever).value().status, Status::completed);
  }
  EXPECT_EQ(world.client.list({}).value().instances.size(), 10u);
}

TEST_F(Managed, OldExecutionsGoWhileTheInstanceGoesOnAndTheCurrentOneNever) {
  add("stops", [](OrchestrationContext& ctx, int left) -> Task<int> {
    if (left > 0) co_return co_await ctx.continue_as_new(left - 1);
    co_return co_await ctx.schedule_wait<int>("go");
  });
  world.run();
  for (const char* id : {"a", "b"}) {
    world.client.start(id, "stops", 4).value();
    until_event(id, "ExternalSubscribed");
  }
  EXPECT_EQ(world.client.prune_executions("a", PruneOptions{}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(world.client.prune_executions("a", PruneOptions{.keep_last = 3}).value().executions, 2u);
  EXPECT_EQ(world.client.prune_executions("a", PruneOptions{.keep_last = 0}).value().executions, 2u);
  EXPECT_EQ(world.client.prune_executions("nobody", PruneOptions{.keep_last = 1}).error().code,
            ErrorCode::not_found);
  // In bulk, running ones included.
  EXPECT_EQ(world.client.prune_executions(InstanceFilter{.id_prefix = ""}, PruneOptions{.keep_last = 1})
                .value()
                .executions,
            4u);
  for (const char* id : {"a", "b"}) {
    EXPECT_EQ(world.client.list_executions(id).value().size(), 1u);
    world.client.raise_event(id, "go", 1).value();
    EXPECT_EQ(world.client.wait(id, forever).value().output_as<int>(), 1);
  }
}

TEST_F(Managed, RetentionDeletesOnlyInstancesThatEndedLongAgo) {
  world.run();
  finish("old", "rounds", 1);
  world.client.start("running", "sleeper", 1).value();
  world.clock.advance(48h);
  finish("new", "rounds", 1);
  InstanceFilter filter;
  filter.ended_before = world.clock.now() - 24h;
  const DeleteReport dry =
      world.client.delete_instances(filter, DeleteMode::finished, {.dry_run = true}).value();
  EXPECT_EQ(dry.matched, std::vector<InstanceId>{"old"});
  EXPECT_TRUE(dry.deleted.empty());
  EXPECT_EQ(world.client.delete_instances(filter).value().deleted, std::vector<InstanceId>{"old"});
  EXPECT_EQ(world.status("new"), Status::completed);
  EXPECT_EQ(world.status("running"), Status::running);
}

TEST_F(Managed, QueueDepthsSeparateDueFromLater) {
  add("nap", [](OrchestrationContext& ctx) -> Task<void> { co_await ctx.schedule_timer(1h); });
  add("call", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Nowhere", 1);
  });
  world.run();
  world.client.start("n", "nap").value();
  world.client.start("c", "call").value();
  until_event("n", "TimerCreated");
  until_event("c", "ActivityScheduled");
  const QueueDepths depths = world.client.queue_depths().value();
  EXPECT_EQ(depths.orchestrator_due, 0u);
  EXPECT_EQ(depths.orchestrator_later, 1u);
  EXPECT_EQ(depths.worker_due, 1u);
}

}  // namespace
}  // namespace duramen::test
