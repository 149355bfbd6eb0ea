// An orchestration from its first turn to its end: what is recorded, what is sent, what the code gets to see.

#include "core/harness.hpp"
#include "core/world.hpp"
#include <duramen/json.hpp>
#include <duramen/limits.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Order {
  std::string id;
  int cents = 0;
};
DURAMEN_JSON(Order, id, cents)

struct Receipt {
  std::string order;
  bool paid = false;
};
DURAMEN_JSON(Receipt, order, paid)

constexpr Activity<Receipt(Order)> Charge{"Charge"};
constexpr Activity<int()> Roll{"Roll"};

// -- fresh execution ----------------------------------------------------------------------------------------

TEST(FreshExecution, TheFirstEventRecordsTheStart) {
  Instance instance{[](Context&, int) -> Task<void> { co_return; }};
  instance.start(7);
  const Event& first = instance.history().front();
  EXPECT_EQ(first.id, EventId{1});
  EXPECT_EQ(first.timestamp, instance.now());
  const auto& started = std::get<event::OrchestrationStarted>(first.body);
  EXPECT_EQ(started.name, "subject");
  EXPECT_EQ(started.version, "1.0.0");
  EXPECT_EQ(started.input, Payload::json("7"));
  EXPECT_EQ(started.engine_version, engine_version);
}

TEST(FreshExecution, CodeThatNeverWaitsEndsInOneTurn) {
  Instance instance{[](Context&, int n) -> Task<int> { co_return n + 1; }};
  instance.start(41);
  EXPECT_THAT(instance.story(), ElementsAre("started", "completed: 42"));
  EXPECT_EQ(instance.status(), Status::completed);
  EXPECT_EQ(instance.output<int>(), 42);
}

TEST(FreshExecution, AVoidOrchestrationGivesNull) {
  Instance instance{[](Context&) -> Task<void> { co_return; }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "completed: null"));
}

TEST(FreshExecution, CodeThatThrowsFailsTheInstanceWithTypeAndMessage) {
  Instance instance{[](Context&) -> Task<int> {
    throw std::out_of_range("no such thing");
    co_return 1;
  }};
  instance.start();
  EXPECT_THAT(instance.story(), ElementsAre("started", "failed: no such thing"));
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().kind, FailureKind::application);
  EXPECT_EQ(instance.failure().type, "std::out_of_range");
}

TEST(FreshExecution, AThrownNonExceptionFailsTheInstance) {
  Instance instance{[](Context&) -> Task<int> {
    throw 42;
    co_return 1;
  }};
  instance.start();
  EXPECT_EQ(instance.failure().kind, FailureKind::application);
  EXPECT_THAT(instance.failure().message, HasSubstr("not a std::exception"));
}

TEST(FreshExecution, InputThatDoesNotDecodeFailsTheInstance) {
  Instance instance{[](Context&, Order order) -> Task<std::string> { co_return order.id; }};
  instance.start("not an order");
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().type, "DecodeError");
}

TEST(FreshExecution, TheWorkerItemCarriesEverythingTheActivityNeeds) {
  Instance instance{[](Context& ctx) -> Task<int> {
    co_return co_await ctx.schedule_activity<int>("Add", std::vector{1, 2}).with_tag("gpu");
  }};
  instance.start();
  ASSERT_EQ(instance.turn().activities.size(), 1u);
  const ActivityRequest& item = instance.turn().activities.front();
  EXPECT_EQ(item.instance, InstanceId{"instance"});
  EXPECT_EQ(item.key, (ActivityKey{Incarnation{1}, ExecutionId{1}, EventId{2}}));
  EXPECT_EQ(item.name, "Add");
  EXPECT_EQ(item.input, Payload::json("[1,2]"));
  EXPECT_EQ(item.tag, "gpu");
  EXPECT_EQ(item.orchestration_name, "subject");
  EXPECT_EQ(item.orchestration_version, "1.0.0");
  EXPECT_EQ(std::get<event::ActivityScheduled>(instance.history().at(1).body).tag, "gpu");
}

