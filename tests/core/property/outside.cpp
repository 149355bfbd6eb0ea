#include "core/property/outside.hpp"

#include "base/overloaded.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace duramen::core_test::property {

namespace {

using std::chrono::milliseconds;

Payload text(int number) { return Payload::text("r" + std::to_string(number)); }

Failure failure(Rng& rng) {
  Failure made = Failure::application("E" + std::to_string(rng.between(0, 1)), "it failed");
  made.retryable = rng.one_in(2);
  return made;
}

template <class Map>
EventId any_id(const Map& map, Rng& rng) {
  return std::next(map.begin(), static_cast<std::ptrdiff_t>(rng.below(map.size())))->first;
}

std::string name(EventId id) { return "event " + std::to_string(id.value); }

bool answers(const MessageBody& item, EventId id) {
  return std::visit(Overloaded{
                        [id](const message::ActivityCompleted& m) { return m.id == id; },
                        [id](const message::ActivityFailed& m) { return m.id == id; },
                        [id](const message::TimerFired& m) { return m.id == id; },
                        [id](const message::SubOrchestrationCompleted& m) { return m.parent.event == id; },
                        [id](const message::SubOrchestrationFailed& m) { return m.parent.event == id; },
                        [](const auto&) { return false; },
                    },
                    item);
}

}  // namespace

// -- what arrives ---------------------------------------------------------------------------------

MessageBody Outside::complete_activity(EventId id, Rng& rng) const {
  if (rng.one_in(8)) return message::ActivityFailed{identity_.execution, id, failure(rng)};
  return message::ActivityCompleted{identity_.execution, id, text(rng.between(0, 9))};
}

MessageBody Outside::complete_child(EventId id, Rng& rng) const {
  const ParentLink link{identity_.instance, identity_.incarnation, identity_.execution, id};
  if (rng.one_in(12))
    return message::SubOrchestrationFailed{link, Failure::cancelled("a child was cancelled")};
  if (rng.one_in(8)) return message::SubOrchestrationFailed{link, failure(rng)};
  return message::SubOrchestrationCompleted{link, text(rng.between(0, 9))};
}

/// The answer to one thing that is under way.
std::optional<MessageBody> Outside::answer(Rng& rng) {
  const std::size_t count = workers_.size() + timers_.size() + children_.size();
  if (count == 0) return std::nullopt;
  const std::size_t which = rng.below(count);
  if (which < workers_.size()) {
    const EventId id = any_id(workers_, rng);
    workers_.erase(id);
    return complete_activity(id, rng);
  }
  if (which < workers_.size() + timers_.size()) {
    const EventId id = any_id(timers_, rng);
    const TimePoint due = timers_.at(id);
    timers_.erase(id);
    now_ = std::max(now_, due);
    return message::TimerFired{identity_.execution, id, due};
  }
  const EventId id = any_id(children_, rng);
  children_.erase(id);
  return complete_child(id, rng);
}

MessageBody Outside::raise(Rng& rng) const {
  const std::string number = std::to_string(rng.between(0, 2));
  if (rng.one_in(2)) return message::ExternalRaised{"e" + number, text(rng.between(10, 19))};
  return message::QueueMessage{"q" + number, text(rng.between(20, 29))};
}

MessageBody Outside::cancel(Rng& rng) const {
  const CancelMode mode = rng.one_in(3) ? CancelMode::terminate : CancelMode::graceful;
  if (!rng.one_in(3)) return message::CancelInstance{"enough", mode, CancelOrigin::client, {}};
  ParentLink from = parent_.value_or(ParentLink{"stranger", Incarnation{8}, ExecutionId{1}, EventId{2}});
  if (rng.one_in(3)) from.event = from.event.next();  // not the one that started us
  return message::CancelInstance{"the parent's wish", mode, CancelOrigin::parent, std::move(from)};
}

/// Messages that should change nothing: a second copy, the answer of a stopped operation or of an earlier
/// execution; or, rarely, an answer to nothing at all, which must end the execution.
std::optional<MessageBody> Outside::odd_one(Rng& rng, bool& foreign) {
  switch (rng.below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (!delivered_.empty()) return rng.pick(delivered_);
      break;
    case 4:
    case 5:
    case 6:
      if (!stopped_activities_.empty()) return complete_activity(rng.pick(stopped_activities_), rng);
      break;
    case 7:
    case 8:
    case 9:
      if (!stopped_children_.empty()) return complete_child(any_id(stopped_children_, rng), rng);
      break;
    case 10:
      return message::ActivityCompleted{ExecutionId{identity_.execution.value + 1}, EventId{2}, text(7)};
    default:
      if (!rng.one_in(4)) break;
      foreign = true;
      return message::ActivityCompleted{identity_.execution, EventId{1000}, text(8)};
  }
  return std::nullopt;
}

Batch Outside::next_batch(Rng& rng) {
  now_ += milliseconds(rng.between(0, 40));
  Batch batch;
  const int count = rng.one_in(3) ? rng.between(2, 4) : 1;
  for (int i = 0; i < count; ++i) {
    const std::size_t dice = rng.below(100);
    std::optional<MessageBody> message;
    if (dice < 66) {
      message = answer(rng);
      batch.genuine = message && count == 1;
    } else if (dice < 74) {
      message = odd_one(rng, batch.foreign);
    } else if (dice < 77) {
      message = cancel(rng);
    }
    batch.messages.push_back(message ? std::move(*message) : raise(rng));
  }
  delivered_.insert(delivered_.end(), batch.messages.begin(), batch.messages.end());
  return batch;
}

