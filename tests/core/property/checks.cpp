#include "core/property/checks.hpp"

#include "core/inbound.hpp"
#include "core/property/mail_model.hpp"

#include <set>
#include <span>
#include <utility>

namespace duramen::core_test::property {

using core::TurnOutcome;

namespace {

const InstanceId shown_as{"i"};

std::string line(const Event& event) { return to_json(event, {shown_as, ExecutionId{1}}) + "\n"; }

bool same_messages(const std::vector<OutboundMessage>& a, const std::vector<OutboundMessage>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].target != b[i].target || a[i].body != b[i].body || a[i].visible_at != b[i].visible_at ||
        a[i].if_refused != b[i].if_refused) {
      return false;
    }
  }
  return true;
}

bool same_cancels(const std::vector<CancelledActivity>& a, const std::vector<CancelledActivity>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].activity != b[i].activity || a[i].reason != b[i].reason) return false;
  }
  return true;
}

bool same_traces(const std::vector<core::TraceLine>& a, const std::vector<core::TraceLine>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].text != b[i].text || a[i].level != b[i].level) return false;
  }
  return true;
}

const char* what_differs(const TurnOutcome& a, const TurnOutcome& b) {
  if (a.events != b.events) return "events";
  if (a.segments != b.segments) return "segments";
  if (a.status != b.status) return "status";
  if (a.output != b.output) return "output";
  if (a.failure != b.failure) return "failure";
  if (a.activities != b.activities) return "activities";
  if (!same_messages(a.messages, b.messages)) return "messages";
  if (!same_cancels(a.cancelled_activities, b.cancelled_activities)) return "cancelled activities";
  if (a.cancel_rest != b.cancel_rest) return "the reason for the rest";
  if (a.dropped_timers != b.dropped_timers) return "dropped timers";
  if (a.custom_status != b.custom_status) return "custom status";
  if (a.key_values != b.key_values) return "key-values";
  if (a.taken != b.taken) return "the taken messages";
  if (a.put_back != b.put_back) return "the mail that is put back";
  if (a.ignored_messages != b.ignored_messages) return "the number of ignored messages";
  if (!same_traces(a.traces, b.traces)) return "traces";
  return nullptr;
}

bool is_value_of(const Event& event, const Event& before) {
  return event_class(event) == EventClass::inbound && event.source == before.id &&
         std::holds_alternative<event::ActivityScheduled>(before.body);
}

/// The same decision, as far as replay promises to compare it: not the due time of a timer, the text of a
/// status, nor the reason of a cancellation.
bool same_decision(const Event& recorded, const Event& now) {
  if (recorded.id != now.id || recorded.source != now.source || recorded.body.index() != now.body.index())
    return false;
  return std::visit(
      [&now]<class Body>(const Body& body) {
        if constexpr (std::is_same_v<Body, event::TimerCreated> ||
                      std::is_same_v<Body, event::CustomStatusUpdated> ||
                      std::is_same_v<Body, event::ActivityCancelRequested> ||
                      std::is_same_v<Body, event::SubOrchestrationCancelRequested> ||
                      std::is_same_v<Body, event::ExternalSubscribedCancelled> ||
                      std::is_same_v<Body, event::QueueSubscriptionCancelled>) {
          return true;
        } else {
          return body == std::get<Body>(now.body);
        }
      },
      recorded.body);
}

bool same_decisions(std::span<const Event> recorded, std::span<const Event> now) {
  if (recorded.size() != now.size()) return false;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (!same_decision(recorded[i], now[i])) return false;
  }
  return true;
}

/// The begins of the segments that a message made, and the end of the last one.
std::vector<std::size_t> borders(const Record& record) {
  std::vector<std::size_t> cuts = core::find_segments(record.history);
  if (!record.imposed) cuts.push_back(record.history.size());
  return cuts;
}

std::vector<Event> run_segment(Engine& engine, const Record& record, std::size_t at,
                               std::span<const Event> replayed) {
  const std::vector<MessageBody> messages = messages_behind(record.history[at], record.subject.identity);
  return engine.run_turn({replayed, messages, record.history[at].timestamp, record.entropies[at]}).events;
}

/// The first segment in which other code, run on the same messages from the start, decides otherwise; or the
/// number of segments.
std::size_t first_difference(const Record& record, const std::vector<std::size_t>& cuts, Engine& engine) {
  const std::span<const Event> history(record.history);
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const auto recorded = history.subspan(cuts[i], cuts[i + 1] - cuts[i]);
    if (!same_decisions(recorded, run_segment(engine, record, cuts[i], {}))) return i;
  }
  return cuts.size() - 1;
}

bool leaves_something_open(std::span<const Event> history, const std::vector<Event>& end) {
  std::set<EventId> open;
  const auto see = [&open](const Event& event) {
    if (std::holds_alternative<event::ActivityScheduled>(event.body) ||
        std::holds_alternative<event::SubOrchestrationScheduled>(event.body)) {
      open.insert(event.id);
    }
    open.erase(event.source);
  };
  for (const Event& event : history) see(event);
  for (const Event& event : end) see(event);
  return !open.empty();
}

}  // namespace

Finding compare_outcomes(const TurnOutcome& expected, const TurnOutcome& actual) {
  const char* what = what_differs(expected, actual);
  if (what == nullptr) return std::nullopt;
  return std::string(what) + " differ\nexpected\n" + to_text(expected) + "actual\n" + to_text(actual);
}

