// Defects that once were here, each behind a switch, so that tests can put one back and see that it is found.
//
// Only the builds of the tests (option DURAMEN_MUTANTS) have the switches; there the environment variable
// DURAMEN_MUTANT names the one defect that is on. Everywhere else mutant() is false at compile time, and what
// it guards is not in the program. `tests/mutants/engine_mutants.cmake` lists each with the test that fails.
#pragma once

#ifdef DURAMEN_MUTANTS
#include <cstdlib>
#endif
#include <string_view>

namespace duramen::inline v0::detail {

#ifdef DURAMEN_MUTANTS
/// True if the defect `name` is switched on in this process.
[[nodiscard]] inline bool mutant(std::string_view name) noexcept {
  static const char* const chosen = std::getenv("DURAMEN_MUTANT");
  return chosen != nullptr && name == chosen;
}
#else
[[nodiscard]] constexpr bool mutant(std::string_view /*name*/) noexcept { return false; }
#endif

}  // namespace duramen::inline v0::detail
