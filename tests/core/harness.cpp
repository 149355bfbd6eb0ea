#include "core/harness.hpp"

#include "core/inbound.hpp"
#include <duramen/failure.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace duramen::core_test {

namespace {

using core::Execution;
using core::TurnOutcome;

/// Only an end that the engine imposes comes without an inbound event.
bool is_imposed(const std::optional<Failure>& failure) {
  return failure && (failure->kind == FailureKind::nondeterminism || failure->kind == FailureKind::limit);
}

bool is_inbound(const Event& event) { return event_class(event) == EventClass::inbound; }

std::vector<std::string> texts_of(const std::vector<core::TraceLine>& traces) {
  std::vector<std::string> texts;
  for (const core::TraceLine& line : traces) texts.push_back(line.text);
  return texts;
}

/// The messages that the turn did not take.
std::vector<MessageBody> left_of(const std::vector<MessageBody>& messages, const TurnOutcome& turn) {
  std::vector<MessageBody> left;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!std::ranges::binary_search(turn.taken, i)) left.push_back(messages[i]);
  }
  return left;
}

void expect_same(const TurnOutcome& a, const TurnOutcome& b, std::string_view way) {
  SCOPED_TRACE(std::string(way));
  EXPECT_EQ(story_of(a.events), story_of(b.events));
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.segments, b.segments);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.output, b.output);
  EXPECT_EQ(a.failure, b.failure);
  EXPECT_EQ(a.activities, b.activities);
  EXPECT_EQ(a.cancel_rest, b.cancel_rest);
  EXPECT_EQ(a.dropped_timers, b.dropped_timers);
  EXPECT_EQ(a.ignored_messages, b.ignored_messages);
  EXPECT_EQ(a.taken, b.taken);
  EXPECT_EQ(a.put_back, b.put_back);
  EXPECT_EQ(a.custom_status, b.custom_status);
  EXPECT_EQ(a.key_values, b.key_values);
  EXPECT_EQ(texts_of(a.traces), texts_of(b.traces));
  ASSERT_EQ(a.messages.size(), b.messages.size());
  for (std::size_t i = 0; i < a.messages.size(); ++i) {
    EXPECT_EQ(a.messages[i].body, b.messages[i].body);
    EXPECT_EQ(a.messages[i].target, b.messages[i].target);
    EXPECT_EQ(a.messages[i].visible_at, b.messages[i].visible_at);
    EXPECT_EQ(a.messages[i].if_refused, b.messages[i].if_refused);
  }
  ASSERT_EQ(a.cancelled_activities.size(), b.cancelled_activities.size());
  for (std::size_t i = 0; i < a.cancelled_activities.size(); ++i) {
    EXPECT_EQ(a.cancelled_activities[i].activity, b.cancelled_activities[i].activity);
    EXPECT_EQ(a.cancelled_activities[i].reason, b.cancelled_activities[i].reason);
  }
}

}  // namespace

Instance::Instance(std::shared_ptr<const OrchestrationHandler> handler, Mode mode,
                   core::ExecutionOptions limits, core::ExecutionIdentity identity)
    : handler_(std::move(handler)), mode_(mode), limits_(std::move(limits)), identity_(std::move(identity)) {}

Instance::~Instance() {
  // An end that no message caused cannot be caused again by one.
  if (check_prefixes_ && !is_imposed(failure_)) check_every_prefix();
}

// -- turns --------------------------------------------------------------------------------------------------

std::unique_ptr<Execution> Instance::new_execution() const {
  return std::make_unique<Execution>(identity_, handler_, limits_);
}

TurnOutcome Instance::run(Execution& execution, const std::vector<MessageBody>& messages) const {
  const auto unseen = std::span(history_).subspan(execution.last_event_id().value);
  return execution.run_turn({unseen, messages, now_, entropy_});
}

const TurnOutcome& Instance::deliver(std::vector<MessageBody> messages) {
  take_from_queues(messages);
  if (mode_ == Mode::fresh) {
    remember(run(*new_execution(), messages));
    left_ = left_of(messages, turn_);
    return turn_;
  }
  if (!resident_) resident_ = new_execution();
  TurnOutcome outcome = run(*resident_, messages);
  if (mode_ == Mode::every_way) {
    expect_same(outcome, run(*new_execution(), messages), "a new execution that replays everything");
    if (behind_) expect_same(outcome, run(*behind_, messages), "an execution that was one turn behind");
    behind_.reset();
    if (check_prefixes_) {
      // It sees the history before this turn now, and with the next turn what this one adds.
      behind_ = new_execution();
      EXPECT_THAT(story_of(run(*behind_, {}).events), testing::IsEmpty()) << "replay alone decided something";
    }
  }
  remember(std::move(outcome));
  left_ = left_of(messages, turn_);
  return turn_;
}

