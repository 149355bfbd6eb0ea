// The counts of the store for the metrics, and the work that must not wait for them.
#include "runtime/clocked_world.hpp"
#include <duramen/forwarding_provider.hpp>
#include <duramen/metrics.hpp>

#include <condition_variable>
#include <map>
#include <mutex>

namespace duramen::test {
namespace {

/// A store that counts as slowly, and as much, as the test sets.
class CountedStore final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  struct Part {
    Incarnation after;
    std::size_t limit;
  };

  Result<InstanceCount> count_instances(Incarnation after, std::size_t limit) override {
    std::unique_lock lock(mutex_);
    parts_.push_back({after, limit});
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    if (clock_ != nullptr) clock_->advance(Duration{static_cast<Duration::rep>(limit) / 10});
    if (parts_.size() > pretended_.size()) return ForwardingProvider::count_instances(after, limit);
    return pretended_[parts_.size() - 1];
  }

  /// The answers to the first parts.
  void pretend(std::vector<InstanceCount> parts) {
    std::lock_guard lock(mutex_);
    pretended_ = std::move(parts);
  }
  /// From now on it reads ten instances in a millisecond.
  void slow_down(testing::ManualClock& clock) {
    std::lock_guard lock(mutex_);
    clock_ = &clock;
  }
  void hold() {
    std::lock_guard lock(mutex_);
    held_ = true;
  }
  void let_go() {
    std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  [[nodiscard]] bool wait_until_counting() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, forever, [this] { return !parts_.empty(); });
  }
  [[nodiscard]] std::vector<Part> parts() {
    std::lock_guard lock(mutex_);
    return parts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Part> parts_;
  std::vector<InstanceCount> pretended_;
  testing::ManualClock* clock_ = nullptr;
  bool held_ = false;
};

/// The gauges alone, and how often each was set.
class SetGauges final : public Metrics {
 public:
  void add(std::string_view, std::uint64_t, MetricLabels) override {}
  void observe(std::string_view, double, MetricLabels) override {}
  void set(std::string_view gauge, double value, MetricLabels) override {
    std::lock_guard lock(mutex_);
    values_[std::string(gauge)].push_back(value);
  }
  [[nodiscard]] std::vector<double> open_instances() {
    std::lock_guard lock(mutex_);
    return values_["duramen_active_orchestrations"];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<double>> values_;
};

class Gauges : public ::testing::Test {
 protected:
  Gauges()
      : world([this](std::shared_ptr<Provider> inner) {
          return store = std::make_shared<CountedStore>(std::move(inner));
        }) {}
  ~Gauges() override { store->let_go(); }  // before the runtimes are waited for

  std::shared_ptr<SetGauges> run(Duration interval = 60s) {
    auto gauges = std::make_shared<SetGauges>();
    RuntimeOptions options;
    options.metrics = gauges;
    options.gauge_interval = interval;
    world.run(options);
    return gauges;
  }

  std::shared_ptr<CountedStore> store;
  ClockedWorld world;
};

InstanceCount part_of(std::uint64_t running, std::uint64_t completed, Incarnation next) {
  InstanceCount part;
  part.instances.at(static_cast<std::size_t>(Status::running)) = running;
  part.instances.at(static_cast<std::size_t>(Status::completed)) = completed;
  part.next = next;
  return part;
}

TEST_F(Gauges, TurnsAndCancelsContinueWhileTheStoreIsCounted) {
  constexpr auto bound = 10s;  // only so that a broken runtime ends the test
  Signal<bool> begun;
  world.registry.add("Add", [](ActivityContext&, int value) { return value + 1; });
  world.registry.add("Wait", [&](ActivityContext& ctx, int value) -> ActivityTask<int> {
    begun.set(true);
    co_await ctx.cancelled();
    co_return value;
  });
  world.registry.add("add", [](OrchestrationContext& ctx, int value) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Add", value);
  });
  world.registry.add("wait", [](OrchestrationContext& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Wait", 1);
  });
  store->hold();
  run();
  ASSERT_TRUE(store->wait_until_counting());

  // With its own Store: the runtime has to fetch the starts and the cancel.
  Client elsewhere{Store{store}};
  elsewhere.start("a", "add", 1).value();
  const auto added = elsewhere.wait("a", bound);
  ASSERT_TRUE(added) << added.error().describe();
  EXPECT_EQ(added->output_as<int>(), 2);

