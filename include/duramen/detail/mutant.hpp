// Former defects, each behind a switch, so that tests can restore one and check that it is found.
//
// Only the builds of the tests (option DURAMEN_MUTANTS) have the switches; there the environment variable
// DURAMEN_MUTANT names the one active defect. In all other builds mutant() is false at compile time, and the
// guarded code is not in the program. `tests/mutants/engine_mutants.cmake` lists each with the test that
// fails.
#pragma once

#ifdef DURAMEN_MUTANTS
#include <cstdlib>
#endif
#include <string_view>

namespace duramen::inline v0::detail {

#ifdef DURAMEN_MUTANTS
/// True if the defect `name` is active in this process.
[[nodiscard]] inline bool mutant(std::string_view name) noexcept {
  static const char* const chosen = std::getenv("DURAMEN_MUTANT");
  return chosen != nullptr && name == chosen;
}
#else
[[nodiscard]] constexpr bool mutant(std::string_view /*name*/) noexcept { return false; }
#endif

}  // namespace duramen::inline v0::detail
