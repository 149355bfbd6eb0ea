// Skips every case of the program if its store is not available.
#include "e2e/test_store.hpp"

namespace {
[[maybe_unused]] const auto* const needed =
    ::testing::AddGlobalTestEnvironment(new duramen::test::NeedsItsStore);
}  // namespace