Finding check_shape(const TurnOutcome& turn, const std::vector<Event>& history) {
  const std::vector<Event>& events = turn.events;
  const std::size_t before = history.size() - events.size();
  const bool imposed = turn.failure && turn.failure->kind == FailureKind::nondeterminism;
  std::size_t segment = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].id.value != before + i + 1) return "an event has the wrong number";
    const EventClass now = event_class(events[i]);
    if (segment < turn.segments.size() && turn.segments[segment] == i) {
      ++segment;
      if (now != EventClass::inbound && !imposed) return "a segment begins with an event that was not sent";
      continue;
    }
    if (i == 0) return "a turn begins in the middle of a segment";
    if (is_value_of(events[i], events[i - 1])) continue;
    if (now == EventClass::inbound) return "an inbound event in the middle of a segment";
    if (!is_value_of(events[i - 1], events[i > 1 ? i - 2 : 0]) && event_class(events[i - 1]) > now) {
      return "not in the order actions, cancellations, end";
    }
    if (now == EventClass::cancel && event_class(events[i - 1]) == EventClass::cancel &&
        events[i - 1].source >= events[i].source) {
      return "cancellations are not sorted by what they cancel";
    }
    if (event_class(events[i - 1]) == EventClass::terminal) return "something follows the end";
  }
  if (segment != turn.segments.size()) return "a segment begins nowhere";
  if (turn.ended() != (!history.empty() && event_class(history.back()) == EventClass::terminal)) {
    return "the status and the last event do not agree";
  }

  std::set<EventId> cancelled;
  MailModel mail;
  for (const Event& event : history) {
    mail.see(event);
    if (event_class(event) == EventClass::cancel && !cancelled.insert(event.source).second) {
      return "event " + std::to_string(event.source.value) + " is cancelled twice";
    }
  }
  if (turn.ended() && !mail.nobody_waits()) return "a wait outlives the end";
  for (const OutboundMessage& message : turn.messages) {
    const auto* next = std::get_if<message::ContinueAsNew>(&message.body);
    if (next == nullptr) continue;
    if (next->carry_forward != mail.unclaimed())
      return "continue-as-new does not carry exactly the unconsumed events";
  }
  return std::nullopt;
}

Finding check_prefixes(const Record& record, const EngineFactory& factory) {
  const std::vector<std::size_t> cuts = borders(record);
  const std::span<const Event> history(record.history);
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const auto engine = factory(record.subject, Role::prefix);
    const auto recorded = history.subspan(cuts[i], cuts[i + 1] - cuts[i]);
    const std::vector<Event> now = run_segment(*engine, record, cuts[i], history.first(cuts[i]));
    if (std::equal(recorded.begin(), recorded.end(), now.begin(), now.end())) continue;
    return "run on from event " + std::to_string(cuts[i] + 1) + " it goes another way\nhistory\n" +
           to_text(record.history) + "now\n" + to_text(now);
  }
  return std::nullopt;
}

Finding check_change(const Record& record, std::shared_ptr<const OrchestrationHandler> changed,
                     const EngineFactory& factory, Rng& rng, std::size_t& reported) {
  const std::vector<std::size_t> cuts = borders(record);
  Subject subject = record.subject;
  subject.handler = std::move(changed);
  const std::size_t difference = first_difference(record, cuts, *std::make_unique<RealEngine>(subject));

  // The last segment that is no end: a history that is over is not run again.
  const bool over = event_class(record.history.back()) == EventClass::terminal;
  const std::size_t longest = cuts.size() - (over && !record.imposed ? 2 : 1);
  for (const std::size_t length : {longest, rng.below(longest + 1)}) {
    if (length == 0) continue;
    const auto history = std::span<const Event>(record.history).first(cuts[length]);
    const auto engine = factory(subject, Role::changed);
    const TurnOutcome turn = engine->run_turn({history, {}, record.history.back().timestamp, 99});
    const bool is_reported = turn.failure && turn.failure->kind == FailureKind::nondeterminism;
    reported += is_reported ? 1 : 0;
    const auto wrong = [&](const char* what) {
      return std::string(what) + "\nfirst difference in segment " + std::to_string(difference) + " of " +
             std::to_string(length) + "\nhistory\n" +
             to_text(std::vector<Event>(history.begin(), history.end())) + "turn\n" + to_text(turn);
    };
    if (is_reported != (difference < length)) {
      return wrong(is_reported ? "an invisible change is reported" : "a change is not reported");
    }
    if (!is_reported && (!turn.events.empty() || turn.failure))
      return wrong("replay alone decided something");
    if (is_reported && leaves_something_open(history, turn.events)) {
      return wrong("a reported change leaves something open");
    }
  }
  return std::nullopt;
}

std::string to_text(const std::vector<Event>& events) {
  std::string out;
  for (const Event& event : events) out += line(event);
  return out;
}

std::string to_text(const TurnOutcome& turn) {
  std::string out = std::string(to_string(turn.status)) + "\n" + to_text(turn.events);
  for (const ActivityRequest& activity : turn.activities) out += "  activity " + to_json(activity) + "\n";
  for (const OutboundMessage& message : turn.messages) {
    out += "  message " + to_json(message.body, message.target) + "\n";
  }
  for (const CancelledActivity& cancelled : turn.cancelled_activities) {
    out += "  stopped " + std::to_string(cancelled.activity.value) + " " +
           std::string(to_string(cancelled.reason)) + "\n";
  }
  for (const EventId timer : turn.dropped_timers)
    out += "  dropped timer " + std::to_string(timer.value) + "\n";
  for (const core::TraceLine& trace : turn.traces) out += "  trace " + trace.text + "\n";
  if (turn.failure) out += "  failure " + turn.failure->describe() + "\n";
  out += "  ignored " + std::to_string(turn.ignored_messages) + "\n";
  return out;
}

}  // namespace duramen::core_test::property
