// Stop callbacks that block keep neither the cancels of others waiting nor their grace running.
#include "runtime/clocked_world.hpp"
#include "runtime/stop_notifier.hpp"
#include <duramen/forwarding_provider.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>

namespace duramen::test {
namespace {

std::size_t threads_named(const std::string& name) {
  std::size_t found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    std::string text;
    if (std::getline(comm, text) && text == name) ++found;
  }
  return found;
}

/// A store whose renewals of leases hang while the test wants it.
class HangingRenewals final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    ++hanging;
    while (hang) std::this_thread::sleep_for(1ms);
    --hanging;
    return ForwardingProvider::renew_activities(leases, extend);
  }
  std::atomic<bool> hang{false};
  std::atomic<int> hanging{0};
};

class StopCallbacks : public ::testing::Test {
 protected:
  StopCallbacks()
      : world([this](std::shared_ptr<Provider> inner) {
          return store = std::make_shared<HangingRenewals>(std::move(inner));
        }) {
    // The callback outlives the frame: while it runs, it cannot be destroyed there.
    world.registry.add("Blocks", [this](ActivityContext& ctx, int value) -> ActivityTask<int> {
      {
        std::lock_guard lock(mutex);
        callbacks.push_back(std::make_unique<Callback>(ctx.stop_token(), [this] {
          ++blocked;
          while (!go_on && world.clock.lease_now() < give_up) std::this_thread::sleep_for(1ms);
          --blocked;
        }));
      }
      ++begun;
      co_await ctx.cancelled();
      co_return value;
    });
    world.registry.add("Listens", [this](ActivityContext& ctx, int value) {
      ++begun;
      while (ctx.wait_for(1h)) {
      }
      blocked_when_notified.set(blocked);
      (void)tidy.wait();
      return value;
    });
    world.registry.add("Quick", [](ActivityContext&, int value) { return value; });
    world.registry.add("call", [](OrchestrationContext& ctx, std::string activity) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>(activity, 1);
    });
    options.activity_lease = 1h;  // none is lost because the clock is faster than the runtime
    options.session_idle = 1h;
    options.log = [this](const LogRecord& record) {
      if (record.level != LogLevel::warning) return;
      std::lock_guard lock(mutex);
      std::string line(record.message);
      for (const LogField& field : record.fields) {
        if (field.key == "instance_id") line += " (" + std::string(field.value) + ")";
      }
      warnings.push_back(std::move(line));
    };
  }
  ~StopCallbacks() override {
    go_on = true;
    store->hang = false;
    tidy.set(true);
    world.runtimes.clear();
  }
  void start(const std::string& instance, const std::string& activity) {
    const int before = begun;
    world.client.start(instance, "call", activity).value();
    world.until([&] { return begun > before; });
  }
  void cancel(const std::string& instance) {
    world.client.cancel(instance, "enough").value();
    EXPECT_EQ(world.client.wait(instance, forever).value().status, Status::cancelled);
  }
  /// Two callbacks block, and "listens" is cancelled behind them. The clock stands still.
  void cancel_behind_two_that_block() {
    for (const char* id : {"one", "two"}) start(id, "Blocks");
    start("listens", "Listens");
    for (const char* id : {"one", "two"}) cancel(id);
    world.until([&] { return blocked == 2; });
    cancel("listens");
  }
  std::size_t warned(const std::string& text, const std::string& instance) {
    std::lock_guard lock(mutex);
    return static_cast<std::size_t>(std::count_if(warnings.begin(), warnings.end(), [&](const auto& line) {
      return line.find(text) != std::string::npos && line.find("(" + instance + ")") != std::string::npos;
    }));
  }

  using Callback = std::stop_callback<std::function<void()>>;
  std::shared_ptr<HangingRenewals> store;
  ClockedWorld world;
  RuntimeOptions options;
  std::atomic<int> begun{0};
  std::atomic<int> blocked{0};
  std::atomic<bool> go_on{false};
  LeaseTime give_up = world.clock.lease_now() + 1h;  // so that a broken test ends
  Signal<int> blocked_when_notified;
  Signal<bool> tidy;
  std::mutex mutex;
  std::vector<std::unique_ptr<Callback>> callbacks;  ///< guarded by mutex
  std::vector<std::string> warnings;                 ///< guarded by mutex
};

