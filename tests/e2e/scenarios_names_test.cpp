// Names, ids and keys on a real store: the longest ones work, longer ones are the same error everywhere, and
// a turn that the store cannot hold fails with a reason.
#include "e2e/scenario.hpp"

#include <gmock/gmock.h>

#include <random>

namespace duramen::test {
namespace {

using ::testing::HasSubstr;

/// Text that no store can compress: an index has to hold every byte of it.
std::string noise(std::size_t bytes, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < bytes) text += static_cast<char>('!' + random() % 90);
  return text;
}

class LongNames : public Scenario {
 protected:
  void SetUp() override {
    world.registry.add(longest, [](ActivityContext&, int value) { return value + 1; });
    add(longest, [](OrchestrationContext& ctx) -> Task<int> {
      auto event = ctx.schedule_wait<int>(noise(max_name_bytes));
      auto message = ctx.dequeue_event<int>(noise(max_name_bytes));
      co_return co_await std::move(event) + co_await std::move(message);
    });
    add("uses", [](OrchestrationContext& ctx) -> Task<int> {
      const std::string name = noise(max_name_bytes);
      ctx.set_kv_value(name, 1);
      ctx.schedule_orchestration(name, InstanceId(noise(max_name_bytes, 3)), std::monostate{});
      auto child = ctx.schedule_sub_orchestration<int>(name, std::monostate{},
                                                       ChildOptions().id(noise(max_name_bytes, 2)))
                       .start();
      const int value = co_await ctx.schedule_activity<int>(name, 1).on_session(name);
      co_return value + co_await std::move(child);
    });
    add("too_long", [](OrchestrationContext& ctx) -> Task<std::string> {
      std::string caught;
      const std::string name = noise(6000);
      try {
        ctx.set_kv_value(name, 1);
      } catch (const LimitError&) {
        caught += "key ";
      }
      try {
        co_await ctx.schedule_activity<int>("Double", 1).on_session(name);
      } catch (const LimitError&) {
        caught += "session ";
      }
      try {
        co_await ctx.schedule_sub_orchestration<int>("uses", std::monostate{}, ChildOptions().id(name));
      } catch (const LimitError&) {
        caught += "child ";
      }
      try {
        ctx.schedule_orchestration("uses", InstanceId(name), std::monostate{});
      } catch (const LimitError&) {
        caught += "detached";
      }
      co_return caught;
    });
  }

  const std::string longest = noise(max_name_bytes);
};

TEST_F(LongNames, TheLongestOnesWorkEverywhereAtOnce) {
  world.run();
  const InstanceId parent(noise(max_name_bytes, 4));
  const InstanceId child(noise(max_name_bytes, 2));
  world.client.start(parent, "uses").value();
  world.client.raise_event(child, longest, 10, longest).value();
  world.client.enqueue_event(child, longest, 100).value();
  EXPECT_EQ(world.client.wait(parent, forever).value().output_as<int>(), 112);
  EXPECT_EQ(world.client.get_key_value<int>(parent, longest).value(), 1);
  EXPECT_EQ(world.status(InstanceId(noise(max_name_bytes, 3))), Status::running);
}

TEST_F(LongNames, LongerOnesAreErrorsThatTheCodeCanCatchAndTheStartIsNotLost) {
  world.run();
  EXPECT_EQ(finish("i", "too_long").output_as<std::string>(), "key session child detached");
  EXPECT_EQ(runs, 0);
}

TEST_F(LongNames, AChildOfAParentWithTheLongestIdIsStarted) {
  add("one", [](OrchestrationContext&) -> Task<int> { co_return 1; });
  add("calls", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_sub_orchestration<int>("one");
  });
  world.run();
  EXPECT_EQ(finish(InstanceId(longest), "calls").output_as<int>(), 1);
  EXPECT_EQ(world.client.get_instance_tree(InstanceId(longest)).value().size(), 2u);
}

TEST_F(LongNames, ATurnThatTheStoreCannotHoldIsRefusedWithAReasonAndAlone) {
  const auto fused = [](const InstanceId& instance, std::size_t rows) {
    TurnCommit commit;
    commit.token = CommitToken{instance.value.size() + 7};
    commit.node = "node";
    commit.instance = instance;
    commit.execution = ExecutionId{1};
    StartRequest request;
    request.instance = instance;
    request.start.orchestration = "uses";
    commit.basis = FusedStart{request};
    event::OrchestrationStarted started;
    started.name = "uses";
    commit.events = {Event{EventId{1}, {}, {}, started}};
    ActivityRequest work;
    work.instance = instance;
    work.key = {{}, ExecutionId{1}, EventId{2}};
    work.name = "Double";
    // Two rows cannot have one number.
    commit.new_activities.assign(rows, NewActivity{work, {}});
    return commit;
  };
  const std::vector<TurnCommit> commits{fused("bad", 2), fused("good", 1)};
  const auto results = world.provider.commit_turns(commits).value();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].outcome, CommitOutcome::invalid);
  EXPECT_FALSE(results[0].message.empty());
  EXPECT_EQ(results[1].outcome, CommitOutcome::committed);
  EXPECT_FALSE(world.provider.get_instance("bad").value());
}

TEST_F(LongNames, ADetachedStartOfATakenIdIsLogged) {
  add("starts", [](OrchestrationContext& ctx) -> Task<int> {
    ctx.schedule_orchestration("starts", "taken", std::monostate{});
    co_return co_await ctx.schedule_activity<int>("Double", 1);
  });
  add("waits",
      [](OrchestrationContext& ctx) -> Task<int> { co_return co_await ctx.schedule_wait<int>("go"); });
  world.run();
  world.client.start("taken", "waits").value();
  EXPECT_EQ(finish("s", "starts").output_as<int>(), 2);
  EXPECT_EQ(world.log.count(LogLevel::warning), 1u);
}

}  // namespace
}  // namespace duramen::test
