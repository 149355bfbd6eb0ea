#include "core/execution.hpp"

#include "base/bounded_failure.hpp"
#include "base/json_equal.hpp"
#include "base/overloaded.hpp"
#include "core/failures.hpp"
#include "core/matching.hpp"
#include "core/sizes.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace duramen::inline v0::core {

namespace {

/// A cancel decision as its own event.
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

/// Separates a message from the place of the call that it is about.
constexpr std::string_view place_mark = "\n  at ";

/// A line changes with every edit of a file.
std::string_view without_place(std::string_view message) {
  return message.substr(0, message.rfind(place_mark));
}

/// The kind of operation that an event completes, if any.
ScheduleKind completed_kind(const EventBody& body) {
  return std::visit(
      Overloaded{
          [](const event::ActivityCompleted&) { return ScheduleKind::activity; },
          [](const event::ActivityFailed&) { return ScheduleKind::activity; },
          [](const event::TimerFired&) { return ScheduleKind::timer; },
          [](const event::SubOrchestrationCompleted&) { return ScheduleKind::sub_orchestration; },
          [](const event::SubOrchestrationFailed&) { return ScheduleKind::sub_orchestration; },
          [](const auto&) { return ScheduleKind::none; },
      },
      body);
}

}  // namespace

Execution::Execution(ExecutionIdentity identity, std::shared_ptr<const OrchestrationHandler> handler,
                     ExecutionOptions options)
    : identity_(std::move(identity)),
      handler_(std::move(handler)),
      options_(std::move(options)),
      context_(*this),
      key_values_(options_.key_values) {}

Execution::~Execution() { tear_down(); }

void Execution::tear_down() noexcept {
  torn_down_ = true;
  ready_.clear();
  root_.reset();
  tasks_.clear();
  leaves_.clear();
}

TurnOutcome Execution::run_turn(const TurnInput& input) {
  now_ = input.now;
  entropy_ = input.entropy;
  if (stopped_) {  // ended by an earlier turn
    ignored_ += input.messages.size();
    take_rest(input);
    return finish_turn();
  }
  if (!last_event_id_ && (input.condemned != nullptr || decided_without_code(input))) handler_ = nullptr;

  replay(input.history);
  if (input.condemned != nullptr) {
    condemn(input);
  } else {
    take(input);
  }
  if (stopped_) {
    impose_failure();
    take_rest(input);
  }
  return finish_turn();
}

/// Reacts to the messages in order. The rest stays in the queue after a continue-as-new, because it belongs
/// to the next execution, and once the turn is large.
void Execution::take(const TurnInput& input) {
  take_early_cancel(input);
  for (std::size_t i = 0; i < input.messages.size() && !stopped_; ++i) {
    const bool early = early_cancel_ && i == early_cancel_at_;
    // A cancel does not wait behind the backlog of a large turn.
    const bool waits = !std::holds_alternative<message::CancelInstance>(input.messages[i]) ||
                       detail::mutant("a_large_turn_leaves_its_cancel");
    const bool enough = (waits && bytes_ > large_turn_bytes) || (continues() && !delta_.empty());
    if (enough && !early && !detail::mutant("a_turn_takes_its_whole_batch")) continue;
    taken_.push_back(i);
    if (!early) react(input.messages[i]);
  }
  early_cancel_.reset();
  if (!end_ || continues()) return;
  ignored_ += input.messages.size() - taken_.size();
  take_rest(input);
}

/// An end takes everything.
void Execution::take_rest(const TurnInput& input) {
  taken_.resize(input.messages.size());
  std::iota(taken_.begin(), taken_.end(), std::size_t{0});
}

// -- recorded segments ----------------------------------------------------------------------------

void Execution::replay(std::span<const Event> history) {
  recorded_ = history;
  cursor_ = 0;
  if (history.empty()) return;
  if (end_) return read_rest();
  if (!check_order(history)) return;
  if (event_class(history.back()) == EventClass::terminal && !options_.repeat_end) {
    // The execution is over: nothing the code does now can change it.
    const Event& last = history.back();
    read_rest();
    read_end(last);
    return;
  }
  replaying_ = true;
  while (cursor_ < recorded_.size() && !stopped_) {
    if (!handler_) {
      read_rest();
      break;
    }
    const Event& event = recorded_[cursor_];
    if (event_class(event) != EventClass::inbound) {
      mismatch(event.id, describe_action(event.body), "nothing more", nullptr);
      break;
    }
    if (!check_completion(event)) break;
    if (!detail::mutant("refused_names_add_up")) actions_ = 0;
    interruptions_ = 0;
    ++cursor_;
    last_event_id_ = event.id;
    schedules_.note(event);
    apply(event);
    run_code();
    if (!stopped_) close_recorded_segment();
  }
  replayed_ += cursor_;
  replaying_ = false;
  for (const auto& [id, due] : timers_) unsure_timers_.emplace(due, id);
  actions_ = 0;
}

