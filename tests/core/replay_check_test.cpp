// Checks whether this build still replays a recorded history. Histories are made by running code as a runtime
// would; then another build replays them.
#include <duramen/replay_check.hpp>

#include "core/harness.hpp"
#include <duramen/combinators.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace duramen::core_test {
namespace {

using ::testing::HasSubstr;
using Kind = ReplayFinding::Kind;

Task<int> two_steps(Context& ctx) {
  const int first = co_await ctx.schedule_activity<int>("First", 0);
  const int second = co_await ctx.schedule_activity<int>("Second", first);
  co_return second;
}

Task<int> steps_in_another_order(Context& ctx) {
  const int first = co_await ctx.schedule_activity<int>("Second", 0);
  const int second = co_await ctx.schedule_activity<int>("First", first);
  co_return second;
}

Task<int> two_steps_another_result(Context& ctx) {
  const int first = co_await ctx.schedule_activity<int>("First", 0);
  const int second = co_await ctx.schedule_activity<int>("Second", first);
  co_return second + 1;
}

Task<int> two_steps_another_input(Context& ctx) {
  const int first = co_await ctx.schedule_activity<int>("First", 0);
  const int second = co_await ctx.schedule_activity<int>("Second", first + 1);
  co_return second;
}

Task<int> two_steps_and_a_third(Context& ctx) {
  const int first = co_await ctx.schedule_activity<int>("First", 0);
  const int second = co_await ctx.schedule_activity<int>("Second", first);
  const int third = co_await ctx.schedule_activity<int>("Third", second);
  co_return third;
}

Task<int> two_steps_and_a_failure(Context& ctx) {
  const int first = co_await ctx.schedule_activity<int>("First", 0);
  const int second = co_await ctx.schedule_activity<int>("Second", first);
  if (second == 2) throw std::runtime_error("changed its mind");
  co_return second;
}

Task<int> one_step(Context& ctx) {
  const int first = co_await ctx.schedule_activity<int>("First", 0);
  co_return first;
}

template <class F>
Registry build(F code, const OrchestrationOptions& options = {}) {
  Registry registry;
  registry.add("subject", std::move(code), options);
  return registry;
}

RecordedInstance recorded(const Instance& instance) {
  return {"order-1", {{ExecutionId{1}, instance.history()}}};
}

/// The history of two_steps, ended or on its way.
RecordedInstance a_history(bool ended = true) {
  Instance instance(two_steps);
  instance.start();
  instance.complete("First", 1);
  if (ended) instance.complete("Second", 2);
  return recorded(instance);
}

TEST(ReplayCheck, TheSameCodeReplaysAHistoryThatHasEnded) {
  const ReplayReport report = check_replay(build(two_steps), a_history());
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_TRUE(report.findings.empty()) << report.text();
  EXPECT_EQ(report.instances, 1u);
  EXPECT_EQ(report.events, 6u);
}

TEST(ReplayCheck, AResultThatOnlyTheRuntimesOwnLimitAllowsIsReplayed) {
  core::ExecutionOptions options;
  options.max_payload_bytes = payload_ceiling;
  const auto large = [](Context&) -> Task<std::string> {
    co_return std::string(default_payload_limit + 1, 'x');
  };
  Instance instance{large, Mode::every_way, options};
  instance.start();
  const ReplayReport report = check_replay(build(large), recorded(instance));
  EXPECT_TRUE(report.findings.empty()) << report.text();
}

TEST(ReplayCheck, TheSameCodeReplaysAHistoryThatGoesOn) {
  EXPECT_TRUE(check_replay(build(two_steps), a_history(false)).ok());
}

TEST(ReplayCheck, ACallThatChangedItsPlaceIsFoundWithBothSides) {
  const ReplayReport report = check_replay(build(steps_in_another_order), a_history());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.findings[0].kind, Kind::nondeterminism);
  EXPECT_THAT(report.findings[0].describe(),
              HasSubstr("\"order-1\", execution 1 (subject 1.0.0) does not replay"));
  EXPECT_THAT(report.findings[0].message, HasSubstr("\"First\""));
  EXPECT_THAT(report.findings[0].message, HasSubstr("\"Second\""));
  EXPECT_THAT(report.findings[0].message, HasSubstr("replay_check_test.cpp"));
}

TEST(ReplayCheck, AStepThatWasAddedBeforeTheEndIsFound) {
  const ReplayReport report = check_replay(build(two_steps_and_a_third), a_history());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings[0].message, HasSubstr("\"Third\""));
}

TEST(ReplayCheck, AnInstanceBeforeAnAddedLastStepStillReplays) {
  EXPECT_TRUE(check_replay(build(two_steps_and_a_third), a_history(false)).ok());
}

TEST(ReplayCheck, AnEndThatComesTooEarlyIsFound) {
  EXPECT_FALSE(check_replay(build(one_step), a_history()).ok());
  EXPECT_FALSE(check_replay(build(one_step), a_history(false)).ok());
}

