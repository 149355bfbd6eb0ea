// The engine version from which on a kind of event may be in a history.
//
// A node that does not know a kind of event cannot read a history that has one. So a new kind belongs to a
// new engine version, and is only written to executions that began at that version or a later one. The same
// holds for a field that changes what replay means.
#pragma once

#include <duramen/history.hpp>

#include <cstdint>
#include <variant>

namespace duramen::inline v0::core {

/// All kinds of the first release have the value 1. A later kind gets a line here.
template <class Kind>
inline constexpr std::uint32_t since_engine_version = 1;
#ifdef DURAMEN_TEST_LEVEL_2
template <>
inline constexpr std::uint32_t since_engine_version<event::TestMark> = 2;
#endif

[[nodiscard]] inline std::uint32_t needed_engine_version(const EventBody& body) {
  return std::visit([]<class Kind>(const Kind&) { return since_engine_version<Kind>; }, body);
}

}  // namespace duramen::inline v0::core
