// The orchestrations of hello and fanout.
#pragma once

#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>

#include <string>
#include <utility>
#include <vector>

namespace bench {

inline duramen::Task<std::string> hello(duramen::OrchestrationContext& ctx, std::string name) {
  co_return co_await ctx.schedule_activity("Greet", name);
}

inline duramen::Task<std::string> fanout(duramen::OrchestrationContext& ctx, std::string name) {
  std::vector<duramen::DurableFuture<std::string>> greetings;
  for (int i = 0; i < 5; ++i) greetings.push_back(ctx.schedule_activity("Greet", name));
  const auto answers = co_await ctx.join(std::move(greetings));
  co_return answers.front();
}

inline duramen::Registry greeting_registry() {
  duramen::Registry registry;
  registry.add("Greet", [](duramen::ActivityContext&, std::string name) { return name; });
  registry.add("Hello", hello);
  registry.add("Fanout", fanout);
  return registry;
}

}  // namespace bench
