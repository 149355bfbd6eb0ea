#include "bench/workloads/core_subject.hpp"

#include <duramen/codec.hpp>

#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace bench {

namespace dm = duramen;

namespace {

constexpr dm::ExecutionId first_execution{1};

dm::core::ExecutionOptions without_limits() {
  dm::core::ExecutionOptions options;
  options.max_actions_per_turn = std::numeric_limits<std::size_t>::max();
  return options;
}

/// The messages that answer the turn.
void add_answers(const dm::core::TurnOutcome& turn, std::deque<dm::MessageBody>& answers) {
  for (const dm::ActivityRequest& activity : turn.activities) {
    answers.push_back(completion_of(activity.key.activity));
  }
  for (const dm::OutboundMessage& message : turn.messages) {
    if (std::holds_alternative<dm::message::TimerFired>(message.body)) answers.push_back(message.body);
    if (const auto* child = std::get_if<dm::message::StartOrchestration>(&message.body)) {
      answers.push_back(
          dm::message::SubOrchestrationCompleted{child->parent.value(), dm::Payload::json("1")});
    }
  }
  for (const dm::Event& event : turn.events) {
    const auto* wait = std::get_if<dm::event::ExternalSubscribed>(&event.body);
    if (wait != nullptr && wait->name == answered_event) {
      answers.push_back(dm::message::ExternalRaised{wait->name, dm::Payload::json("1")});
    }
  }
}

}  // namespace

CoreSubject::CoreSubject(const OrchestrationCode& code)
    : execution_({"subject", dm::Incarnation{1}, first_execution}, code, without_limits()) {}

dm::core::TurnOutcome CoreSubject::start(std::size_t size) {
  return deliver(
      dm::message::StartOrchestration{"Subject", dm::encode_payload(static_cast<int>(size)), {}, {}});
}

dm::core::TurnOutcome CoreSubject::deliver(std::span<const dm::MessageBody> messages) {
  return execution_.run_turn({{}, messages, dm::TimePoint{}, 0});
}

dm::core::TurnOutcome CoreSubject::replay(std::span<const dm::Event> history) {
  dm::core::TurnOutcome turn = execution_.run_turn({history, {}, dm::TimePoint{}, 0});
  if (turn.replayed_events != history.size() || !turn.events.empty()) {
    throw std::runtime_error("a history was not replayed as it was recorded");
  }
  return turn;
}

dm::MessageBody completion_of(dm::EventId activity) {
  return dm::message::ActivityCompleted{first_execution, activity, dm::Payload::json("1")};
}

std::vector<dm::Event> record_history(const OrchestrationCode& code, std::size_t size) {
  CoreSubject subject(code);
  std::vector<dm::Event> history;
  std::deque<dm::MessageBody> answers;
  const auto take = [&](dm::core::TurnOutcome turn) {
    if (turn.ended()) throw std::runtime_error("the code of a benchmark ended before its time");
    add_answers(turn, answers);
    for (dm::Event& event : turn.events) history.push_back(std::move(event));
  };
  take(subject.start(size));
  while (!answers.empty()) {
    const dm::MessageBody answer = std::move(answers.front());
    answers.pop_front();
    take(subject.deliver(answer));
  }
  return history;
}

}  // namespace bench
