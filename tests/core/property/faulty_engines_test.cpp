// The checker can fail: engines that are wrong in one thing each are found, and for the right reason.

#include "core/property/drive.hpp"
#include "core/property/interpret.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace duramen::core_test::property {
namespace {

using core::TurnInput;
using core::TurnOutcome;
using testing::HasSubstr;

/// Runs the real engine, and then reports something else.
class Liar final : public RealEngine {
 public:
  using Lie = std::function<void(TurnOutcome&)>;
  Liar(const Subject& subject, Lie lie) : RealEngine(subject), lie_(std::move(lie)) {}
  TurnOutcome run_turn(const TurnInput& input) override {
    TurnOutcome outcome = RealEngine::run_turn(input);
    lie_(outcome);
    return outcome;
  }

 private:
  Lie lie_;
};

EngineFactory liars(Liar::Lie lie) {
  return
      [lie = std::move(lie)](const Subject& subject, Role) { return std::make_unique<Liar>(subject, lie); };
}
/// Only those in one role lie.
EngineFactory liars(Role liar, Liar::Lie lie) {
  return [liar, lie = std::move(lie)](const Subject& subject, Role role) -> std::unique_ptr<Engine> {
    if (role == liar) return std::make_unique<Liar>(subject, lie);
    return real_engine(subject, role);
  };
}

/// The first finding.
std::string first_finding(const EngineFactory& factory, std::uint64_t seeds = 400) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Report report = check_seed(seed, factory);
    if (report.finding) return *report.finding;
  }
  return "nothing was found";
}

TEST(FaultyEngines, OneThatForgetsToStopAnActivityIsFound) {
  const auto forgets = liars([](TurnOutcome& turn) {
    if (!turn.cancelled_activities.empty()) turn.cancelled_activities.pop_back();
  });
  EXPECT_THAT(first_finding(forgets), HasSubstr("still has a row, but has no waiter"));
}

TEST(FaultyEngines, OneThatForgetsToCancelAChildIsFound) {
  const auto forgets = liars([](TurnOutcome& turn) {
    std::erase_if(turn.messages, [](const OutboundMessage& message) {
      const auto* cancel = std::get_if<message::CancelInstance>(&message.body);
      return cancel != nullptr && cancel->parent.has_value();
    });
  });
  EXPECT_THAT(first_finding(forgets), HasSubstr("still runs, but has no waiter"));
}

TEST(FaultyEngines, OneThatForgetsToDropATimerIsFound) {
  const auto forgets = liars([](TurnOutcome& turn) { turn.dropped_timers.clear(); });
  EXPECT_THAT(first_finding(forgets), HasSubstr("what the execution waits for was ignored"));
}

TEST(FaultyEngines, OneThatSendsAnActivityWithTheLastTurnIsFound) {
  const auto sends = liars([](TurnOutcome& turn) {
    if (!turn.ended()) return;
    for (const Event& event : turn.events) {
      if (const auto* activity = std::get_if<event::ActivityScheduled>(&event.body)) {
        turn.activities.push_back({"i",
                                   {{}, ExecutionId{1}, event.id},
                                   activity->name,
                                   activity->input,
                                   activity->session_id,
                                   activity->tag,
                                   {},
                                   "subject",
                                   "1.0.0"});
      }
    }
  });
  EXPECT_THAT(first_finding(sends), HasSubstr("still has a row, but has no waiter"));
}

TEST(FaultyEngines, OneThatReordersWhatTheCodeDidIsFound) {
  const auto reorders = liars(Role::replayed, [](TurnOutcome& turn) {
    for (std::size_t i = 1; i < turn.events.size(); ++i) {
      if (event_class(turn.events[i]) == EventClass::action &&
          event_class(turn.events[i - 1]) == EventClass::action) {
        std::swap(turn.events[i - 1].body, turn.events[i].body);
      }
    }
  });
  EXPECT_THAT(first_finding(reorders),
              HasSubstr("replayed from the start, a turn decides otherwise: events"));
}

TEST(FaultyEngines, OneThatWritesTheEndBeforeTheCancellationsIsFound) {
  const auto early = liars([](TurnOutcome& turn) {
    if (turn.ended() && turn.events.size() > 1 &&
        event_class(turn.events[turn.events.size() - 2]) == EventClass::cancel) {
      std::swap(turn.events.back().body, turn.events[turn.events.size() - 2].body);
    }
  });
  EXPECT_THAT(first_finding(early), HasSubstr("not in the order actions, cancellations, end"));
}

/// A replay that makes its random values anew.
class ForgetsEntropy final : public RealEngine {
 public:
  using RealEngine::RealEngine;
  TurnOutcome run_turn(const TurnInput& input) override {
    return RealEngine::run_turn({input.history, input.messages, input.now, input.entropy + 1});
  }
};

TEST(FaultyEngines, OneWithOtherRandomValuesIsFound) {
  const EngineFactory other = [](const Subject& subject, Role role) -> std::unique_ptr<Engine> {
    if (role == Role::prefix) return std::make_unique<ForgetsEntropy>(subject);
    return real_engine(subject, role);
  };
  EXPECT_THAT(first_finding(other), HasSubstr("it goes another way"));
}

TEST(FaultyEngines, OneThatKeepsQuietAboutAChangeIsFound) {
  const auto quiet = liars(Role::changed, [](TurnOutcome& turn) { turn = TurnOutcome{}; });
  EXPECT_THAT(first_finding(quiet), HasSubstr("a change is not reported"));
}

/// Loses its place in history: takes every second message only.
class DropsMessages final : public RealEngine {
 public:
  using RealEngine::RealEngine;
  TurnOutcome run_turn(const TurnInput& input) override {
    return RealEngine::run_turn(
        {input.history, input.messages.first((input.messages.size() + 1) / 2), input.now, input.entropy});
  }
};

TEST(FaultyEngines, OneThatLosesMessagesWhenItIsBehindIsFound) {
  const EngineFactory loses = [](const Subject& subject, Role role) -> std::unique_ptr<Engine> {
    if (role == Role::behind) return std::make_unique<DropsMessages>(subject);
    return real_engine(subject, role);
  };
  EXPECT_THAT(first_finding(loses), HasSubstr("one that was behind decides otherwise"));
}

TEST(FaultyEngines, CodeThatIsNotDeterministicIsFound) {
  // Each new execution runs a program of another length.
  auto turn = std::make_shared<int>(0);
  const EngineFactory fickle = [turn](const Subject& subject, Role) {
    Program program;
    program.body.push_back({Kind::await, 0, 0, false, {{Kind::activity, (*turn)++ % 2, 0, false, {}}}});
    program.body.push_back({Kind::await, 0, 0, false, {{Kind::activity, 0, 0, false, {}}}});
    Subject other = subject;
    other.handler = handler_for(std::make_shared<const Program>(program));
    return std::make_unique<RealEngine>(other);
  };
  EXPECT_THAT(first_finding(fickle), HasSubstr("decides otherwise"));
}

}  // namespace
}  // namespace duramen::core_test::property
