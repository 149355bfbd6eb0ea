// What code does while it runs. Each action is compared with history while that lasts, and recorded after.
#include "base/overloaded.hpp"
#include "base/utf8.hpp"
#include "core/execution.hpp"
#include "core/failures.hpp"
#include "core/matching.hpp"
#include <duramen/codec.hpp>
#include <duramen/provider.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>

namespace duramen::inline v0::core {

namespace {

/// Spreads entropy: two different inputs give unrelated outputs.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30u)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27u)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31u);
}

/// A version 4 UUID.
std::string format_guid(std::uint64_t high, std::uint64_t low) {
  high = (high & ~0xF000ull) | 0x4000ull;
  low = (low & ~(0xC0ull << 56u)) | (0x80ull << 56u);
  std::array<char, 37> text{};
  std::snprintf(text.data(), text.size(), "%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(high >> 32u),
                static_cast<unsigned>(high >> 16u) & 0xFFFFu, static_cast<unsigned>(high) & 0xFFFFu,
                static_cast<unsigned>(low >> 48u), static_cast<unsigned long long>(low & 0xFFFFFFFFFFFFull));
  return text.data();
}

/// The first of them that history cannot hold: names, ids and keys are text.
template <class... Names>
std::optional<Failure> unfit_name(const Names&... names) {
  if ((base::is_text(names) && ...)) return std::nullopt;
  return engine_failure(FailureKind::application, "InvalidName",
                        "a name, id or key that the code gives is no valid UTF-8, or has a NUL byte in it");
}

std::optional<Failure> unfit_names(const EventBody& body) {
  static const std::string none;
  return std::visit(Overloaded{
                        [](const event::ActivityScheduled& e) {
                          return unfit_name(e.name, e.tag ? *e.tag : none,
                                            e.session_id ? *e.session_id : none);
                        },
                        [](const event::SubOrchestrationScheduled& e) {
                          return unfit_name(e.name, e.instance.value, e.version ? *e.version : none);
                        },
                        [](const event::OrchestrationChained& e) {
                          return unfit_name(e.name, e.instance.value, e.version ? *e.version : none);
                        },
                        [](const event::ExternalSubscribed& e) { return unfit_name(e.name); },
                        [](const event::QueueSubscribed& e) { return unfit_name(e.name); },
                        [](const event::KeyValueSet& e) { return unfit_name(e.key); },
                        [](const event::KeyValueCleared& e) { return unfit_name(e.key); },
                        [](const auto&) { return std::optional<Failure>{}; },
                    },
                    body);
}

/// Why an action can never be stored, or never be run.
std::optional<Failure> refusal(const EventBody& body) {
  if (auto failure = unfit_names(body)) return failure;
  if (const auto* activity = std::get_if<event::ActivityScheduled>(&body)) {
    if (activity->tag && activity->tag->size() > TagFilter::max_tag_bytes) {
      return engine_failure(FailureKind::limit, "TagTooLong",
                            "a tag may have " + std::to_string(TagFilter::max_tag_bytes) +
                                " bytes; the one of activity '" + activity->name + "' has " +
                                std::to_string(activity->tag->size()));
    }
    return unfit(activity->input, "the input of activity", activity->name);
  }
  if (const auto* child = std::get_if<event::SubOrchestrationScheduled>(&body)) {
    return unfit(child->input, "the input of child", child->name);
  }
  if (const auto* detached = std::get_if<event::OrchestrationChained>(&body)) {
    return unfit(detached->input, "the input of", detached->name);
  }
  if (const auto* value = std::get_if<event::KeyValueSet>(&body)) {
    return unfit(value->value, "the value of key", value->key);
  }
  if (const auto* status = std::get_if<event::CustomStatusUpdated>(&body); status && status->status) {
    return unfit(Payload::text(*status->status), "the custom status");
  }
  return std::nullopt;
}

}  // namespace

// -- one action -----------------------------------------------------------------------------------

const Event* Execution::emit(EventBody body, const std::source_location& where) {
  if (torn_down_ || stopped_) return nullptr;
  if (replaying_) return match(body, where);
  last_action_ = where;
  if (++actions_ > options_.max_actions_per_turn) {
    stop(
        engine_failure(FailureKind::limit, "TooManyActions",
                       "one turn took more than " + std::to_string(options_.max_actions_per_turn) +
                           " actions; let the orchestration wait in between, or raise max_actions_per_turn"));
    return nullptr;
  }
  if (auto failure = refusal(body)) {
    stop(std::move(*failure));
    return nullptr;
  }
  return &append(std::move(body));
}

