// Nodes that read engine version 1 and nodes that read version 2 on one store, while the write level rises.
// The build has a made-up version 2 with one more kind of event.
#include <duramen/orchestration.hpp>
#include <duramen/registry.hpp>
#include <duramen/testing/forwarding_provider.hpp>
#include <duramen/testing/simulation.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <variant>

namespace duramen::simulation_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::Simulation;
using testing::SimulationOptions;

constexpr int executions = 4;

/// Tries to write the new kind of event in each of its executions: "+" where it could, "-" where not.
Task<std::string> marks(OrchestrationContext& ctx, std::string before) {
  co_await ctx.schedule_activity<int>("step", 1);
  std::string how = "+";
  for (int i = 0; i < 2; ++i) {
    try {
      ctx.test_mark("mark");
    } catch (const DurableError&) {
      how = "-";
    }
    co_await ctx.schedule_timer(10s);
  }
  before += how;
  if (before.size() < executions) co_await ctx.continue_as_new(before);
  co_return before;
}

Registry registry() {
  Registry registry;
  registry.add("marks", marks);
  registry.add("step", [](ActivityContext&, int i) { return i; });
  return registry;
}

bool needs_version_2(const Event& event) {
  if (const auto* started = std::get_if<event::OrchestrationStarted>(&event.body))
    return started->engine_version > 1;
  return std::holds_alternative<event::TestMark>(event.body);
}

/// Raises the write level after a minute, and checks what nodes of version 1 receive.
class Store : public testing::ForwardingProvider {
 public:
  Store(std::shared_ptr<Provider> inner, std::string& problem)
      : ForwardingProvider(std::move(inner)), problem_(problem), began_(clock().lease_now()) {}

  Result<std::uint32_t> get_write_level() override { return clock().lease_now() < began_ + 1min ? 1 : 2; }
  Result<TurnBatch> fetch_turns(const TurnFetch& request) override {
    auto answer = fetch(request);
    for (std::size_t i = 0; answer && request.max_engine_version == 1 && i < answer->items.size(); ++i) {
      const LeasedInstance& item = answer->items[i];
      if (item.status == Status::continued_as_new) continue;  // the next execution has no history yet
      const auto history = inner().read_history(item.instance, item.execution, {});
      if (history && std::ranges::any_of(*history, needs_version_2))
        problem_ += "a node of version 1 received " + item.instance.value + "\n";
    }
    return answer;
  }

 protected:
  virtual Result<TurnBatch> fetch(const TurnFetch& request) { return inner().fetch_turns(request); }

 private:
  std::string& problem_;
  const LeaseTime began_;
};

class StoreThatIgnoresVersions final : public Store {
 public:
  using Store::Store;

 protected:
  Result<TurnBatch> fetch(const TurnFetch& request) override {
    TurnFetch all = request;
    all.max_engine_version = 2;
    return inner().fetch_turns(all);
  }
};

struct Outcome {
  std::string problem;
  std::string outputs;
};

template <class StoreOfTest>
Outcome simulate(std::uint64_t seed) {
  constexpr int instances = 4;
  Outcome outcome;
  SimulationOptions options;
  options.seed = seed;
  options.nodes = 3;
  options.deadline = 24h;
  options.crash_rate = seed % 3 == 0 ? 0 : 0.02;
  options.fault_rate = seed % 5 == 0 ? 0 : 0.05;
  options.runtime.max_attempts = 1000;
  if (seed % 4 == 0) options.runtime.max_resident_instances = 0;
  options.change_node = [](std::uint64_t number, RuntimeOptions& node) {
    // At most two at a time: a node that reads everything is always among the three.
    node.max_engine_version = number == 2 || number == 4 ? 1 : 2;
  };
  options.wrap_store = [&](std::shared_ptr<Provider> inner) {
    return std::make_shared<StoreOfTest>(std::move(inner), outcome.problem);
  };
  Simulation simulation(registry(), options);
  for (int i = 0; i < instances; ++i) {
    simulation.start(InstanceId("marks-" + std::to_string(i)), "marks", std::string{}, i * 15s);
  }
  const auto report = simulation.run();
  if (!report.ok()) outcome.problem += report.describe();
  for (int i = 0; i < instances; ++i) {
    const auto info = simulation.instance(InstanceId("marks-" + std::to_string(i)));
    if (info && info->status == Status::completed) {
      outcome.outputs += info->output->data + " ";
    } else {
      outcome.problem += "marks-" + std::to_string(i) + " did not complete: " + report.describe();
    }
  }
  return outcome;
}

TEST(MixedLevels, NodesOfBothVersionsCompleteEverythingWhileTheWriteLevelRises) {
  std::string outputs;
  for (const std::uint64_t seed : testing::simulation_seeds(1, 150)) {
    const Outcome outcome = simulate<Store>(seed);
    ASSERT_EQ(outcome.problem, "") << "seed " << seed;
    outputs += outcome.outputs;
  }
  // Instances went from the one version to the other.
  EXPECT_THAT(outputs, HasSubstr("-+"));
}

TEST(MixedLevels, AStoreThatIgnoresVersionsIsFound) {
  std::string problem;
  for (std::uint64_t seed = 1; problem.empty() && seed <= 20; ++seed) {
    problem = simulate<StoreThatIgnoresVersions>(seed).problem;
  }
  EXPECT_THAT(problem, HasSubstr("a node of version 1 received"));
}

}  // namespace
}  // namespace duramen::simulation_test
