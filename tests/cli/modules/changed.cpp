// The same code with a new first step.
#include "cli/known_code.hpp"
#include <duramen/module.hpp>

namespace {

duramen::Task<std::string> checkout(duramen::OrchestrationContext& ctx, int order) {
  co_await ctx.schedule_activity<std::string>("Reserve", order);
  const auto receipt = co_await ctx.schedule_activity<std::string>("Charge", order);
  co_return receipt;
}

}  // namespace

DURAMEN_MODULE(registry) { registry.add("Checkout", checkout); }