TEST(FreshExecution, AnOptionAfterTheFirstPollIsAnErrorTheCodeSees) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto future = ctx.schedule_activity("A", "").start();
    try {
      auto tagged = std::move(future).with_tag("late");
    } catch (const std::logic_error& e) {
      co_return e.what();
    }
    co_return "accepted";
  }};
  instance.start();
  EXPECT_THAT(instance.output(), HasSubstr("before the future is first polled"));
}

TEST(FreshExecution, TheContextNamesItsInstance) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_return ctx.instance_id().value + " " + std::to_string(ctx.execution_id().value) + " " +
        ctx.orchestration_name() + " " + ctx.orchestration_version();
  }};
  instance.start();
  EXPECT_EQ(instance.output(), "instance 1 subject 1.0.0");
}

// -- sequential progress ------------------------------------------------------------------------------------

TEST(SequentialProgress, EachCompletionSchedulesTheNextActivity) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto a = co_await ctx.schedule_activity("A", "");
    auto b = co_await ctx.schedule_activity("B", a);
    co_return co_await ctx.schedule_activity("C", b);
  }};
  instance.start();
  EXPECT_THAT(instance.sent(), ElementsAre("A"));
  instance.complete("A", "1");
  EXPECT_THAT(instance.sent(), ElementsAre("B"));
  EXPECT_EQ(instance.turn().activities.front().input, Payload::text("1"));
  instance.complete("B", "2");
  instance.complete("C", "3");
  EXPECT_THAT(instance.story(), ElementsAre("started", "A scheduled", "A completed", "B scheduled",
                                            "B completed", "C scheduled", "C completed", "completed: 3"));
}

TEST(SequentialProgress, ALongLoopGivesTheSameEitherWay) {
  Instance instance{[](Context& ctx) -> Task<int> {
    int sum = 0;
    for (int i = 0; i < 40; ++i) sum += co_await ctx.schedule_activity<int>("Step", i);
    co_return sum;
  }};
  instance.start();
  for (int i = 0; i < 40; ++i) instance.complete("Step", i);
  EXPECT_EQ(instance.output<int>(), 780);
}

TEST(SequentialProgress, UserTypesTravelThroughTypedHandles) {
  Instance instance{[](Context& ctx, Order order) -> Task<Receipt> {
    auto receipt = co_await ctx.schedule_activity(Charge, order);
    auto dice = co_await ctx.schedule_activity(Roll);
    receipt.order += std::to_string(dice);
    co_return receipt;
  }};
  instance.start(Order{"A-17", 4200});
  EXPECT_EQ(instance.turn().activities.front().input, Payload::json(R"({"cents":4200,"id":"A-17"})"));
  instance.complete("Charge", Receipt{"A-17/", true});
  EXPECT_EQ(instance.turn().activities.front().input, Payload::none());
  instance.complete("Roll", 6);
  EXPECT_EQ(instance.output<Receipt>().order, "A-17/6");
  EXPECT_TRUE(instance.output<Receipt>().paid);
}

TEST(SequentialProgress, AnAggregateTemporaryMayStandInsideCoAwait) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    co_return co_await ctx.schedule_activity("Charge", Order{"an id too long for a small string buffer", 3});
  }};
  instance.start();
  instance.complete("Charge", "ok");
  EXPECT_EQ(instance.output(), "ok");
}

TEST(SequentialProgress, AFailureReachesTheCodeWithItsStructure) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    try {
      co_await ctx.schedule_activity("A", "");
    } catch (const ActivityError& e) {
      co_return std::string(to_string(e.failure().kind)) + " " + e.failure().type + " " + e.failure().details;
    }
    co_return "no failure";
  }};
  instance.start();
  Failure failure = Failure::application("CardDeclined", "no money");
  failure.details = R"({"code":51})";
  instance.fail(instance.id_of("A"), failure);
  EXPECT_EQ(instance.output(), R"(application CardDeclined {"code":51})");
}

TEST(SequentialProgress, AnUncaughtFailureFailsTheInstanceUnchanged) {
  Instance instance{
      [](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_activity("A", ""); }};
  instance.start();
  Failure failure = Failure::application("CardDeclined", "no money");
  failure.attempt = 3;
  instance.fail(instance.id_of("A"), failure);
  EXPECT_THAT(instance.last_turn(), ElementsAre("A failed", "failed: no money"));
  EXPECT_EQ(instance.failure(), failure);
}

