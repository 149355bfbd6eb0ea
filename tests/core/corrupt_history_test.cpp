// Histories that no execution could have written: each is named, nothing is delivered, and nothing stays
// open.

#include "core/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace duramen::core_test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

Task<std::string> four_things(Context& ctx) {
  auto activity = ctx.schedule_activity("A", "").start();
  auto timer = ctx.schedule_timer(1s).start();
  auto child = ctx.schedule_sub_orchestration("C", "").start();
  auto go = co_await ctx.schedule_wait("go");
  co_return co_await activity + go;
}
constexpr EventId activity{2};
constexpr EventId timer{3};
constexpr EventId child{4};
constexpr EventId wait{5};

/// The outcome of an instance of `four_things` whose history continues with these events.
class WithHistory {
 public:
  explicit WithHistory(std::vector<std::pair<EventId, EventBody>> rest)
      : instance_(four_things, Mode::fresh) {
    Instance original{four_things};
    original.start();
    std::vector<Event> history = original.history();
    for (auto& [source, body] : rest) {
      history.push_back(Event{history.back().id.next(), source, history.back().timestamp, std::move(body)});
    }
    instance_.forge(history);
    instance_.raise("go", "!");
  }
  [[nodiscard]] const Failure& failure() const { return *instance_.turn().failure; }
  [[nodiscard]] Instance& instance() { return instance_; }

 private:
  Instance instance_;
};

const event::ActivityCompleted completed{Payload::text("a")};
const event::ActivityFailed failed{Failure::application("E", "m")};
const event::SubOrchestrationCompleted child_completed{Payload::text("c")};
const event::SubOrchestrationFailed child_failed{Failure::application("E", "m")};
const event::TimerFired fired{};

TEST(CorruptHistory, ACompletionOfNothingIsNamed) {
  for (const EventBody& body :
       std::vector<EventBody>{completed, failed, child_completed, child_failed, fired}) {
    const WithHistory forged({{EventId{1}, body}});
    EXPECT_EQ(forged.failure().type, "CorruptHistory");
    EXPECT_THAT(forged.failure().message, HasSubstr("answers event 1, which did not schedule such a thing"));
    const WithHistory beyond({{EventId{77}, body}});
    EXPECT_THAT(beyond.failure().message, HasSubstr("answers event 77, which did not schedule such a thing"));
  }
}

// The reference compares the kind only for ActivityCompleted.
TEST(CorruptHistory, ACompletionOfAnotherKindIsNamed) {
  const std::vector<std::pair<EventId, EventBody>> wrong{
      {timer, completed}, {child, completed}, {wait, completed},        {child, failed},
      {activity, fired},  {wait, fired},      {timer, child_completed}, {activity, child_failed}};
  for (const auto& [source, body] : wrong) {
    const WithHistory forged({{source, body}});
    EXPECT_EQ(forged.failure().type, "CorruptHistory");
    EXPECT_THAT(forged.failure().message, HasSubstr("which did not schedule such a thing"));
  }
}

TEST(CorruptHistory, ASecondCompletionIsNamed) {
  for (const EventBody& second : std::vector<EventBody>{completed, failed}) {
    const WithHistory forged({{activity, completed}, {activity, second}});
    EXPECT_EQ(forged.failure().type, "CorruptHistory");
    EXPECT_THAT(forged.failure().message, HasSubstr("answers event 2, which was answered before"));
  }
  EXPECT_EQ(WithHistory({{timer, fired}, {timer, fired}}).failure().type, "CorruptHistory");
  EXPECT_EQ(WithHistory({{child, child_completed}, {child, child_failed}}).failure().type, "CorruptHistory");
}

// The reference does nothing at all with a history that has an end anywhere.
TEST(CorruptHistory, AnEventAfterTheEndIsNamed) {
  WithHistory forged({{{}, event::OrchestrationCompleted{Payload::text("over")}}, {activity, completed}});
  EXPECT_EQ(forged.failure().type, "CorruptHistory");
  EXPECT_THAT(forged.failure().message, HasSubstr("goes on after its end at event 6"));
}

TEST(CorruptHistory, ACancellationOfTheWrongKindIsFound) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    {
      auto a = ctx.schedule_activity("A", "").start();
    }
    co_return co_await ctx.schedule_wait("go");
  };
  Instance original{code};
  original.start();
  std::vector<Event> history = original.history();
  ASSERT_TRUE(std::holds_alternative<event::ActivityCancelRequested>(history.back().body));
  history.back().body = event::SubOrchestrationCancelRequested{CancelReason::dropped_future};
  Instance instance{code, Mode::fresh};
  instance.forge(history);
  instance.raise("go", "");
  EXPECT_EQ(instance.failure().kind, FailureKind::nondeterminism);
}

TEST(CorruptHistory, OpenWorkIsCancelled) {
  WithHistory forged({{EventId{77}, completed}});
  EXPECT_THAT(forged.instance().story(), Contains("A cancelled: orchestration_terminal_failed"));
  EXPECT_THAT(forged.instance().story(), Contains("child C cancelled: orchestration_terminal_failed"));
  EXPECT_THAT(forged.instance().story(), Contains("wait go cancelled: orchestration_terminal_failed"));
  ASSERT_EQ(forged.instance().messages<message::CancelInstance>().size(), 1u);
}

// A single wrong id must not cost the memory for all ids below it.
TEST(CorruptHistory, AnImpossibleEventNumberIsNamedAndCostsNothing) {
  Instance original{four_things};
  original.start();
  for (const std::uint64_t number : {std::uint64_t{1} << 62u, ~std::uint64_t{0}}) {
    std::vector<Event> history = original.history();
    history[1].id = EventId{number};
    core::Execution execution({"instance", Incarnation{1}, ExecutionId{1}}, handler_of(four_things));
    const core::TurnOutcome turn = execution.run_turn({history, {}, {}, 0});
    ASSERT_TRUE(turn.failure);
    EXPECT_EQ(turn.failure->type, "CorruptHistory");
    EXPECT_THAT(turn.failure->message,
                HasSubstr("event " + std::to_string(number) + " where event 2 should be"));
  }
}

// Events without a wait are not a gap: operations scheduled long after them are still known.
TEST(CorruptHistory, ALongHistoryOfEventsIsNotCorrupt) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    auto go = co_await ctx.schedule_wait("go");
    co_return co_await ctx.schedule_activity("A", go);
  };
  core::Execution execution({"instance", Incarnation{1}, ExecutionId{1}}, handler_of(code));
  std::vector<MessageBody> messages{message::StartOrchestration{"subject", Payload::none(), {}, {}}};
  messages.insert(messages.end(), 70'000, Instance::raising("noise", ""));
  messages.push_back(Instance::raising("go", ""));
  const core::TurnOutcome first = execution.run_turn({{}, messages, {}, 0});
  ASSERT_EQ(first.activities.size(), 1u);
  const MessageBody answer =
      message::ActivityCompleted{ExecutionId{1}, first.activities[0].key.activity, Payload::text("a")};
  EXPECT_EQ(execution.run_turn({{}, {&answer, 1}, {}, 0}).output, Payload::text("a"));
}

}  // namespace
}  // namespace duramen::core_test
