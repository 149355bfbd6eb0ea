// How many activities run at once: never more than were asked for, wherever they come from.
#include "runtime/world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <atomic>
#include <functional>
#include <latch>

namespace duramen::test {
namespace {

/// Does something while it stores the first batch that schedules activities, or hands out the first ones.
/// Activities named Garbled are unreadable.
class Interrupted final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::function<void(ProviderListener& runtime)> while_storing;
  std::function<void()> while_fetching;

  std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override {
    if (!node.value.empty()) runtime_ = &listener;
    return ForwardingProvider::subscribe(std::move(node), listener);
  }
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    for (const TurnCommit& commit : commits) {
      // More than one, or it might be the loop that stores it.
      if (commits.size() > 1 && !commit.new_activities.empty() && while_storing)
        std::exchange(while_storing, {})(*runtime_);
    }
    return ForwardingProvider::commit_turns(commits, preempt);
  }
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    auto batch = ForwardingProvider::fetch_activities(request);
    if (batch && !batch->items.empty() && while_fetching) std::exchange(while_fetching, {})();
    for (std::size_t i = 0; batch && i < batch->items.size(); ++i) {
      if (batch->items[i].request.name == "Garbled") batch->items[i].unreadable = "garbled";
    }
    return batch;
  }

 private:
  std::atomic<ProviderListener*> runtime_{nullptr};
};

class Places : public ::testing::Test {
 protected:
  void SetUp() override {
    registry.add("Wait", [this](ActivityContext& ctx, int) -> ActivityTask<int> {
      if (++begun == 2) both.set(true);
      co_await ctx.cancelled();
      co_return 0;
    });
    registry.add("four", [](OrchestrationContext& ctx) -> Task<int> {
      std::vector<DurableFuture<int>> all;
      for (int i = 0; i < 4; ++i) all.push_back(ctx.schedule_activity<int>("Wait", i));
      co_await ctx.join(std::move(all));
      co_return 0;
    });
    registry.add("slow", [this](OrchestrationContext&) -> Task<int> {
      entered.count_down();
      go_on.wait();
      co_return 0;
    });
    registry.add("look", [this](OrchestrationContext&) -> Task<int> {
      looked.set(true);
      co_return 0;
    });
  }
  Runtime run(TagFilter tags = {}, std::size_t places = 2) {
    RuntimeOptions options;
    options.max_activities = places;
    options.tags = std::move(tags);
    options.log = [](const LogRecord&) {};
    return Runtime(store, registry, options);
  }
  void start(const char* instance, const char* orchestration) {
    StartRequest request;
    request.instance = instance;
    request.start.orchestration = orchestration;
    client.start_async(std::move(request), [](const Result<StartOutcome>&) {});
  }
  /// Returns when the loop has run all earlier jobs.
  void look() {
    start("looks", "look");
    EXPECT_TRUE(looked.wait());
  }
  /// The store's calls are made in order: behind this one, what was asked for has come.
  void go_through_the_store() {
    client.start("goes-through", "look").value();
    EXPECT_EQ(client.wait("goes-through", forever).value().status, Status::completed);
  }

  std::shared_ptr<Interrupted> provider =
      std::make_shared<Interrupted>(std::make_shared<testing::MemoryProvider>(system_clock()));
  Store store{provider};
  Client client{store};
  Registry registry;
  std::atomic<int> begun{0};
  Signal<bool> both;
  Signal<bool> looked;
  std::latch entered{1};
  std::latch go_on{1};
};

TEST_F(Places, AFetchLeavesPlacesForActivitiesThatAreBeingStored) {
  bool interrupted = false;
  provider->while_storing = [&](ProviderListener& listener) {
    interrupted = true;
    listener.activities_ready();
    look();
  };
  Runtime runtime = run();
  start("slow", "slow");
  entered.wait();
  start("a", "four");
  go_on.count_down();
  ASSERT_TRUE(both.wait());
  go_through_the_store();
  EXPECT_TRUE(interrupted);
  EXPECT_TRUE(client.cancel("a", "enough").value());
  runtime.shutdown();
  EXPECT_EQ(begun, 2);
}

TEST_F(Places, ATurnLeavesPlacesForActivitiesThatAreBeingFetched) {
  {
    Runtime runs_no_activities = run(TagFilter::none());
    client.start("a", "four").value();
    runs_no_activities.shutdown();
  }
  bool interrupted = false;
  std::latch running(1);
  provider->while_fetching = [&] {
    running.wait();  // or the start would go through the store, which waits for this
    interrupted = true;
    start("b", "four");
    look();
  };
  Runtime runtime = run();
  running.count_down();
  ASSERT_TRUE(both.wait());
  go_through_the_store();
  EXPECT_TRUE(interrupted);
  EXPECT_TRUE(client.cancel("b", "before it gets a place").value());
  EXPECT_TRUE(client.cancel("a", "enough").value());
  runtime.shutdown();
  EXPECT_EQ(begun, 2);
}

// The places of the others were free for a moment, and the turn after the first result took them.
TEST_F(Places, AnUnreadableFetchedActivityFreesOnlyItsOwnPlace) {
  registry.add("Garbled", [](ActivityContext&, int) { return 0; });
  registry.add("goes-on", [](OrchestrationContext& ctx) -> Task<int> {
    // Activities of a session are fetched: both of these at once.
    auto garbled = ctx.schedule_activity<int>("Garbled", 0).on_session("s").as_result().start();
    auto other = ctx.schedule_activity<int>("Wait", 0).on_session("s").start();
    (void)co_await std::move(garbled);
    std::vector<DurableFuture<int>> more;
    for (int i = 0; i < 2; ++i) more.push_back(ctx.schedule_activity<int>("Wait", i));
    co_await ctx.join(std::move(more));
    co_return co_await std::move(other);
  });
  Runtime runtime = run();
  client.start("a", "goes-on").value();
  ASSERT_TRUE(both.wait());
  go_through_the_store();
  EXPECT_TRUE(client.cancel("a", "enough").value());
  runtime.shutdown();
  EXPECT_EQ(begun, 2);
}

// A chain's next step took the place that its last one had left, every time.
TEST_F(Places, AChainOfActivitiesDoesNotStarveWaitingOnes) {
  constexpr int very_many = 1000;
  std::atomic<bool> other_began{false};
  registry.add("Step", [&](ActivityContext&, int step) {
    if (step == 0) go_on.wait();
    return other_began.load();
  });
  registry.add("Other", [&](ActivityContext&) { other_began = true; });
  registry.add("chain", [](OrchestrationContext& ctx) -> Task<int> {
    int step = 0;
    while (step < very_many && !co_await ctx.schedule_activity<bool>("Step", step)) ++step;
    co_return step;
  });
  registry.add("other", [](OrchestrationContext& ctx) -> Task<int> {
    co_await ctx.schedule_activity<void>("Other");
    co_return 0;
  });
  Runtime runtime = run({}, 1);
  client.start("steps", "chain").value();
  client.start("waits", "other").value();
  go_on.count_down();
  const auto state = client.wait("steps", forever).value();
  ASSERT_EQ(state.status, Status::completed);
  EXPECT_LT(state.output_as<int>(), very_many);
  EXPECT_EQ(client.wait("waits", forever).value().status, Status::completed);
}

}  // namespace
}  // namespace duramen::test
