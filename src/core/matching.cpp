#include "core/matching.hpp"

#include "base/json_equal.hpp"
#include "base/overloaded.hpp"
#include "base/utf8.hpp"
#include <duramen/detail/mutant.hpp>

#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

namespace duramen::inline v0::core {

namespace {

bool same_payload(const Payload& a, const Payload& b) {
  if (a.data == b.data) return a.encoding == b.encoding;
  return a.encoding == Encoding::json && b.encoding == Encoding::json && base::json_equal(a.data, b.data);
}

ActionMatch with_input(bool same_rest, const Payload& a, const Payload& b) {
  if (!same_rest) return ActionMatch::different;
  return same_payload(a, b) ? ActionMatch::same : ActionMatch::other_input;
}
ActionMatch plainly(bool same) { return same ? ActionMatch::same : ActionMatch::different; }

ActionMatch compare(const event::ActivityScheduled& a, const event::ActivityScheduled& b) {
  return with_input(a.name == b.name && a.tag == b.tag && a.session_id == b.session_id, a.input, b.input);
}
ActionMatch compare(const event::TimerCreated&, const event::TimerCreated&) { return ActionMatch::same; }
ActionMatch compare(const event::ExternalSubscribed& a, const event::ExternalSubscribed& b) {
  return plainly(a.name == b.name);
}
ActionMatch compare(const event::QueueSubscribed& a, const event::QueueSubscribed& b) {
  return plainly(a.name == b.name);
}
ActionMatch compare(const event::SubOrchestrationScheduled& a, const event::SubOrchestrationScheduled& b) {
  return with_input(a.name == b.name && a.version == b.version && a.explicit_id == b.explicit_id &&
                        (!a.explicit_id || a.instance == b.instance),
                    a.input, b.input);
}
ActionMatch compare(const event::OrchestrationChained& a, const event::OrchestrationChained& b) {
  return with_input(a.name == b.name && a.instance == b.instance && a.version == b.version, a.input, b.input);
}
ActionMatch compare(const event::CustomStatusUpdated&, const event::CustomStatusUpdated&) {
  return ActionMatch::same;
}
ActionMatch compare(const event::KeyValueSet& a, const event::KeyValueSet& b) {
  return plainly(a.key == b.key && same_payload(a.value, b.value));
}
ActionMatch compare(const event::KeyValueCleared& a, const event::KeyValueCleared& b) {
  return plainly(a.key == b.key);
}
ActionMatch compare(const event::KeyValuesCleared&, const event::KeyValuesCleared&) {
  return ActionMatch::same;
}
#ifdef DURAMEN_TEST_LEVEL_2
ActionMatch compare(const event::TestMark& a, const event::TestMark& b) { return plainly(a.name == b.name); }
#endif
template <class Other>
ActionMatch compare(const Other&, const Other&) {
  return ActionMatch::different;  // not an action
}

constexpr std::size_t longest_shown = 200;

std::string quoted(std::string_view text) { return "\"" + base::excerpt(text, longest_shown) + "\""; }

std::string payload_text(const Payload& payload) {
  return payload.encoding == Encoding::json ? base::excerpt(payload.data, longest_shown)
                                            : quoted(payload.data);
}

std::string version_text(const std::optional<std::string>& version) {
  return version ? " in version " + quoted(*version) : "";
}

std::string input_text(const Payload& input) { return " with input " + payload_text(input); }

}  // namespace

ActionMatch compare_actions(const EventBody& recorded, const EventBody& now) {
  if (recorded.index() != now.index()) return ActionMatch::different;
  return std::visit(
      [&now](const auto& body) { return compare(body, std::get<std::decay_t<decltype(body)>>(now)); },
      recorded);
}

const char* recorded_value_name(detail::RecordedValue value) noexcept {
  return value == detail::RecordedValue::new_guid ? "__duramen:new_guid" : "__duramen:utc_now";
}

bool is_recorded_value(const event::ActivityScheduled& activity) noexcept {
  return activity.name.starts_with("__duramen:");
}

bool completes_recorded_value(std::span<const Event> history, std::size_t at) noexcept {
  if (at == 0) return false;
  const auto* scheduled = std::get_if<event::ActivityScheduled>(&history[at - 1].body);
  return scheduled != nullptr && is_recorded_value(*scheduled) && history[at].source == history[at - 1].id;
}

std::string describe_action(const EventBody& body) {
  return std::visit(
      Overloaded{
          [](const event::ActivityScheduled& e) {
            std::string text = "activity " + quoted(e.name) + input_text(e.input);
            if (e.tag) text += " tag " + quoted(*e.tag);
            if (e.session_id) text += " on session " + quoted(*e.session_id);
            return text;
          },
          [](const event::TimerCreated&) { return std::string("a timer"); },
          [](const event::ExternalSubscribed& e) { return "a wait for event " + quoted(e.name); },
          [](const event::QueueSubscribed& e) { return "a wait on queue " + quoted(e.name); },
          [](const event::SubOrchestrationScheduled& e) {
            return "sub-orchestration " + quoted(e.name) + version_text(e.version) + input_text(e.input) +
                   (e.explicit_id ? " as " + quoted(e.instance.value) : "");
          },
          [](const event::OrchestrationChained& e) {
            return "a detached start of " + quoted(e.name) + version_text(e.version) + " as " +
                   quoted(e.instance.value) + input_text(e.input);
          },
          [](const event::CustomStatusUpdated&) { return std::string("a custom status"); },
          [](const event::KeyValueSet& e) {
            const bool shown = !detail::mutant("changed_values_are_not_shown");
            return "setting key " + quoted(e.key) + (shown ? " to " + payload_text(e.value) : "");
          },
          [](const event::KeyValueCleared& e) { return "clearing key " + quoted(e.key); },
          [](const event::KeyValuesCleared&) { return std::string("clearing all keys"); },
          [](const auto& other) { return std::string(event_type(Event{{}, {}, {}, other})); },
      },
      body);
}

std::string describe_place(const std::source_location& at) {
  return std::string(at.file_name()) + ":" + std::to_string(at.line());
}

std::string describe_mismatch(EventId event, const std::string& recorded, const std::string& now,
                              const std::source_location* where, const std::source_location* last_action) {
  std::string text =
      "the code no longer does what history says it did, at event " + std::to_string(event.value);
  text += "\n  - recorded: " + recorded;
  text += "\n  + now:      " + now;
  if (now == recorded) text += "\n  They differ after the part that is shown.";
  if (where != nullptr) {
    text += "\n  at " + describe_place(*where);
  } else if (last_action != nullptr) {
    text += "\n  after " + describe_place(*last_action);
  }
  text +=
      "\n  What to do: run the code this instance was started with, and register the change as a new version "
      "of the "
      "orchestration, so that it applies to new instances only.";
  return text;
}

}  // namespace duramen::inline v0::core
