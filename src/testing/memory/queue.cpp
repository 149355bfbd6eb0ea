// The messages of an instance: their places, their times, and the cancel among them.
#include "providers/common/cancel_descent.hpp"
#include "providers/common/inbox.hpp"
#include "testing/memory/state.hpp"

#include <algorithm>

namespace duramen::inline v0::testing {
namespace {

/// A child's answer names the incarnation of its parent: a later instance with the same id must not get it.
bool is_for(const MessageBody& item, Incarnation incarnation) {
  if (const auto* done = std::get_if<message::SubOrchestrationCompleted>(&item))
    return done->parent.incarnation == incarnation;
  if (const auto* failed = std::get_if<message::SubOrchestrationFailed>(&item))
    return failed->parent.incarnation == incarnation;
  return true;
}

/// True if the instance was started by this very step of its parent.
bool is_child_of(const Instance& instance, const ParentLink& link) {
  if (!instance.info.parent) return false;
  const ParentLink& own = *instance.info.parent;
  const bool same_incarnation = !own.incarnation || !link.incarnation || own.incarnation == link.incarnation;
  return own.instance == link.instance && same_incarnation && own.execution == link.execution &&
         own.event == link.event;
}

bool rises(const std::optional<CancelMode>& asked, CancelMode mode) {
  return !asked || (*asked == CancelMode::graceful && mode == CancelMode::terminate);
}

}  // namespace

/// Stores a message behind all others of the instance. Its time never falls below theirs.
void MemoryState::enqueue(Instance& target, MessageBody item, TimePoint sent_at) {
  if (!target.inbox.empty()) sent_at = std::max(sent_at, target.inbox.rbegin()->second.sent_at);
  const std::int64_t place = ++last_place_;
  if (const auto* cancel = std::get_if<message::CancelInstance>(&item)) {
    target.info.cancel_asked = cancel->mode;
    target.cancel_place = place;
  }
  target.inbox.emplace(place, QueuedMessage{std::move(item), sent_at});
  set_entry(target);
}

void MemoryState::enqueue(Instance& target, MessageBody item) {
  enqueue(target, std::move(item), clock.now());
}

void MemoryState::enqueue_timer(Instance& target, const message::TimerFired& timer) {
  target.timers[timer.id] = {timer.execution, timer.fire_at};
  set_entry(target);
}

/// Stores messages before all others of the instance, in this order.
void MemoryState::enqueue_first(Instance& target, std::span<const MessageBody> items) {
  std::int64_t place = target.inbox.empty() ? ++last_place_ : target.inbox.begin()->first;
  place -= static_cast<std::int64_t>(items.size());
  for (const MessageBody& item : items) {
    target.inbox.emplace(place++, QueuedMessage{item, TimePoint{}});
  }
  set_entry(target);
}

EnqueueOutcome MemoryState::deliver(const OutboundMessage& message) {
  if (const auto* start = std::get_if<message::StartOrchestration>(&message.body))
    return deliver_start(message, *start);
  Instance* target = find(message.target);
  if (!target) return park(message);
  if (!is_for(message.body, target->info.incarnation)) return EnqueueOutcome::not_found;
  if (message.message_id && target->message_ids.contains(*message.message_id))
    return EnqueueOutcome::duplicate;
  const auto* cancel = std::get_if<message::CancelInstance>(&message.body);
  if (cancel) {
    if (const auto refused = refusal(*cancel, *target)) return *refused;
  }
  if (is_final(target->info.status)) return EnqueueOutcome::finished;
  if (message.message_id) target->message_ids.insert(*message.message_id);
  if (const auto* timer = std::get_if<message::TimerFired>(&message.body)) {
    enqueue_timer(*target, *timer);
  } else if (const auto* begin = std::get_if<message::ContinueAsNew>(&message.body)) {
    target->asked_version = begin->version;
    enqueue_first(*target, {&message.body, 1});
  } else {
    enqueue(*target, message.body);
  }
  if (cancel && cancel->parent) notices.descending.push_back({target->info.incarnation, *cancel});
  return EnqueueOutcome::enqueued;
}

/// The outcome of a cancel that is not stored: from another parent, too late, or no stronger than before.
std::optional<EnqueueOutcome> MemoryState::refusal(const message::CancelInstance& cancel,
                                                   const Instance& target) {
  if (cancel.parent && !is_child_of(target, *cancel.parent)) return EnqueueOutcome::not_found;
  if (is_final(target.info.status)) return EnqueueOutcome::finished;
  if (!rises(target.info.cancel_asked, cancel.mode)) return EnqueueOutcome::duplicate;
  return std::nullopt;
}

/// An orchestration starts another one. `duplicate`: the id is taken.
EnqueueOutcome MemoryState::deliver_start(const OutboundMessage& message,
                                          const message::StartOrchestration& start) {
  if (find(message.target)) return EnqueueOutcome::duplicate;
  this->start({.instance = message.target, .start = start}, message.visible_at);
  return EnqueueOutcome::enqueued;
}

/// The parent has a cancel queued that its history does not hold yet: the child begins with it.
void MemoryState::pass_cancel_on(const Instance& parent, const message::StartOrchestration& start,
                                 Instance& child) {
  const auto& asked = std::get<message::CancelInstance>(parent.inbox.at(*parent.cancel_place).body);
  enqueue(child, providers::cancel_of_child(asked, start.parent.value()));
}

EnqueueOutcome MemoryState::park(const OutboundMessage& message) {
  const bool may_wait = std::holds_alternative<message::ExternalRaised>(message.body) ||
                        std::holds_alternative<message::QueueMessage>(message.body);
  if (!may_wait) return EnqueueOutcome::not_found;
  auto& waiting = parked[message.target];
  drop_expired(waiting, waiting.size());
  const auto same = [&](const ParkedMessage& other) {
    return other.message.message_id == message.message_id;
  };
  if (message.message_id && std::ranges::any_of(waiting, same)) return EnqueueOutcome::duplicate;
  waiting.push_back({message, clock.now(), clock.lease_now() + options.parked_for});
  return EnqueueOutcome::parked;
}

/// The instance now exists: delivers its parked messages that have not expired, each with the time at which
/// it was parked.
void MemoryState::deliver_parked(Instance& target) {
  auto waiting = parked.extract(target.info.instance);
  if (!waiting) return;
  drop_expired(waiting.mapped(), waiting.mapped().size());
  for (const ParkedMessage& entry : waiting.mapped()) {
    if (entry.message.message_id) target.message_ids.insert(*entry.message.message_id);
    enqueue(target, entry.message.body, entry.sent_at);
  }
}

// -- entries

bool MemoryState::has_due_timer(const Instance& instance) const {
  return std::ranges::any_of(instance.timers,
                             [&](const auto& entry) { return entry.second.fire_at <= clock.now(); });
}

/// True if a turn has something to take: a message or a due timer, and no delayed start before it.
bool MemoryState::is_takeable(const Instance& instance) const {
  if (instance.start_at > clock.now()) return false;
  return !instance.inbox.empty() || has_due_timer(instance);
}

/// Gives the instance its entry if it has something to take.
void MemoryState::set_entry(Instance& instance) {
  if (!is_takeable(instance)) {
    instance.waits.reset();
    return;
  }
  if (!instance.waits) instance.waits = {clock.lease_now(), ++last_arrival_};
  if (!is_leased(instance) && instance.not_before <= clock.lease_now()) notices.turns_ready = true;
}

/// Gives an entry to the instances whose timers or delayed starts have become due, in the order of their
/// times; takes it from those whose timer is not due any more, because the wall clock was set back.
void MemoryState::notice_due_timers() {
  std::vector<std::pair<TimePoint, Incarnation>> due;
  for (auto& [incarnation, instance] : instances) {
    if (instance.waits && !is_takeable(instance)) instance.waits.reset();
    if (instance.waits || !is_takeable(instance)) continue;
    TimePoint since = TimePoint::max();
    for (const auto& [event, timer] : instance.timers) since = std::min(since, timer.fire_at);
    if (!instance.inbox.empty()) since = std::min(since, instance.start_at);
    due.emplace_back(since, incarnation);
  }
  std::ranges::sort(due);
  for (const auto& [since, incarnation] : due) {
    instances.at(incarnation).waits = {clock.lease_now(), ++last_arrival_};
  }
}

}  // namespace duramen::inline v0::testing
