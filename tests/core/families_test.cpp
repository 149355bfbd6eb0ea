// Parents, children and grandchildren together, with the messages between them.

#include "core/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const InstanceId child_id = "root::sub::1.2";
const InstanceId grandchild_id = "root::sub::1.2::sub::1.2";

Task<std::string> works(Context& ctx) { co_return co_await ctx.schedule_activity("Work", ""); }

World family() {
  World world;
  world.add("works", works);
  world.add("middle", [](Context& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_sub_orchestration("works", "") + " of middle";
  });
  world.add("top", [](Context& ctx) -> Task<std::string> {
    auto winner = co_await ctx.select2(ctx.schedule_sub_orchestration("middle", ""), ctx.schedule_timer(1s));
    if (winner.is_second()) co_return co_await ctx.schedule_activity("After", "");
    co_return winner.first() + " of top";
  });
  return world;
}

TEST(Families, AnswersTravelUp) {
  World world = family();
  world.start("root", "top");
  world.act(grandchild_id, [](Instance& i) { i.complete("Work", "result"); });
  EXPECT_EQ(world.at("root").output(), "result of middle of top");
}

TEST(Families, sub_orch_cancel_propagates_to_grandchildren) {
  World world = family();
  world.start("root", "top");
  world.act("root", [](Instance& i) { i.fire("1000ms"); });
  EXPECT_EQ(world.at(child_id).status(), Status::cancelled);
  EXPECT_THAT(world.at(child_id).story(), Contains("child works cancelled: parent_cancelled"));
  EXPECT_EQ(world.at(grandchild_id).status(), Status::cancelled);
  EXPECT_THAT(world.at(grandchild_id).story(), Contains("Work cancelled: parent_cancelled"));
  // The child's answer is in the root's history, and did not wake the code.
  EXPECT_THAT(world.at("root").last_turn(), ElementsAre("child middle failed"));
  world.act("root", [](Instance& i) { i.complete("After", "done"); });
  EXPECT_EQ(world.at("root").output(), "done");
}

TEST(Families, sub_orch_cancel_during_activity) {
  World world;
  world.add("works", works).add("top", [](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.schedule_sub_orchestration("works", ""), ctx.schedule_timer(1s));
    co_return "on time";
  });
  world.start("root", "top");
  EXPECT_THAT(world.at(child_id).worker_queue(), ElementsAre("Work"));
  world.act("root", [](Instance& i) { i.fire("1000ms"); });
  EXPECT_EQ(world.at("root").output(), "on time");
  EXPECT_EQ(world.at(child_id).status(), Status::cancelled);
  EXPECT_THAT(world.at(child_id).worker_queue(), testing::IsEmpty());
}

TEST(Families, CancellingTheRootCancelsAllBelow) {
  World world = family();
  world.start("root", "top");
  world.cancel("root");
  for (const InstanceId& id : {InstanceId("root"), child_id, grandchild_id}) {
    EXPECT_EQ(world.at(id).status(), Status::cancelled) << id.value;
  }
}

TEST(Families, CancellingAChildFailsItsParentsAwait) {
  World world = family();
  world.start("root", "top");
  world.cancel(child_id, "by hand");
  EXPECT_EQ(world.at(grandchild_id).status(), Status::cancelled);
  EXPECT_EQ(world.at("root").failure().kind, FailureKind::cancelled);
  EXPECT_EQ(world.at("root").status(), Status::failed);
}

// In the reference the start of an id that is taken is ignored, and the parent never ends.
TEST(Families, AChildWhoseIdIsTakenFailsWithAlreadyExists) {
  World world;
  world.add("works", works).add("top", [](Context& ctx) -> Task<std::string> {
    try {
      co_return co_await ctx.schedule_sub_orchestration("works", "", ChildOptions().id("taken"));
    } catch (const SubOrchestrationError& error) {
      co_return error.failure().type;
    }
  });
  world.start("taken", "works");
  world.start("root", "top");
  EXPECT_EQ(world.at("root").output(), "AlreadyExists");
  EXPECT_TRUE(world.at("taken").running());
}

TEST(Families, DroppingAChildThatWasRefusedLeavesTheOtherInstanceAlone) {
  World world;
  world.add("works", works);
  world.start("taken", "works");
  world.post("taken",
             message::CancelInstance{"dropped_future", CancelMode::graceful, CancelOrigin::parent,
                                     ParentLink{"root", Incarnation{2}, ExecutionId{1}, EventId{2}}});
  EXPECT_TRUE(world.at("taken").running());
}

// The reference loses the parent when a child continues as new: the parent never ends.
TEST(Families, AChildKeepsItsParentOverContinueAsNew) {
  World world;
  world.add("counts", [](Context& ctx, std::string input) -> Task<std::string> {
    co_await ctx.schedule_activity("Step", "");
    if (input.size() < 3) co_return co_await ctx.continue_as_new(input + "x");
    co_return input;
  });
  world.add("top", [](Context& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_sub_orchestration("counts", "");
  });
  world.start("root", "top");
  for (int i = 0; i < 4; ++i) world.act(child_id, [](Instance& child) { child.complete("Step", ""); });
  EXPECT_EQ(world.executions(child_id), 4u);
  EXPECT_EQ(world.at("root").output(), "xxx");
}

TEST(Families, AChildThatContinuedIsStillCancelledByItsParent) {
  World world;
  world.add("forever", [](Context& ctx) -> Task<void> {
    co_await ctx.schedule_activity("Step", "");
    co_await ctx.continue_as_new("");
  });
  world.add("top", [](Context& ctx) -> Task<std::string> {
    co_await ctx.select2(ctx.schedule_sub_orchestration<void>("forever", ""), ctx.schedule_timer(1s));
    co_return "over";
  });
  world.start("root", "top");
  world.act(child_id, [](Instance& child) { child.complete("Step", ""); });
  world.act("root", [](Instance& i) { i.fire("1000ms"); });
  EXPECT_EQ(world.executions(child_id), 2u);
  EXPECT_EQ(world.at(child_id).status(), Status::cancelled);
}

// In the reference the second execution's child has the first one's id, and the parent hangs; its answers
// carry a parent execution that only memory knows.
TEST(Families, ChildrenOfEachExecutionHaveIdsOfTheirOwnAndAnswerToTheirOwnExecution) {
  World world;
  world.add("works", works).add("top", [](Context& ctx, std::string input) -> Task<std::string> {
    auto result = co_await ctx.schedule_sub_orchestration("works", "");
    if (input.empty()) co_return co_await ctx.continue_as_new(result);
    co_return input + result;
  });
  world.start("root", "top");
  world.act("root::sub::1.2", [](Instance& i) { i.complete("Work", "1"); });
  world.act("root::sub::2.2", [](Instance& i) { i.complete("Work", "2"); });
  EXPECT_EQ(world.at("root").output(), "12");
}

TEST(Families, ADetachedStartHasNoParent) {
  World world;
  world.add("works", works).add("top", [](Context& ctx) -> Task<std::string> {
    ctx.schedule_orchestration("works", "free", "");
    co_return "gone";
  });
  world.start("root", "top");
  EXPECT_EQ(world.at("root").output(), "gone");
  EXPECT_TRUE(world.at("free").running());
  world.act("free", [](Instance& i) { i.complete("Work", "w"); });
  EXPECT_EQ(world.at("free").output(), "w");
}

}  // namespace
}  // namespace duramen::core_test
