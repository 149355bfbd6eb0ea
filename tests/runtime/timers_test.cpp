// When a runtime fetches for timers that are due.
#include "runtime/clocked_world.hpp"
#include <duramen/forwarding_provider.hpp>

#include <atomic>
#include <memory>

namespace duramen::test {
namespace {

/// Counts fetches of turns.
class CountedFetches final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<int> fetches{0};

 private:
  std::optional<Error> after(const ProviderCall& call) override {
    if (call.operation == "fetch_turns") ++fetches;
    return std::nullopt;
  }
};

TEST(Timers, AFetchThatCameTooEarlyIsRepeated) {
  std::shared_ptr<CountedFetches> store;
  ClockedWorld world([&](std::shared_ptr<Provider> inner) {
    return store = std::make_shared<CountedFetches>(std::move(inner));
  });
  world.registry.add("sleep",
                     [](OrchestrationContext& ctx) -> Task<void> { co_await ctx.schedule_timer(100ms); });
  RuntimeOptions options;
  options.poll_interval = 24h;  // nothing is found by looking again and again
  world.run(options);
  world.client.start("s", "sleep").value();
  world.until([&] { return world.client.get_instance("s").value().status == Status::running; });

  // The clock on the wall goes a little slower than the one that wakes the runtime.
  world.clock.jump_wall(-3ms);
  const int before = store->fetches;
  world.clock.advance(100ms);
  world.until([&] { return store->fetches > before; });
  EXPECT_EQ(world.client.get_instance("s").value().status, Status::running);
  // Little by little: when the runtime plans the next fetch, the clock may have moved already.
  EXPECT_EQ(world.wait("s", [&] { world.clock.advance(10ms); }).status, Status::completed);
}

}  // namespace
}  // namespace duramen::test
