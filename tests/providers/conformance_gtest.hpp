// One googletest case for each case of the conformance table.
#pragma once

#include <duramen/testing/conformance.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace duramen::testing {

class ConformanceTest final : public ::testing::Test {
 public:
  ConformanceTest(const ConformanceCase& which, const ProviderUnderTest& provider)
      : which_(which), provider_(provider) {}

  void TestBody() override {
    for (const std::string& failure : run_conformance_case(which_, provider_)) {
      ADD_FAILURE() << failure;
    }
  }

 private:
  const ConformanceCase& which_;
  const ProviderUnderTest provider_;
};

/// Registers every case for one provider. Call it before the tests run, for example to initialise a global.
inline bool register_conformance(const ProviderUnderTest& provider) {
  const std::string suite = "Conformance_" + provider.name;
  for (const ConformanceCase& which : conformance_cases()) {
    ::testing::RegisterTest(
        suite.c_str(), std::string(which.name).c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [&which, provider]() -> ::testing::Test* { return new ConformanceTest(which, provider); });
  }
  return true;
}

}  // namespace duramen::testing
