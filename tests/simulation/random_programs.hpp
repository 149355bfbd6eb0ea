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
    activity,  ///< a function or a coroutine that takes its time
    timer,
    race,       ///< an activity against a timer; the loser is cancelled
    join,       ///< several activities at once
    child,      ///< another program
    drop,       ///< begun, and dropped after a while
    failure,    ///< an activity that fails, and is tried again in vain
    marks,      ///< custom status, a key-value, a detached child-less start, a guid
    event,      ///< waits for an event that somebody sends, sooner or later
    queue,      ///< takes several messages of its queue, in order
    impatient,  ///< takes one, and drops its wait for it again and again
  };
  static constexpr std::uint64_t kinds = 11;
  Kind kind = Kind::activity;
  std::uint64_t number = 0;  ///< whatever the step needs
  std::uint64_t width = 1;
};

/// The program as its start carries it: seed, depth of children, executions, what was summed up before,
/// whether it may receive messages (a child, whose id nobody knows, does not) and expects them in order, how
/// many of its queue it has taken.
using Program = std::vector<std::uint64_t>;
enum Receives : std::uint64_t { nothing = 0, messages = 1, messages_in_order = 2 };
[[nodiscard]] Program make_program(std::uint64_t seed, Receives receives = nothing);
[[nodiscard]] std::vector<Step> steps_of(const Program& program);
/// What it returns if nobody cancels it.
[[nodiscard]] std::uint64_t expected_result(const Program& program);
/// The names of the events it waits for, in the order in which it does, and how many messages it takes from
/// its queue.
[[nodiscard]] std::vector<std::string> events_for(const Program& program);
[[nodiscard]] std::uint64_t queued_for(const Program& program);
/// For people.
[[nodiscard]] std::string describe(const Program& program);

[[nodiscard]] Registry program_registry();

/// Several programs, some of them cancelled, under all kinds of disasters. What is wrong; empty if nothing
/// is.
[[nodiscard]] std::string simulate_programs(testing::SimulationOptions options,
                                            testing::SimulationReport* report = nullptr);

}  // namespace duramen::simulation_test
