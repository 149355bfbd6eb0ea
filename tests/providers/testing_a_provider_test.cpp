// The code of docs/guides/testing-a-provider.md, compiled and run. A test checks that the page shows this
// code.
#include <duramen/testing/conformance.hpp>
#include <duramen/testing/manual_clock.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace duramen::testing {
namespace {

std::shared_ptr<Provider> open_mine(const Clock& clock) { return std::make_shared<MemoryProvider>(clock); }

/// Stands for a database server with a hook that shifts its clock.
class MyServer {
 public:
  void shift_clock(Duration by) { clock_.advance(by); }
  [[nodiscard]] const Clock& clock() const { return clock_; }

 private:
  ManualClock clock_;
};

TEST(TestingAProvider, AProviderThatTakesAClockNeedsOneFunction) {
  // clang-format off
const ProviderUnderTest mine =
    with_manual_clock("mine", [](const Clock& clock) { return open_mine(clock); });

int failed = 0;
for (const ConformanceCase& which : conformance_cases()) {
  for (const std::string& failure : run_conformance_case(which, mine)) {
    std::cerr << which.name << ": " << failure << "\n";
    ++failed;
  }
}
  // clang-format on
  EXPECT_EQ(failed, 0);
}

// clang-format off
class StoreWithItsOwnClock final : public StoreUnderTest {
 public:
  Provider& provider() override { return *provider_; }
  void advance(Duration by) override { server_.shift_clock(by); }
  bool jump_wall(Duration) override { return false; }  // not possible: those checks are skipped

 private:
  MyServer server_;
  std::shared_ptr<Provider> provider_ = open_mine(server_.clock());
};

const ProviderUnderTest on_server{"on_server", [] { return std::make_unique<StoreWithItsOwnClock>(); }};

class ConformanceTest final : public ::testing::Test {
 public:
  ConformanceTest(const ConformanceCase& which, ProviderUnderTest provider)
      : which_(which), provider_(std::move(provider)) {}
  void TestBody() override {
    for (const std::string& failure : run_conformance_case(which_, provider_)) ADD_FAILURE() << failure;
  }

 private:
  const ConformanceCase& which_;
  const ProviderUnderTest provider_;
};

bool register_conformance(const ProviderUnderTest& provider) {
  for (const ConformanceCase& which : conformance_cases()) {
    ::testing::RegisterTest(("Conformance_" + provider.name).c_str(), std::string(which.name).c_str(), nullptr,
                            nullptr, __FILE__, __LINE__, [&which, provider]() -> ::testing::Test* {
                              return new ConformanceTest(which, provider);
                            });
  }
  return true;
}
// clang-format on

const bool registered = register_conformance(on_server);

std::string read(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(TestingAProvider, TheGuideShowsCodeOfThisFile) {
  const std::string page = read(DURAMEN_GUIDE);
  const std::string source = read(__FILE__);
  const std::string begin = "```cpp\n";
  int blocks = 0;
  for (auto at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    const std::string code = page.substr(at, page.find("```", at) - at);
    EXPECT_NE(source.find(code), std::string::npos) << "not in " << __FILE__ << ":\n" << code;
    ++blocks;
  }
  EXPECT_EQ(blocks, 3);
}

}  // namespace
}  // namespace duramen::testing
