// The actions of code. Each action is compared with history during replay, and recorded after it.
#include "base/bounded_failure.hpp"
#include "base/name_check.hpp"
#include "base/overloaded.hpp"
#include "base/utf8.hpp"
#include "core/execution.hpp"
#include "core/failures.hpp"
#include "core/levels.hpp"
#include "core/matching.hpp"
#include "core/sizes.hpp"
#include <duramen/codec.hpp>
#include <duramen/detail/mutant.hpp>
#include <duramen/limits.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace duramen::inline v0::core {

namespace {

/// Leaves code that makes calls without end. No std::exception, so that code does not catch it by accident.
class Stopped {};
constexpr std::size_t max_calls_after_stop = 1'000;

/// Spreads entropy: two different inputs give unrelated outputs.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30u)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27u)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31u);
}

/// The last `width` hexadecimal digits of a number.
std::string hex(std::uint64_t number, std::size_t width) {
  std::string text(width, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4u)
    *digit = "0123456789abcdef"[number & 0xFu];
  return text;
}

/// A version 4 UUID.
std::string format_guid(std::uint64_t high, std::uint64_t low) {
  high = (high & ~0xF000ull) | 0x4000ull;
  low = (low & ~(0xC0ull << 56u)) | (0x80ull << 56u);
  return hex(high >> 32u, 8) + "-" + hex(high >> 16u, 4) + "-" + hex(high, 4) + "-" + hex(low >> 48u, 4) +
         "-" + hex(low, 12);
}

/// 128 bits of a text, as hexadecimal digits.
std::string hash_of(std::string_view text) {
  std::uint64_t high = 0xCBF29CE484222325ull;
  std::uint64_t low = 0x84222325CBF29CE4ull;
  for (const char c : text) {
    high = (high ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
    low = mix(low ^ static_cast<unsigned char>(c));
  }
  return hex(mix(high), 16) + hex(low, 16);
}

/// Refuses a name that no store can hold or that can never be answered, at the place where the code uses it.
void require(const std::optional<base::NameProblem>& problem) {
  if (!problem) return;
  if (problem->kind == base::NameProblem::Kind::too_long) throw LimitError(problem->message);
  throw DurableError(engine_failure(FailureKind::application, "InvalidName", problem->message));
}

void require_name(const char* what, const std::string& name, std::size_t limit = max_name_bytes) {
  if (name.empty() && detail::mutant("empty_names_are_scheduled")) return;
  require(base::name_problem(what, name, limit));
}

void require_text(const char* what, const std::string& text, std::size_t limit = max_name_bytes) {
  require(base::text_problem(what, text, limit));
}

void require_version(const std::optional<std::string>& version) {
  if (!version) return;
  if (detail::mutant("any_version_is_scheduled")) return require_text("a version", *version);
  require(base::version_problem(*version));
}

void require_key(const std::string& key) {
  if (key.empty() && detail::mutant("empty_keys_are_set")) return;
  require_name("a key", key);
}

/// Refuses data that is larger than `limit` or not text.
void require_data(const Payload& payload, std::size_t limit, std::string_view what,
                  std::string_view name = {}) {
  const std::optional<Failure> failure = unfit(payload, limit, what, name);
  if (!failure) return;
  if (failure->kind == FailureKind::limit) throw LimitError(failure->message);
  throw DurableError(*failure);
}

void require_status(const std::string& status) {
  if (status.size() > max_custom_status_bytes) {
    throw LimitError("a custom status may have " + std::to_string(max_custom_status_bytes) +
                     " bytes; this one has " + std::to_string(status.size()));
  }
  require_data(Payload::text(status), status.size(), "the custom status");
}

void require_value(const std::string& key, const Payload& value) {
  require_key(key);
  if (value.data.size() > max_key_value_bytes) {
    throw LimitError("a value may have " + std::to_string(max_key_value_bytes) +
                     " bytes; the one for key \"" + key + "\" has " + std::to_string(value.data.size()));
  }
  require_data(value, max_key_value_bytes, "the value of key", key);
}

/// The input that an action gives to other code; null if it gives none.
const Payload* input_of(const EventBody& body) {
  return std::visit(
      [](const auto& e) -> const Payload* {
        if constexpr (requires { e.input; }) return &e.input;
        return nullptr;
      },
      body);
}

/// Never later than latest_timer, unless the clock itself is.
TimePoint due_after(TimePoint now, Duration delay) {
  const TimePoint latest =
      std::max(now, detail::mutant("timers_are_due_after_the_last_year") ? TimePoint::max() : latest_timer);
  return delay >= latest - now ? latest : now + std::max(delay, Duration::zero());
}

void require_names(const EventBody& body) {
  if (detail::mutant("long_names_are_scheduled")) return;
  const auto require_start = [](const auto& start) {
    require_name("the name of an orchestration", start.name);
    require_name("an instance id", start.instance.value);
    require_version(start.version);
  };
  std::visit(Overloaded{
                 [](const event::ActivityScheduled& e) {
                   require_name("the name of an activity", e.name);
                   if (e.tag) require_name("a tag", *e.tag, max_tag_bytes);
                   if (e.session_id) require_name("a session id", *e.session_id);
                 },
                 [&](const event::SubOrchestrationScheduled& e) { require_start(e); },
                 [&](const event::OrchestrationChained& e) { require_start(e); },
                 [](const event::ExternalSubscribed& e) { require_name("the name of an event", e.name); },
                 [](const event::QueueSubscribed& e) { require_name("the name of a queue", e.name); },
                 [](const event::KeyValueSet& e) { require_key(e.key); },
                 [](const event::KeyValueCleared& e) { require_key(e.key); },
                 [](const auto&) {},
             },
             body);
}

}  // namespace

