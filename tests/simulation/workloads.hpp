// The workloads of the simulations and their expected outcomes.
#pragma once

#include <duramen/testing/simulation.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace duramen::simulation_test {

struct Workload {
  std::string name;
  Registry (*registry)();
  /// Starts the instances.
  void (*arrange)(testing::Simulation&);
  /// The problems of the outcome; empty if there are none.
  std::string (*verdict)(const testing::Simulation&);

  friend void PrintTo(const Workload& workload, std::ostream* out) { *out << workload.name; }
};

/// hello, chain, select and cancel.
const std::vector<Workload>& workloads();
const Workload& workload(std::string_view name);

/// Runs the workload and returns the problems, if any.
struct Outcome {
  testing::SimulationReport report;
  std::string problem;
};
Outcome simulate(const Workload& workload, testing::SimulationOptions options);

/// Faults of all kinds. Their number depends on the seed: some runs have a few, some have none.
testing::SimulationOptions stormy(std::uint64_t seed);

}  // namespace duramen::simulation_test