TEST_F(StopCallbacks, TwoThatBlockDoNotDelayAnotherCancel) {
  options.cancel_grace = 2h;
  world.run(options);
  give_up = world.clock.lease_now() + 60s;
  cancel_behind_two_that_block();
  world.until([&] { return blocked_when_notified.is_set(); }, [&] { world.clock.advance(20ms); });
  EXPECT_EQ(blocked_when_notified.wait(), 2);
  for (const char* id : {"one", "two"}) {
    world.until([&] { return warned("a stop callback of activity 'Blocks'", id) == 1; });
  }
  EXPECT_EQ(warned("a stop callback", "listens"), 0u);
  go_on = true;
  world.until([&] { return threads_named("dm-cancel") == 2; });
}

// The thread that renews leases hung in the store, and nothing else noticed that the callbacks blocked.
TEST_F(StopCallbacks, TwoThatBlockDoNotDelayAnotherCancelWhileARenewalHangs) {
  options.cancel_grace = 2h;
  world.run(options);
  start("renewed", "Listens");
  store->hang = true;
  world.clock.advance(20min);  // a third of the lease
  world.until([&] { return store->hanging == 1; });
  give_up = world.clock.lease_now() + 60s;
  cancel_behind_two_that_block();
  world.until([&] { return blocked_when_notified.is_set(); }, [&] { world.clock.advance(20ms); });
  EXPECT_EQ(blocked_when_notified.wait(), 2);
  EXPECT_EQ(store->hanging, 1);
}

TEST_F(StopCallbacks, ManyThatBlockUseABoundedNumberOfThreads) {
  constexpr int most = 2 + static_cast<int>(runtime::StopNotifier::max_replaced);
  options.cancel_grace = 10s;
  Runtime& runtime = world.run(options);
  for (int i = 0; i < most + 4; ++i) start(std::to_string(i), "Blocks");
  for (int i = 0; i < most + 4; ++i) cancel(std::to_string(i));
  world.until([&] { return blocked == most; }, [&] { world.clock.advance(50ms); });
  EXPECT_EQ(threads_named("dm-cancel"), std::size_t{most});
  // The last four are not notified within twice the grace period, and are given up all the same.
  world.clock.advance(20s);
  world.until([&] {
    std::size_t given_up = 0;
    for (int i = 0; i < most + 4; ++i) {
      given_up += warned("still runs after the grace period", std::to_string(i));
    }
    return given_up >= 4;
  });
  EXPECT_EQ(blocked, most);
  EXPECT_EQ(runtime.abandoned_activities(), 0u);
  go_on = true;
}

TEST_F(StopCallbacks, GraceCountsFromWhenTheActivityWasNotified) {
  options.cancel_grace = 3s;
  Runtime& runtime = world.run(options);
  cancel_behind_two_that_block();
  world.clock.advance(3s);  // since the decision; only now are the two known to block
  ASSERT_TRUE(blocked_when_notified.wait());
  world.clock.advance(2s);
  for (const char* id : {"quick", "quick again"}) {
    EXPECT_EQ(world.finish(id, "call", "Quick").output_as<int>(), 1);  // the loop has run its timers
  }
  EXPECT_EQ(warned("still runs", "listens"), 0u);
  EXPECT_EQ(runtime.abandoned_activities(), 0u);
  world.until([&] { return runtime.abandoned_activities() == 1; }, [&] { world.clock.advance(1s); });
  EXPECT_EQ(warned("still runs", "listens"), 1u);
}

}  // namespace
}  // namespace duramen::test
