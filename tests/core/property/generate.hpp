// Invents programs, and changes them the way a deployment might.
#pragma once

#include "core/property/program.hpp"
#include "core/property/rng.hpp"

namespace duramen::core_test::property {

[[nodiscard]] Program generate(Rng& rng);
/// One or two small changes: a name, a number, a statement more or less, two swapped.
[[nodiscard]] Program mutate(const Program& program, Rng& rng);

}  // namespace duramen::core_test::property