bool Execution::check_order(std::span<const Event> history) {
  EventId last = last_event_id_;
  for (const Event& event : history) {
    if (event.id != last.next()) {
      stop(engine_failure(FailureKind::nondeterminism, "CorruptHistory",
                          "history has event " + std::to_string(event.id.value) + " where event " +
                              std::to_string(last.next().value) + " should be"));
      return false;
    }
    if (!last != std::holds_alternative<event::OrchestrationStarted>(event.body)) {
      stop(engine_failure(FailureKind::nondeterminism, "CorruptHistory",
                          "history must begin with OrchestrationStarted and hold it once; event " +
                              std::to_string(event.id.value) + " is " + std::string(event_type(event))));
      return false;
    }
    if (event_class(event) == EventClass::terminal && &event != &history.back()) {
      stop(engine_failure(FailureKind::nondeterminism, "CorruptHistory",
                          "history goes on after its end at event " + std::to_string(event.id.value)));
      return false;
    }
    last = event.id;
  }
  return true;
}

/// A recorded completion must answer an operation that is open, or was cancelled and not answered since.
bool Execution::check_completion(const Event& event) {
  const ScheduleKind kind = completed_kind(event.body);
  if (kind == ScheduleKind::none) return true;
  // Every completion of a replay comes here: the text is made only for invalid ones.
  const auto refuse = [this, &event](const char* because) {
    stop(engine_failure(FailureKind::nondeterminism, "CorruptHistory",
                        std::string(event_type(event)) + " at event " + std::to_string(event.id.value) +
                            " answers event " + std::to_string(event.source.value) + because));
  };
  if (schedules_.kind(event.source) != kind) {
    refuse(", which did not schedule such a thing");
  } else if (schedules_.state(event.source) == ScheduleState::closed) {
    refuse(", which was answered before");
  } else if (kind == ScheduleKind::timer && schedules_.state(event.source) == ScheduleState::cancelled) {
    // No event records that a timer was dropped, but a dropped timer does not fire.
    mismatch(event.id, "the timer of event " + std::to_string(event.source.value) + " fires",
             "it was dropped before", nullptr);
  }
  return !stopped_;
}

/// Accepts the rest of history without running code: only the open operations matter.
void Execution::read_rest() {
  while (cursor_ < recorded_.size()) {
    const Event& event = recorded_[cursor_++];
    last_event_id_ = event.id;
    schedules_.note(event);
    if (const auto* child = std::get_if<event::SubOrchestrationScheduled>(&event.body)) {
      children_.emplace(event.id, child->instance);
    }
    follow_mail(event);
    if (const auto* started = std::get_if<event::OrchestrationStarted>(&event.body)) {
      read_beginning(*started);
      if (started->cancel) cancelling_ = started->cancel;
    } else if (const auto* request = std::get_if<event::OrchestrationCancelRequested>(&event.body)) {
      cancelling_ = *request;
    }
  }
}

/// The end of an execution, from its last event.
void Execution::read_end(const Event& terminal) {
  if (const auto* completed = std::get_if<event::OrchestrationCompleted>(&terminal.body)) {
    end_ = Returned{completed->output};
  } else if (const auto* failed = std::get_if<event::OrchestrationFailed>(&terminal.body)) {
    // Only an execution that was asked to stop was cancelled; code may pass on the cancellation of a child as
    // its own failure.
    if (cancelling_ && failed->details.kind == FailureKind::cancelled) {
      end_ = Cancelled{failed->details.message, cancelling_->origin, cancelling_->mode,
                       cancelling_->requested_by};
    } else {
      end_ = Threw{failed->details};
    }
  } else if (const auto* continued = std::get_if<event::OrchestrationContinuedAsNew>(&terminal.body)) {
    end_ = Continued{continued->input, {}};
  }
}