TEST(ReplayCheck, AFailureWhereThereWasAResultIsFound) {
  const ReplayReport report = check_replay(build(two_steps_and_a_failure), a_history());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings[0].message, HasSubstr("changed its mind"));
}

TEST(ReplayCheck, AnotherResultIsReportedAndTolerated) {
  const ReplayReport report = check_replay(build(two_steps_another_result), a_history());
  EXPECT_TRUE(report.ok());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, Kind::tolerated);
  EXPECT_THAT(report.findings[0].message, HasSubstr("result 2; the code now has 3"));
}

TEST(ReplayCheck, AnotherInputIsToleratedOnlyIfAskedFor) {
  EXPECT_FALSE(check_replay(build(two_steps_another_input), a_history()).ok());
  const ReplayReport report =
      check_replay(build(two_steps_another_input), a_history(), {.tolerate_inputs = true});
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(report.findings.size(), 1u);
}

TEST(ReplayCheck, AVersionThatIsGoneIsFound) {
  const ReplayReport report = check_replay(build(two_steps, "2.0.0"), a_history());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, Kind::no_code);
  EXPECT_THAT(report.text(), HasSubstr("1 problem"));
}

TEST(ReplayCheck, ALostRaceReplaysWithItsDrops) {
  const auto race = [](Context& ctx) -> Task<int> {
    auto slow = ctx.schedule_activity<int>("Slow", 0);
    auto fast = ctx.schedule_activity<int>("Fast", 0);
    auto winner = co_await ctx.select2(std::move(slow), std::move(fast));
    co_return static_cast<int>(winner.index());
  };
  Instance instance(race);
  instance.start();
  instance.complete("Fast", 1);
  const ReplayReport report = check_replay(build(race), recorded(instance));
  EXPECT_TRUE(report.findings.empty()) << report.text();
}

TEST(ReplayCheck, OpenWorkAtTheEndIsExpectedToBeDropped) {
  const auto leaves_one = [](Context& ctx) -> Task<int> {
    ctx.schedule_activity<int>("Kept", 0).detach();
    const int first = co_await ctx.schedule_activity<int>("First", 0);
    co_return first;
  };
  Instance instance(leaves_one);
  instance.start();
  instance.complete("First", 1);
  ASSERT_EQ(story_of(instance.history()).size(), 6u);  // Kept is cancelled before the end
  const ReplayReport report = check_replay(build(leaves_one), recorded(instance));
  EXPECT_TRUE(report.findings.empty()) << report.text();
}

TEST(ReplayCheck, ACancelledHistoryReplaysUpToTheRequest) {
  Instance instance(two_steps);
  instance.start();
  instance.complete("First", 1);
  instance.cancel("enough");
  const ReplayReport report = check_replay(build(two_steps), recorded(instance));
  EXPECT_TRUE(report.findings.empty()) << report.text();
}

TEST(ReplayCheck, LinesThatCannotBeReadAreFindingsAndTheRestIsReplayed) {
  const std::string good = to_json_lines(a_history());
  RecordedInstance other = a_history();
  other.instance = "order-2";
  std::istringstream stream("{\"instance_id\":\"bad\",\"execution_id\":1}\n" + good + "no json\n" +
                            to_json_lines(other));
  const ReplayReport report = check_replay(build(two_steps), stream, "histories.jsonl");
  EXPECT_FALSE(report.ok());
  ASSERT_EQ(report.findings.size(), 2u) << report.text();
  EXPECT_EQ(report.findings[0].kind, Kind::unreadable);
  EXPECT_THAT(report.findings[0].message, HasSubstr("histories.jsonl, line 1"));
  EXPECT_THAT(report.findings[1].message, HasSubstr("line 8"));
  EXPECT_EQ(report.instances, 1u);  // the broken line stood where order-1's history could have gone on
}

TEST(RecordedHistory, AWrittenHistoryIsReadBack) {
  RecordedInstance one = a_history();
  RecordedInstance two = a_history(false);
  two.instance = "order-2";
  std::istringstream stream(to_json_lines(one) + "\n" + to_json_lines(two));
  RecordedHistoryReader reader(stream, "test");
  EXPECT_EQ(reader.next().value(), one);
  EXPECT_EQ(reader.next().value(), two);
  EXPECT_EQ(reader.next().value(), std::nullopt);
  EXPECT_TRUE(one.has_ended());
  EXPECT_FALSE(two.has_ended());
}

TEST(RecordedHistory, AMissingLineIsNamed) {
  std::string lines = to_json_lines(a_history());
  lines.erase(0, lines.find('\n') + 1);
  std::istringstream stream(lines);
  RecordedHistoryReader reader(stream, "test");
  const auto recorded = reader.next();
  ASSERT_FALSE(recorded);
  EXPECT_EQ(recorded.error().code, ErrorCode::corrupt);
  EXPECT_THAT(recorded.error().message, HasSubstr("test, line 1: event 2 stands where event 1"));
}

}  // namespace
}  // namespace duramen::core_test