TEST(SequentialProgress, AResultThatDoesNotDecodeCanBeCaught) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    try {
      co_await ctx.schedule_activity<int>("A", "");
    } catch (const DecodeError&) {
      co_return "caught";
    }
    co_return "decoded";
  }};
  instance.start();
  instance.complete("A", Order{"not a number", 1});
  EXPECT_EQ(instance.output(), "caught");
}

TEST(SequentialProgress, AnUncaughtDecodeErrorFailsTheInstance) {
  Instance instance{
      [](Context& ctx) -> Task<int> { co_return co_await ctx.schedule_activity<int>("A", ""); }};
  instance.start();
  instance.complete("A", "seven");
  EXPECT_EQ(instance.failure().type, "DecodeError");
}

TEST(SequentialProgress, EventsBearTheTimeOfTheirTurn) {
  Instance instance{
      [](Context& ctx) -> Task<std::string> { co_return co_await ctx.schedule_activity("A", ""); }};
  instance.start();
  const TimePoint began = instance.now();
  instance.advance(3s);
  instance.complete("A", "");
  EXPECT_EQ(instance.history().at(1).timestamp, began);
  EXPECT_EQ(instance.history().at(2).timestamp, began + 3s);
}

// -- partial completion -------------------------------------------------------------------------------------

TEST(PartialCompletion, OneOfTwoCompletionsIsRecordedAndNothingElseHappens) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto [a, b] = co_await ctx.join2(ctx.schedule_activity("A", ""), ctx.schedule_activity("B", ""));
    co_return a + b;
  }};
  instance.start();
  instance.complete("B", "b");
  EXPECT_THAT(instance.last_turn(), ElementsAre("B completed"));
  EXPECT_THAT(instance.sent(), IsEmpty());
  EXPECT_TRUE(instance.running());
  instance.complete("A", "a");
  EXPECT_EQ(instance.output(), "ab");
}

TEST(PartialCompletion, AnAwaitOfACompletedActivityDoesNotWait) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
    auto early = ctx.schedule_activity("Early", "").start();
    co_await ctx.schedule_activity("Late", "");
    EXPECT_TRUE(early.is_done());
    co_return co_await early;
  }};
  instance.start();
  instance.complete("Early", "first");
  EXPECT_THAT(instance.last_turn(), ElementsAre("Early completed"));
  instance.complete("Late", "");
  EXPECT_THAT(instance.last_turn(), ElementsAre("Late completed", "completed: first"));
}

// -- is_replaying -------------------------------------------------------------------------------------------

std::vector<bool> replaying;

Task<std::string> says_if_it_replays(Context& ctx) {
  replaying.push_back(ctx.is_replaying());
  co_await ctx.schedule_activity("A", "");
  replaying.push_back(ctx.is_replaying());
  co_await ctx.schedule_activity("B", "");
  replaying.push_back(ctx.is_replaying());
  co_return "done";
}

TEST(IsReplaying, IsFalseForAnExecutionThatIsKept) {
  replaying.clear();
  {
    Instance instance{says_if_it_replays, Mode::resident};
    instance.start();
    instance.complete("A", "");
    instance.complete("B", "");
    EXPECT_THAT(replaying, ElementsAre(false, false, false));
  }
}

TEST(IsReplaying, IsTrueForRecordedHistory) {
  Instance instance{says_if_it_replays, Mode::fresh};
  instance.start();
  instance.complete("A", "");
  replaying.clear();
  instance.complete("B", "");
  EXPECT_THAT(replaying, ElementsAre(true, true, false));
}

// -- limits -------------------------------------------------------------------------------------------------

Task<std::string> takes_many_actions(Context& ctx, int actions) {
  std::vector<DurableFuture<std::string>> futures;
  for (int i = 0; i < actions; ++i)
    futures.push_back(ctx.schedule_activity("A" + std::to_string(i), "").start());
  co_await ctx.join(std::move(futures));
  co_return "done";
}

