#include "simulation/workloads.hpp"

#include <duramen/combinators.hpp>
#include <duramen/orchestration.hpp>

#include <algorithm>
#include <cstdlib>

namespace duramen::simulation_test {

using namespace std::chrono_literals;
using testing::Simulation;

namespace {

std::string unexpected(const Simulation& simulation, const InstanceId& id, Status status,
                       const std::string& data) {
  const auto info = simulation.instance(id);
  if (!info) return id.value + " does not exist\n";
  std::string found = info->output ? info->output->data : "";
  if (info->failure) found = info->failure->message;
  if (info->status == status && found == data) return {};
  return id.value + " is " + std::string(to_string(info->status)) + " with \"" + found + "\", not " +
         std::string(to_string(status)) + " with \"" + data + "\"\n";
}

// -- hello: one activity ------------------------------------------

Task<std::string> hello(OrchestrationContext& ctx, std::string name) {
  auto greeting = co_await ctx.schedule_activity("Greet", name);
  co_return greeting;
}

Registry hello_registry() {
  Registry registry;
  registry.add("hello", hello);
  registry.add("Greet", [](ActivityContext&, std::string name) { return "hello, " + name; });
  return registry;
}

void hello_arrange(Simulation& simulation) {
  simulation.start("hello-1", "hello", std::string("oak"));
  simulation.start("hello-2", "hello", std::string("elm"), 1s);
}

std::string hello_verdict(const Simulation& simulation) {
  return unexpected(simulation, "hello-1", Status::completed, "hello, oak") +
         unexpected(simulation, "hello-2", Status::completed, "hello, elm");
}

// -- chain: one step after the other, functions, coroutines and a timer

Task<int> chain(OrchestrationContext& ctx, int steps) {
  int total = 0;
  for (int i = 1; i <= steps; ++i) {
    auto next =
        co_await ctx.schedule_activity<int>(i % 2 == 0 ? "AddSlowly" : "Add", std::vector<int>{total, i});
    total = next;
  }
  co_await ctx.schedule_timer(3s);
  auto both = co_await ctx.join2(ctx.schedule_activity<int>("Add", std::vector<int>{total, 100}),
                                 ctx.schedule_activity<int>("AddSlowly", std::vector<int>{total, 200}));
  co_return std::get<0>(both) + std::get<1>(both);
}

int sum(const std::vector<int>& terms) { return terms.at(0) + terms.at(1); }

ActivityTask<int> add_slowly(ActivityContext& ctx, std::vector<int> terms) {
  co_await ctx.sleep(700ms);
  co_return sum(terms);
}

Registry chain_registry() {
  Registry registry;
  registry.add("chain", chain);
  registry.add("Add", [](ActivityContext&, std::vector<int> terms) { return sum(terms); });
  registry.add("AddSlowly", add_slowly);
  return registry;
}

void chain_arrange(Simulation& simulation) { simulation.start("chain-1", "chain", 4); }

std::string chain_verdict(const Simulation& simulation) {
  return unexpected(simulation, "chain-1", Status::completed, "320");
}

// -- select: an activity races a timer, and the loser has no further effect

Task<std::string> race(OrchestrationContext& ctx, std::vector<int> seconds) {
  auto winner = co_await ctx.select2(ctx.schedule_activity<std::string>("Run", seconds.at(0)),
                                     ctx.schedule_timer(std::chrono::seconds{seconds.at(1)}));
  std::string first = winner.index() == 0 ? "activity" : "timer";
  // The instance runs on for a while, so that a late result would reach it.
  co_await ctx.schedule_timer(45s);
  auto result = co_await ctx.schedule_activity<std::string>("Run", 1);
  co_return first + " then " + result;
}

ActivityTask<std::string> run_for(ActivityContext& ctx, int seconds) {
  auto rested = co_await ctx.sleep(std::chrono::seconds{seconds});
  co_return rested ? "ran" : "stopped";
}

Registry select_registry() {
  Registry registry;
  registry.add("race", race);
  registry.add("Run", run_for);
  return registry;
}

void select_arrange(Simulation& simulation) {
  simulation.start("timer-wins", "race", std::vector<int>{100'000, 5});
  simulation.start("activity-wins", "race", std::vector<int>{2, 100'000'000});
  simulation.start("close-run", "race", std::vector<int>{4, 4});
}

/// The one of the two that is first in history.
std::string first_in_history(const Simulation& simulation, const InstanceId& id) {
  for (const Event& event : simulation.history(id)) {
    if (std::holds_alternative<event::ActivityCompleted>(event.body)) return "activity";
    if (std::holds_alternative<event::TimerFired>(event.body)) return "timer";
  }
  return "nobody";
}

std::string select_verdict(const Simulation& simulation) {
  return unexpected(simulation, "timer-wins", Status::completed, "timer then ran") +
         unexpected(simulation, "activity-wins", Status::completed, "activity then ran") +
         unexpected(simulation, "close-run", Status::completed,
                    first_in_history(simulation, "close-run") + " then ran");
}

// -- cancel: a client cancels while an activity runs ------------------------------------------

Task<std::string> patient(OrchestrationContext& ctx) {
  auto result = co_await ctx.join2(ctx.schedule_activity<std::string>("UntilCancelled", std::string("a")),
                                   ctx.schedule_activity<std::string>("UntilCancelled", std::string("b")));
  co_return std::get<0>(result);
}

ActivityTask<std::string> until_cancelled(ActivityContext& ctx, std::string /*which*/) {
  co_await ctx.cancelled();
  co_return "was told to stop";
}

Registry cancel_registry() {
  Registry registry;
  registry.add("patient", patient);
  registry.add("UntilCancelled", until_cancelled);
  return registry;
}

void cancel_arrange(Simulation& simulation) {
  simulation.start("patient-1", "patient");
  simulation.cancel("patient-1", "enough", 2s);
  simulation.start("patient-2", "patient");
  simulation.cancel("patient-2", "at once");
}

std::string cancel_verdict(const Simulation& simulation) {
  return unexpected(simulation, "patient-1", Status::cancelled, "enough") +
         unexpected(simulation, "patient-2", Status::cancelled, "at once");
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all{
      {"hello", hello_registry, hello_arrange, hello_verdict},
      {"chain", chain_registry, chain_arrange, chain_verdict},
      {"select", select_registry, select_arrange, select_verdict},
      {"cancel", cancel_registry, cancel_arrange, cancel_verdict},
  };
  return all;
}

const Workload& workload(std::string_view name) {
  return *std::ranges::find_if(workloads(),
                               [name](const Workload& candidate) { return candidate.name == name; });
}

Outcome simulate(const Workload& workload, testing::SimulationOptions options) {
  // A requested seed runs with a trace.
  if (std::getenv("DURAMEN_SIMULATION_SEED") != nullptr) options.trace = true;
  Simulation simulation(workload.registry(), std::move(options));
  workload.arrange(simulation);
  Outcome outcome{simulation.run(), {}};
  const std::string verdict = workload.verdict(simulation);
  if (!outcome.report.ok() || !verdict.empty()) outcome.problem = verdict + outcome.report.describe();
  return outcome;
}

testing::SimulationOptions stormy(std::uint64_t seed) {
  testing::SimulationOptions options;
  options.seed = seed;
  options.nodes = 1 + seed % 2;
  options.crash_rate = seed % 3 == 0 ? 0 : 0.03;
  options.fault_rate = seed % 5 == 0 ? 0 : 0.05;
  options.stall_rate = seed % 4 == 0 ? 0.01 : 0;
  options.wall_jump_rate = seed % 7 == 0 ? 0.005 : 0;
  // A timer of a wrong time may wait for days: polls every few seconds would take too long.
  if (options.wall_jump_rate > 0) options.runtime.poll_interval = 10min;
  if (seed % 5 == 1) options.backlog = seed % 10 == 1 ? 20s : 90s;
  if (seed % 8 < 2) options.max_messages_per_fetch = 1 + seed % 3;
  // A node that is paused again and again counts as a node that dies: after ten attempts its work is poison.
  options.runtime.max_attempts = 1000;
  // Very small limits: coroutines are evicted and replayed, activities wait for a place, turns for a batch.
  if (seed % 6 == 0) options.runtime.max_resident_instances = seed % 12 == 0 ? 0 : 1;
  if (seed % 11 == 0) options.runtime.max_activities = 1;
  if (seed % 13 == 0) options.runtime.max_commit_batch = 1;
  return options;
}

}  // namespace duramen::simulation_test
