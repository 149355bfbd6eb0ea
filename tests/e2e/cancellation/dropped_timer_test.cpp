// Changed code waits for a timer that the old code has dropped. No event records such a drop.
#include "e2e/store_world.hpp"

#include <optional>

namespace duramen::test {
namespace {

auto waits_for_a_timer(bool drops_it) {
  return [drops_it](OrchestrationContext& ctx) -> Task<std::string> {
    std::optional timer = ctx.schedule_timer(1min).start();
    auto go = ctx.schedule_wait<std::string>("go").start();
    co_await ctx.schedule_wait<std::string>("drop");
    if (drops_it) timer.reset();
    if (timer) co_await std::move(*timer);
    co_return co_await std::move(go);
  };
}

TEST(DroppedTimer, FiresForChangedCodeThatWaitsForIt) {
  StoreWorld world;
  world.registry.add("waits", waits_for_a_timer(true));
  Runtime& first = world.run();
  world.client.start("w", "waits").value();
  world.client.raise_event("w", "drop", "").value();
  world.until([&] { return world.events("w", "ExternalEvent") == 1; });
  first.shutdown();

  world.registry = Registry();
  world.registry.add("waits", waits_for_a_timer(false));
  world.run();
  world.client.raise_event("w", "go", "gone").value();
  EXPECT_EQ(world.end_of("w").output_as<std::string>(), "gone");
  EXPECT_EQ(world.events("w", "TimerFired"), 1u);
  world.expect_nothing_left();
}

}  // namespace
}  // namespace duramen::test
