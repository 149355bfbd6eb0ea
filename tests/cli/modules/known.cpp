// A module with the code of the known store, and an activity that runs until it is stopped.
#include "cli/known_code.hpp"
#include <duramen/module.hpp>

DURAMEN_MODULE(registry) {
  registry = duramen::test::known_code();
  registry.add("Slow", [](duramen::OrchestrationContext& ctx) -> duramen::Task<std::string> {
    const auto how = co_await ctx.schedule_activity<std::string>("Sleep", 0);
    co_return how;
  });
  registry.add("Sleep", [](duramen::ActivityContext& ctx, int) -> duramen::ActivityTask<std::string> {
    co_await ctx.cancelled();
    throw std::runtime_error("interrupted");
  });
}