// -- one action -----------------------------------------------------------------------------------

/// True if nothing counts any more. Such calls do nothing, because a destructor may be calling; but a loop
/// that never awaits has to end. An exception must not leave a destructor.
bool Execution::ignores_calls(const std::source_location& where) {
  if (torn_down_) return true;
  if (!stopped_) return false;
  const std::size_t limit = max_calls_after_stop;
  if (++calls_after_stop_ <= (detail::mutant("a_loop_goes_on_after_its_limit") ? 1'000 * limit : limit))
    return true;
  const bool in_destructor = std::uncaught_exceptions() > 0 ||
                             std::string_view(where.function_name()).find('~') != std::string_view::npos;
  if (in_destructor && !detail::mutant("a_limit_throws_in_destructors")) return true;
  throw Stopped();
}

/// Notes the place of a call that throws, for the failure of an instance whose code does not catch it. The
/// exception does not name it: code may record the text, and a line changes with every edit of a file.
template <class Call>
auto Execution::checked(const std::source_location& where, Call call) {
  try {
    return call();
  } catch (const DurableError& error) {
    refused_ = Refusal{error.failure(), where};
    throw;
  }
}

const Event* Execution::emit(EventBody body, const std::source_location& where) {
  if (ignores_calls(where)) return nullptr;
  return checked(where, [&] { return replaying_ ? match(body, where) : record(std::move(body), where); });
}

const Event* Execution::record(EventBody body, const std::source_location& where) {
  last_action_ = where;
  if (!is_answered_at_once(body) && !count_action()) return nullptr;
  require_fit(body);
  if (!count_bytes(body, where)) return nullptr;
  return &append(std::move(body));
}

/// Throws at the place where the code asks for something that can never be stored or started.
void Execution::require_fit(const EventBody& body) const {
  require_names(body);
  require_input(body);
  require_level(body);
  if (!std::holds_alternative<event::SubOrchestrationScheduled>(body) || depth_ < max_depth_) return;
  if (detail::mutant("children_nest_without_bound")) return;
  throw LimitError("a child of this instance would have " + std::to_string(depth_ + 1) +
                   " ancestors; max_depth allows " + std::to_string(max_depth_));
}

/// Throws if a node that reads only the engine version of this execution could not read the event.
void Execution::require_level(const EventBody& body) const {
  const std::uint32_t needed = needed_engine_version(body);
  if (needed <= engine_version_ || detail::mutant("emits_above_the_level")) return;
  const std::string remedy =
      options_.write_level < needed
          ? "the store's write level is " + std::to_string(options_.write_level) +
                "; `duramen upgrade --finish` raises it once every node reads " + std::to_string(needed)
          : "an execution that begins now may use it: continue as new, or start another instance";
  throw DurableError(engine_failure(
      FailureKind::limit, "EngineVersion",
      std::string(event_type(Event{{}, {}, {}, body})) + " needs engine version " + std::to_string(needed) +
          ", and this execution began at " + std::to_string(engine_version_) + ": " + remedy));
}

/// False if the limit is exceeded, which ends the turn.
bool Execution::count_action() {
  if (++actions_ <= options_.max_actions_per_turn) return true;
  stop(engine_failure(FailureKind::limit, "TooManyActions",
                      "the code took more than " + std::to_string(options_.max_actions_per_turn) +
                          " actions without waiting for one; let it wait in between, or raise "
                          "max_actions_per_turn"));
  return false;
}

bool Execution::count_interruption(const std::source_location& where) {
  if (is_over()) return false;
  // The defect is bounded as well: a test that never ends finds nothing.
  const std::size_t limit = max_interrupted_awaits;
  if (++interruptions_ <= (detail::mutant("a_cancelled_loop_goes_on") ? 4 * limit : limit)) return true;
  stop(engine_failure(FailureKind::limit, "TooManyInterruptions",
                      "the instance is being cancelled, and the code awaits again and again: more than " +
                          std::to_string(max_interrupted_awaits) + " times, the last " +
                          describe_place(where) + "; let a loop end when an await reports the cancellation"));
  return false;
}

void Execution::warn(std::string text) {
  if (!replaying_ && !is_over()) warnings_.push_back(std::move(text));
}

/// An actor that works off its mail waits for each message, and may find thousands of them.
bool Execution::is_answered_at_once(const EventBody& body) const {
  if (detail::mutant("answered_waits_are_actions")) return false;
  if (const auto* wait = std::get_if<event::ExternalSubscribed>(&body))
    return mailboxes_.has_arrival(Mailboxes::Kind::external, wait->name);
  if (const auto* dequeue = std::get_if<event::QueueSubscribed>(&body))
    return mailboxes_.has_arrival(Mailboxes::Kind::queue, dequeue->name);
  return false;
}

/// False if the actions of this segment become too large to be stored, which ends the turn. Counted per
/// segment, like actions: the same message has the same effect in any batch. The largest action is not
/// counted: code may pass one payload of any size that the limit of payloads allows.
bool Execution::count_bytes(const EventBody& body, const std::source_location& where) {
  const std::size_t bytes = estimated_bytes(body);
  action_bytes_ += bytes;
  if (!detail::mutant("a_large_payload_is_too_large_a_turn"))
    largest_action_bytes_ = std::max(largest_action_bytes_, bytes);
  const std::size_t all = detail::mutant("inbound_mail_counts_as_actions") ? bytes_ : action_bytes_;
  const std::size_t counted = all - std::min(all, largest_action_bytes_);
  if (counted <= max_action_bytes || detail::mutant("turns_grow_without_bound")) return true;
  stop(engine_failure(FailureKind::limit, "TurnTooLarge",
                      "the code took actions of more than " + std::to_string(max_action_bytes >> 20u) +
                          " MiB without waiting for one, the last " + describe_place(where) +
                          "; let the orchestration wait in between, or pass large data by reference"));
  return false;
}

void Execution::require_input(const EventBody& body) const {
  const auto require = [this](const Payload& input, std::string_view what, std::string_view name) {
    require_data(input, max_payload_bytes_, what, name);
  };
  std::visit(
      Overloaded{
          [&](const event::ActivityScheduled& e) { require(e.input, "the input of activity", e.name); },
          [&](const event::SubOrchestrationScheduled& e) { require(e.input, "the input of child", e.name); },
          [&](const event::OrchestrationChained& e) { require(e.input, "the input of", e.name); },
          [](const auto&) {},
      },
      body);
}

/// Accepts recorded actions unchanged. A call that was refused has no event: it must not be taken for a later
/// one that is alike.
const Event* Execution::match(const EventBody& body, const std::source_location& where) {
  const Event* recorded = cursor_ < recorded_.size() ? &recorded_[cursor_] : nullptr;
  const bool acted = recorded != nullptr && event_class(*recorded) == EventClass::action;
  const ActionMatch likeness = acted ? compare_actions(recorded->body, body) : ActionMatch::different;
  // Two texts of one JSON value are alike, and one of them may be too long.
  const Payload* input = input_of(body);
  const bool too_long = input != nullptr && input->data.size() > max_payload_bytes_;
  if (likeness != ActionMatch::same || too_long) {
    if (!count_action()) return nullptr;
    require_fit(body);  // it threw the first time as well
  }
  if (!acted) {
    mismatch(last_event_id_.next(),
             recorded ? "nothing more before " + std::string(event_type(*recorded)) : "nothing more",
             describe_action(body), &where);
    return nullptr;
  }
  switch (likeness) {
    case ActionMatch::same:
      break;
    case ActionMatch::other_input:
      if (options_.input_mismatch == ExecutionOptions::InputMismatch::warn) {
        warnings_.push_back("event " + std::to_string(recorded->id.value) + " was recorded as " +
                            describe_action(recorded->body) + "; the code now has " + describe_action(body));
        break;
      }
      [[fallthrough]];
    case ActionMatch::different:
      mismatch(recorded->id, describe_action(recorded->body), describe_action(body), &where);
      return nullptr;
  }
  ++cursor_;
  last_event_id_ = recorded->id;
  last_action_ = where;
  schedules_.note(*recorded);
  return recorded;
}

// -- what can be awaited --------------------------------------------------------------------------

EventId Execution::schedule(detail::Leaf& leaf) {
  if (ignores_calls(leaf.where())) return {};
  if (const auto* value = std::get_if<detail::RecordedValue>(&leaf.request())) {
    return schedule_recorded_value(leaf, *value);
  }
  EventBody body = std::visit(
      Overloaded{
          [this](detail::TimerRequest& request) -> EventBody {
            return event::TimerCreated{due_after(now_, request.delay)};
          },
          [this](event::SubOrchestrationScheduled& request) -> EventBody {
            if (!request.explicit_id) request.instance = child_id();
            return std::move(request);
          },
          [](detail::RecordedValue) -> EventBody { return event::KeyValuesCleared{}; },  // not reached
          // Moved, because a leaf is started once: while it waits, only history holds the input.
          [](auto& request) -> EventBody { return std::move(request); },
      },
      leaf.request());
  const Event* event = nullptr;
  try {
    event = emit(std::move(body), leaf.where());
  } catch (const DurableError& error) {
    if (detail::mutant("refused_calls_stop_the_turn")) stop(error.failure());
    leaf.refuse(std::current_exception());
  }
  if (event == nullptr) return {};
  const EventId id = event->id;
  if (const auto* child = std::get_if<event::SubOrchestrationScheduled>(&event->body)) {
    children_.emplace(id, child->instance);
  } else if (const auto* timer = std::get_if<event::TimerCreated>(&event->body)) {
    timers_.emplace_hint(timers_.end(), id, timer->fire_at);
  }
  std::optional<Payload> arrived;
  if (const auto* wait = std::get_if<event::ExternalSubscribed>(&event->body)) {
    arrived = mailboxes_.wait(Mailboxes::Kind::external, wait->name, id);
  } else if (const auto* dequeue = std::get_if<event::QueueSubscribed>(&event->body)) {
    arrived = mailboxes_.wait(Mailboxes::Kind::queue, dequeue->name, id);
  }
  if (arrived) {
    schedules_.close(id);
    leaf.resolve(std::move(*arrived));
  } else {
    leaves_.emplace(id, &leaf);
  }
  return id;
}

/// The id of the next recorded child, unless it has an explicit one.
InstanceId Execution::child_id() const {
  const std::string& parent = identity_.instance.value;
  const std::string place = "::sub::" + std::to_string(identity_.execution.value) + "." +
                            std::to_string(last_event_id_.next().value);
  constexpr std::size_t longest = 200;
  if (parent.size() + place.size() <= longest || detail::mutant("automatic_child_ids_grow")) {
    return InstanceId(parent + place);
  }
  // Only the beginning, for people; the hash distinguishes two parents.
  const std::string rest = hash_of(parent) + place;
  constexpr std::size_t dots = 3;
  return InstanceId(base::excerpt(parent, longest - rest.size() - dots) + rest);
}

/// Scheduled and completed in one segment: two events, no message.
EventId Execution::schedule_recorded_value(detail::Leaf& leaf, detail::RecordedValue value) {
  const char* name = recorded_value_name(value);
  const Event* scheduled = emit(event::ActivityScheduled{name, Payload::none(), {}, {}, {}}, leaf.where());
  if (scheduled == nullptr) return {};
  const EventId id = scheduled->id;
  if (!replaying_) {
    Payload result = make_value(value);
    append(event::ActivityCompleted{result}, id);
    leaf.resolve(std::move(result));
    return id;
  }
  const Event* completed = cursor_ < recorded_.size() ? &recorded_[cursor_] : nullptr;
  const auto* result = completed ? std::get_if<event::ActivityCompleted>(&completed->body) : nullptr;
  if (result == nullptr || completed->source != id) {
    mismatch(id.next(), completed ? std::string(event_type(*completed)) : "nothing more",
             "the value of " + std::string(name), &leaf.where());
    return {};
  }
  ++cursor_;
  last_event_id_ = completed->id;
  schedules_.note(*completed);
  leaf.resolve(result->result);
  return id;
}

Payload Execution::make_value(detail::RecordedValue value) {
  if (value == detail::RecordedValue::utc_now) return encode_payload(to_unix_ms(now_));
  // Depends only on the turn's entropy and the place in history: a segment gives the same value in any batch.
  const std::uint64_t high = mix(entropy_ + mix(last_event_id_.value));
  return Payload::text(format_guid(high, mix(high ^ entropy_)));
}

void Execution::drop(detail::Leaf& leaf, CancelReason reason) noexcept {
  if (torn_down_ || stopped_) return;
  const EventId id = leaf.event_id();
  leaves_.erase(id);
  if (schedules_.kind(id) == ScheduleKind::timer) {
    timers_.erase(id);
    schedules_.cancel(id);
    if (!replaying_) dropped_timers_.push_back(id);
  } else {
    mailboxes_.drop(id);
    cancels_.try_emplace(cancels_.end(), id, Drop{reason, leaf.where()});  // mostly in order
  }
}

void Execution::forget(detail::Leaf& leaf) noexcept {
  if (torn_down_ || !leaf.event_id()) return;
  leaves_.erase(leaf.event_id());
  timers_.erase(leaf.event_id());
}

void Execution::make_ready(detail::WaiterList& waiters) noexcept {
  while (detail::Waiter* waiter = waiters.pop()) ready_.push(*waiter);
}

// -- what acts at once ----------------------------------------------------------------------------

void Execution::chain(event::OrchestrationChained start, const std::source_location& where) {
  emit(std::move(start), where);
}

void Execution::continue_as_new(Payload input, std::optional<std::string> version,
                                const std::source_location& where) {
  if (torn_down_ || stopped_) return;
  if (continue_) return tasks_.continue_as_new();
  if (!detail::mutant("any_version_continues") && !fits_or_throws(input, version, where)) return;
  continue_ = Continued{std::move(input), std::move(version)};
  tasks_.continue_as_new();
}

/// False if the turn is over.
bool Execution::fits_or_throws(const Payload& input, const std::optional<std::string>& version,
                               const std::source_location& where) {
  return checked(where, [&] {
    try {
      require_version(version);
      require_data(input, max_payload_bytes_, "the next input");
      return true;
    } catch (const DurableError&) {
      // Counted, because code may retry in a loop.
      if (!count_action()) return false;
      throw;
    }
  });
}

void Execution::set_custom_status(std::optional<std::string> status, const std::source_location& where) {
  // Even for calls that would throw: a destructor may be calling.
  if (ignores_calls(where)) return;
  // Before it is compared with history, which accepts any text in place of the recorded one.
  if (status) checked(where, [&] { require_status(*status); });
  if (emit(event::CustomStatusUpdated{status}, where) != nullptr) custom_status_ = std::move(status);
}

void Execution::set_key_value(std::string key, Payload value, const std::source_location& where) {
  if (ignores_calls(where)) return;
  checked(where, [&] {
    require_value(key, value);
    if (key_values_.size() >= max_keys && !key_values_.contains(key)) {
      throw LimitError("an instance may have " + std::to_string(max_keys) +
                       " keys; clear one before setting \"" + key + "\"");
    }
  });
  const Event* event = emit(event::KeyValueSet{key, value, now_}, where);
  if (event == nullptr) return;
  // The recorded time, so that pruning by age is the same on replay.
  key_values_[std::move(key)] = {std::move(value), std::get<event::KeyValueSet>(event->body).last_updated_at};
}

void Execution::clear_key_value(std::string key, const std::source_location& where) {
  if (emit(event::KeyValueCleared{key}, where) != nullptr) key_values_.erase(key);
}

void Execution::clear_key_values(const std::source_location& where) {
  if (emit(event::KeyValuesCleared{}, where) != nullptr) key_values_.clear();
}

#ifdef DURAMEN_TEST_LEVEL_2
void Execution::test_mark(std::string name, const std::source_location& where) {
  emit(event::TestMark{std::move(name)}, where);
}
#endif

void Execution::trace(LogLevel level, std::string text) {
  if (replaying_ || torn_down_ || stopped_) return;
  traces_.push_back({level, base::cut(base::to_text(std::move(text)), max_trace_bytes)});
}

}  // namespace duramen::inline v0::core
