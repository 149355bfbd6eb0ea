// An activity that was asked to stop before it began, or whose lease is over, never begins.
#include "runtime/clocked_world.hpp"
#include "runtime/early_news.hpp"
#include <duramen/forwarding_provider.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>

namespace duramen::test {
namespace {

/// Can hold up renewals, withhold activities, and do something before it hands them out.
class Hindered final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<bool> hold_renewals{false};
  Signal<bool> renewing;
  Signal<bool> go_on_renewing;
  std::atomic<bool> hold_answers{false};  ///< of renewals that the store has applied
  std::atomic<bool> withhold{false};
  std::function<void(ProviderListener& runtime, const NodeId& node, const ActivityBatch& batch)>
      before_handing_out;

  std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override {
    {
      std::lock_guard lock(mutex_);
      listeners_[node.value] = &listener;
    }
    return ForwardingProvider::subscribe(std::move(node), listener);
  }
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> renewals,
                                                    Duration lease) override {
    if (hold_renewals) {
      renewing.set(true);
      (void)go_on_renewing.wait();
    }
    auto results = ForwardingProvider::renew_activities(renewals, lease);
    if (hold_answers) {
      renewing.set(true);
      (void)go_on_renewing.wait();
    }
    return results;
  }
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    if (withhold) return ActivityBatch{};
    auto batch = ForwardingProvider::fetch_activities(request);
    if (batch && !batch->items.empty() && before_handing_out) {
      std::lock_guard lock(mutex_);
      std::exchange(before_handing_out, {})(*listeners_.at(request.node.value), request.node, *batch);
    }
    return batch;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, ProviderListener*> listeners_;  // guarded by mutex_
};

class Begin : public ::testing::Test {
 protected:
  Begin()
      : world([this](std::shared_ptr<Provider> inner) {
          auto wrapped = std::make_shared<Hindered>(std::move(inner));
          store = wrapped.get();
          return wrapped;
        }) {
    world.registry.add("Quick", [](ActivityContext&, int value) -> ActivityTask<int> { co_return value; });
    add_orchestrations(world.registry);
    options.activity_threads = 1;
    options.log = [this](const LogRecord& record) {
      if (record.level >= LogLevel::warning) ++warnings;
    };
  }
  ~Begin() override {
    go_on.set(true);
    store->go_on_renewing.set(true);
    world.runtimes.clear();
  }
  static void add_orchestrations(Registry& registry) {
    registry.add("call", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>(activity, 1);
    });
    registry.add("nothing", [](OrchestrationContext&, int) -> Task<int> { co_return 0; });
  }
  /// "Hold" keeps the one thread for its kind until go_on; "Work" records its instance.
  void add_activities(const std::string& kind) {
    const auto note = [this](ActivityContext& ctx) {
      std::lock_guard lock(mutex);
      begun.push_back(ctx.instance_id().value + " " + std::to_string(ctx.attempt()));
    };
    if (kind == "Function") {
      world.registry.add("Hold", [this](ActivityContext&, int value) {
        held.set(true);
        (void)go_on.wait();
        return value;
      });
      world.registry.add("Work", [note](ActivityContext& ctx, int value) {
        note(ctx);
        return value;
      });
    } else {
      world.registry.add("Hold", [this](ActivityContext&, int value) -> ActivityTask<int> {
        held.set(true);
        (void)go_on.wait();
        co_return value;
      });
      world.registry.add("Work", [note](ActivityContext& ctx, int value) -> ActivityTask<int> {
        note(ctx);
        co_return value;
      });
    }
  }
  std::vector<std::string> who_began() {
    std::lock_guard lock(mutex);
    return begun;
  }
  void cancel(const InstanceId& instance) {
    world.client.cancel(instance, "enough").value();
    EXPECT_EQ(world.client.wait(instance, forever).value().status, Status::cancelled);
  }
  /// Returns when the loop has run every timer that is due.
  void let_timers_fire() {
    for (const char* id : {"look", "look again"}) world.finish(id, "nothing", 0);
  }

  Hindered* store = nullptr;
  ClockedWorld world;
  RuntimeOptions options;
  Signal<bool> held;
  Signal<bool> go_on;
  std::atomic<int> warnings{0};
  std::mutex mutex;
  std::vector<std::string> begun;  ///< guarded by mutex
};

class BeginOf : public Begin, public ::testing::WithParamInterface<std::string> {
 protected:
  BeginOf() { add_activities(GetParam()); }
};

TEST_P(BeginOf, AnActivityThatIsCancelledBeforeItBeginsNeverBegins) {
  world.run(options);
  world.client.start("holds", "call", "Hold").value();
  ASSERT_TRUE(held.wait());
  world.client.start("late", "call", "Work").value();
  cancel("late");
  go_on.set(true);
  EXPECT_EQ(world.finish("after", "call", "Work").status, Status::completed);
  EXPECT_EQ(who_began(), (std::vector<std::string>{"after 1"}));
}

