#include "providers/conformance_gtest.hpp"
#include <duramen/testing/memory_provider.hpp>

namespace duramen::testing {
namespace {

const bool registered = register_conformance(
    with_manual_clock("memory", [](const Clock& clock) { return std::make_shared<MemoryProvider>(clock); }));

}  // namespace
}  // namespace duramen::testing
