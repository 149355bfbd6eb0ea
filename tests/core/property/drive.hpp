// One seed: a program, a world around it, and every check on what they do together.
#pragma once

#include "core/property/checks.hpp"
#include "core/property/engine.hpp"
#include "core/property/program.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace duramen::core_test::property {

struct Report {
  Finding finding;
  Program program;
  std::size_t turns = 0;
  std::size_t events = 0;
  std::size_t executions = 0;
  std::size_t changes_reported = 0;
  std::size_t cancelled = 0;  // executions that ended that way
};

[[nodiscard]] Report check_seed(std::uint64_t seed, const EngineFactory& factory = real_engine);

/// The report of a failed seed: the finding, the program, and how to run it again.
[[nodiscard]] std::string describe(std::uint64_t seed, const Report& report);

}  // namespace duramen::core_test::property
