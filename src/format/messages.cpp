// Messages as interchange JSON: {"Kind":{"instance":...,...}}.

#include "base/utf8.hpp"
#include "format/corrupt_error.hpp"
#include "format/message_fields.hpp"

namespace duramen::inline v0 {
namespace {

using format::Describe;
using format::FieldReader;
using format::FieldWriter;
using format::Form;

template <class Body>
std::string write_item(const Body& body, const InstanceId& target) {
  std::string out;
  out.reserve(192);
  base::JsonWriter json{out};
  json.begin_object();
  json.key(Describe<Body>::tag);
  json.begin_object();
  if constexpr (Describe<Body>::has_instance) json.field("instance", std::string_view{target.value});
  FieldWriter<Form::interchange> fields{json};
  Describe<Body>::visit(fields, body);
  json.end_object();
  json.end_object();
  return out;
}

template <class Body>
void read_item(const detail::JsonValue& value, Body& body, InstanceId& instance, std::string& problem) {
  base::ObjectReader object{value, problem};
  FieldReader<Form::interchange> fields{object, problem};
  if constexpr (Describe<Body>::has_instance) fields.text({"instance"}, instance);
  Describe<Body>::visit(fields, body);
}

// The tag and the fields of {"Tag":{...}}; sets `problem` if the text is anything else.
struct Tagged {
  explicit Tagged(const detail::JsonDocument& document, std::string& problem) {
    if (!document.error().empty()) {
      problem = document.error();
      return;
    }
    detail::JsonCursor members{document.root()};
    if (document.root().kind() != detail::JsonKind::object || document.root().size() != 1 ||
        !members.next()) {
      problem = "expected an object with one member";
      return;
    }
    tag = members.key();
    fields = members.value();
  }
  std::string_view tag;
  detail::JsonValue fields;
};

}  // namespace

std::string_view message_type(const MessageBody& item) noexcept { return format::tag_of(item); }

std::string to_json(const MessageBody& item, const InstanceId& target) {
  return std::visit([&](const auto& body) { return write_item(body, target); }, item);
}

std::string to_json(const ActivityRequest& item) { return write_item(item, item.instance); }

Result<MessageBody> message_from_json(std::string_view json, const InstanceId& target) {
  const detail::JsonDocument document{json};
  std::string problem;
  const Tagged tagged{document, problem};
  MessageBody item;
  if (problem.empty() && !format::emplace_by_tag(item, tagged.tag)) {
    problem = "unknown kind '" + base::excerpt(tagged.tag, 64) + "'";
  }
  if (problem.empty()) {
    // Known from the queue; the copy in the message may be wrong.
    InstanceId instance;
    std::visit([&](auto& body) { read_item(tagged.fields, body, instance, problem); }, item);
  }
  if (!problem.empty()) return format::corrupt_message("message_from_json", target, tagged.tag, problem);
  return item;
}

Result<ActivityRequest> activity_request_from_json(std::string_view json) {
  const detail::JsonDocument document{json};
  std::string problem;
  const Tagged tagged{document, problem};
  ActivityRequest item;
  if (problem.empty() && tagged.tag != Describe<ActivityRequest>::tag) {
    problem = "expected ActivityExecute, found '" + base::excerpt(tagged.tag, 64) + "'";
  }
  if (problem.empty()) read_item(tagged.fields, item, item.instance, problem);
  if (!problem.empty())
    return format::corrupt_message("activity_request_from_json", item.instance, tagged.tag, problem);
  return item;
}

}  // namespace duramen::inline v0
