// Histories in words.
#include "base/overloaded.hpp"
#include "core/harness.hpp"

#include <map>

namespace duramen::core_test {

namespace {

std::string milliseconds(Duration duration) { return std::to_string(duration.count()) + "ms"; }

}  // namespace

std::string schedule_name(const Event& event) {
  if (const auto* activity = std::get_if<event::ActivityScheduled>(&event.body)) return activity->name;
  if (const auto* timer = std::get_if<event::TimerCreated>(&event.body)) {
    return "timer " + milliseconds(timer->fire_at - event.timestamp);
  }
  if (const auto* wait = std::get_if<event::ExternalSubscribed>(&event.body)) return "wait " + wait->name;
  if (const auto* queue = std::get_if<event::QueueSubscribed>(&event.body)) return "queue " + queue->name;
  if (const auto* child = std::get_if<event::SubOrchestrationScheduled>(&event.body))
    return "child " + child->name;
  return {};
}

namespace {

std::string in_words(const Event& event, const std::map<EventId, std::string>& names) {
  const auto source = names.find(event.source);
  const std::string subject =
      source == names.end() ? "event " + std::to_string(event.source.value) : source->second;
  const auto cancelled = [&subject](CancelReason reason) {
    return subject + " cancelled: " + std::string(to_string(reason));
  };
  return std::visit(
      Overloaded{
          [](const event::OrchestrationStarted&) { return std::string("started"); },
          [](const event::OrchestrationCancelRequested& e) { return "cancel requested: " + e.reason; },
          [](const event::ActivityScheduled& e) { return e.name + " scheduled"; },
          [&](const event::TimerCreated&) { return schedule_name(event) + " created"; },
          [&](const event::ActivityCompleted&) { return subject + " completed"; },
          [&](const event::ActivityFailed&) { return subject + " failed"; },
          [&](const event::TimerFired&) { return subject + " fired"; },
          [&](const event::ActivityCancelRequested& e) { return cancelled(e.reason); },
          [&](const event::SubOrchestrationCancelRequested& e) { return cancelled(e.reason); },
          [&](const event::ExternalSubscribedCancelled& e) { return cancelled(e.reason); },
          [&](const event::QueueSubscriptionCancelled& e) { return cancelled(e.reason); },
          [](const event::ExternalSubscribed& e) { return "wait " + e.name + " opened"; },
          [](const event::QueueSubscribed& e) { return "queue " + e.name + " opened"; },
          [](const event::ExternalEvent& e) { return "event " + e.name + ": " + e.data.data; },
          [](const event::QueueEventDelivered& e) { return "message " + e.name + ": " + e.data.data; },
          [](const event::SubOrchestrationScheduled& e) { return "child " + e.name + " scheduled"; },
          [&](const event::SubOrchestrationCompleted&) { return subject + " completed"; },
          [&](const event::SubOrchestrationFailed&) { return subject + " failed"; },
          [](const event::OrchestrationChained& e) { return e.name + " started as " + e.instance.value; },
          [](const event::CustomStatusUpdated& e) { return "custom status: " + e.status.value_or("none"); },
          [](const event::KeyValueSet& e) { return e.key + " set: " + e.value.data; },
          [](const event::KeyValueCleared& e) { return e.key + " cleared"; },
          [](const event::KeyValuesCleared&) { return std::string("all keys cleared"); },
          [](const event::OrchestrationContinuedAsNew& e) { return "continued: " + e.input.data; },
          [](const event::OrchestrationCompleted& e) { return "completed: " + e.output.data; },
          [](const event::OrchestrationFailed& e) { return "failed: " + e.details.describe(); },
          [&](const auto&) { return std::string(event_type(event)); },
      },
      event.body);
}

}  // namespace

std::vector<std::string> story_of(const std::vector<Event>& history) {
  std::map<EventId, std::string> names;
  std::vector<std::string> story;
  for (const Event& event : history) {
    if (std::string name = schedule_name(event); !name.empty()) names.emplace(event.id, std::move(name));
    std::string line = in_words(event, names);
    // A line is printed often: a large payload would take seconds.
    if (line.size() > 1000) line = line.substr(0, 100) + "... " + std::to_string(line.size()) + " bytes";
    story.push_back(std::move(line));
  }
  return story;
}

}  // namespace duramen::core_test
