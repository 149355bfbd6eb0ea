// Compares the code's actions with history. The table of compared fields:
//
//   activity           name, input (as normalised JSON; see ExecutionOptions::input_mismatch), tag, session
//   timer              position only: a changed duration is not an error, the recorded due time stands
//   external wait      name                     queue wait       name
//   sub-orchestration  name, input, version, explicit id
//   detached start     name, instance, input, version
//   custom status      position only            KV set           key, value        KV clear  key
//
// Reasons, stamps and options are not compared.
#pragma once

#include <duramen/detail/leaf.hpp>
#include <duramen/history.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

namespace duramen::inline v0::core {

enum class ActionMatch : std::uint8_t { same, other_input, different };
[[nodiscard]] ActionMatch compare_actions(const EventBody& recorded, const EventBody& now);

/// The names of activities that stand for recorded values: completed by the very next event, never run by a
/// worker.
[[nodiscard]] const char* recorded_value_name(detail::RecordedValue value) noexcept;
[[nodiscard]] bool is_recorded_value(const event::ActivityScheduled& activity) noexcept;
/// True if history[at] completes a recorded value: then no worker ran it.
[[nodiscard]] bool completes_recorded_value(std::span<const Event> history, std::size_t at) noexcept;

/// One line for a person: `activity "Charge" with input {"id":7}`.
[[nodiscard]] std::string describe_action(const EventBody& body);

/// "orders.cpp:42".
[[nodiscard]] std::string describe_place(const std::source_location& at);

/// The text of a nondeterminism failure: a small diff, the place in the code, and what to do. A missing
/// action has no place in the code; then `last_action` gives the place of the last action.
[[nodiscard]] std::string describe_mismatch(EventId event, const std::string& recorded,
                                            const std::string& now, const std::source_location* where,
                                            const std::source_location* last_action);

}  // namespace duramen::inline v0::core