TEST(MaxActionsPerTurn, IsTheNumberThatIsStillAllowed) {
  Instance instance{takes_many_actions, Mode::every_way, {.max_actions_per_turn = 3}};
  instance.start(3);
  EXPECT_TRUE(instance.running());
  EXPECT_EQ(instance.worker_queue().size(), 3u);
}

TEST(MaxActionsPerTurn, OneMoreFailsTheInstanceAndNothingLeaves) {
  Instance instance{takes_many_actions, Mode::every_way, {.max_actions_per_turn = 3}};
  instance.start(4);
  EXPECT_EQ(instance.story().size(), 2u) << "of the segment under way only its inbound event stands";
  EXPECT_EQ(instance.status(), Status::failed);
  EXPECT_EQ(instance.failure().kind, FailureKind::limit);
  EXPECT_THAT(instance.failure().message, HasSubstr("more than 3 actions"));
  EXPECT_THAT(instance.worker_queue(), IsEmpty());
}

TEST(MaxActionsPerTurn, CountsEachTurnAnewAndNoReplayedAction) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      for (int i = 0; i < 4; ++i) {
                        auto one = ctx.schedule_activity("One" + std::to_string(i), "").start();
                        auto two = ctx.schedule_activity("Two" + std::to_string(i), "").start();
                        co_await one;
                        co_await two;
                      }
                      co_return "done";
                    },
                    Mode::every_way,
                    {.max_actions_per_turn = 2}};
  instance.start();
  for (int i = 0; i < 4; ++i) {
    instance.complete("One" + std::to_string(i), "");
    instance.complete("Two" + std::to_string(i), "");
  }
  EXPECT_EQ(instance.output(), "done");
}

TEST(MaxActionsPerTurn, CountsEachMessageOfABatchAnew) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      for (int i = 0; i < 5; ++i) {
                        ctx.set_custom_status(co_await ctx.dequeue_event("jobs"));
                        ctx.set_custom_status("");
                      }
                      co_return "done";
                    },
                    Mode::every_way,
                    {.max_actions_per_turn = 3}};
  instance.start();
  instance.deliver(std::vector<MessageBody>(5, Instance::enqueuing("jobs", "job")));
  EXPECT_EQ(instance.output(), "done");
}

TEST(MaxActionsPerTurn, DoesNotCountWaitsForMailThatIsThere) {
  const auto drains = [](Context& ctx, std::string input) -> Task<std::string> {
    if (input.empty()) {
      co_await ctx.schedule_activity("A", "");
      co_return co_await ctx.continue_as_new("x");
    }
    for (int i = 0; i < 1000; ++i) {
      co_await ctx.dequeue_event("jobs");
      co_await ctx.schedule_wait("go");
    }
    co_return "done";
  };
  World world;
  world.add("subject", drains);
  world.start("one", "subject");
  world.act("one", [](Instance& instance) {
    std::vector<MessageBody> mail;
    for (int i = 0; i < 1000; ++i) {
      mail.push_back(Instance::enqueuing("jobs", "job"));
      mail.push_back(Instance::raising("go", "go"));
    }
    instance.deliver(std::move(mail));
  });
  // Carried over: all are there before the code begins.
  Instance& first = world.at("one");
  first.complete("A", "");
  Instance next{handler_of(drains), Mode::every_way, {.max_actions_per_turn = 3}};
  next.deliver({first.next_execution()});
  EXPECT_EQ(next.output(), "done");
}

TEST(TurnBytes, ATurnThatHasBecomeLargeLeavesTheRestOfItsBatchInTheQueue) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      for (int i = 0; i < 12; ++i) co_await ctx.dequeue_event("jobs");
                      co_return "done";
                    },
                    Mode::fresh};
  instance.start();
  const std::string mebibyte(std::size_t{1} << 20u, 'x');
  instance.deliver(std::vector<MessageBody>(12, Instance::enqueuing("jobs", mebibyte)));
  EXPECT_TRUE(instance.running());
  ASSERT_EQ(instance.turn().taken.size(), 8u);
  EXPECT_EQ(instance.left().size(), 4u);
  instance.deliver(instance.left());
  EXPECT_EQ(instance.output(), "done");
}

