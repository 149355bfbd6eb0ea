// Orchestrations that chance wrote: what they do is data, made from a number, and so is what must come out.
#pragma once

#include <duramen/testing/simulation.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace duramen::simulation_test {

/// What one execution of a program does, in order.
struct Step {
  enum class Kind : std::uint8_t {
    activity,         ///< a function or a coroutine that takes its time
    timer,
    race,             ///< an activity against a timer; the loser is cancelled
    join,             ///< several activities at once
    child,            ///< another program
    drop,             ///< begun, and dropped after a while
    failure,          ///< an activity that fails, and is tried again in vain
    marks,            ///< custom status, a key-value, a detached child-less start, a guid
  };
  Kind kind = Kind::activity;
  std::uint64_t number = 0;  ///< whatever the step needs
  std::uint64_t width = 1;
};

/// The program as its start carries it: seed, depth of children, executions, what was summed up before.
using Program = std::vector<std::uint64_t>;
[[nodiscard]] Program make_program(std::uint64_t seed);
[[nodiscard]] std::vector<Step> steps_of(const Program& program);
/// What it returns if nobody cancels it.
[[nodiscard]] std::uint64_t expected_result(const Program& program);
/// For people.
[[nodiscard]] std::string describe(const Program& program);

[[nodiscard]] Registry program_registry();

/// Several programs, some of them cancelled, under all kinds of disasters. What is wrong; empty if nothing is.
[[nodiscard]] std::string simulate_programs(testing::SimulationOptions options, testing::SimulationReport* report = nullptr);

}  // namespace duramen::simulation_test