void Instance::remember(TurnOutcome outcome) {
  turn_ = std::move(outcome);
  history_.insert(history_.end(), turn_.events.begin(), turn_.events.end());
  entropies_.resize(history_.size(), entropy_);
  if (!turn_.events.empty()) status_ = turn_.status;
  if (turn_.output) output_ = turn_.output;
  if (turn_.failure) failure_ = turn_.failure;
  for (const ActivityRequest& activity : turn_.activities) workers_.insert(activity.key.activity);
  for (const CancelledActivity& activity : turn_.cancelled_activities) workers_.erase(activity.activity);
  for (const OutboundMessage& message : turn_.messages) {
    if (const auto* timer = std::get_if<message::TimerFired>(&message.body)) timers_.insert(timer->id);
  }
  for (EventId timer : turn_.dropped_timers) timers_.erase(timer);
  if (turn_.cancel_rest) timers_.clear();  // a store deletes them with the terminal commit
  check_turn();
  if (turn_.ended() && !turn_.events.empty()) check_nothing_is_left();
}

void Instance::take_from_queues(const std::vector<MessageBody>& messages) {
  for (const MessageBody& message : messages) {
    if (const auto* done = std::get_if<message::ActivityCompleted>(&message)) workers_.erase(done->id);
    if (const auto* failed = std::get_if<message::ActivityFailed>(&message)) workers_.erase(failed->id);
    if (const auto* fired = std::get_if<message::TimerFired>(&message)) timers_.erase(fired->id);
  }
}

void Instance::set_handler(std::shared_ptr<const OrchestrationHandler> handler) {
  handler_ = std::move(handler);
  resident_.reset();
  behind_.reset();
  check_prefixes_ = false;
}

void Instance::forge(std::vector<Event> history) {
  history_ = std::move(history);
  status_ = Status::running;
  check_prefixes_ = false;
}

const TurnOutcome& Instance::complete(EventId event, Payload result) {
  return deliver({message::ActivityCompleted{identity_.execution, event, std::move(result)}});
}
const TurnOutcome& Instance::fail(std::string_view activity, std::string message) {
  return deliver({failing(activity, std::move(message))});
}
const TurnOutcome& Instance::fail(EventId event, Failure failure) {
  return deliver({message::ActivityFailed{identity_.execution, event, std::move(failure)}});
}
const TurnOutcome& Instance::fire(std::string_view delay) { return fire(timer_id(delay)); }
const TurnOutcome& Instance::fire(EventId timer) {
  const TimePoint due = std::get<event::TimerCreated>(history_.at(timer.value - 1).body).fire_at;
  now_ = std::max(now_, due);
  return deliver({message::TimerFired{identity_.execution, timer, due}});
}

// -- messages -----------------------------------------------------------------------------------------------

MessageBody Instance::started(Payload input) const {
  return message::StartOrchestration{"subject", std::move(input), {}, {}};
}
MessageBody Instance::failing(std::string_view activity, std::string message) const {
  return message::ActivityFailed{identity_.execution, id_of(activity),
                                 Failure::application("Test", std::move(message))};
}
MessageBody Instance::firing(std::string_view delay) const {
  const EventId timer = timer_id(delay);
  return message::TimerFired{identity_.execution, timer,
                             std::get<event::TimerCreated>(history_[timer.value - 1].body).fire_at};
}

// -- queries ------------------------------------------------------------------------------------------------

std::vector<std::string> Instance::last_turn() const {
  std::vector<std::string> all = story();
  return {all.end() - static_cast<std::ptrdiff_t>(turn_.events.size()), all.end()};
}

EventId Instance::id_of(std::string_view activity) const {
  for (auto event = history_.rbegin(); event != history_.rend(); ++event) {
    if (schedule_name(*event) == activity) return event->id;
  }
  throw std::invalid_argument("never scheduled: " + std::string(activity));
}
EventId Instance::timer_id(std::string_view delay) const { return id_of("timer " + std::string(delay)); }

std::string Instance::name_of(EventId id) const {
  const std::string name = schedule_name(history_.at(id.value - 1));
  constexpr std::string_view timer = "timer ";
  return name.starts_with(timer) ? name.substr(timer.size()) : name;
}

std::vector<std::string> Instance::worker_queue() const {
  std::vector<std::string> names;
  for (EventId id : workers_) names.push_back(name_of(id));
  return names;
}
std::vector<std::string> Instance::timers_waiting() const {
  std::vector<std::string> names;
  for (EventId id : timers_) names.push_back(name_of(id));
  return names;
}
std::vector<std::string> Instance::sent() const {
  std::vector<std::string> names;
  for (const ActivityRequest& activity : turn_.activities) names.push_back(activity.name);
  return names;
}
std::vector<std::string> Instance::stopped() const {
  std::vector<std::string> names;
  for (const CancelledActivity& activity : turn_.cancelled_activities)
    names.push_back(name_of(activity.activity));
  return names;
}
std::vector<std::string> Instance::timers_dropped() const {
  std::vector<std::string> names;
  for (EventId timer : turn_.dropped_timers) names.push_back(name_of(timer));
  return names;
}

