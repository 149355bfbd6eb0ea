// docs/conformance.md and the suite name the same cases.
#include <duramen/testing/conformance.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

namespace duramen::testing {
namespace {

/// The rows "| `name` | text |" of a part of the page.
using Rows = std::map<std::string, std::string>;

struct Page {
  Rows reference;
  Rows own;
};

Page read_page() {
  std::ifstream file(DURAMEN_CONFORMANCE_PAGE);
  EXPECT_TRUE(file.is_open()) << DURAMEN_CONFORMANCE_PAGE;
  Page page;
  Rows* part = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line == "## The reference suite") part = &page.reference;
    if (line == "## Our own") part = &page.own;
    if (!part || !line.starts_with("| `")) continue;
    const auto name_end = line.find("` | ");
    if (name_end == std::string::npos || !line.ends_with(" |")) {
      ADD_FAILURE() << "not a row: " << line;
      continue;
    }
    const std::string name = line.substr(3, name_end - 3);
    const std::string text = line.substr(name_end + 4, line.size() - name_end - 6);
    EXPECT_TRUE(part->emplace(name, text).second) << name << " is listed twice";
  }
  return page;
}

std::map<std::string, std::string> suite() {
  std::map<std::string, std::string> cases;
  for (const ConformanceCase& which : conformance_cases()) {
    EXPECT_TRUE(cases.emplace(which.name, which.checks).second) << which.name << " is registered twice";
  }
  return cases;
}

TEST(ConformanceList, EveryValidationOfTheReferenceIsThereOrLeftOutWithAReason) {
  const Rows reference = read_page().reference;
  const auto cases = suite();
  EXPECT_EQ(reference.size(), 213u);
  for (const auto& [name, text] : reference) {
    const bool adapted = text.starts_with("adapted: ");
    const bool left_out = text.starts_with("left out: ");
    EXPECT_TRUE(text == "same" || adapted || left_out) << name << ": " << text;
    EXPECT_EQ(cases.contains(name), !left_out) << name << ": " << text;
  }
}

TEST(ConformanceList, EveryCaseOfOurOwnIsListedWithItsSentence) {
  const Page page = read_page();
  const auto cases = suite();
  for (const auto& [name, checks] : cases) {
    if (page.reference.contains(name)) continue;
    const auto row = page.own.find(name);
    ASSERT_NE(row, page.own.end()) << "docs/conformance.md lacks: | `" << name << "` | " << checks << " |";
    EXPECT_EQ(row->second, checks) << name;
  }
  for (const auto& [name, text] : page.own) {
    EXPECT_TRUE(cases.contains(name)) << name << " is listed, but there is no such case";
    EXPECT_FALSE(page.reference.contains(name)) << name << " is listed twice";
  }
}

TEST(ConformanceList, TheCasesOfTheCancellationDesignsArePartOfTheSuite) {
  const auto cases = suite();
  for (const char* name :
       {"ack_work_item_none_deletes_without_enqueue", "ack_work_item_some_deletes_and_enqueues",
        "test_ack_orchestration_item_deletes_cancelled_activities",
        "test_cancellation_of_locked_activity_causes_renewal_failure",
        "test_cancellation_of_unlocked_activity_removes_from_queue",
        "test_ack_work_item_fails_on_cancelled_row", "test_ack_work_item_succeeds_if_row_exists",
        "test_mass_cancellation_deletes_all_activities"}) {
    EXPECT_TRUE(cases.contains(name)) << name;
  }
}

TEST(ConformanceList, EveryCaseSaysWhatItPromises) {
  for (const ConformanceCase& which : conformance_cases()) {
    EXPECT_TRUE(which.checks.ends_with('.')) << which.name;
    EXPECT_EQ(which.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos)
        << which.name;
  }
}

}  // namespace
}  // namespace duramen::testing
