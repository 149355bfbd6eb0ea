// What worker processes of a rolling deployment have in common.
#pragma once

#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>

#include <cstdio>
#include <string>

namespace duramen::test {

/// Tells the test that started this process.
inline void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Old and new code of one name differ in what they return.
inline void add_version(Registry& registry, const std::string& version) {
  registry.add(
      "deploy",
      [version](OrchestrationContext& ctx, int value) -> Task<std::string> {
        value = co_await ctx.schedule_activity<int>("Add", value);
        value += co_await ctx.schedule_wait<int>("go");
        value = co_await ctx.schedule_activity<int>("Add", value);
        co_return version + " " + std::to_string(value);
      },
      version);
}

}  // namespace duramen::test