/// The events that answer waits do not name them: the open ones are known only after following all events in
/// order.
void Execution::follow_mail(const Event& event) {
  const auto wait = [this, &event](Mailboxes::Kind kind, const std::string& name) {
    if (mailboxes_.wait(kind, name, event.id)) schedules_.close(event.id);
  };
  if (event_class(event) == EventClass::cancel) mailboxes_.drop(event.source);
  std::visit(Overloaded{
                 [this](const event::OrchestrationStarted& e) {
                   for (const CarriedEvent& carried : e.carry_forward) arrive(carried);
                 },
                 [this](const event::ExternalEvent& e) {
                   arrive({Mailboxes::Kind::external, e.name, e.data, e.requested_by});
                 },
                 [this](const event::QueueEventDelivered& e) {
                   arrive({Mailboxes::Kind::queue, e.name, e.data, e.requested_by});
                 },
                 [&](const event::ExternalSubscribed& e) { wait(Mailboxes::Kind::external, e.name); },
                 [&](const event::QueueSubscribed& e) { wait(Mailboxes::Kind::queue, e.name); },
                 [](const auto&) {},
             },
             event.body);
}

/// The code can go no further after a recorded inbound event; the recorded segment must end here as well.
void Execution::close_recorded_segment() {
  // The terminal event, if this is the last segment.
  const Event* const end = event_class(recorded_.back()) == EventClass::terminal &&
                                   std::ranges::none_of(recorded_.subspan(cursor_),
                                                        [](const Event& event) {
                                                          return event_class(event) == EventClass::inbound;
                                                        })
                               ? &recorded_.back()
                               : nullptr;
  if (end != nullptr && end_) drop_what_is_open();
  std::map<EventId, Drop> decided = std::exchange(cancels_, {});
  while (cursor_ < recorded_.size()) {
    const Event& event = recorded_[cursor_];
    const EventClass kind = event_class(event);
    if (kind == EventClass::inbound) break;
    // If the code does not end now, the missing end is the mismatch, not the drops that the end caused.
    if (kind == EventClass::cancel && end != nullptr && !end_ && !decided.contains(event.source)) {
      return compare_end(*end);
    }
    if (kind == EventClass::action) {
      mismatch(event.id, describe_action(event.body), "nothing more before the next event", nullptr);
      return;
    }
    const bool same_kind = event.body.index() == cancel_event(schedules_.kind(event.source), {}).index();
    if (kind == EventClass::cancel && (!same_kind || !decided.erase(event.source))) {
      const auto live = leaves_.find(event.source);
      mismatch(
          event.id,
          "event " + std::to_string(event.source.value) + " dropped (" + std::string(event_type(event)) + ")",
          "it is still wanted", live != leaves_.end() ? &live->second->where() : nullptr);
      return;
    }
    ++cursor_;
    last_event_id_ = event.id;
    schedules_.note(event);
  }
  if (!decided.empty()) {
    const auto& [id, drop] = *decided.begin();
    mismatch(last_event_id_, "event " + std::to_string(id.value) + " still wanted",
             "it is dropped (" + std::string(to_string(drop.reason)) + ")", &drop.where);
  } else if (end != nullptr) {
    compare_end(*end);
  } else if (end_) {
    mismatch(last_event_id_.next(), "the orchestration still waiting", "it has ended", nullptr);
  }
}

