// Files of recorded histories.
#include <duramen/registry.hpp>
#include <duramen/replay_check.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace duramen {
namespace {

using ::testing::HasSubstr;

TEST(ReplayCheck, AFileThatIsNotThereIsAFinding) {
  const ReplayReport report = check_replay_file(Registry{}, "/nonexistent/histories.jsonl");
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(report.text(), HasSubstr("duramen export"));
}

TEST(ReplayCheck, ADirectoryIsAFinding) {
  const ReplayReport report = check_replay_file(Registry{}, "/");
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(report.text(), HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace duramen