  elsewhere.start("w", "wait").value();
  ASSERT_TRUE(begun.wait());
  elsewhere.cancel("w", "enough").value();
  const auto cancelled = elsewhere.wait("w", bound);
  ASSERT_TRUE(cancelled) << cancelled.error().describe();
  EXPECT_EQ(cancelled->status, Status::cancelled);
  EXPECT_EQ(store->parts().size(), 1u) << "it is still being counted";
}

TEST_F(Gauges, InstancesAreCountedInPartsThatAreBounded) {
  store->pretend({part_of(2, 9'998, Incarnation{10'000}), part_of(1, 9'999, Incarnation{20'000}),
                  part_of(4, 1, Incarnation{})});
  auto gauges = run();
  world.until([&] { return !gauges->open_instances().empty(); }, [&] { world.clock.advance(25ms); });
  EXPECT_EQ(gauges->open_instances(), std::vector<double>{7});
  std::vector<Incarnation> from;
  for (const auto& part : store->parts()) {
    from.push_back(part.after);
    EXPECT_LE(part.limit, 10'000u);
  }
  EXPECT_EQ(from, (std::vector{Incarnation{}, Incarnation{10'000}, Incarnation{20'000}}));
}

// A part had 10,000 instances, however long the store took for them.
TEST_F(Gauges, ASlowStoreIsReadInPartsThatTakeAFewMilliseconds) {
  std::vector<InstanceCount> parts(6, part_of(1, 99, Incarnation{100}));
  parts.push_back(part_of(1, 0, Incarnation{}));
  store->pretend(parts);
  store->slow_down(world.clock);
  auto gauges = run();
  world.until([&] { return !gauges->open_instances().empty(); }, [&] { world.clock.advance(25ms); });
  EXPECT_EQ(gauges->open_instances(), std::vector<double>{7});
  const auto read = store->parts();
  ASSERT_EQ(read.size(), 7u);
  EXPECT_LE(read.front().limit, 1'000u);
  for (std::size_t i = 1; i < read.size(); ++i) {
    EXPECT_LE(read[i].limit, 250u) << i;  // 25 ms
    EXPECT_GE(read[i].limit, 100u) << i;
  }
}

TEST_F(Gauges, AFastStoreIsReadInLargerParts) {
  std::vector<InstanceCount> parts(9, part_of(0, 100, Incarnation{100}));
  parts.push_back(part_of(3, 0, Incarnation{}));
  store->pretend(parts);
  auto gauges = run();
  world.until([&] { return !gauges->open_instances().empty(); }, [&] { world.clock.advance(5ms); });
  EXPECT_GT(store->parts().back().limit, 1'000u);
  EXPECT_LE(store->parts().back().limit, 10'000u);
}

TEST_F(Gauges, RuntimesOnOneStoreCountItOncePerInterval) {
  store->pretend({part_of(3, 0, Incarnation{}), part_of(5, 0, Incarnation{})});
  auto first = run();
  world.until([&] { return !first->open_instances().empty(); });
  auto second = run();
  world.until([&] { return !second->open_instances().empty(); });
  EXPECT_EQ(second->open_instances(), std::vector<double>{3}) << "the count of the first, for both";

  world.clock.advance(60s);
  for (const auto& gauges : {first, second})
    world.until([&] { return gauges->open_instances().size() >= 2; });
  EXPECT_EQ(first->open_instances(), (std::vector<double>{3, 5}));
  EXPECT_EQ(second->open_instances(), (std::vector<double>{3, 5}));
  EXPECT_EQ(store->parts().size(), 2u);
}

TEST_F(Gauges, ARuntimeThatEndsWhileItCountsLeavesTheNextCountToTheOthers) {
  store->pretend({part_of(1, 9'999, Incarnation{10'000}), part_of(8, 0, Incarnation{})});
  auto first = run();
  world.until([&] { return store->parts().size() == 1; });
  auto second = run();
  world.runtimes.front()->shutdown(0ms);
  EXPECT_TRUE(first->open_instances().empty());
  world.until([&] { return !second->open_instances().empty(); }, [&] { world.clock.advance(1s); });
  EXPECT_EQ(second->open_instances().front(), 8);
  EXPECT_EQ(store->parts().at(1).after, Incarnation{}) << "from the beginning";
}

// The hub remembered when the last count began: a new runtime had no gauges for an interval.
TEST_F(Gauges, ARuntimeThatReplacesAnotherCountsAtOnce) {
  store->pretend({part_of(3, 0, Incarnation{}), part_of(5, 0, Incarnation{})});
  auto first = run();
  world.until([&] { return !first->open_instances().empty(); });
  world.runtimes.clear();
  auto second = run();
  world.until([&] { return !second->open_instances().empty(); });
  EXPECT_EQ(second->open_instances(), std::vector<double>{5});
}

TEST_F(Gauges, ARuntimeThatReplacesOneThatEndedWhileItCountedCountsAtOnce) {
  store->pretend({part_of(1, 9'999, Incarnation{10'000}), part_of(8, 0, Incarnation{})});
  auto first = run();
  world.until([&] { return store->parts().size() == 1; });
  world.runtimes.clear();
  auto second = run();
  world.until([&] { return !second->open_instances().empty(); });
  EXPECT_EQ(second->open_instances(), std::vector<double>{8});
}

}  // namespace
}  // namespace duramen::test
