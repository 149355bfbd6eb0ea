// How many activities run at once: never more than were asked for, wherever they come from.
#include "runtime/world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <atomic>
#include <functional>
#include <latch>

namespace duramen::test {
namespace {

/// Does something while it stores the first batch that schedules activities, or hands out the first ones.
class Interrupted final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::function<void(ProviderListener& runtime)> while_storing;
  std::function<void()> while_fetching;

  std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override {
    if (!node.value.empty()) runtime_ = &listener;
    return ForwardingProvider::subscribe(std::move(node), listener);
  }
  Result<std::vector<CommitResult>> ack_orchestration_items(std::span<const TurnCommit> commits,
                                                            const std::stop_token& hurry) override {
    for (const TurnCommit& commit : commits) {
      // More than one, or it might be the loop that stores it.
      if (commits.size() > 1 && !commit.worker_items.empty() && while_storing)
        std::exchange(while_storing, {})(*runtime_);
    }
    return ForwardingProvider::ack_orchestration_items(commits, hurry);
  }
  Result<WorkBatch> fetch_work_items(const WorkFetch& request) override {
    auto batch = ForwardingProvider::fetch_work_items(request);
    if (batch && !batch->items.empty() && while_fetching) std::exchange(while_fetching, {})();
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
  Runtime run(TagFilter tags = {}) {
    RuntimeOptions options;
    options.max_activities = 2;
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
  /// Returns when the loop has done all that it was told before.
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

TEST_F(Places, AFetchDoesNotTakeThoseOfActivitiesThatAreBeingStored) {
  bool interrupted = false;
  provider->while_storing = [&](ProviderListener& listener) {
    interrupted = true;
    listener.worker_work_ready();
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

TEST_F(Places, ATurnDoesNotTakeThoseOfActivitiesThatAreBeingFetched) {
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

}  // namespace
}  // namespace duramen::test
