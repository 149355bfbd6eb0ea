// The suite catches providers that are wrong on purpose: one test per mutant.
#include "mutants/mutant.hpp"
#include <duramen/testing/conformance.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>

namespace duramen::testing {
namespace {

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> all;
  for (auto part :
       {activity_mutants, cancel_descent_mutants, cancellation_mutants, turn_mutants, fetch_mutants,
        message_mutants, queue_mutants, session_mutants, overdue_mutants, management_mutants}) {
    const auto mutants = part();
    all.insert(all.end(), mutants.begin(), mutants.end());
  }
  return all;
}

const ConformanceCase* find_case(std::string_view name) {
  const auto cases = conformance_cases();
  const auto found = std::ranges::find(cases, name, &ConformanceCase::name);
  return found == cases.end() ? nullptr : &*found;
}

class MutantTest final : public ::testing::Test {
 public:
  explicit MutantTest(const Mutant& mutant) : mutant_(mutant) {}

  void TestBody() override {
    const ConformanceCase* which = find_case(mutant_.caught_by);
    ASSERT_NE(which, nullptr) << "no such case: " << mutant_.caught_by;
    const auto right = with_manual_clock(
        "right", [](const Clock& clock) { return std::make_shared<MemoryProvider>(clock); });
    const auto wrong = with_manual_clock("wrong", [this](const Clock& clock) {
      return mutant_.make(std::make_shared<MemoryProvider>(clock));
    });
    for (const std::string& failure : run_conformance_case(*which, right)) {
      ADD_FAILURE() << "the case fails without the mutation: " << failure;
    }
    const std::vector<std::string> caught = run_conformance_case(*which, wrong);
    ASSERT_FALSE(caught.empty()) << mutant_.caught_by << " does not catch: " << mutant_.wrong;
    // A check of the case failed; an exception would be chance.
    EXPECT_EQ(caught.front().find("exception"), std::string::npos) << caught.front();
    std::cout << "caught: " << caught.front() << "\n";
  }

 private:
  const Mutant mutant_;
};

const bool registered = [] {
  for (const Mutant& mutant : all_mutants()) {
    ::testing::RegisterTest("Mutants", std::string(mutant.name).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [mutant]() -> ::testing::Test* { return new MutantTest(mutant); });
  }
  return true;
}();

/// Wraps and changes nothing. The suite must catch mutations, not the wrapper.
class Unchanged final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
};

TEST(MutantTable, TheWrapperAloneIsNotCaught) {
  const auto wrapped = with_manual_clock("wrapped", [](const Clock& clock) {
    return make_mutant<Unchanged>(std::make_shared<MemoryProvider>(clock));
  });
  std::set<std::string_view> used;
  for (const Mutant& mutant : all_mutants()) used.insert(mutant.caught_by);
  for (const std::string_view name : used) {
    const ConformanceCase* which = find_case(name);
    ASSERT_NE(which, nullptr) << name;
    EXPECT_TRUE(run_conformance_case(*which, wrapped).empty()) << name;
  }
}

TEST(MutantTable, NamesAreUniqueAndSentencesAreSentences) {
  std::set<std::string_view> names;
  for (const Mutant& mutant : all_mutants()) {
    EXPECT_TRUE(names.insert(mutant.name).second) << mutant.name;
    EXPECT_TRUE(mutant.wrong.ends_with('.')) << mutant.name;
  }
  EXPECT_GE(names.size(), 40u);
}

}  // namespace
}  // namespace duramen::testing
