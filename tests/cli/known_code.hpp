// The code of the instances of the known store; a module has the same.
#pragma once

#include <duramen/registry.hpp>

#include <stdexcept>
#include <string>

namespace duramen::test {

inline Task<std::string> checkout(OrchestrationContext& ctx, int order) {
  const auto receipt = co_await ctx.schedule_activity<std::string>("Charge", order);
  co_return receipt;
}

inline Task<std::string> approval(OrchestrationContext& ctx) {
  ctx.set_custom_status("waiting for approval");
  const auto by = co_await ctx.schedule_wait<std::string>("approved");
  co_return by;
}

inline Task<void> child(OrchestrationContext& ctx) { co_await ctx.schedule_wait("go"); }

inline Task<void> parent(OrchestrationContext& ctx) {
  co_await ctx.schedule_sub_orchestration<void>("Child", 0);
}

inline Task<int> ticker(OrchestrationContext& ctx, int round) {
  ctx.set_kv_value("round", round);
  ctx.set_kv_value("name", std::string("ticker"));
  if (round < 3) co_return co_await ctx.continue_as_new(round + 1);
  co_return round;
}

inline Registry known_code() {
  Registry registry;
  registry.add("Checkout", checkout)
      .add("Approval", approval)
      .add("Child", child)
      .add("Parent", parent)
      .add("Ticker", ticker)
      .add("Charge", [](ActivityContext&, int order) -> std::string {
        if (order == 2) throw std::runtime_error("card declined");
        return "receipt-" + std::to_string(order);
      });
  return registry;
}

}  // namespace duramen::test
