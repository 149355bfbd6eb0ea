// The code changed under a running instance: every difference is found, and the message names the place.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The instance that others find changed: A is done, B is under way, and so is a timer.
Task<std::string> original(Context& ctx) {
  auto timer = ctx.schedule_timer(1h).start();
  auto a = co_await ctx.schedule_activity("A", "one");
  auto b = co_await ctx.schedule_activity("B", "two");
  co_return a + b;
}

/// The failure, if B is completed after `changed` is deployed.
template <class F>
Failure after_deploying(F changed) {
  Instance instance{original};
  instance.start();
  instance.complete("A", "a");
  const std::size_t before = instance.history().size();
  instance.deploy(std::move(changed));
  instance.complete("B", "b");
  if (instance.status() == Status::failed) {
    // Nothing is sent for the new code, and nothing of the old is left.
    EXPECT_THAT(instance.sent(), IsEmpty());
    EXPECT_THAT(instance.stopped(), ElementsAre("B"));
    EXPECT_EQ(instance.turn().cancel_rest, CancelReason::orchestration_terminal_failed);
    EXPECT_EQ(instance.turn().events.front().id.value, before + 1) << "the end follows the whole history";
    EXPECT_THAT(instance.story().at(before), "B cancelled: orchestration_terminal_failed");
  }
  return instance.failure();
}

void expect_mismatch(const Failure& failure, const std::string& recorded, const std::string& now) {
  EXPECT_EQ(failure.kind, FailureKind::nondeterminism);
  EXPECT_EQ(failure.type, "Nondeterminism");
  EXPECT_THAT(failure.message, AllOf(HasSubstr("recorded: " + recorded), HasSubstr("now:      " + now),
                                     HasSubstr("What to do: ")));
}

TEST(Nondeterminism, TheSameCodeIsAccepted) { EXPECT_EQ(after_deploying(original), Failure{}); }

TEST(Nondeterminism, ChangedName) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1h).start();
    auto a = co_await ctx.schedule_activity("Renamed", "one");
    co_return a;
  });
  expect_mismatch(failure, R"(activity "A" with input "one")", R"(activity "Renamed" with input "one")");
  EXPECT_THAT(failure.message, HasSubstr("at event 3"));
}

TEST(Nondeterminism, ChangedInput) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1h).start();
    auto a = co_await ctx.schedule_activity("A", "uno");
    co_return a;
  });
  expect_mismatch(failure, R"(activity "A" with input "one")", R"(activity "A" with input "uno")");
}

TEST(Nondeterminism, ChangedTag) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1h).start();
    auto a = co_await ctx.schedule_activity("A", "one").with_tag("gpu");
    co_return a;
  });
  expect_mismatch(failure, R"(activity "A" with input "one")", R"(activity "A" with input "one" tag "gpu")");
}

TEST(Nondeterminism, TheMessageNamesFileAndLineOfTheCall) {
  static unsigned line = 0;
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    line = __LINE__ + 1;
    auto a = co_await ctx.schedule_activity("A", "one");
    co_return a;
  });
  expect_mismatch(failure, "a timer", R"(activity "A" with input "one")");
  EXPECT_THAT(failure.message, HasSubstr("nondeterminism_test.cpp:" + std::to_string(line)));
}

TEST(Nondeterminism, AnActionAddedAtTheEndOfASegment) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1h).start();
    auto a = ctx.schedule_activity("A", "one").start();
    auto extra = ctx.schedule_activity("Extra", "").start();
    co_return co_await a;
  });
  expect_mismatch(failure, "nothing more before ActivityCompleted", R"(activity "Extra" with input "")");
}

TEST(Nondeterminism, AnActionAddedWhereHistoryEnds) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1h).start();
    auto a = co_await ctx.schedule_activity("A", "one");
    auto b = ctx.schedule_activity("B", "two").start();
    auto extra = ctx.schedule_activity("Extra", "").start();
    co_return co_await b;
  });
  expect_mismatch(failure, "nothing more", R"(activity "Extra" with input "")");
}

TEST(Nondeterminism, AnActionRemovedFromTheMiddle) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto a = co_await ctx.schedule_activity("A", "one");
    co_return a + co_await ctx.schedule_activity("B", "two");
  });
  expect_mismatch(failure, "a timer", R"(activity "A" with input "one")");
}

TEST(Nondeterminism, AnActionRemovedFromTheEndOfASegment) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1h).start();
    auto a = co_await ctx.schedule_activity("A", "one");
    co_await timer;
    co_return a;
  });
  expect_mismatch(failure, R"(activity "B" with input "two")", "nothing more before the next event");
}

