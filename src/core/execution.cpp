#include "core/execution.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/overloaded.hpp"
#include "core/matching.hpp"

namespace duramen::inline v0::core {

namespace {

Failure engine_failure(FailureKind kind, std::string type, std::string message) {
  Failure failure;
  failure.kind = kind;
  failure.type = std::move(type);
  failure.message = std::move(message);
  return failure;
}

/// The schedule a cancel decision belongs to, as its own event.
EventBody cancel_event(ScheduleKind kind, CancelReason reason) {
  switch (kind) {
    case ScheduleKind::sub_orchestration:
      return event::SubOrchestrationCancelRequested{reason};
    case ScheduleKind::external:
      return event::ExternalSubscribedCancelled{reason};
    case ScheduleKind::queue:
      return event::QueueSubscriptionCancelled{reason};
    default:
      return event::ActivityCancelRequested{reason};
  }
}

bool ends_at_once(const work::CancelInstance& cancel, bool graceful) {
  return !graceful || cancel.mode == CancelMode::terminate;
}

}  // namespace

Execution::Execution(ExecutionIdentity identity, std::shared_ptr<const OrchestrationHandler> handler,
                     ExecutionLimits limits)
    : identity_(std::move(identity)), handler_(std::move(handler)), limits_(limits), context_(*this) {}

Execution::~Execution() {
  torn_down_ = true;
  ready_.clear();
  root_.reset();
}

TurnOutcome Execution::run_turn(const TurnInput& input) {
  now_ = input.now;
  if (!last_event_id_ && decided_without_code(input)) handler_ = nullptr;

  replay(input.history);
  for (const WorkItem& message : input.messages) {
    if (stopped_) break;
    react(message);
  }
  if (stopped_) impose_failure();
  return finish_turn();
}

// -- recorded segments -----------------------------------------------------------------------------------------------

void Execution::replay(std::span<const Event> history) {
  recorded_ = history;
  cursor_ = 0;
  replaying_ = true;
  while (cursor_ < recorded_.size() && !stopped_) {
    const Event& event = recorded_[cursor_];
    if (event.id != last_event_id_.next()) {
      stop(engine_failure(FailureKind::nondeterminism, "CorruptHistory",
                          "history has event " + std::to_string(event.id.value) + " where event " +
                              std::to_string(last_event_id_.next().value) + " should be"));
      break;
    }
    const bool first = !last_event_id_;
    if (first != std::holds_alternative<event::OrchestrationStarted>(event.body)) {
      stop(engine_failure(FailureKind::nondeterminism, "CorruptHistory",
                          "history must begin with OrchestrationStarted and hold it once; event " +
                              std::to_string(event.id.value) + " is " + std::string(event_type(event))));
      break;
    }
    ++cursor_;
    last_event_id_ = event.id;
    schedules_.note(event);
    if (event_class(event) == EventClass::terminal) {
      // Reached only when the engine, not the code, ended the execution: such an end needs no inbound event.
      end_ = Threw{};
      break;
    }
    if (handler_ && event_class(event) != EventClass::inbound) {
      mismatch(event.id, describe_action(event.body), "nothing more", nullptr);
      break;
    }
    apply(event);
    run_code();
    if (!stopped_) settle_recorded();
  }
  replayed_ += cursor_;
  replaying_ = false;
}

/// The code has gone as far as it can after a recorded inbound event; so must history have.
void Execution::settle_recorded() {
  if (!handler_) return;
  std::map<EventId, CancelReason> decided = std::exchange(cancels_, {});
  std::map<EventId, CancelReason> recorded;
  while (cursor_ < recorded_.size()) {
    const Event& event = recorded_[cursor_];
    const EventClass kind = event_class(event);
    if (kind == EventClass::inbound) break;
    if (kind == EventClass::action) {
      mismatch(event.id, describe_action(event.body), "nothing more before the next event", nullptr);
      return;
    }
    ++cursor_;
    last_event_id_ = event.id;
    if (kind == EventClass::terminal) {
      if (!end_) end_ = Threw{};
      return;  // a finished execution is not run again; what it cancelled at its end is not the code's decision
    }
    recorded.emplace(event.source, CancelReason::dropped_future);
    schedules_.note(event);
    const auto live = leaves_.find(event.source);
    if (!decided.contains(event.source) && !end_) {
      mismatch(event.id, "event " + std::to_string(event.source.value) + " dropped (" +
                             std::string(event_type(event)) + ")",
               "it is still wanted", live != leaves_.end() ? &live->second->where() : nullptr);
      return;
    }
  }
  for (const auto& [id, reason] : decided) {
    if (recorded.contains(id)) continue;
    mismatch(last_event_id_, "event " + std::to_string(id.value) + " still wanted",
             "it is dropped (" + std::string(to_string(reason)) + ")", nullptr);
    return;
  }
}

// -- new segments ----------------------------------------------------------------------------------------------------

void Execution::react(const WorkItem& message) {
  std::optional<Event> inbound = end_ ? std::nullopt : admit(message);
  if (!inbound) {
    ++ignored_;
    return;
  }
  begin_segment(std::move(*inbound));
  segment_open_ = true;
  apply(delta_[segments_.back()]);
  run_code();
  if (stopped_) return;
  segment_open_ = false;
  settle_new();
}

void Execution::begin_segment(Event inbound) {
  segments_.push_back(delta_.size());
  append(std::move(inbound.body), inbound.source);
}

Event& Execution::append(EventBody body, EventId source) {
  last_event_id_ = last_event_id_.next();
  delta_.push_back(Event{last_event_id_, source, now_, std::move(body)});
  schedules_.note(delta_.back());
  return delta_.back();
}

void Execution::settle_new() {
  if (end_) {
    const CancelReason reason = terminal_reason();
    for (ScheduleKind kind : {ScheduleKind::activity, ScheduleKind::sub_orchestration, ScheduleKind::external,
                              ScheduleKind::queue}) {
      for (EventId id : schedules_.open(kind)) cancels_.try_emplace(id, reason);
    }
  }
  for (const auto& [id, reason] : std::exchange(cancels_, {})) append(cancel_event(schedules_.kind(id), reason), id);
  if (end_) record_end();
}

void Execution::record_end() {
  append(std::visit(
      Overloaded{
          [](const Returned& end) -> EventBody { return event::OrchestrationCompleted{end.output}; },
          [](const Threw& end) -> EventBody { return event::OrchestrationFailed{end.failure}; },
          [](const Cancelled& end) -> EventBody { return event::OrchestrationFailed{Failure::cancelled(end.reason)}; },
      },
      *end_));
}

CancelReason Execution::terminal_reason() const {
  if (std::holds_alternative<Returned>(*end_)) return CancelReason::orchestration_terminal_completed;
  if (const auto* cancelled = std::get_if<Cancelled>(&*end_)) {
    return cancelled->origin == CancelOrigin::parent ? CancelReason::parent_cancelled
                                                     : CancelReason::orchestration_terminal_cancelled;
  }
  return CancelReason::orchestration_terminal_failed;
}

// -- messages become events ------------------------------------------------------------------------------------------

std::optional<Event> Execution::admit(const WorkItem& message) {
  return std::visit(
      Overloaded{
          [this](const work::StartOrchestration& m) -> std::optional<Event> {
            if (last_event_id_) return std::nullopt;
            event::OrchestrationStarted started;
            started.name = m.orchestration;
            started.version = handler_ ? handler_->version : m.version.value_or("");
            started.input = m.input;
            started.parent = m.parent;
            return Event{{}, {}, {}, std::move(started)};
          },
          [this](const work::ActivityCompleted& m) {
            return admit_completion(m.execution, m.id, ScheduleKind::activity, event::ActivityCompleted{m.result});
          },
          [this](const work::ActivityFailed& m) {
            return admit_completion(m.execution, m.id, ScheduleKind::activity, event::ActivityFailed{m.details});
          },
          [this](const work::TimerFired& m) -> std::optional<Event> {
            if (schedules_.state(m.id) == ScheduleState::cancelled) return std::nullopt;  // a dropped timer is no event
            return admit_completion(m.execution, m.id, ScheduleKind::timer, event::TimerFired{m.fire_at});
          },
          [](const work::CancelInstance& m) -> std::optional<Event> {
            return Event{{}, {}, {}, event::OrchestrationCancelRequested{m.reason, m.mode, m.origin}};
          },
          [](const auto&) -> std::optional<Event> { return std::nullopt; },
      },
      message);
}

std::optional<Event> Execution::admit_completion(ExecutionId execution, EventId source, ScheduleKind kind,
                                                 EventBody body) {
  if (execution != identity_.execution) return std::nullopt;  // an answer to an earlier execution
  const ScheduleState state = schedules_.state(source);
  if (state == ScheduleState::closed) return std::nullopt;  // delivered before
  if (schedules_.kind(source) != kind) {
    Event completion{{}, source, {}, std::move(body)};
    stop(engine_failure(FailureKind::nondeterminism, "UnmatchedCompletion",
                        std::string(event_type(completion)) + " arrived for event " + std::to_string(source.value) +
                            ", which did not schedule such a thing"));
    return std::nullopt;
  }
  return Event{{}, source, {}, std::move(body)};
}

bool Execution::decided_without_code(const TurnInput& input) const {
  if (input.history.empty() || input.messages.empty()) return false;
  const auto* cancel = std::get_if<work::CancelInstance>(&input.messages.front());
  const auto* started = std::get_if<event::OrchestrationStarted>(&input.history.front().body);
  return cancel != nullptr && started != nullptr && ends_at_once(*cancel, started->graceful);
}

// -- running the code ------------------------------------------------------------------------------------------------

void Execution::apply(const Event& inbound) {
  // `inbound` may stand in delta_, which grows while the code runs: nothing here reads it after that has begun.
  const EventId source = inbound.source;
  std::visit(Overloaded{
                 [this](const event::OrchestrationStarted& e) { begin(e); },
                 [this, source](const event::ActivityCompleted& e) { resolve(source, e.result); },
                 [this, source](const event::ActivityFailed& e) { resolve(source, e.details); },
                 [this, source](const event::TimerFired&) { resolve(source, Payload::none()); },
                 [this](const event::OrchestrationCancelRequested& e) { end_ = Cancelled{e.reason, e.origin}; },
                 [](const auto&) {},
             },
             inbound.body);
}

void Execution::begin(const event::OrchestrationStarted& started) {
  name_ = started.name;
  version_ = started.version;
  graceful_ = started.graceful;
  if (!handler_) return;
  root_.emplace(handler_->invoke(context_, started.input));
  root_->run_until_suspended(*this);
}

template <class Outcome>
void Execution::resolve(EventId source, Outcome outcome) {
  // Nobody waits any more if it was dropped or detached: recorded for whoever reads history, delivered to no one.
  const auto found = leaves_.find(source);
  if (found == leaves_.end()) return;
  detail::Leaf& leaf = *found->second;
  leaves_.erase(found);
  leaf.resolve(std::move(outcome));
}

void Execution::run_code() {
  while (!stopped_) {
    detail::Waiter* next = ready_.pop();
    if (next == nullptr) break;
    next->run();
  }
  if (stopped_ || end_ || !root_ || !root_->promise().done()) return;
  try {
    end_ = Returned{root_->promise().take()};
  } catch (...) {
    end_ = Threw{failure_from(std::current_exception())};
  }
}

EventId Execution::schedule(detail::Leaf& leaf) {
  if (torn_down_ || stopped_) return {};
  EventBody body = std::visit(
      Overloaded{
          [](const event::ActivityScheduled& request) -> EventBody { return request; },
          [this](const detail::TimerRequest& request) -> EventBody {
            return event::TimerCreated{now_ + std::max(request.delay, Duration::zero())};
          },
      },
      leaf.request());
  const std::optional<EventId> id = emit(std::move(body), leaf.where());
  if (!id) return {};
  leaves_.emplace(*id, &leaf);
  return *id;
}

std::optional<EventId> Execution::emit(EventBody body, const std::source_location& where) {
  if (replaying_) {
    const Event* recorded = cursor_ < recorded_.size() ? &recorded_[cursor_] : nullptr;
    if (recorded == nullptr || event_class(*recorded) != EventClass::action) {
      mismatch(last_event_id_.next(),
               recorded ? "nothing more before " + std::string(event_type(*recorded)) : "nothing more",
               describe_action(body), &where);
      return std::nullopt;
    }
    if (!same_action(recorded->body, body)) {
      mismatch(recorded->id, describe_action(recorded->body), describe_action(body), &where);
      return std::nullopt;
    }
    ++cursor_;
    last_event_id_ = recorded->id;
    schedules_.note(*recorded);
    return recorded->id;
  }
  if (++actions_ > limits_.max_actions_per_turn) {
    stop(engine_failure(FailureKind::limit, "TooManyActions",
                        "one turn took more than " + std::to_string(limits_.max_actions_per_turn) +
                            " actions; let the orchestration wait in between, or raise max_actions_per_turn"));
    return std::nullopt;
  }
  return append(std::move(body)).id;
}

void Execution::drop(detail::Leaf& leaf, CancelReason reason) noexcept {
  if (torn_down_ || stopped_) return;
  const EventId id = leaf.event_id();
  leaves_.erase(id);
  if (schedules_.kind(id) == ScheduleKind::timer) {
    schedules_.cancel(id);
    if (!replaying_) dropped_timers_.push_back(id);
  } else {
    cancels_.try_emplace(id, reason);
  }
}

void Execution::forget(detail::Leaf& leaf) noexcept {
  if (leaf.event_id()) leaves_.erase(leaf.event_id());
}

void Execution::make_ready(detail::WaiterList& waiters) noexcept {
  while (detail::Waiter* waiter = waiters.pop()) ready_.push(*waiter);
}

// -- when the engine ends it -----------------------------------------------------------------------------------------

void Execution::stop(Failure failure) {
  if (!stopped_) stopped_ = std::move(failure);
}

void Execution::mismatch(EventId event, const std::string& recorded, const std::string& now,
                         const std::source_location* where) {
  stop(engine_failure(FailureKind::nondeterminism, "Nondeterminism",
                      describe_mismatch(event, recorded, now, where)));
}

/// The code cannot go on. Finished segments stand; of the segment under way only its inbound event does. The execution
/// ends here, and everything still open is cancelled.
void Execution::impose_failure() {
  torn_down_ = true;
  ready_.clear();
  root_.reset();
  leaves_.clear();
  cancels_.clear();

  while (cursor_ < recorded_.size()) {  // a mismatch leaves the rest of history unread
    schedules_.note(recorded_[cursor_]);
    last_event_id_ = recorded_[cursor_++].id;
  }
  if (segment_open_) {
    delta_.resize(segments_.back() + 1);
    last_event_id_ = delta_.back().id;
    schedules_.forget_after(last_event_id_);
  } else {
    segments_.push_back(delta_.size());
  }
  end_ = Threw{*stopped_};
  settle_new();
}

// -- what leaves -----------------------------------------------------------------------------------------------------

TurnOutcome Execution::finish_turn() {
  TurnOutcome outcome;
  outcome.ignored_messages = std::exchange(ignored_, 0);
  outcome.replayed_events = std::exchange(replayed_, 0);
  actions_ = 0;
  if (end_ && !delta_.empty()) {
    std::visit(Overloaded{
                   [&outcome](const Returned& end) {
                     outcome.status = Status::completed;
                     outcome.output = end.output;
                   },
                   [&outcome](const Threw& end) {
                     outcome.status = Status::failed;
                     outcome.failure = end.failure;
                   },
                   [&outcome](const Cancelled& end) {
                     outcome.status = Status::cancelled;
                     outcome.failure = Failure::cancelled(end.reason);
                   },
               },
               *end_);
    outcome.cancel_rest = terminal_reason();
  }

  const EventId first_new = delta_.empty() ? last_event_id_.next() : delta_.front().id;
  for (const Event& event : delta_) {
    if (const auto* cancel = std::get_if<event::ActivityCancelRequested>(&event.body)) {
      // One scheduled in this very turn has no row yet, and gets none.
      if (event.source < first_new) outcome.cancelled_activities.push_back({event.source, cancel->reason});
    } else if (outcome.ended() || schedules_.state(event.id) != ScheduleState::open) {
      continue;
    } else if (const auto* activity = std::get_if<event::ActivityScheduled>(&event.body)) {
      outcome.activities.push_back(ActivityExecute{identity_.instance,
                                                   {identity_.incarnation, identity_.execution, event.id},
                                                   activity->name, activity->input, activity->session_id,
                                                   activity->tag, activity->options, name_, version_});
    } else if (const auto* timer = std::get_if<event::TimerCreated>(&event.body)) {
      outcome.messages.push_back(OutboundMessage{
          identity_.instance, work::TimerFired{identity_.execution, event.id, timer->fire_at}, timer->fire_at, {}});
    }
  }
  for (EventId timer : std::exchange(dropped_timers_, {})) {
    if (timer < first_new) outcome.dropped_timers.push_back(timer);
  }
  outcome.events = std::exchange(delta_, {});
  outcome.segments = std::exchange(segments_, {});
  return outcome;
}

}  // namespace duramen::v0::core