TEST_P(BeginOf, AnActivityWhoseLeaseIsOverDoesNotBegin) {
  store->withhold = true;  // or the activity would be handed out again, and that is noticed
  world.run(options);
  world.client.start("holds", "call", "Hold").value();
  ASSERT_TRUE(held.wait());
  world.client.start("late", "call", "Work").value();
  // Like a process that stands still: nothing is renewed, and only the clock shows it.
  store->hold_renewals = true;
  world.until([&] { return store->renewing.is_set(); }, [&] { world.clock.advance(1s); });
  world.clock.advance(options.activity_lease);
  world.client.start("after", "call", "Work").value();
  go_on.set(true);
  EXPECT_EQ(world.client.wait("after", forever).value().status, Status::completed);
  EXPECT_EQ(who_began(), (std::vector<std::string>{"after 1"}));
  // Another attempt runs it.
  store->hold_renewals = false;
  store->go_on_renewing.set(true);
  store->withhold = false;
  EXPECT_EQ(world.wait("late", [&] { world.clock.advance(100ms); }).status, Status::completed);
  EXPECT_EQ(who_began(), (std::vector<std::string>{"after 1", "late 2"}));
}

// The node dropped it, and the store kept it leased to the node.
TEST_F(Begin, AnActivityThatLostItsLeaseBeforeItBeganIsReleased) {
  add_activities("Function");
  world.run(options);
  world.client.start("holds", "call", "Hold").value();
  ASSERT_TRUE(held.wait());
  world.client.start("late", "call", "Work").value();
  // The store renews the lease, but the answer does not arrive before the lease is over by the node's clock.
  store->hold_answers = true;
  world.until([&] { return store->renewing.is_set(); }, [&] { world.clock.advance(1s); });
  store->hold_answers = false;
  world.clock.advance(options.activity_lease - 1s);
  go_on.set(true);
  // Time stands still from here on: the lease in the store does not end.
  const auto state = world.client.wait("late", 10s);
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->status, Status::completed);
  EXPECT_EQ(who_began(), (std::vector<std::string>{"late 1"}));
}

INSTANTIATE_TEST_SUITE_P(EveryKind, BeginOf, ::testing::Values("Function", "Coroutine"),
                         [](const auto& info) { return info.param; });

TEST_F(Begin, AMassCancelOfQueuedActivitiesRaisesNoAlarmAndFreesTheirPlacesAtOnce) {
  constexpr int many = 50;
  add_activities("Function");
  options.max_activities = many + 1;
  options.max_abandoned = 2;
  options.activity_lease = 1h;  // "holds" is not to lose its lease when the clock jumps
  options.session_idle = 1h;
  Runtime& runtime = world.run(options);
  world.client.start("holds", "call", "Hold").value();
  ASSERT_TRUE(held.wait());
  for (int i = 0; i < many; ++i) world.client.start(std::to_string(i), "call", "Work").value();
  for (int i = 0; i < many; ++i) cancel(std::to_string(i));
  // The thread is still held, and a coroutine needs none: only a place.
  world.client.start("quick", "call", "Quick").value();
  EXPECT_TRUE(world.client.wait("quick", 10s));
  world.clock.advance(3 * options.cancel_grace);
  let_timers_fire();
  ASSERT_EQ(warnings, 0);
  EXPECT_EQ(runtime.abandoned_activities(), 0u);
  go_on.set(true);
  EXPECT_EQ(world.finish("after", "call", "Work").status, Status::completed);
  EXPECT_EQ(who_began(), (std::vector<std::string>{"after 1"}));
}

// -- news that comes before the lease -----------------------------------------

TEST_F(Begin, NewsOfACancelThatOvertakesTheLeaseIsNotPushedOutByOtherNews) {
  add_activities("Function");
  Registry turns_only;
  add_orchestrations(turns_only);
  const Runtime turns(world.store, turns_only, quiet());
  for (const char* id : {"late", "after"}) {
    world.client.start(id, "call", "Work").value();
    world.until([&] { return world.client.get_instance(id).value().status == Status::running; });
  }
  store->before_handing_out = [](ProviderListener& runtime, const NodeId& node, const ActivityBatch& batch) {
    ASSERT_EQ(batch.items.size(), 2u);
    const ActivityLease& late = batch.items.front().lease;
    std::vector<StolenLease> news{{node, late, CancelReason::timeout}};
    for (std::uint64_t i = 1; i <= 5000; ++i) {
      news.push_back({node, {late.key, LeaseToken{late.token.value + i}}, CancelReason::timeout});
    }
    runtime.leases_stolen(news);
  };
  world.run(options);
  EXPECT_EQ(world.client.wait("after", forever).value().status, Status::completed);
  EXPECT_EQ(who_began(), (std::vector<std::string>{"after 1"}));
}

TEST(EarlyNews, IsForgottenWhenItsLeaseWouldBeOver) {
  runtime::EarlyNews news(30s);
  const LeaseTime start{};
  const auto lease = [](std::uint64_t token) { return ActivityLease{{}, LeaseToken{token}}; };
  for (std::uint64_t i = 1; i <= 10; ++i) news.remember(lease(i), CancelReason::timeout, start);
  EXPECT_EQ(news.take(lease(1), start + 29s), CancelReason::timeout);
  EXPECT_EQ(news.take(lease(1), start + 29s), std::nullopt);
  news.remember(lease(11), CancelReason::select_loser, start + 30s);
  EXPECT_EQ(news.size(), 1u);
  EXPECT_EQ(news.take(lease(2), start + 30s), std::nullopt);
  EXPECT_EQ(news.take(lease(11), start + 30s), CancelReason::select_loser);
}

}  // namespace
}  // namespace duramen::test