TEST(Nondeterminism, ActionsReordered) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto a = ctx.schedule_activity("A", "one").start();
    auto timer = ctx.schedule_timer(1h).start();
    auto first = co_await a;
    co_return first + co_await ctx.schedule_activity("B", "two");
  });
  expect_mismatch(failure, "a timer", R"(activity "A" with input "one")");
}

TEST(Nondeterminism, TheCodeReturnsWhileActionsRemain) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1h).start();
    auto a = co_await ctx.schedule_activity("A", "one");
    co_return a;
  });
  expect_mismatch(failure, R"(activity "B" with input "two")", "nothing more before the next event");
}

TEST(Nondeterminism, TheCodeThrowsWhileActionsRemain) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1h).start();
    co_await ctx.schedule_activity("A", "one");
    throw std::runtime_error("new check");
  });
  expect_mismatch(failure, R"(activity "B" with input "two")", "nothing more before the next event");
}

TEST(Nondeterminism, TheCodeWaitsForSomethingElseFirst) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1h).start();
    auto a = ctx.schedule_activity("A", "one").start();
    co_await timer;
    co_return co_await a;
  });
  expect_mismatch(failure, R"(activity "B" with input "two")", "nothing more before the next event");
}

TEST(Nondeterminism, AMismatchCannotBeCaughtByTheCode) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    try {
      co_await ctx.schedule_activity("Renamed", "one");
    } catch (...) {
      co_return "hidden";
    }
    co_return "fine";
  });
  EXPECT_EQ(failure.kind, FailureKind::nondeterminism);
}

TEST(Nondeterminism, AChangedDelayIsAllowedAndTheRecordedDueTimeStands) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(2h).start();
    auto a = co_await ctx.schedule_activity("A", "one");
    co_return a + co_await ctx.schedule_activity("B", "two");
  });
  EXPECT_EQ(failure, Failure{});
}

TEST(Nondeterminism, CodeAfterTheRecordedPartMayChange) {
  const Failure failure = after_deploying([](Context& ctx) -> Task<std::string> {
    auto timer = ctx.schedule_timer(1h).start();
    auto a = co_await ctx.schedule_activity("A", "one");
    auto b = co_await ctx.schedule_activity("B", "two");
    co_return b + a + co_await ctx.schedule_activity("New", "");
  });
  EXPECT_EQ(failure, Failure{});
}

// -- inputs are compared as normalised JSON -----------------------------------------------------------------

template <class Before, class Now>
bool accepted(Before before, Now now) {
  Instance instance{std::move(before)};
  instance.start();
  instance.deploy(std::move(now));
  instance.complete("A", "");
  return instance.failure().kind != FailureKind::nondeterminism;
}

TEST(InputComparison, SpacesAndTheOrderOfMembersDoNotMatter) {
  EXPECT_TRUE(accepted(
      [](Context& ctx) -> Task<std::string> {
        co_return co_await ctx.schedule_activity("A", Payload::json(R"({"id":7,"tags":["x","y"]})"));
      },
      [](Context& ctx) -> Task<std::string> {
        co_return co_await ctx.schedule_activity("A", Payload::json(R"({ "tags": ["x", "y"], "id": 7 })"));
      }));
}

TEST(InputComparison, AnotherValueMatters) {
  EXPECT_FALSE(
      accepted([](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_activity("A", 7); },
               [](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_activity("A", 8); }));
}

TEST(InputComparison, TextIsComparedAsItIs) {
  EXPECT_FALSE(accepted(
      [](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_activity("A", R"({"id":7})"); },
      [](Context& ctx) -> Task<std::string> {
        co_return co_await ctx.schedule_activity("A", R"({ "id": 7 })");
      }));
}

TEST(InputComparison, TextIsNotJson) {
  EXPECT_FALSE(
      accepted([](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_activity("A", "7"); },
               [](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_activity("A", 7); }));
}

// -- histories that cannot be -------------------------------------------------------------------------------

Task<std::string> one_step(Context& ctx) { co_return co_await ctx.schedule_activity("A", ""); }

std::vector<Event> history_of_one_step() {
  Instance instance{one_step};
  instance.start();
  return instance.history();
}

TEST(CorruptHistory, AGapBetweenSegmentsIsNamed) {
  auto history = history_of_one_step();
  history.push_back(Event{EventId{7}, EventId{2}, {}, event::ActivityCompleted{Payload::text("a")}});
  Instance instance{one_step, Mode::fresh};
  instance.forge(history);
  instance.cancel();
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
  EXPECT_EQ(instance.failure().type, "CorruptHistory");
  EXPECT_THAT(instance.failure().message, HasSubstr("event 7 where event 3 should be"));
}

