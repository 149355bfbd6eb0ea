// Random orchestrations. Their steps and their expected result are data, made from a seed.
#pragma once

#include <duramen/testing/simulation.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace duramen::simulation_test {

/// The steps of one execution of a program, in order.
struct Step {
  enum class Kind : std::uint8_t {
    activity,  ///< a function or a coroutine that takes its time
    timer,
    race,       ///< an activity against a timer; the loser is cancelled
    join,       ///< several activities at once
    child,      ///< another program
    drop,       ///< begun, and dropped after a while
    failure,    ///< an activity that fails at every attempt
    marks,      ///< custom status, a key-value, a detached child-less start, a guid
    event,      ///< waits for an event that arrives sooner or later
    queue,      ///< takes several messages of its queue, in order
    impatient,  ///< takes one, and drops its wait for it again and again
  };
  static constexpr std::uint64_t kinds = 11;
  Kind kind = Kind::activity;
  std::uint64_t number = 0;  ///< parameter of the step
  std::uint64_t width = 1;
};

/// The input of a program: seed, depth of children, executions, the sum so far, whether it receives
/// messages (a child does not: its id is unknown), and the number of queue messages it has taken.
using Program = std::vector<std::uint64_t>;
enum Receives : std::uint64_t { nothing = 0, messages = 1 };
[[nodiscard]] Program make_program(std::uint64_t seed, Receives receives = nothing);
[[nodiscard]] std::vector<Step> steps_of(const Program& program);
/// Its result if it is not cancelled.
[[nodiscard]] std::uint64_t expected_result(const Program& program);
/// The names of the events it waits for, in order, and the number of messages it takes from its queue.
[[nodiscard]] std::vector<std::string> events_for(const Program& program);
[[nodiscard]] std::uint64_t queued_for(const Program& program);
/// A readable form.
[[nodiscard]] std::string describe(const Program& program);

[[nodiscard]] Registry program_registry();

/// Runs several programs, some of them cancelled, under all kinds of faults. Returns the problems; empty if
/// there are none.
[[nodiscard]] std::string simulate_programs(testing::SimulationOptions options,
                                            testing::SimulationReport* report = nullptr);

}  // namespace duramen::simulation_test
