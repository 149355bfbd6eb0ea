// Events as text.
#include "text.hpp"
#include "values.hpp"

namespace duramen::cli {

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

/// Empty for activities without input or result.
std::string with(const Payload& payload) {
  return payload == Payload::none() ? std::string() : " with " + in_short(payload);
}
std::string returned(const Payload& payload) {
  return payload == Payload::none() ? " returned" : " returned " + in_short(payload);
}

std::string why(CancelReason reason) { return std::string(to_string(reason)); }

std::string by(const std::optional<std::string>& requester) {
  return requester ? ", by " + *requester : std::string();
}

std::string cancel_text(const event::OrchestrationCancelRequested& b) {
  std::string text = b.origin == CancelOrigin::parent ? "by its parent"
                     : b.requested_by                 ? "by " + *b.requested_by
                                                      : "by a client";
  if (b.mode == CancelMode::terminate) text += ", at once";
  return text + ": " + (b.reason.empty() ? "no reason given" : b.reason);
}

/// The attempt that ended an activity, and how long it took.
std::string ran(const AttemptInfo& attempt, TimePoint end) {
  if (attempt == AttemptInfo{}) return {};
  std::string text = " (attempt " + std::to_string(attempt.attempt);
  if (!attempt.node.empty()) text += " on " + attempt.node.value;
  if (attempt.started_at != TimePoint{}) text += ", " + roughly(end - attempt.started_at);
  return text + ")";
}

}  // namespace

std::string EventDescriber::describe(const Event& e) {
  const auto about = [this, &e] {
    const auto found = subjects_.find(e.source);
    return found != subjects_.end() ? found->second : "event " + std::to_string(e.source.value);
  };
  const auto opens = [this, &e](const std::string& subject) {
    subjects_[e.id] = subject;
    return subject;
  };
  return std::visit(
      Overloaded{
          [](const event::OrchestrationStarted& b) {
            std::string text = code_of(b.name, b.version) + with(b.input);
            if (b.parent) text += ", for " + b.parent->instance.value;
            if (!b.carry_forward.empty()) text += ", with " + count(b.carry_forward.size(), "kept event");
            text += by(b.requested_by);
            if (b.cancel) text += ", cancelled before it began " + cancel_text(*b.cancel);
            return text;
          },
          [](const event::OrchestrationCancelRequested& b) { return cancel_text(b); },
          [&](const event::ActivityCompleted& b) {
            return about() + returned(b.result) + ran(b.ran, e.timestamp);
          },
          [&](const event::ActivityFailed& b) {
            return about() + ": " + b.details.describe() + ran(b.ran, e.timestamp);
          },
          [&](const event::TimerFired&) { return about(); },
          [&](const event::SubOrchestrationCompleted& b) { return about() + returned(b.result); },
          [&](const event::SubOrchestrationFailed& b) { return about() + ": " + b.details.describe(); },
          [](const event::ExternalEvent& b) { return b.name + with(b.data) + by(b.requested_by); },
          [](const event::QueueEventDelivered& b) {
            return b.name + ": " + in_short(b.data) + by(b.requested_by);
          },
          [&](const event::ActivityScheduled& b) {
            std::string text = opens(b.name) + with(b.input);
            if (b.tag) text += ", tag " + *b.tag;
            if (b.session_id) text += ", session " + *b.session_id;
            if (b.retry_of) {
              text += ", retry of event " + std::to_string(b.retry_of.value) + " after " +
                      count(b.attempts_before, "attempt");
            }
            if (b.heartbeat) text += ", details " + in_short(*b.heartbeat);
            return text;
          },
          [&](const event::TimerCreated& b) {
            (void)opens("timer of " + roughly(b.fire_at - e.timestamp));
            return "due " + date_and_time(b.fire_at) + " (" + roughly(b.fire_at - e.timestamp) + ")";
          },
          [&](const event::ExternalSubscribed& b) { return opens(b.name); },
          [&](const event::QueueSubscribed& b) { return opens(b.name); },
          [&](const event::SubOrchestrationScheduled& b) {
            (void)opens(b.name);
            return b.name + " as " + b.instance.value + with(b.input);
          },
          [](const event::OrchestrationChained& b) {
            return b.name + " as " + b.instance.value + with(b.input);
          },
          [](const event::CustomStatusUpdated& b) { return b.status ? *b.status : std::string("cleared"); },
          [](const event::KeyValueSet& b) { return b.key + " = " + in_short(b.value); },
          [](const event::KeyValueCleared& b) { return b.key; },
          [](const event::KeyValuesCleared&) { return std::string("all keys"); },
          [&](const event::ActivityCancelRequested& b) { return about() + ": " + why(b.reason); },
          [&](const event::SubOrchestrationCancelRequested& b) {
            std::string text = about() + ": " + why(b.reason);
            if (b.mode == CancelMode::terminate) text += ", at once";
            text += by(b.requested_by);
            return b.text.empty() ? text : text + ": " + b.text;
          },
          [&](const event::ExternalSubscribedCancelled& b) { return about() + ": " + why(b.reason); },
          [&](const event::QueueSubscriptionCancelled& b) { return about() + ": " + why(b.reason); },
          [](const event::OrchestrationCompleted& b) { return in_short(b.output); },
          [](const event::OrchestrationFailed& b) { return b.details.describe(); },
          [](const event::OrchestrationContinuedAsNew& b) { return "with " + in_short(b.input); },
      },
      e.body);
}

Tone EventDescriber::tone_of(const Event& e) {
  return std::visit(Overloaded{
                        [](const event::ActivityFailed&) { return Tone::bad; },
                        [](const event::SubOrchestrationFailed&) { return Tone::bad; },
                        [](const event::OrchestrationFailed&) { return Tone::bad; },
                        [](const event::OrchestrationCompleted&) { return Tone::good; },
                        [&](const auto&) {
                          const bool about_cancelling = event_class(e) == EventClass::cancel ||
                                                        event_type(e) == "OrchestrationCancelRequested";
                          return about_cancelling ? Tone::warning : Tone::plain;
                        },
                    },
                    e.body);
}

}  // namespace duramen::cli
