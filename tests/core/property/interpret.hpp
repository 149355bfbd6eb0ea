// Runs a Program as an orchestration.
#pragma once

#include "core/property/program.hpp"
#include <duramen/registry.hpp>

#include <memory>

namespace duramen::core_test::property {

[[nodiscard]] std::shared_ptr<const OrchestrationHandler> handler_for(std::shared_ptr<const Program> program);

}  // namespace duramen::core_test::property
