// The control: what the other files get wrong, done right.
#include <duramen/registry.hpp>

#include <chrono>

namespace dm = duramen;

constexpr dm::Activity<int(std::string)> Measure{"Measure"};

dm::Task<int> measure(dm::OrchestrationContext& ctx, std::string what) {
  co_await ctx.schedule_timer(std::chrono::seconds(1));
  int size = co_await ctx.schedule_activity(Measure, what);
  co_return size;
}

void register_all(dm::Registry& registry) {
  registry.add("measure", measure);
  registry.add(Measure, [](dm::ActivityContext&, std::string what) { return static_cast<int>(what.size()); });
}