/// The code must reach the same kind of end. Its result may differ: that stops no instance.
void Execution::compare_end(const Event& recorded) {
  if (!end_) {
    return mismatch(recorded.id, "the orchestration ended (" + std::string(event_type(recorded)) + ")",
                    "it goes on waiting", nullptr);
  }
  const Event now{recorded.id, {}, now_, end_event()};
  if (now.body.index() != recorded.body.index()) {
    std::string how(event_type(now));
    if (const auto* failed = std::get_if<event::OrchestrationFailed>(&now.body)) {
      how += ": " + failed->details.describe();
    }
    return mismatch(recorded.id, std::string(event_type(recorded)), how, nullptr);
  }
  const auto differs = [&](const Payload& then, const Payload& today, const char* what) {
    if (then.encoding == today.encoding && base::json_equal(then.data, today.data)) return;
    warnings_.push_back("event " + std::to_string(recorded.id.value) + " was recorded with the " + what +
                        " " + then.data + "; the code now has " + today.data);
  };
  if (const auto* completed = std::get_if<event::OrchestrationCompleted>(&recorded.body)) {
    differs(completed->output, std::get<event::OrchestrationCompleted>(now.body).output, "result");
  } else if (const auto* continued = std::get_if<event::OrchestrationContinuedAsNew>(&recorded.body)) {
    differs(continued->input, std::get<event::OrchestrationContinuedAsNew>(now.body).input, "next input");
  } else if (const auto* failed = std::get_if<event::OrchestrationFailed>(&recorded.body)) {
    const Failure& today = std::get<event::OrchestrationFailed>(now.body).details;
    // The text of a refusal by the engine or a store may differ between runs.
    const bool by_code = failed->details.kind == FailureKind::application &&
                         today.kind == FailureKind::application && !detail::mutant("any_failure_is_the_same");
    if (by_code && (failed->details.type != today.type ||
                    without_place(failed->details.message) != without_place(today.message))) {
      warnings_.push_back("event " + std::to_string(recorded.id.value) + " was recorded with the failure " +
                          failed->details.type + ": " + failed->details.message + "; the code now has " +
                          today.type + ": " + today.message);
    }
  }
}

// -- new segments ---------------------------------------------------------------------------------

void Execution::react(const MessageBody& message) {
  // A history begins with its start: earlier messages are ignored.
  const bool begins = std::holds_alternative<message::StartOrchestration>(message) ||
                      std::holds_alternative<message::ContinueAsNew>(message);
  std::optional<Event> inbound =
      end_ || begins == static_cast<bool>(last_event_id_) ? std::nullopt : admit(message);
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
  close_new_segment();
}

bool Execution::continues() const noexcept { return end_ && std::holds_alternative<Continued>(*end_); }

void Execution::begin_segment(Event inbound) {
  segments_.push_back(delta_.size());
  if (!detail::mutant("actions_add_up_over_a_turn")) actions_ = 0;
  interruptions_ = 0;
  if (!detail::mutant("the_size_of_a_batch_counts")) action_bytes_ = largest_action_bytes_ = 0;
  traces_before_ = traces_.size();
  append(std::move(inbound.body), inbound.source);
}

Event& Execution::append(EventBody body, EventId source) {
  last_event_id_ = last_event_id_.next();
  bytes_ += estimated_bytes(body);
  delta_.push_back(Event{last_event_id_, source, now_, std::move(body)});
  schedules_.note(delta_.back());
  return delta_.back();
}

void Execution::close_new_segment() {
  if (end_) drop_what_is_open();
  for (const auto& [id, drop] : std::exchange(cancels_, {})) {
    mailboxes_.drop(id);
    EventBody body = cancel_event(schedules_.kind(id), drop.reason);
    if (auto* child = std::get_if<event::SubOrchestrationCancelRequested>(&body)) pass_cancel_on(*child);
    append(std::move(body), id);
  }
  if (end_) record_end();
}

/// A child is cancelled with the words, the mode and the requester of its parent's own cancel, if that is the
/// cause.
void Execution::pass_cancel_on(event::SubOrchestrationCancelRequested& child) const {
  child.text = std::string(to_string(child.reason));
  const bool by_cancel = child.reason == CancelReason::parent_cancelled ||
                         child.reason == CancelReason::orchestration_terminal_cancelled;
  if (!by_cancel || detail::mutant("children_are_cancelled_in_general_terms")) return;
  const auto* end = end_ ? std::get_if<Cancelled>(&*end_) : nullptr;
  if (end != nullptr) {
    child.text = end->reason;
    child.mode = end->mode;
    child.requested_by = end->requested_by;
  } else if (cancelling_) {
    child.text = cancelling_->reason;
    child.mode = cancelling_->mode;
    child.requested_by = cancelling_->requested_by;
  }
  if (detail::mutant("children_do_not_learn_the_requester")) child.requested_by.reset();
}

void Execution::drop_what_is_open() {
  const CancelReason reason = terminal_reason();
  for (ScheduleKind kind : {ScheduleKind::activity, ScheduleKind::sub_orchestration, ScheduleKind::external,
                            ScheduleKind::queue}) {
    for (EventId id : schedules_.open(kind)) cancels_.try_emplace(cancels_.end(), id, Drop{reason, {}});
  }
}

void Execution::record_end() { append(end_event()); }

