// Skips every case of the program where its store cannot be had.
#include "e2e/test_store.hpp"

namespace {
[[maybe_unused]] const auto* const needed =
    ::testing::AddGlobalTestEnvironment(new duramen::test::NeedsItsStore);
}  // namespace