message::ContinueAsNew Instance::next_execution() const {
  const auto found = messages<message::ContinueAsNew>();
  if (found.size() != 1) throw std::logic_error("the last turn did not continue as new: " + describe_end());
  return found.front().second;
}

std::string Instance::describe_end() const {
  return failure_ ? failure_->describe() : "it is " + std::string(to_string(status_));
}

// -- what must hold after every turn ------------------------------------------------------------------------

void Instance::check_turn() const {
  const std::vector<Event>& events = turn_.events;
  SCOPED_TRACE("turn: " + testing::PrintToString(story_of(events)));
  EXPECT_EQ(turn_.segments.empty(), events.empty());
  if (!turn_.segments.empty()) EXPECT_EQ(turn_.segments.front(), 0u);
  const bool imposed = is_imposed(turn_.failure);
  std::size_t segment = 0;
  const std::size_t before = history_.size() - events.size();
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].id, before + i == 0 ? EventId{1} : history_[before + i - 1].id.next());
    const bool begins = segment < turn_.segments.size() && turn_.segments[segment] == i;
    if (begins) {
      ++segment;
      EXPECT_TRUE(is_inbound(events[i]) || imposed) << "a segment begins with " << event_type(events[i]);
      continue;
    }
    const bool value = is_inbound(events[i]) && events[i].source == events[i - 1].id;  // a recorded value
    EXPECT_TRUE(value || !is_inbound(events[i])) << "in the middle of a segment";
    EXPECT_TRUE(value || event_class(events[i - 1]) <= event_class(events[i]))
        << "actions, then cancellations, then the end";
    if (event_class(events[i]) == EventClass::cancel && event_class(events[i - 1]) == EventClass::cancel) {
      EXPECT_LT(events[i - 1].source, events[i].source) << "cancellations are sorted by what they cancel";
    }
  }
  EXPECT_EQ(segment, turn_.segments.size());
  std::set<EventId> cancelled;
  for (const Event& event : history_) {
    if (event_class(event) != EventClass::cancel) continue;
    EXPECT_TRUE(cancelled.insert(event.source).second) << event.source.value << " was cancelled twice";
  }
}

void Instance::check_nothing_is_left() const {
  EXPECT_THAT(turn_.activities, testing::IsEmpty());
  EXPECT_THAT(messages<message::TimerFired>(), testing::IsEmpty());
  for (const OutboundMessage& message : turn_.messages) {
    EXPECT_FALSE(message.if_refused) << "a child is started when its parent has ended";
  }
  EXPECT_THAT(worker_queue(), testing::IsEmpty());
  EXPECT_TRUE(turn_.cancel_rest.has_value());
  EXPECT_EQ(event_class(history_.back()), EventClass::terminal);
  std::set<EventId> open;
  for (const Event& event : history_) {
    const bool scheduled = std::holds_alternative<event::ActivityScheduled>(event.body) ||
                           std::holds_alternative<event::SubOrchestrationScheduled>(event.body);
    if (scheduled) open.insert(event.id);
    open.erase(event.source);
  }
  EXPECT_THAT(open, testing::IsEmpty())
      << "activities or children neither ended nor cancelled when the orchestration ended";
}

void Instance::check_every_prefix() const {
  const std::vector<std::size_t> segments = core::find_segments(history_);
  const std::size_t step = 1 + segments.size() / 50;  // a long history is cut at some places only
  for (auto cut = segments.begin(); cut != segments.end(); ++cut) {
    if ((cut - segments.begin()) % static_cast<std::ptrdiff_t>(step) != 0) continue;
    SCOPED_TRACE("run on from event " + std::to_string(*cut + 1) + " of " + testing::PrintToString(story()));
    const auto execution = new_execution();
    std::vector<Event> events(history_.begin(), history_.begin() + static_cast<std::ptrdiff_t>(*cut));
    std::span<const Event> replayed(events);
    std::vector<Event> rest;
    for (auto at = cut; at != segments.end(); ++at) {
      const std::vector<MessageBody> messages = messages_behind(history_[*at], identity_);
      TurnOutcome outcome = execution->run_turn(
          {std::exchange(replayed, {}), messages, history_[*at].timestamp, entropies_[*at]});
      rest.insert(rest.end(), outcome.events.begin(), outcome.events.end());
    }
    events.insert(events.end(), rest.begin(), rest.end());
    EXPECT_EQ(story_of(events), story());
    EXPECT_EQ(events, history_);
  }
}

}  // namespace duramen::core_test
