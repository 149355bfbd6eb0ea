#include <duramen/orchestration.hpp>

constexpr duramen::Activity<int(std::string)> Measure{"Measure"};

duramen::Task<int> measure(duramen::OrchestrationContext& ctx) {
  co_return co_await ctx.schedule_activity(Measure, 7);
}