void Outside::add_early_messages(Rng& rng, std::vector<MessageBody>& messages) {
  if (rng.one_in(5)) messages.push_back(raise(rng));
  if (rng.one_in(20)) messages.push_back(cancel(rng));
  if (rng.one_in(20)) messages.insert(messages.begin(), raise(rng));  // before the start: ignored
}

// -- what leaves ----------------------------------------------------------------------------------

std::optional<std::string> Outside::take(const core::TurnOutcome& turn, const std::vector<MessageBody>& batch,
                                         const std::vector<Event>& history) {
  // A row that a turn stops may be on its way as a completion already.
  for (const CancelledActivity& cancelled : turn.cancelled_activities) {
    const bool on_its_way = std::any_of(batch.begin(), batch.end(), [&](const MessageBody& item) {
      return answers(item, cancelled.activity);
    });
    if (!workers_.contains(cancelled.activity) && !on_its_way) {
      return name(cancelled.activity) + " is stopped, but no worker has it";
    }
    if (workers_.erase(cancelled.activity) != 0) stopped_activities_.push_back(cancelled.activity);
  }
  for (const EventId timer : turn.dropped_timers) {
    const bool on_its_way = std::any_of(batch.begin(), batch.end(),
                                        [&](const MessageBody& item) { return answers(item, timer); });
    if (timers_.erase(timer) == 0 && !on_its_way)
      return name(timer) + " is dropped, but no timer runs under it";
  }
  if (auto wrong = take_activities(turn, history)) return wrong;
  if (auto wrong = take_messages(turn)) return wrong;
  if (turn.ended()) {
    if (!turn.cancel_rest) return "an end that leaves the timers";
    timers_.clear();
  }
  return check_against(history, turn.ended());
}

std::optional<std::string> Outside::take_activities(const core::TurnOutcome& turn,
                                                    const std::vector<Event>& history) {
  for (const ActivityRequest& activity : turn.activities) {
    const EventId id = activity.key.activity;
    const auto* scheduled = id.value <= history.size()
                                ? std::get_if<event::ActivityScheduled>(&history[id.value - 1].body)
                                : nullptr;
    if (scheduled == nullptr) return name(id) + " is sent to a worker, but is no activity";
    if (scheduled->name != activity.name || scheduled->input != activity.input ||
        scheduled->tag != activity.tag || scheduled->session_id != activity.session_id) {
      return name(id) + " is sent to a worker with other contents than it was recorded with";
    }
    if (!workers_.emplace(id, activity.name).second) return name(id) + " is sent to a worker twice";
  }
  return std::nullopt;
}

std::optional<std::string> Outside::take_messages(const core::TurnOutcome& turn) {
  std::size_t answers_to_parent = 0;
  for (const OutboundMessage& message : turn.messages) {
    if (const auto* timer = std::get_if<message::TimerFired>(&message.body)) {
      if (!timers_.emplace(timer->id, timer->fire_at).second) return name(timer->id) + " is a timer twice";
      if (message.visible_at != timer->fire_at)
        return name(timer->id) + " is visible at another time than it is due";
    } else if (const auto* start = std::get_if<message::StartOrchestration>(&message.body)) {
      if (!start->parent) continue;
      if (!children_.emplace(start->parent->event, message.target).second) return "a child is started twice";
      if (!message.if_refused) return "a child whose id is taken would never answer";
    } else if (const auto* cancel = std::get_if<message::CancelInstance>(&message.body)) {
      if (!cancel->parent) return "a cancel leaves that is not from a parent";
      const auto child = children_.find(cancel->parent->event);
      if (child == children_.end()) continue;  // its answer is in the batch
      if (child->second != message.target) return "a cancel goes to the wrong child";
      stopped_children_.insert(*child);
      children_.erase(child);
    } else if (std::holds_alternative<message::SubOrchestrationCompleted>(message.body) ||
               std::holds_alternative<message::SubOrchestrationFailed>(message.body)) {
      ++answers_to_parent;
      if (!parent_ || message.target != parent_->instance)
        return "an answer goes to an instance that is not the parent";
    }
  }
  const std::size_t due = parent_ && is_final(turn.status) ? 1 : 0;
  if (answers_to_parent != due) return "the parent is not answered exactly once, when it is over";
  return std::nullopt;
}

/// Workers and children hold exactly the operations that are open in history; after the end none.
std::optional<std::string> Outside::check_against(const std::vector<Event>& history, bool ended) const {
  std::set<EventId> activities;
  std::set<EventId> children;
  std::set<EventId> waits;
  for (const Event& event : history) {
    if (const auto* scheduled = std::get_if<event::ActivityScheduled>(&event.body)) {
      if (!scheduled->name.starts_with("__duramen:")) activities.insert(event.id);
    } else if (std::holds_alternative<event::SubOrchestrationScheduled>(event.body)) {
      children.insert(event.id);
    }
    activities.erase(event.source);
    children.erase(event.source);
  }
  if (ended && !(activities.empty() && children.empty()))
    return "something stays open after the end, in history";
  for (const auto& [id, what] : workers_) {
    if (!activities.contains(id)) return name(id) + " (" + what + ") still has a row, but has no waiter";
  }
  for (const EventId id : activities) {
    if (!workers_.contains(id)) return name(id) + " is open, but no worker has it";
  }
  for (const auto& [id, what] : children_) {
    if (!children.contains(id)) return name(id) + " (" + what.value + ") still runs, but has no waiter";
  }
  for (const EventId id : children) {
    if (!children_.contains(id)) return name(id) + " is open, but no child runs";
  }
  return std::nullopt;
}

}  // namespace duramen::core_test::property