EventBody Execution::end_event() const {
  return std::visit(
      Overloaded{
          [](const Returned& end) -> EventBody { return event::OrchestrationCompleted{end.output}; },
          [](const Threw& end) -> EventBody { return event::OrchestrationFailed{end.failure}; },
          [](const Cancelled& end) -> EventBody {
            return event::OrchestrationFailed{Failure::cancelled(end.reason)};
          },
          [](const Continued& end) -> EventBody { return event::OrchestrationContinuedAsNew{end.input}; },
      },
      *end_);
}

// -- an inbound event meets the code --------------------------------------------------------------

void Execution::apply(const Event& inbound) {
  // `inbound` may be in delta_, which grows while the code runs: do not read it after that point.
  const EventId source = inbound.source;
  std::visit(Overloaded{
                 [this, at = inbound.timestamp](const event::OrchestrationStarted& e) {
                   started_at_ = at;
                   begin(e);
                 },
                 [this, source](const event::ActivityCompleted& e) { resolve(source, e.result); },
                 [this, source](const event::ActivityFailed& e) { resolve(source, e); },
                 [this, source](const event::TimerFired&) { resolve(source, Payload::none()); },
                 [this, source](const event::SubOrchestrationCompleted& e) { resolve(source, e.result); },
                 [this, source](const event::SubOrchestrationFailed& e) { resolve(source, e.details); },
                 [this](const event::ExternalEvent& e) {
                   arrive({Mailboxes::Kind::external, e.name, e.data, e.requested_by});
                 },
                 [this](const event::QueueEventDelivered& e) {
                   arrive({Mailboxes::Kind::queue, e.name, e.data, e.requested_by});
                 },
                 [this](const event::OrchestrationCancelRequested& e) { cancel(e); },
                 [](const auto&) {},
             },
             inbound.body);
}

void Execution::read_beginning(const event::OrchestrationStarted& started) {
  name_ = started.name;
  version_ = started.version;
  engine_version_ = started.engine_version;
  graceful_ = started.graceful;
  parent_ = started.parent;
  depth_ = started.depth;
  events_before_ = started.events_before;
  requested_by_ = started.requested_by;
  max_depth_ = detail::mutant("the_depth_limit_is_the_nodes") ? options_.max_depth : started.max_depth;
  max_payload_bytes_ = detail::mutant("the_payload_limit_is_the_nodes") ? options_.max_payload_bytes
                                                                        : started.max_payload_bytes;
  custom_status_ = started.initial_custom_status;
}

void Execution::begin(const event::OrchestrationStarted& started) {
  read_beginning(started);
  for (const CarriedEvent& carried : started.carry_forward) arrive(carried);
  if (started.cancel) {
    const bool has_cleanup = graceful_ && handler_ && identity_.execution > ExecutionId{1};
    if (!has_cleanup || started.cancel->mode == CancelMode::terminate) {
      end_ = Cancelled{started.cancel->reason, started.cancel->origin, started.cancel->mode,
                       started.cancel->requested_by};
      return;
    }
    cancelling_ = started.cancel;
  }
  if (!handler_) return;
  root_.emplace(handler_->invoke(context_, started.input));
  root_->run_until_suspended(*this);
}

void Execution::arrive(CarriedEvent mail) {
  const std::optional<EventId> wait = mailboxes_.arrive(mail);
  if (!wait) return;
  schedules_.close(*wait);
  resolve(*wait, std::move(mail.data));
}

template <class Outcome>
void Execution::resolve(EventId source, Outcome outcome) {
  children_.erase(source);
  timers_.erase(source);
  // A dropped or detached operation has no waiter: its completion is recorded, but not delivered.
  const auto found = leaves_.find(source);
  if (found == leaves_.end()) return;
  detail::Leaf& leaf = *found->second;
  leaves_.erase(found);
  leaf.resolve(std::move(outcome));
}

void Execution::cancel(const event::OrchestrationCancelRequested& request) {
  if (!graceful_ || request.mode == CancelMode::terminate || !root_) {
    end_ = Cancelled{request.reason, request.origin, request.mode, request.requested_by};
    return;
  }
  cancelling_ = request;
  if (!fixed_end_) tasks_.interrupt();
}

