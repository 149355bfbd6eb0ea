// The registry: what is registered wrongly is refused where it is written.

#include <duramen/registry.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace duramen::core_test {
namespace {

Task<std::string> one(OrchestrationContext& /*ctx*/) { co_return "one"; }
std::string act(ActivityContext& /*ctx*/) { return "done"; }

// In the reference a second registration under a name replaces the first, or is found only by an explicit
// check.
TEST(Registries, RefuseANameThatIsTaken) {
  Registry registry;
  registry.add("o", &one).add("a", &act);
  EXPECT_THROW(registry.add("o", &one), std::invalid_argument);
  EXPECT_THROW(registry.add("a", &act), std::invalid_argument);
  EXPECT_THROW(registry.add("", &one), std::invalid_argument);
  EXPECT_THROW(registry.add("p", &one, "1.x"), std::invalid_argument);
}

TEST(Registries, TakeVersionsInAnyOrderAndReturnTheHighestOrTheRequestedOne) {
  Registry registry;
  registry.add("o", &one, "1.10.0").add("o", &one, "1.9.0").add("o", &one, "1.2.0");
  EXPECT_EQ(registry.find_orchestration("o", {})->version, "1.10.0");
  EXPECT_EQ(registry.find_orchestration("o", "1.2.0")->version, "1.2.0");
  EXPECT_EQ(registry.find_orchestration("o", "2.0.0"), nullptr);
  EXPECT_EQ(registry.find_orchestration("other", {}), nullptr);
}

TEST(Registries, RememberGracefulOrchestrations) {
  Registry registry;
  registry.add("o", &one).add("g", &one, OrchestrationOptions().graceful());
  EXPECT_FALSE(registry.find_orchestration("o", {})->graceful);
  EXPECT_TRUE(registry.find_orchestration("g", {})->graceful);
}

}  // namespace
}  // namespace duramen::core_test