const Event* Execution::match(const EventBody& body, const std::source_location& where) {
  const Event* recorded = cursor_ < recorded_.size() ? &recorded_[cursor_] : nullptr;
  if (recorded == nullptr || event_class(*recorded) != EventClass::action) {
    mismatch(last_event_id_.next(),
             recorded ? "nothing more before " + std::string(event_type(*recorded)) : "nothing more",
             describe_action(body), &where);
    return nullptr;
  }
  switch (compare_actions(recorded->body, body)) {
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
  if (torn_down_ || stopped_) return {};
  if (const auto* value = std::get_if<detail::RecordedValue>(&leaf.request())) {
    return schedule_recorded_value(leaf, *value);
  }
  EventBody body = std::visit(
      Overloaded{
          [this](detail::TimerRequest& request) -> EventBody {
            const Duration longest = TimePoint::max() - now_;
            return event::TimerCreated{now_ + std::clamp(request.delay, Duration::zero(), longest)};
          },
          [this](event::SubOrchestrationScheduled& request) -> EventBody {
            if (!request.explicit_id) {
              request.instance = InstanceId(identity_.instance.value +
                                            "::sub::" + std::to_string(identity_.execution.value) + "." +
                                            std::to_string(last_event_id_.next().value));
            }
            return std::move(request);
          },
          [](detail::RecordedValue) -> EventBody { return event::KeyValuesCleared{}; },  // not reached
          // Moved, as a leaf is started once: while it waits, only history holds the input.
          [](auto& request) -> EventBody { return std::move(request); },
      },
      leaf.request());
  const Event* event = emit(std::move(body), leaf.where());
  if (event == nullptr) return {};
  const EventId id = event->id;
  if (const auto* child = std::get_if<event::SubOrchestrationScheduled>(&event->body)) {
    children_.emplace(id, child->instance);
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
  // From the turn's entropy and the place in history alone: a segment gives the same in whichever batch it is
  // run.
  const std::uint64_t high = mix(entropy_ + mix(last_event_id_.value));
  return Payload::text(format_guid(high, mix(high ^ entropy_)));
}

void Execution::drop(detail::Leaf& leaf, CancelReason reason) noexcept {
  if (torn_down_ || stopped_) return;
  const EventId id = leaf.event_id();
  leaves_.erase(id);
  if (schedules_.kind(id) == ScheduleKind::timer) {
    schedules_.cancel(id);
    if (!replaying_) dropped_timers_.push_back(id);
  } else {
    mailboxes_.drop(id);
    cancels_.try_emplace(cancels_.end(), id, Drop{reason, leaf.where()});  // mostly in order
  }
}

void Execution::forget(detail::Leaf& leaf) noexcept {
  if (!torn_down_ && leaf.event_id()) leaves_.erase(leaf.event_id());
}

void Execution::make_ready(detail::WaiterList& waiters) noexcept {
  while (detail::Waiter* waiter = waiters.pop()) ready_.push(*waiter);
}

// -- what acts at once ----------------------------------------------------------------------------

void Execution::chain(event::OrchestrationChained start, const std::source_location& where) {
  emit(std::move(start), where);
}

void Execution::continue_as_new(Payload input, std::optional<std::string> version) {
  if (torn_down_ || stopped_ || continue_) return;
  continue_ = Continued{std::move(input), std::move(version)};
}

void Execution::set_custom_status(std::optional<std::string> status, const std::source_location& where) {
  if (torn_down_ || stopped_) return;  // also for what would throw: a destructor may be calling
  if (status && status->size() > max_custom_status_bytes) {
    throw LimitError("a custom status may have " + std::to_string(max_custom_status_bytes) +
                     " bytes; this one has " + std::to_string(status->size()));
  }
  if (emit(event::CustomStatusUpdated{status}, where) != nullptr) custom_status_ = std::move(status);
}

void Execution::set_key_value(std::string key, Payload value, const std::source_location& where) {
  if (torn_down_ || stopped_) return;
  if (value.data.size() > max_key_value_bytes) {
    throw LimitError("a value may have " + std::to_string(max_key_value_bytes) +
                     " bytes; the one for key \"" + key + "\" has " + std::to_string(value.data.size()));
  }
  if (key_values_.size() >= max_keys && !key_values_.contains(key)) {
    throw LimitError("an instance may have " + std::to_string(max_keys) +
                     " keys; clear one before setting \"" + key + "\"");
  }
  const Event* event = emit(event::KeyValueSet{key, value, now_}, where);
  if (event == nullptr) return;
  // The recorded time, so that pruning by age replays the same.
  key_values_[std::move(key)] = {std::move(value), std::get<event::KeyValueSet>(event->body).last_updated_at};
}

void Execution::clear_key_value(std::string key, const std::source_location& where) {
  if (emit(event::KeyValueCleared{key}, where) != nullptr) key_values_.erase(key);
}

void Execution::clear_key_values(const std::source_location& where) {
  if (emit(event::KeyValuesCleared{}, where) != nullptr) key_values_.clear();
}

void Execution::trace(LogLevel level, std::string text) {
  if (!replaying_ && !torn_down_ && !stopped_) traces_.push_back({level, std::move(text)});
}

}  // namespace duramen::inline v0::core
