// The stored form of the events one turn appended.
//
//   [2,1767225600000,{"e":"ActivityScheduled","n":"Charge","i":"42"},{"e":"KeyValueCleared","t":3,"k":"cart"}]
//
// First the id and the time (Unix ms) of the first event, then one object per event:
//   "e"   its type
//   "id"  its id, only if it is not one more than that of the event before
//   "s"   its source event, if it has one
//   "t"   milliseconds since the event before, if not 0
// and the fields of its kind under the short keys of event_fields.hpp. No events: [].

#include "format/corrupt_error.hpp"
#include "format/event_fields.hpp"

namespace duramen::inline v0 {
namespace {

using format::FieldReader;
using format::FieldWriter;
using format::Form;

// Differences wrap around, so that any two times have a difference that can be read back.
std::int64_t time_difference(TimePoint later, TimePoint earlier) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(to_unix_ms(later)) -
                                   static_cast<std::uint64_t>(to_unix_ms(earlier)));
}
TimePoint add_difference(TimePoint time, std::int64_t difference) {
  return from_unix_ms(static_cast<std::int64_t>(static_cast<std::uint64_t>(to_unix_ms(time)) +
                                                static_cast<std::uint64_t>(difference)));
}

// Reads one event into `event`; `id` and `time` are its defaults.
void decode_event(const detail::JsonValue& value, EventId id, TimePoint time, Event& event,
                  std::string& problem) {
  event.id = id;
  base::ObjectReader envelope{value, problem};
  envelope.optional("id", event.id.value);
  const auto type = envelope.require("e");
  const auto tag = type ? envelope.string("e", *type) : std::nullopt;
  if (!tag) return;
  if (!format::emplace_by_tag(event.body, *tag))
    return envelope.fail("unknown type '" + std::string{*tag} + "'");
  envelope.optional("s", event.source.value);
  std::int64_t difference = 0;
  envelope.optional("t", difference);
  event.timestamp = add_difference(time, difference);
  FieldReader<Form::stored> fields{envelope, problem};
  format::visit_fields(fields, event.body);
  if (!problem.empty()) problem = std::string{*tag} + ": " + problem;
}

}  // namespace

std::string encode_events(const std::vector<Event>& events) {
  std::string out;
  out.reserve(32 + 128 * events.size());
  base::JsonWriter json{out};
  FieldWriter<Form::stored> fields{json};
  json.begin_array();
  if (!events.empty()) {
    EventId id = events.front().id;
    TimePoint time = events.front().timestamp;
    json.value(id.value);
    json.value(to_unix_ms(time));
    for (const Event& event : events) {
      json.begin_object();
      json.field("e", event_type(event));
      if (event.id != id) json.field("id", event.id.value);
      if (event.source) json.field("s", event.source.value);
      if (event.timestamp != time) json.field("t", time_difference(event.timestamp, time));
      format::visit_fields(fields, event.body);
      json.end_object();
      id = event.id.next();
      time = event.timestamp;
    }
  }
  json.end_array();
  return out;
}

Result<void> decode_events(std::string_view stored, const EventContext& where, std::vector<Event>& out) {
  constexpr std::string_view operation = "decode_events";
  const detail::JsonDocument document{stored};
  if (!document.error().empty()) return format::corrupt_event(operation, where, {}, {}, document.error());
  const detail::JsonValue root = document.root();
  if (root.kind() != detail::JsonKind::array) {
    return format::corrupt_event(operation, where, {}, {}, "expected an array of events");
  }
  detail::JsonCursor elements{root};
  if (!elements.next()) return {};
  const auto first_id = elements.value().uint64();
  const auto first_time = elements.next() ? elements.value().int64() : std::nullopt;
  if (!first_id || !first_time) {
    return format::corrupt_event(operation, where, {}, {}, "expected [first id, first time, event, ...]");
  }

  const std::size_t before = out.size();
  EventId id{*first_id};
  TimePoint time = from_unix_ms(*first_time);
  std::string problem;
  while (elements.next()) {
    Event& event = out.emplace_back();
    decode_event(elements.value(), id, time, event, problem);
    if (!problem.empty()) {
      const EventId broken = event.id;
      out.resize(before);
      return format::corrupt_event(operation, where, broken, {}, problem);
    }
    id = event.id.next();
    time = event.timestamp;
  }
  return {};
}

}  // namespace duramen::inline v0