CancelReason Execution::drop_reason() const noexcept {
  if (drop_reason_) return *drop_reason_;
  // Operations dropped while a cancellation unwinds the code are dropped because of it; shielded code drops
  // its own.
  if (!cancelling_ || tasks_.is_shielded_now()) return CancelReason::dropped_future;
  return cancelling_->origin == CancelOrigin::parent ? CancelReason::parent_cancelled
                                                     : CancelReason::orchestration_terminal_cancelled;
}

void Execution::run_code() {
  run_until_nothing_is_ready();
  if (stopped_ || end_) return;
  if (!fixed_end_) fixed_end_ = reached_end();
  if (!fixed_end_ || tasks_.holds_end()) return;
  // The next execution would not know of the cancel: neither shielded code nor code that waited for a shield
  // continues as new.
  const bool continues = std::holds_alternative<Continued>(*fixed_end_);
  if (cancelling_ && continues && !detail::mutant("a_waiting_continue_forgets_the_cancel"))
    fixed_end_ = cancelled_end();
  end_ = std::move(*fixed_end_);
}

void Execution::run_until_nothing_is_ready() {
  while (!stopped_) {
    if (detail::Waiter* next = ready_.pop()) {
      next->run();
    } else if (!tasks_.step()) {
      return;
    }
  }
}

Execution::End Execution::cancelled_end() const {
  return Cancelled{cancelling_->reason, cancelling_->origin, cancelling_->mode, cancelling_->requested_by};
}

/// The end of the code, if there is one.
std::optional<Execution::End> Execution::reached_end() {
  std::optional<End> end;
  if (continue_) {
    end = std::move(*continue_);
  } else if (root_ && root_->promise().done()) {
    try {
      end = Returned{root_->promise().take()};
    } catch (...) {
      end = Threw{base::bounded(failure_of(std::current_exception()))};
    }
    const auto* threw = std::get_if<Threw>(&*end);
    // The execution counts as cancelled however it cleaned up, unless the clean-up itself failed.
    if (cancelling_ && (threw == nullptr || threw->failure.kind == FailureKind::cancelled))
      end = cancelled_end();
  }
  if (end) refuse_unfit(*end, max_payload_bytes_);
  return end;
}

/// If it is the exception of a call that was refused, with the place of that call.
Failure Execution::failure_of(const std::exception_ptr& thrown) const {
  Failure failure = failure_from(thrown);
  const bool refused = refused_ && refused_->failure.kind == failure.kind &&
                       refused_->failure.type == failure.type && refused_->failure.message == failure.message;
  if (refused && !detail::mutant("refusals_name_no_line"))
    failure.message.append(place_mark).append(describe_place(refused_->where));
  return failure;
}

/// A result that cannot be stored is a failure of the code that made it.
void Execution::refuse_unfit(End& end, std::size_t limit) {
  const auto* returned = std::get_if<Returned>(&end);
  if (returned == nullptr) return;
  if (auto failure = unfit(returned->output, limit, "the result")) end = Threw{std::move(*failure)};
}

// -- when the engine ends it ----------------------------------------------------------------------

void Execution::stop(Failure failure) {
  // The text may quote names and inputs of the code.
  if (!stopped_) stopped_ = base::bounded(std::move(failure));
}

void Execution::mismatch(EventId event, const std::string& recorded, const std::string& now,
                         const std::source_location* where) {
  stop(engine_failure(
      FailureKind::nondeterminism, "Nondeterminism",
      describe_mismatch(event, recorded, now, where, last_action_ ? &*last_action_ : nullptr)));
}

void Execution::condemn(const TurnInput& input) {
  // A history begins with its start, even if it ends immediately.
  if (!last_event_id_ && !input.messages.empty()) react(input.messages.front());
  if (!end_) stop(*input.condemned);
}

/// The code cannot continue. Finished segments stay; of the current segment only its inbound event stays: its
/// actions and traces are discarded. The execution ends here, and everything still open is cancelled.
void Execution::impose_failure() {
  tear_down();
  cancels_.clear();
  read_rest();  // a mismatch leaves it unread
  if (segment_open_) {
    delta_.resize(segments_.back() + 1);
    traces_.erase(traces_.begin() + static_cast<std::ptrdiff_t>(traces_before_), traces_.end());
    last_event_id_ = delta_.back().id;
    schedules_.forget_after(last_event_id_);
  } else {
    segments_.push_back(delta_.size());
  }
  end_ = Threw{*stopped_};
  close_new_segment();
}

}  // namespace duramen::inline v0::core
