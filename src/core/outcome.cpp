// The outputs of a turn, derived only from the events it added.
#include "base/overloaded.hpp"
#include "core/execution.hpp"
#include "core/failures.hpp"
#include "core/matching.hpp"
#include "core/sizes.hpp"
#include <duramen/detail/mutant.hpp>

#include <set>
#include <utility>

namespace duramen::inline v0::core {

CancelReason Execution::terminal_reason() const {
  return std::visit(
      Overloaded{
          [](const Returned&) { return CancelReason::orchestration_terminal_completed; },
          [](const Threw& end) {
            return end.failure.kind == FailureKind::poison ? CancelReason::poison
                                                           : CancelReason::orchestration_terminal_failed;
          },
          [](const Cancelled& end) {
            return end.origin == CancelOrigin::parent ? CancelReason::parent_cancelled
                                                      : CancelReason::orchestration_terminal_cancelled;
          },
          [](const Continued&) { return CancelReason::orchestration_terminal_continued_as_new; },
      },
      *end_);
}

TurnOutcome Execution::finish_turn() {
  TurnOutcome outcome;
  outcome.status = cancelling_ ? Status::cancelling : Status::running;
  if (end_) fill_end(outcome);
  if (end_ && !delta_.empty()) send_end(outcome);

  const EventId first_new = delta_.empty() ? last_event_id_.next() : delta_.front().id;
  for (const Event& event : delta_) fill_effects(outcome, event, first_new);
  terminate_cancelled_children(outcome, first_new);
  for (EventId timer : std::exchange(dropped_timers_, {})) {
    if (timer < first_new) outcome.dropped_timers.push_back(timer);
  }
  if (!end_ && !delta_.empty()) send_timer_again(outcome);
  outcome.events = std::exchange(delta_, {});
  outcome.segments = std::exchange(segments_, {});
  outcome.traces = std::exchange(traces_, {});
  outcome.warnings = std::exchange(warnings_, {});
  outcome.taken = std::exchange(taken_, {});
  outcome.ignored_messages = std::exchange(ignored_, 0);
  // Inputs are in the event and in the message or row that it causes.
  outcome.bytes += 2 * std::exchange(bytes_, 0);
  outcome.replayed_events = std::exchange(replayed_, 0);
  actions_ = 0;
  action_bytes_ = largest_action_bytes_ = 0;
  return outcome;
}

void Execution::send_timer_again(TurnOutcome& outcome) {
  while (!unsure_timers_.empty() && !outcome.timer_again) {
    const auto [due, id] = *unsure_timers_.begin();
    unsure_timers_.erase(unsure_timers_.begin());
    if (!timers_.contains(id) || detail::mutant("a_timer_that_other_code_dropped_never_fires")) continue;
    outcome.timer_again =
        OutboundMessage{identity_.instance, message::TimerFired{identity_.execution, id, due}, due, {}};
  }
}

void Execution::fill_end(TurnOutcome& outcome) const {
  std::visit(Overloaded{
                 [&](const Returned& end) {
                   outcome.status = Status::completed;
                   outcome.output = end.output;
                 },
                 [&](const Threw& end) {
                   outcome.status = Status::failed;
                   outcome.failure = end.failure;
                 },
                 [&](const Cancelled& end) {
                   outcome.status = Status::cancelled;
                   outcome.failure = Failure::cancelled(end.reason);
                 },
                 [&](const Continued&) { outcome.status = Status::continued_as_new; },
             },
             *end_);
}

/// Reports the end once, with the turn that decided it.
void Execution::send_end(TurnOutcome& outcome) {
  outcome.cancel_rest = terminal_reason();
  if (const auto* continued = std::get_if<Continued>(&*end_)) {
    send_next(outcome, *continued);
  } else if (parent_) {
    MessageBody answer = outcome.failure
                             ? MessageBody(message::SubOrchestrationFailed{*parent_, *outcome.failure})
                             : MessageBody(message::SubOrchestrationCompleted{*parent_, *outcome.output});
    outcome.messages.push_back(OutboundMessage{parent_->instance, std::move(answer), {}, {}});
  }
}

/// The beginning of the next execution, with the unclaimed mail.
void Execution::send_next(TurnOutcome& outcome, const Continued& continued) {
  message::ContinueAsNew next;
  next.orchestration = name_;
  next.input = continued.input;
  next.version = continued.version;
  next.initial_custom_status = custom_status_;
  next.parent = parent_;
  next.depth = depth_;
  next.events_before = events_before_ + last_event_id_.value;
  if (!detail::mutant("the_next_execution_forgets_its_requester")) next.requested_by = requested_by_;
  std::size_t bytes = 0;
  for (CarriedEvent& mail : mailboxes_.take_unclaimed()) {
    if (detail::mutant("unclaimed_mail_forgets_its_requester")) mail.requested_by.reset();
    bytes += estimated_bytes(mail);
    if (bytes <= max_carried_bytes || detail::mutant("all_mail_is_carried")) {
      next.carry_forward.push_back(std::move(mail));
    } else if (mail.kind == CarriedEvent::Kind::external) {
      outcome.put_back.emplace_back(
          message::ExternalRaised{std::move(mail.name), std::move(mail.data), std::move(mail.requested_by)});
    } else {
      outcome.put_back.emplace_back(
          message::QueueMessage{std::move(mail.name), std::move(mail.data), std::move(mail.requested_by)});
    }
  }
  outcome.bytes += bytes;
  outcome.messages.push_back(OutboundMessage{identity_.instance, std::move(next), {}, {}});
}

void Execution::fill_effects(TurnOutcome& outcome, const Event& event, EventId first_new) const {
  // Operations closed within the turn produce no output; at the end of the execution none are open.
  const bool leaves = !outcome.ended() && schedules_.state(event.id) == ScheduleState::open;
  const bool has_row = event.source < first_new;  // scheduled by an earlier turn
  std::visit(
      Overloaded{
          [&](const event::ActivityScheduled& e) {
            if (!leaves) return;
            outcome.activities.push_back(
                ActivityRequest{identity_.instance,
                                {identity_.incarnation, identity_.execution, event.id},
                                e.name,
                                e.input,
                                e.session_id,
                                e.tag,
                                e.options,
                                name_,
                                version_,
                                e.retry_of,
                                e.attempts_before,
                                e.heartbeat,
                                events_before() + event.id.value});
          },
          [&](const event::TimerCreated& e) {
            if (!leaves) return;
            outcome.messages.push_back(
                OutboundMessage{identity_.instance,
                                message::TimerFired{identity_.execution, event.id, e.fire_at},
                                e.fire_at,
                                {}});
          },
          [&](const event::SubOrchestrationScheduled& e) {
            if (leaves) outcome.messages.push_back(start_of(e, event.id));
          },
          [&](const event::OrchestrationChained& e) {
            outcome.messages.push_back(OutboundMessage{
                e.instance, message::StartOrchestration{e.name, e.input, e.version, {}}, {}, {}});
          },
          [&](const event::ActivityCancelRequested& e) {
            if (has_row) outcome.cancelled_activities.push_back({event.source, e.reason});
          },
          [&](const event::SubOrchestrationCancelRequested& e) {
            const auto child = children_.find(event.source);
            if (!has_row || child == children_.end()) return;
            message::CancelInstance cancel{e.text, e.mode, CancelOrigin::parent, link_to(event.source),
                                           e.requested_by};
            outcome.messages.push_back(OutboundMessage{child->second, std::move(cancel), {}, {}});
          },
          [&](const event::CustomStatusUpdated& e) { outcome.custom_status = CustomStatusChange{e.status}; },
          [&](const event::KeyValueSet& e) {
            outcome.key_values.push_back({e.key, e.value, e.last_updated_at});
          },
          [&](const event::KeyValueCleared& e) {
            outcome.key_values.push_back({e.key, std::nullopt, event.timestamp});
          },
          [&](const event::KeyValuesCleared&) {
            outcome.key_values.push_back({std::nullopt, std::nullopt, event.timestamp});
          },
          [](const auto&) {},
      },
      event.body);
}

/// Children that were asked to clean up are no longer open, so no event records that the end drops them.
void Execution::terminate_cancelled_children(TurnOutcome& outcome, EventId first_new) const {
  const auto* end = end_ && !delta_.empty() ? std::get_if<Cancelled>(&*end_) : nullptr;
  if (end == nullptr || end->mode != CancelMode::terminate) return;
  if (detail::mutant("terminate_spares_children_that_clean_up")) return;
  std::set<EventId> terminated;  // by the events of this turn
  for (const Event& event : delta_) {
    const auto* cancel = std::get_if<event::SubOrchestrationCancelRequested>(&event.body);
    if (cancel != nullptr && cancel->mode == CancelMode::terminate) terminated.insert(event.source);
  }
  for (const auto& [id, child] : children_) {
    const bool has_row = id < first_new;
    if (!has_row || schedules_.state(id) != ScheduleState::cancelled || terminated.contains(id)) continue;
    message::CancelInstance cancel{end->reason, end->mode, CancelOrigin::parent, link_to(id),
                                   end->requested_by};
    outcome.messages.push_back(OutboundMessage{child, std::move(cancel), {}, {}});
  }
}

ParentLink Execution::link_to(EventId event) const {
  return ParentLink{identity_.instance, identity_.incarnation, identity_.execution, event};
}

OutboundMessage Execution::start_of(const event::SubOrchestrationScheduled& child, EventId event) const {
  const ParentLink link = link_to(event);
  Failure taken = engine_failure(FailureKind::application, "AlreadyExists",
                                 "an instance \"" + child.instance.value + "\" exists already");
  message::StartOrchestration start{child.name, child.input, child.version, link};
  start.depth = depth_ + 1;
  return OutboundMessage{
      child.instance, std::move(start), {}, {}, message::SubOrchestrationFailed{link, std::move(taken)}};
}

std::vector<std::size_t> find_segments(std::span<const Event> history) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (event_class(history[i]) != EventClass::inbound) continue;
    // A recorded value is completed by the very next event, in the same segment.
    if (!completes_recorded_value(history, i)) starts.push_back(i);
  }
  return starts;
}

}  // namespace duramen::inline v0::core
