// docs/conformance.md is made from the tables of the conformance suite. To write it again:
//   DURAMEN_WRITE_PAGES=1 build/dev/tests/providers/conformance_list_test
#include <duramen/testing/conformance.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace duramen::testing {
namespace {

/// "leases_of_activities" -> "Leases of activities"
std::string heading(std::string_view chapter) {
  std::string text(chapter);
  for (char& c : text) {
    if (c == '_') c = ' ';
  }
  if (!text.empty()) text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

std::string page() {
  std::size_t same = 0;
  std::size_t adapted = 0;
  std::ostringstream tables;
  std::string_view chapter;
  for (const ConformanceCase& which : conformance_cases()) {
    if (which.chapter != chapter) {
      chapter = which.chapter;
      tables << "\n### " << heading(chapter) << "\n\n| Case | Reference | Difference |\n|---|---|---|\n";
    }
    tables << "| " << quoted(which.name) << " |";
    if (which.reference.empty()) {
      tables << " | |\n";
      continue;
    }
    ++(which.difference.empty() ? same : adapted);
    tables << " " << quoted(which.reference) << " | "
           << (which.difference.empty() ? "same" : which.difference) << " |\n";
  }
  const auto omitted = omitted_reference_cases();

  std::ostringstream out;
  out << R"(# What the conformance suite checks

<!-- Made from the tables in src/testing/conformance by tests/providers/conformance_list_test.cpp. Do not edit. -->

A provider is correct when it passes the suite of `<duramen/testing/conformance.hpp>`;
[testing a provider](guides/testing-a-provider.md) shows how to run it. The name of a case is a sentence that is true
when the case passes. `tests/mutants` proves that the cases can fail: it holds providers that are wrong on purpose, and
each names the case that must catch it.

The behaviour of Duramen follows duroxide 0.1.26. Its suite, the reference, has )"
      << same + adapted + omitted.size() << " cases:\n\n- " << same << " are the **same** here.\n- "
      << adapted
      << " are adapted: the same promise in Duramen's terms. The last column states the difference.\n- "
      << omitted.size() << R"( are [left out](#left-out), because the promise does not exist here.

These differences apply everywhere: calls take many entries and answer each one, so an error about one entry is an
outcome, not an exception; the cases advance the clock and never sleep; a fetch returns what it leased, and history is
read after it. Cases without a reference are our own. Eight of them have the names that the design documents on
cancellation ask for.

## Cases
)" << tables.str()
      << "\n## Left out\n\n| Reference | Why |\n|---|---|\n";
  for (const OmittedReferenceCase& which : omitted) {
    out << "| " << quoted(which.reference) << " | " << which.why << " |\n";
  }
  return out.str();
}

TEST(ConformanceList, ThePageIsMadeFromTheTables) {
  const std::string wanted = page();
  if (std::getenv("DURAMEN_WRITE_PAGES") != nullptr) {
    std::ofstream(DURAMEN_CONFORMANCE_PAGE) << wanted;
  }
  std::ifstream file(DURAMEN_CONFORMANCE_PAGE);
  ASSERT_TRUE(file.is_open()) << DURAMEN_CONFORMANCE_PAGE;
  std::ostringstream found;
  found << file.rdbuf();
  EXPECT_TRUE(found.str() == wanted) << DURAMEN_CONFORMANCE_PAGE
                                     << " is stale: run this test with DURAMEN_WRITE_PAGES=1";
}

TEST(ConformanceList, EveryReferenceCaseIsInOneOfTheTables) {
  std::set<std::string_view> references;
  for (const ConformanceCase& which : conformance_cases()) {
    if (which.reference.empty()) {
      EXPECT_TRUE(which.difference.empty()) << which.name << " differs from no reference";
      continue;
    }
    EXPECT_TRUE(references.insert(which.reference).second) << which.reference << " is there twice";
  }
  for (const OmittedReferenceCase& which : omitted_reference_cases()) {
    EXPECT_TRUE(references.insert(which.reference).second) << which.reference << " is there twice";
    EXPECT_FALSE(which.why.empty()) << which.reference;
  }
  EXPECT_EQ(references.size(), 213u);
}

TEST(ConformanceList, NamesAreUniqueIdentifiers) {
  std::set<std::string_view> names;
  for (const ConformanceCase& which : conformance_cases()) {
    EXPECT_TRUE(names.insert(which.name).second) << which.name << " is there twice";
    for (const std::string_view word : {which.name, which.chapter}) {
      EXPECT_FALSE(word.empty()) << which.name;
      EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos)
          << word;
    }
  }
}

TEST(ConformanceList, TheCasesOfTheCancellationDesignsArePartOfTheSuite) {
  std::set<std::string_view> names;
  for (const ConformanceCase& which : conformance_cases()) names.insert(which.name);
  for (const char* name :
       {"ack_work_item_none_deletes_without_enqueue", "ack_work_item_some_deletes_and_enqueues",
        "test_ack_orchestration_item_deletes_cancelled_activities",
        "test_cancellation_of_locked_activity_causes_renewal_failure",
        "test_cancellation_of_unlocked_activity_removes_from_queue",
        "test_ack_work_item_fails_on_cancelled_row", "test_ack_work_item_succeeds_if_row_exists",
        "test_mass_cancellation_deletes_all_activities"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace duramen::testing
