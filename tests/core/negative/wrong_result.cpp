#include <duramen/orchestration.hpp>

constexpr duramen::Activity<int(std::string)> Measure{"Measure"};

duramen::Task<int> measure(duramen::OrchestrationContext& ctx) {
  std::string size = co_await ctx.schedule_activity(Measure, "a word");
  co_return 1;
}
