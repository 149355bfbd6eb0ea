// What the simulations run, and what must come out of it.
#pragma once

#include <duramen/testing/simulation.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace duramen::simulation_test {

struct Workload {
  std::string name;
  Registry (*registry)();
  /// Starts what is to run.
  void (*arrange)(testing::Simulation&);
  /// What is wrong with the outcome; empty if nothing is.
  std::string (*verdict)(const testing::Simulation&);

  friend void PrintTo(const Workload& workload, std::ostream* out) { *out << workload.name; }
};

/// hello, chain, select and cancel.
const std::vector<Workload>& workloads();
const Workload& workload(std::string_view name);

/// Runs the workload and says what went wrong, if anything did.
struct Outcome {
  testing::SimulationReport report;
  std::string problem;
};
Outcome simulate(const Workload& workload, testing::SimulationOptions options);

/// Disasters of all kinds; how many of each depends on the seed, so that some runs have a few and some have
/// none.
testing::SimulationOptions stormy(std::uint64_t seed);

}  // namespace duramen::simulation_test
