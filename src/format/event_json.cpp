// Events as interchange JSON: one flat object, envelope first.

#include "base/version.hpp"
#include "format/corrupt_error.hpp"
#include "format/event_fields.hpp"

namespace duramen::inline v0 {

using format::FieldReader;
using format::FieldWriter;
using format::Form;

std::string to_json(const Event& event, const EventContext& where) {
  std::string out;
  out.reserve(256);
  base::JsonWriter json{out};
  json.begin_object();
  json.field("event_id", event.id.value);
  json.key("source_event_id");
  if (event.source) {
    json.value(event.source.value);
  } else {
    json.null();
  }
  json.field("instance_id", std::string_view{where.instance.value});
  json.field("execution_id", where.execution.value);
  json.field("timestamp_ms", to_unix_ms(event.timestamp));
  json.field("duramen_version", base::library_version);
  json.field("type", event_type(event));
  FieldWriter<Form::interchange> fields{json};
  format::visit_fields(fields, event.body);
  json.end_object();
  return out;
}

Result<Event> event_from_json(std::string_view text, const EventContext& where) {
  constexpr std::string_view operation = "event_from_json";
  const detail::JsonDocument document{text};
  if (!document.error().empty()) return format::corrupt_event(operation, where, {}, {}, document.error());

  Event event;
  std::string type;
  std::string problem;
  base::ObjectReader envelope{document.root(), problem};
  envelope.required("event_id", event.id.value);
  envelope.required("type", type);
  envelope.optional("source_event_id", event.source.value);
  // The position of the event determines the instance and the execution; the copies in it may be wrong.
  std::string instance;
  std::uint64_t execution = 0;
  envelope.required("instance_id", instance);
  envelope.required("execution_id", execution);
  std::int64_t timestamp = 0;
  envelope.required("timestamp_ms", timestamp);
  event.timestamp = from_unix_ms(timestamp);
  std::string version;
  if (!envelope.find("duroxide_version")) envelope.required("duramen_version", version);
  if (envelope.ok() && !format::emplace_by_tag(event.body, type)) envelope.fail("unknown type");
  if (envelope.ok()) {
    FieldReader<Form::interchange> fields{envelope, problem};
    format::visit_fields(fields, event.body);
  }
  if (!problem.empty()) return format::corrupt_event(operation, where, event.id, type, problem);
  return event;
}

}  // namespace duramen::inline v0
