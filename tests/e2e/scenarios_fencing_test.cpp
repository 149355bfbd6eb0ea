// The token with which a store can refuse writes of an attempt that lost its lease.
#include "e2e/store_world.hpp"
#include <duramen/testing/faulty_provider.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <stdexcept>

namespace duramen::test {
namespace {

/// A runtime that can be cut off from its store.
class Node {
 public:
  Node(StoreWorld& world, std::string name)
      : runtime_(Store(std::make_shared<testing::FaultyProvider>(
                     world.store.provider(),
                     [this](const testing::ProviderCall& call, std::uint64_t) {
                       if (call.operation == "renew_turns") ++turn_renewals_;
                       return cut_off_ ? testing::Fault::error : testing::Fault::none;
                     })),
                 world.registry, RuntimeOptions{.node = NodeId(std::move(name)), .log = world.log.sink()}) {}
  ~Node() { cut_off_ = false; }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void cut_off(bool cut) { cut_off_ = cut; }
  void shut_down() { runtime_.shutdown(Duration{0}); }
  [[nodiscard]] int turn_renewals() const { return turn_renewals_; }

 private:
  std::atomic<bool> cut_off_{false};
  std::atomic<int> turn_renewals_{0};
  Runtime runtime_;
};

struct Attempt {
  std::string node;
  std::uint32_t attempt;
  std::uint64_t token;
  std::string key;
};

class Fencing : public ::testing::TestWithParam<std::string> {
 protected:
  Fencing()
      : world([](std::shared_ptr<Provider> store) -> std::shared_ptr<Provider> {
          if (GetParam() == "Memory") return std::make_shared<testing::MemoryProvider>(store->clock());
          return store;
        }) {
    world.registry.add("use", [](OrchestrationContext& ctx, int value) -> Task<int> {
      co_return co_await ctx.schedule_activity<int>("Write", value);
    });
  }
  /// An activity that returns on its `last` attempt; earlier attempts wait to be stopped.
  void write_until(std::size_t last) {
    world.registry.add("Write", [this, last](ActivityContext& ctx, int value) -> ActivityTask<int> {
      if (note(ctx) == last) co_return value;
      co_await ctx.cancelled();
      throw std::runtime_error("interrupted");
    });
  }
  std::size_t note(const ActivityContext& ctx) {
    std::lock_guard lock(mutex);
    attempts.push_back({ctx.node().value, ctx.attempt(), ctx.fencing_token(), ctx.idempotency_key()});
    return attempts.size();
  }
  /// Advances the clock until `count` attempts have begun.
  void until_attempts(std::size_t count) {
    world.until(
        [&] {
          std::lock_guard lock(mutex);
          return attempts.size() >= count;
        },
        [&] { world.pass(1s); });
  }
  StoreWorld world;
  std::mutex mutex;
  std::vector<Attempt> attempts;
};

TEST_P(Fencing, EveryLaterAttemptHasAGreaterToken) {
  write_until(4);
  Node first(world, "first");
  world.client.start("w", "use", 7).value();
  until_attempts(1);
  first.cut_off(true);
  Node second(world, "second");
  // The lease ended, and another node took it.
  until_attempts(2);
  {
    Node third(world, "third");
    second.shut_down();
    // Released by the shutdown: the attempt does not count.
    until_attempts(3);
    third.cut_off(true);
    world.until([&] { return world.provider.get_queue_depths().value().worker_leased == 0; },
                [&] { world.pass(1s); });
    third.cut_off(false);
    // The lease ended, and the same node took it again.
    until_attempts(4);
    EXPECT_EQ(world.end_of("w").output_as<int>(), 7);
  }
  ASSERT_EQ(attempts.size(), 4u);
  EXPECT_EQ(attempts[0].node, "first");
  EXPECT_EQ(attempts[1].node, "second");
  EXPECT_EQ(attempts[2].node, "third");
  EXPECT_EQ(attempts[3].node, "third");
  EXPECT_EQ(attempts[2].attempt, attempts[1].attempt);
  for (std::size_t i = 1; i < attempts.size(); ++i) {
    EXPECT_GT(attempts[i].token, attempts[i - 1].token) << "attempt " << i + 1;
    EXPECT_EQ(attempts[i].key, attempts[0].key);
  }
}

TEST_P(Fencing, ALeaseReleasedBeforeItsAttemptBeganHadATokenOfItsOwn) {
  {
    Node turns(world, "turns");  // has no code for the activity
    world.client.start("w", "use", 7).value();
    world.until([&] { return world.provider.get_queue_depths().value().worker_due == 1; });
  }
  ActivityFetch fetch;
  fetch.node = "doomed";
  fetch.lease = 10s;
  const LeasedActivity taken = world.provider.fetch_activities(fetch).value().items.at(0);
  const ActivityRelease back{taken.lease, {}, false};
  world.provider.release_activities({&back, 1}).value();
  write_until(1);
  Node node(world, "node");
  EXPECT_EQ(world.end_of("w").output_as<int>(), 7);
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].attempt, 1u);
  EXPECT_GT(attempts[0].token, taken.fence);
}

TEST_P(Fencing, AnInstanceStaysWithItsNodeWhileItsCodeBlocks) {
  std::atomic<int> turns{0};
  Signal<bool> begun;
  Signal<bool> go_on;
  world.registry.add("block", [&](OrchestrationContext&, int value) -> Task<int> {
    ++turns;
    begun.set(true);
    (void)go_on.wait();
    co_return value;
  });
  Node first(world, "first");
  Node second(world, "second");
  world.client.start("w", "block", 7).value();
  ASSERT_TRUE(begun.wait());
  // Four times the lease: both nodes poll meanwhile.
  const auto renewals = [&] { return first.turn_renewals() + second.turn_renewals(); };
  for (int i = 0; i < 10; ++i) {
    const int before = renewals();
    world.clock.advance(4s);
    world.until([&] { return renewals() > before; });
  }
  go_on.set(true);
  EXPECT_EQ(world.end_of("w").output_as<int>(), 7);
  EXPECT_EQ(turns, 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, Fencing, ::testing::Values("Memory", "OfTheProgram"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace duramen::test