TEST(CorruptHistory, AMissingStartIsNamed) {
  auto history = history_of_one_step();
  history.erase(history.begin());
  history.front().id = EventId{1};
  Instance instance{one_step, Mode::fresh};
  instance.forge(history);
  instance.complete(EventId{1});
  EXPECT_EQ(instance.failure().type, "CorruptHistory");
  EXPECT_THAT(instance.failure().message, HasSubstr("event 1 is ActivityScheduled"));
}

TEST(CorruptHistory, ASecondStartIsNamed) {
  auto history = history_of_one_step();
  history.push_back(history.front());
  history.back().id = EventId{3};
  Instance instance{one_step, Mode::fresh};
  instance.forge(history);
  instance.complete("A", "");
  EXPECT_EQ(instance.failure().type, "CorruptHistory");
  EXPECT_THAT(instance.failure().message, HasSubstr("event 3 is OrchestrationStarted"));
}

// -- where to look --------------------------------------------------------------------------------

TEST(Nondeterminism, AnActionThatIsGoneNamesTheLineBeforeIt) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto kept = ctx.schedule_activity("Kept", "").start();
    auto gone = ctx.schedule_activity("Gone", "").start();
    auto go = co_await ctx.schedule_wait("go");
    co_return go;
  }};
  instance.start();
  const int line = __LINE__ + 2;
  instance.deploy([](Context& ctx) -> Task<std::string> {
    auto kept = ctx.schedule_activity("Kept", "").start();
    auto go = co_await kept;
    co_return go;
  });
  instance.raise("go", "");
  EXPECT_THAT(instance.failure().message, HasSubstr("recorded: activity \"Gone\""));
  EXPECT_THAT(instance.failure().message,
              HasSubstr("after " + std::string(__FILE__) + ":" + std::to_string(line)));
}

TEST(Nondeterminism, AnEndThatComesTooEarlyNamesTheLineBeforeIt) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto first = ctx.schedule_timer(1s).start();
    co_await ctx.schedule_timer(2s);
    co_return "";
  }};
  instance.start();
  const int line = __LINE__ + 3;
  instance.deploy([](Context& ctx) -> Task<std::string> {
    auto first = ctx.schedule_timer(1s).start();
    auto second = ctx.schedule_timer(2s).start();
    co_return "";
  });
  instance.fire("2000ms");
  EXPECT_THAT(instance.failure().message, HasSubstr("now:      it has ended"));
  EXPECT_THAT(instance.failure().message,
              HasSubstr("after " + std::string(__FILE__) + ":" + std::to_string(line)));
}

// A drop of a timer is no event. That the dropped one fires, though, is in history.
TEST(Nondeterminism, ATimerThatHistoryFiresAndTheCodeDrops) {
  const auto code = [](bool drop) {
    return [drop](Context& ctx) -> Task<std::string> {
      std::optional timer = ctx.schedule_timer(1s).start();
      auto go = co_await ctx.schedule_wait("go");
      if (drop) timer.reset();
      co_return co_await ctx.schedule_activity("A", go);
    };
  };
  Instance instance{code(false)};
  instance.start();
  instance.raise("go", "");
  instance.fire("1000ms");
  instance.deploy(code(true));
  instance.complete("A", "");
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
  EXPECT_THAT(instance.failure().message, HasSubstr("recorded: the timer of event 2 fires"));
  EXPECT_THAT(instance.failure().message, HasSubstr("now:      it was dropped before"));
}

// The old code dropped the timer, and its message was deleted: code that waits for it would wait without end.
TEST(Nondeterminism, ATimerThatOtherCodeHasDroppedIsSentAgain) {
  const auto code = [](bool drop) {
    return [drop](Context& ctx) -> Task<std::string> {
      std::optional slow = ctx.schedule_timer(2s).start();
      std::optional timer = ctx.schedule_timer(1s).start();
      auto go = ctx.schedule_wait("go").start();
      co_await ctx.schedule_wait("drop");
      if (drop) timer.reset();
      if (timer) co_await std::move(*timer);
      co_await std::move(*slow);
      co_return co_await std::move(go);
    };
  };
  Instance instance{code(true), Mode::fresh};
  instance.start();
  instance.raise("drop", "");
  EXPECT_THAT(instance.timers_dropped(), ElementsAre("1000ms"));
  instance.deploy(code(false));
  instance.raise("go", "gone");
  const auto& again = instance.turn().timer_again;
  ASSERT_TRUE(again);
  EXPECT_EQ(again->target, InstanceId("instance"));
  EXPECT_EQ(std::get<message::TimerFired>(again->body).id, instance.timer_id("1000ms"));
  EXPECT_EQ(again->visible_at, std::get<message::TimerFired>(again->body).fire_at);
  instance.fire(instance.timer_id("1000ms"));
  instance.fire("2000ms");
  EXPECT_EQ(instance.output(), "gone");
}

}  // namespace
}  // namespace duramen::core_test