TEST(TurnBytes, ALargeTurnTakesTheCancelBehindItsBacklog) {
  for (const CancelMode mode : {CancelMode::graceful, CancelMode::terminate}) {
    Instance instance{[](Context& ctx) -> Task<std::string> {
                        for (;;) co_await ctx.dequeue_event("jobs");
                      },
                      Mode::fresh};
    instance.start();
    const std::string mebibyte(std::size_t{1} << 20u, 'x');
    std::vector<MessageBody> backlog(12, Instance::enqueuing("jobs", mebibyte));
    backlog.push_back(instance.cancelling("enough", mode));
    instance.deliver(backlog);
    EXPECT_EQ(instance.status(), Status::cancelled);
    EXPECT_THAT(instance.left(), IsEmpty());
  }
}

TEST(TurnBytes, MoreThanSixtyFourMebibytesOfActionsFailTheInstanceAndNameTheLine) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      const std::string mebibyte(std::size_t{1} << 20u, 'x');
                      for (int i = 0; i < 70; ++i) ctx.schedule_activity("A", mebibyte).detach();
                      co_return "done";
                    },
                    Mode::fresh};
  instance.start();
  EXPECT_EQ(instance.failure().kind, FailureKind::limit);
  EXPECT_EQ(instance.failure().type, "TurnTooLarge");
  EXPECT_THAT(instance.failure().message, HasSubstr("progress_test.cpp:"));
  EXPECT_THAT(instance.worker_queue(), IsEmpty());
}

// The limit counted all events of a turn, so a large message failed the code that reacted to it.
TEST(TurnBytes, AMessageOfAnySizeLeavesTheLimitToTheActions) {
  Instance instance{[](Context& ctx, std::string) -> Task<std::string> {
                      co_return co_await ctx.schedule_activity("A", "");
                    },
                    Mode::fresh};
  instance.start(std::string(std::size_t{65} << 20u, 'x'));
  EXPECT_THAT(instance.worker_queue(), ElementsAre("A"));
}

// A message whose actions fit failed behind another one in its batch, and not alone.
TEST(TurnBytes, TheLimitOfTheActionsIsTheSameInEveryBatch) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    const std::string two_mebibytes((std::size_t{2} << 20u) - 1024, 'x');
    for (const int inputs : {4, 30}) {
      co_await ctx.dequeue_event("jobs");
      for (int i = 0; i < inputs; ++i) ctx.schedule_activity("A", two_mebibytes).detach();
    }
    co_return co_await ctx.schedule_wait("go");
  };
  Instance batch{code, Mode::fresh};
  batch.deliver({batch.started(), Instance::enqueuing("jobs", ""), Instance::enqueuing("jobs", "")});
  EXPECT_TRUE(batch.running());
  EXPECT_EQ(batch.worker_queue().size(), 34u);
}

TEST(TurnBytes, AnyPayloadThatTheLimitOfPayloadsAllowsCanBePassed) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      ctx.set_custom_status("passes it");
                      std::string large(std::size_t{65} << 20u, 'x');
                      co_return co_await ctx.with_timeout(1h, ctx.schedule_activity("A", std::move(large)));
                    },
                    Mode::fresh,
                    {.max_payload_bytes = payload_ceiling}};
  instance.start();
  EXPECT_THAT(instance.worker_queue(), ElementsAre("A"));
}

TEST(TurnBytes, APayloadAboveItsOwnLimitIsNamedAsSuch) {
  Instance instance{[](Context& ctx) -> Task<std::string> {
                      const std::string mebibyte(std::size_t{1} << 20u, 'x');
                      for (int i = 0; i < 64; ++i) ctx.schedule_activity("A", mebibyte).detach();
                      co_return co_await ctx.schedule_activity("B", std::string(std::size_t{3} << 20u, 'x'));
                    },
                    Mode::fresh};
  instance.start();
  EXPECT_THAT(instance.failure().message, HasSubstr("the input of activity 'B'"));
}

}  // namespace
}  // namespace duramen::core_test
